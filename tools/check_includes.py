#!/usr/bin/env python3
"""The include rule of ARCHITECTURE.md over src/, include/ and apps/. Not a check of include order or of unused includes.

base < numerics, checkpoint, text < ops < backend, state < model < draft < engine < measure < serve < apps:
a file includes its own folder and folders further left, never a peer; `model` never includes a backend.
Public headers (include/verbatim) include only public headers. tests/ and bench/ may include anything.
"""

import pathlib
import re
import sys

RANKS = [
    ["base"],
    ["numerics", "checkpoint", "text"],
    ["ops"],
    ["backend", "state"],
    ["model"],
    ["draft"],
    ["engine"],
    ["measure"],
    ["serve"],
    ["apps"],
]
RANK = {layer: rank for rank, layers in enumerate(RANKS) for layer in layers}
# Public headers with a layer of their own: the engine's interface is not for the layers below it.
# Every other public header is made of plain types and usable anywhere.
PUBLIC_LAYER = {"verbatim/engine.h": "engine"}
TEST_FOLDERS = {"tests", "bench"}
# Pairs that the ranks would allow and the rule forbids.
FORBIDDEN = {("model", "backend")}
SUFFIXES = {".h", ".cc", ".cpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
RULE = "base < numerics, checkpoint, text < ops < backend, state < model < draft < engine < measure < serve < apps"


def layer_of_file(path):
    """The layer of a file relative to the root, "public" for include/, or None if the rule says nothing about it."""
    parts = path.parts
    if parts[0] == "include":
        return "public"
    if parts[0] == "apps":
        return "apps"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return None


def target_of_include(root, path, name):
    """(layer, public name) of an included file; (None, None) if it is not ours."""
    first = name.split("/")[0]
    if "/" in name:
        if first == "verbatim":
            return "public", name
        if first in RANK or first in TEST_FOLDERS:
            return first, None
        if first in ("src", "include"):
            return target_of_include(root, path, name.split("/", 1)[1])
    beside = (root / path.parent / name).resolve()
    if beside.is_file() and root in beside.parents:  # a path relative to the file itself
        inside = beside.relative_to(root)
        layer = inside.parts[0] if inside.parts[0] in TEST_FOLDERS else layer_of_file(inside)
        public = "/".join(inside.parts[1:]) if layer == "public" else None
        return layer, public
    return None, None


def fault(layer, target, public_name):
    """Why `layer` may not include `target`, or None if it may."""
    if target in TEST_FOLDERS:
        return "nothing outside tests/ and bench/ includes them"
    if layer == "public":
        return None if target == "public" else "public headers include only public headers"
    if target == "public":
        target = PUBLIC_LAYER.get(public_name)
        if target is None:
            return None
    if layer == target:
        return None
    if (layer, target) in FORBIDDEN:
        return f"`{layer}` never includes a {target}"
    if RANK[target] == RANK[layer]:
        return f"`{layer}` and `{target}` are peers"
    if RANK[target] > RANK[layer]:
        return f"`{target}` is above `{layer}`"
    return None


def check(root):
    """All breaches below root, as lines "file:line: ..."."""
    root = pathlib.Path(root).resolve()
    faults = []
    files = [p for top in ("include", "src", "apps") for p in (root / top).rglob("*") if p.suffix in SUFFIXES]
    for file in sorted(files):
        path = file.relative_to(root)
        layer = layer_of_file(path)
        if layer is None:
            continue
        if layer != "public" and layer not in RANK:
            faults.append(f"{path}:1: src/{layer} has no place in the include rule; add it to RANKS and ARCHITECTURE.md")
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target, public_name = target_of_include(root, path, match.group(1))
            why = fault(layer, target, public_name) if target else None
            if why:
                faults.append(f'{path}:{number}: includes "{match.group(1)}", but {why}')
    return faults


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    faults = check(root)
    for line in faults:
        print(line, file=sys.stderr)
    if faults:
        print(f"include rule: {RULE}", file=sys.stderr)
        return 1
    print("include rule: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())

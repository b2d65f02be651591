#!/usr/bin/env python3
"""House style that no formatter knows: first line says what a file is, no leftover markers, long files named. Not layout.

Fails on the first two; files above the soft limit of 400 lines are only listed.
"""

import pathlib
import re
import subprocess
import sys

SOFT_LIMIT = 400  # lines; style.md
COMMENT = {
    ".h": ("//",), ".cc": ("//",), ".rs": ("//",),
    ".py": ('"""', "#", 'r"""'), ".sh": ("#",), ".cmake": ("#",),
}
SKIPPED = ("models/", "tests/goldens/", "docs/")
# Spelled in halves so that this file passes its own check.
MARKER = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")


def faults_of(path, text):
    """Breaches in one file as lines "file:line: ..."."""
    suffix = pathlib.PurePath(path).suffix
    lines = text.splitlines()
    starts = COMMENT.get(suffix)
    if starts is None:
        if not lines or not lines[0].startswith("#!"):
            return []
        starts = ("#",)  # a script without a suffix
    faults = []
    first = 1 if lines and lines[0].startswith("#!") else 0
    if len(lines) <= first or not lines[first].startswith(starts) or not re.search(r"\w", lines[first]):
        faults.append(f"{path}:{first + 1}: the first line must be a comment that says what the file is and is not")
    for number, line in enumerate(lines, 1):
        if MARKER.search(line):
            faults.append(f"{path}:{number}: leftover marker; do it, file an issue, or drop it")
    return faults


def main():
    root = pathlib.Path(__file__).parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=root, capture_output=True, text=True, check=True).stdout
    faults, count = [], 0
    for path in sorted(filter(None, listed.split("\0"))):
        file = root / path
        if path.startswith(SKIPPED) or not file.is_file() or file.is_symlink():
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        faults += faults_of(path, text)
        length = text.count("\n")
        if pathlib.PurePath(path).suffix in COMMENT:
            count += 1
            if length > SOFT_LIMIT:
                print(f"style: note: {path} has {length} lines, above the soft limit of {SOFT_LIMIT}")
    for line in faults:
        print(line, file=sys.stderr)
    if faults:
        return 1
    print(f"style: ok, {count} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())

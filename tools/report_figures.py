"""Figures of the report, and what it is measured on: rates, medians, tables, the machine, the models. Runs nothing."""

import collections
import json
import math
import os
import pathlib
import platform
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ("avx2", "avx512f", "avx512_vnni")

Prompt = collections.namedtuple("Prompt", "line kind ids")  # line counts from 1
Machine = collections.namedtuple("Machine", "name slug flags cpus cache")  # cache: bytes of the last level, 0 unknown


class ReportError(Exception):
    """One sentence in the form of every error of the project."""


# --- figures ---

def pair_ratios(base, other):
    """other / base of each pair of rates, measured one beside the other."""
    return [b / a for a, b in zip(base, other, strict=True)]


def spread(values, digits):
    """Median (min..max)."""
    low, middle, high = (f"{f(values):.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle} ({low}..{high})"


def rate(results):
    """Tokens/s of several prompts together: the tokens after each first one, over the time after it."""
    tokens = sum(r["timings"]["predicted_n"] - 1 for r in results)
    return 1000 * tokens / sum(r["timings"]["predicted_ms"] for r in results)


def by_position(results):
    """Drafts accepted of those tested, a list of (accepted, tested) with position 0 first."""
    totals = []
    for result in results:
        stats = result["speculation"]
        for i, (accepted, tested) in enumerate(zip(stats["accepted_at"], stats["tested_at"], strict=True)):
            if i == len(totals):
                totals.append([0, 0])
            totals[i][0] += accepted
            totals[i][1] += tested
    return [(accepted, tested) for accepted, tested in totals if tested]


def perplexity(logprobs):
    return math.exp(-math.fsum(logprobs) / len(logprobs))


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)] + rows
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


# --- the machine and the models ---

def slug_of(name, family="", model=""):
    """amd-epyc-family-25-model-17; trade mark signs are dropped, everything else that is no letter or digit is a dash."""
    text = re.sub(r"\((r|tm)\)", " ", name.lower())
    text += f" family {family}" if family else ""
    text += f" model {model}" if model else ""
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def read_machine(cpuinfo, cache_folder=pathlib.Path("/sys/devices/system/cpu/cpu0/cache")):
    fields = {}
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name") or platform.machine()
    family, model = fields.get("cpu family", ""), fields.get("model", "")
    full = name + (f" family {family}" if family else "") + (f" model {model}" if model else "")
    present = fields.get("flags", "").split()
    sizes = [0]
    for path in cache_folder.glob("index*/size"):
        size = re.fullmatch(r"(\d+)([KM])", path.read_text().strip())
        sizes.append(int(size[1]) << {"K": 10, "M": 20}[size[2]] if size else 0)
    return Machine(full, slug_of(name, family, model), [f for f in FLAGS if f in present],
                   len(os.sched_getaffinity(0)), max(sizes))


def find_models():
    """Folders by name; the 16-bit tiny model is there when VERBATIM_MODELS or ../shared/models has it."""
    extra = pathlib.Path(os.environ.get("VERBATIM_MODELS") or ROOT / ".." / "shared" / "models")
    places = {"tiny-qwen35-4bit": ROOT / "models", "tiny-qwen35": extra, "nano-qwen35": ROOT / "models"}
    return {name: folder / name for name, folder in places.items()
            if (folder / name / "model.safetensors").is_file()}


def load_prompts(model, counts):
    """The first counts[kind] prompts of each kind."""
    left, prompts = dict(counts), []
    for number, line in enumerate((model / "prompts.jsonl").read_text(encoding="utf-8").splitlines(), 1):
        entry = json.loads(line)
        if left.get(entry["kind"], 0) > 0:
            left[entry["kind"]] -= 1
            prompts.append(Prompt(number, entry["kind"], entry["ids"]))
    if any(left.values()):
        raise ReportError(f"[{model / 'prompts.jsonl'}] expected {counts} prompts, received {left} fewer")
    return prompts


def shown(path):
    return os.path.relpath(path, ROOT)

#!/usr/bin/env python3
"""Measures build/verbatim and writes docs/benchmark_results/<cpu-slug>.md. Not a profiler, and no comparison with others.

  make report                                      builds first, then measures everything
  python3 tools/report.py --only speed --pairs 7   one section to standard output, more pairs
  python3 tools/report.py --only flips --update    one section of the file measured again

Sections: speed, serving, limits, exactness, op_parity, chain_parity, flips, targets, acceptance, sampled, quantization. The raw counters of
every run are logged in build/report_runs.jsonl. Exit codes: 0 ok, 1 a run failed, 2 usage, 3 outputs that must be equal are not.
"""

import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import report_bench
import report_contract
import report_serve
from report_figures import (ROOT, ReportError, by_position, find_models, load_prompts, pair_ratios, perplexity, rate,
                            read_machine, shown, spread, table)

SECTIONS = ("speed", "serving", "limits", "exactness", "op_parity", "chain_parity", "flips", "targets", "acceptance", "sampled", "quantization")
KINDS = ("prose", "chat")
ARMS = [("mtp", "1"), ("mtp", "2"), ("mtp", "3"), ("mtp", "5"), ("mtp", "auto"), ("ngram", "3")]
WIDTHS = (8, 6, 5, 4, 3, 2)  # bits
CARD_RUNS = {"prose": (120, 160), "chat": (40, 64)}  # prompts, tokens each; how acceptance.json was counted
SCORED = {"prose": 40, "chat": 40}  # prompts whose tokens the perplexity is over
TEST_LINE = re.compile(r"(prose|chat) draft (\d): ([\d.]+) of all rows")
CARD_TEST = {"NanoAgreesWithItsCard": "nano-qwen35", "Tiny16BitAgreesWithItsCard": "tiny-qwen35"}

# --- the program ---

class Program:
    """Runs the binary, logs raw counters, and compares every output of a prompt with the first one seen."""

    def __init__(self, binary, log):
        self.binary, self.log, self.references, self.differences = binary, log, {}, 0
        self.version = self.run_json("version", "--json")

    def run(self, *arguments, target=None):
        environment = dict(os.environ, **({"VERBATIM_TARGET": target} if target else {}))
        done = subprocess.run([str(self.binary), *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ReportError(f"[{arguments[0]}] expected exit code 0, received {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def measured(self, command, title, environment=None):
        """The Markdown that a command prints; exit code 3 counts as a difference, whether it printed or not."""
        done = subprocess.run([str(self.binary), *command, "--markdown", "-q"], cwd=ROOT, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, env=dict(os.environ, **(environment or {})))
        if done.returncode == 3:
            self.differences += 1
        if done.returncode == 3 and not done.stdout:
            return f"### `{title}`\n\nOutputs differ, so there are no figures: {done.stderr.strip()}\n\n"
        if done.returncode not in (0, 3):
            raise ReportError(f"[{command[0]}] expected exit code 0, received {done.returncode}: {done.stderr.strip()}")
        return f"Command: `{title}`\n\n{done.stdout}\n"

    def run_json(self, *arguments, target=None):
        return json.loads(self.run(*arguments, target=target))

    def generate(self, model, prompt, tokens, threads, spec="off", drafts=None, target=None, sampling=(),
                 noise=None):
        """(result, whether ids and logits are those of the first run of this prompt)."""
        options = ["--spec", spec] + (["--draft-tokens", drafts] if drafts else []) + list(sampling)
        options += ["--draft-noise", noise] if noise else []
        result = self.run_json("generate", "-m", model, "--ids", ",".join(map(str, prompt.ids)), "-n", tokens,
                               "--ignore-eos", "--json", "-q", "-t", threads, *options, target=target)
        if result["speculation"]["kind"] != spec:
            raise ReportError(f"[generate] expected --spec {spec}, received {result['contract']['reason']}")
        output = (result["token_ids"], result["logits_sha256"])
        same = self.references.setdefault((model, prompt.line, tokens, sampling), output) == output
        self.differences += not same
        self.log.write(json.dumps({
            "model": shown(model), "line": prompt.line, "tokens": tokens, "threads": threads, "spec": spec,
            "drafts": drafts, "target": target, "sampling": sampling, "noise": noise, "same": same, "timings": result["timings"],
            "speculation": result["speculation"], "numerics": result["numerics"],
            "logits_sha256": result["logits_sha256"]}) + "\n")
        return result, same


class Report:
    """The sections; each method returns Markdown."""

    def __init__(self, program, machine, arguments):
        self.program, self.machine, self.arguments = program, machine, arguments
        self.models = {name: path for name, path in find_models().items() if name in arguments.models.split(",")}
        self.hashes = {}
        if not self.models:
            raise ReportError(f"[--models] expected models that exist, received {arguments.models}")

    def source(self, command, model, threads, target=None):
        """What a reader needs to measure a table again."""
        version = self.program.version
        if model not in self.hashes:
            self.hashes[model] = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()[:12]
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        return (f"- Command: `{command}`\n"
                f"- Model: {model.name}, sha256 of model.safetensors {self.hashes[model]}\n"
                f"- Machine: {self.machine.name} ({', '.join(self.machine.flags) or 'no AVX2'}), {self.machine.cpus} cores; "
                f"threads {threads}; target {target or version['target']}; "
                f"numerics {version['profile']}-{version['profile_version']}\n"
                f"- Commit {version['commit']}, {version['compiler']}, {now}\n\n")

    def note(self, text):
        print(f"report: {text}", file=sys.stderr, flush=True)

    def cache_note(self, weight_bytes):
        cache = self.machine.cache
        if not cache:
            return ""
        fits = "fit into" if weight_bytes < cache else "do not fit into"
        return (f"The {weight_bytes / 1e6:.1f} MB of weights that a step reads {fits} the last-level cache "
                f"({cache / 1e6:.1f} MB).\n\n")

    def speed(self):
        text = ("## Speed: classic decode and speculation\n\n"
                "A speculative step reads the weights once for several tokens. The gain is largest where weights come from "
                "memory; models as small as these come from the cache or nearly so, a row then costs its arithmetic "
                "whether it is accepted or not, and MTP gains less than on a model of gigabytes (or loses).\n\n"
                f"A run is 4 prompts, {self.arguments.tokens} tokens each; its rate counts the tokens after each first one. A "
                f"pair is one classic and one speculative run, prompt by prompt in turn; {self.arguments.pairs} pairs, after one "
                "unmeasured classic run. Figures are median (min..max); the speed-up is the median of the pairs' ratios. "
                "Accepted: of the drafts tested at each position. Token ids and `logits_sha256` of every run are compared with "
                "the prompt's first run; where any differs, no speed-up is printed.\n\n")
        for model in self.models.values():
            text += f"### {model.name}\n\n" + self.source(
                f"build/verbatim generate -m {shown(model)} --ids IDS -n {self.arguments.tokens} --ignore-eos --json -q "
                "-t THREADS --spec SPEC [--draft-tokens DRAFTS]` with IDS the first 4 prose and 4 chat `ids` of `prompts.jsonl",
                model, self.arguments.threads.replace(",", " and "))
            rows, weight_bytes = [], 0
            for kind in KINDS:
                prompts = [p for p in load_prompts(model, dict.fromkeys(KINDS, 4)) if p.kind == kind]
                for threads in self.arguments.threads.split(","):
                    for prompt in prompts:
                        result, _ = self.program.generate(model, prompt, self.arguments.tokens, threads)
                    weight_bytes = result["model"]["weight_bytes"]
                    for spec, drafts in ARMS:
                        self.note(f"{model.name}, {kind}, threads {threads}, {spec} {drafts}")
                        rows.append([kind, threads, f"{spec} {drafts}", *self.pairs(model, prompts, threads, spec, drafts)])
            text += self.cache_note(weight_bytes) + table(
                ["prompts", "threads", "drafts", "classic tokens/s", "speculative tokens/s", "speed-up", "tokens per step",
                 "accepted by position"], rows) + "\n"
        return text

    def pairs(self, model, prompts, threads, spec, drafts):
        """Cells of one row."""
        classic, other, results, equal = [], [], [], True
        for _ in range(self.arguments.pairs):
            base, speculative = [], []
            for prompt in prompts:
                for runs, options in ((base, ()), (speculative, (spec, drafts))):
                    result, same = self.program.generate(model, prompt, self.arguments.tokens, threads, *options)
                    runs.append(result)
                    equal &= same
            classic.append(rate(base))
            other.append(rate(speculative))
            results += speculative
        tokens = sum(r["timings"]["predicted_n"] - 1 for r in results)
        steps = sum(r["speculation"]["rounds"] for r in results)
        return [spread(classic, 0), spread(other, 0),
                spread(pair_ratios(classic, other), 2) if equal else "outputs differ", f"{tokens / steps:.2f}",
                " ".join(f"{a / t:.2f}" for a, t in by_position(results)) or "-"]

    def serving(self):
        return report_serve.serving(self)

    def limits(self):
        return report_bench.limits(self)

    def exactness(self):
        return report_bench.exactness(self)

    def op_parity(self):
        return report_contract.op_parity(self)

    def chain_parity(self):
        return report_contract.chain_parity(self)

    def flips(self):
        return report_contract.flips(self)

    def targets(self):
        model = next(iter(self.models.values()))
        targets = self.program.version["targets"]
        text = ("## Instruction sets: classic decode\n\n"
                "`VERBATIM_TARGET` forces the target; 2 prose and 2 chat prompts, the targets in turn, prompt by prompt, "
                f"{self.arguments.pairs} runs each. GB/s: the weights of a token times tokens/s. Every output is "
                "compared with the prompt's first run.\n\n")
        text += self.source(f"VERBATIM_TARGET=TARGET build/verbatim generate -m {shown(model)} --ids IDS -n "
                            f"{self.arguments.tokens} --ignore-eos --json -q -t THREADS --spec off", model,
                            self.arguments.threads.replace(",", " and "), "as in the table")
        prompts, rows = load_prompts(model, dict.fromkeys(KINDS, 2)), []
        for threads in self.arguments.threads.split(","):
            rates, equal = collections.defaultdict(list), dict.fromkeys(targets, True)
            for _ in range(self.arguments.pairs):
                results = collections.defaultdict(list)
                self.note(f"{model.name}, every target, threads {threads}")
                for prompt in prompts:
                    for target in targets:
                        result, same = self.program.generate(model, prompt, self.arguments.tokens, threads, target=target)
                        if result["numerics"]["target"] != target:
                            raise ReportError(f"[VERBATIM_TARGET] expected {target}, received {result['numerics']['target']}")
                        results[target].append(result)
                        equal[target] &= same
                for target in targets:
                    rates[target].append(rate(results[target]))
            weight_bytes = result["model"]["weight_bytes"]
            rows += [[target, threads, spread(rates[target], 0), f"{statistics.median(rates[target]) * weight_bytes / 1e9:.1f}",
                      "equal" if equal[target] else "outputs differ"] for target in targets]
        return text + table(["target", "threads", "classic tokens/s", "GB/s", "ids and logits"], rows) + "\n"

    def acceptance(self):
        """Decoding acceptance, beside the card's figure and (if the slow test is built) the same figure measured."""
        measured, note = self.all_rows()
        text = ("## Acceptance of the MTP drafts by position\n\n"
                "Decoding: drafts accepted of those tested, `--spec mtp --draft-tokens 3`, over the prompts of the model card "
                "(120 prose prompts with 160 tokens, 40 chat prompts with 64). All rows: how often `score --drafts` is right at "
                "every row of the same text, from the model's `acceptance.json` (card) and from tests/engine/acceptance_test "
                f"(measured). A decoding run drafts only where blocks start, so it differs a little. {note}\n\n")
        for name, model in self.models.items():
            card_file = model / "acceptance.json"
            card = json.loads(card_file.read_text(encoding="utf-8")) if card_file.is_file() else None
            text += f"### {name}\n\n" + self.source(
                f"build/verbatim generate -m {shown(model)} --ids IDS -n 160|64 --ignore-eos --json -q --spec mtp "
                f"--draft-tokens 3 -t {self.machine.cpus}", model, self.machine.cpus)
            rows = []
            for kind, (count, tokens) in CARD_RUNS.items():
                self.note(f"{name}, acceptance, {count} {kind} prompts")
                results = [self.program.generate(model, prompt, tokens, self.machine.cpus, "mtp", "3")[0]
                           for prompt in load_prompts(model, {kind: count})]
                for position, (accepted, tested) in enumerate(by_position(results)):
                    rows.append([kind, position + 1, f"{accepted / tested:.4f} ({accepted}/{tested})",
                                 card[kind]["rate"][position] if card else "no card",
                                 measured.get((name, kind, position), "-")])
            text += table(["prompts", "draft", "decoding", "all rows, card", "all rows, measured"], rows) + "\n"
        return text

    def all_rows(self):
        """({(model, kind, position): rate}, a note on where they come from)."""
        test = ROOT / "build/release/tests/engine/acceptance_test"
        if not os.access(test, os.X_OK):
            return {}, "The test was not built (`make test` builds it), so its column is empty."
        self.note("all-rows acceptance")
        done = subprocess.run([test], capture_output=True, text=True, check=False)
        verdict = "passed (within 0.01 of the card)" if done.returncode == 0 else "FAILED"
        return parse_all_rows(done.stdout), f"The test {verdict}."

    def sampled(self):
        """Acceptance at temperature 0.8 where the head draws with the noise of the choice, and where it does not."""
        text = ("## Acceptance at temperature 0.8\n\n"
                "Drafts accepted of those tested, `--temp 0.8 --seed 1`, over the same prompts as above. With the noise, the MTP "
                "head draws with the numbers that the choice of the token will be drawn with; without, it drafts its most "
                "probable token. The output is the same in both.\n\n")
        for name, model in self.models.items():
            text += f"### {name}\n\n" + self.source(
                f"build/verbatim generate -m {shown(model)} --ids IDS -n 160|64 --ignore-eos --json -q --spec mtp "
                f"--draft-tokens 3 --temp 0.8 --seed 1 --draft-noise on|off -t {self.machine.cpus}", model, self.machine.cpus)
            rows = []
            for kind, (count, tokens) in CARD_RUNS.items():
                self.note(f"{name}, acceptance at temperature 0.8, {count} {kind} prompts")
                prompts = load_prompts(model, {kind: count})
                arms = [[self.program.generate(model, prompt, tokens, self.machine.cpus, "mtp", "3",
                                               sampling=("--temp", "0.8", "--seed", "1"), noise=noise)[0]
                         for prompt in prompts] for noise in ("on", "off")]
                for position, ((hits, tested), (hits_off, tested_off)) in enumerate(zip(*map(by_position, arms))):
                    rows.append([kind, position + 1, f"{hits / tested:.4f} ({hits}/{tested})",
                                 f"{hits_off / tested_off:.4f} ({hits_off}/{tested_off})"])
            text += table(["prompts", "draft", "with the noise", "without"], rows) + "\n"
        return text

    def quantization(self):
        if "tiny-qwen35" not in self.models:
            return "## Quantization\n\nLeft out: the 16-bit tiny model is in neither VERBATIM_MODELS nor ../shared/models.\n\n"
        original = self.models["tiny-qwen35"]
        text = ("## Quantization: perplexity of the 16-bit tiny model in fewer bits\n\n"
                "exp of the mean negative log-probability of all tokens but each prompt's first, over the first 40 prose and 40 "
                "chat prompts of the model's `prompts.jsonl`. All matrices have the same width, the embedding (which is the "
                "output head too) among them; the repository's tiny-qwen35-4bit keeps that one in 8 bits. Size is that of "
                "model.safetensors.\n\n")
        text += self.source(f"build/verbatim quantize {shown(original)} OUT --bits BITS --group-size 64 -q && "
                            "build/verbatim score -m OUT --ids IDS --json -q", original, self.machine.cpus)
        prompts, base, rows = load_prompts(original, SCORED), None, []
        with tempfile.TemporaryDirectory() as folder:
            variants = [("bf16", original)] + [(f"{bits} bits", pathlib.Path(folder) / str(bits)) for bits in WIDTHS]
            variants += [(name, path) for name, path in self.models.items() if name == "tiny-qwen35-4bit"]
            for name, path in variants:
                self.note(f"perplexity of {name}")
                if path.parent == pathlib.Path(folder):
                    self.program.run("quantize", original, path, "--bits", path.name, "--group-size", "64", "-q")
                logprobs = {kind: [] for kind in KINDS}
                for prompt in prompts:
                    score = self.program.run_json("score", "-m", path, "--ids", ",".join(map(str, prompt.ids)), "--json", "-q")
                    logprobs[prompt.kind] += score["logprobs"]
                total = perplexity([p for kind in KINDS for p in logprobs[kind]])
                base = base or total
                rows.append([name, f"{(path / 'model.safetensors').stat().st_size / 1e6:.2f}", f"{total:.3f}", f"{total / base:.4f}",
                             *(f"{perplexity(logprobs[kind]):.3f}" for kind in KINDS)])
        count = sum(len(p.ids) - 1 for p in prompts)
        return text + f"{count} tokens.\n\n" + table(
            ["weights", "MB", "perplexity", "ratio to bf16", "prose", "chat"], rows) + "\n"

    def section(self, name):
        return f"<!-- section {name} -->\n\n{getattr(self, name)()}"

    def updated(self, sections, old):
        """An earlier report with these sections measured again, each with the commit and time that it names."""
        head, *rest = re.split(r"(?m)^(?=<!-- section )", old)
        texts = {re.match(r"<!-- section (\w+) -->", text)[1]: text for text in rest}
        texts |= {name: self.section(name).rstrip("\n") + "\n\n" for name in sections}
        return (head + "".join(texts[name] for name in SECTIONS if name in texts)).rstrip("\n") + "\n"

    def whole(self, sections):
        load = os.getloadavg()[0]
        text = (f"# {self.machine.name}\n\n<!-- Written by `make report` (tools/report.py). Measure again instead of editing. -->\n\n"
                f"The machine's load average was {load:.1f} before the first run.\n\n")
        text += "".join(self.section(name) for name in sections)
        if self.program.differences:
            text += f"**Outputs differ** in {self.program.differences} runs: exactness is broken, no figure above counts.\n"
        return text.rstrip("\n") + "\n"


def parse_all_rows(output):
    """The rates that acceptance_test prints, by model, kind and position."""
    rates, model = {}, None
    for line in output.splitlines():
        started = re.match(r"\[ RUN +\] Acceptance\.(\w+)", line)
        if started:
            model = CARD_TEST.get(started[1])
        match = TEST_LINE.match(line)
        if match and model:
            rates[model, match[1], int(match[2]) - 1] = match[3]
    return rates


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/verbatim")
    parser.add_argument("--out", type=pathlib.Path, help="default docs/benchmark_results/<cpu-slug>.md, or - with --only")
    parser.add_argument("--only", metavar="SECTION[,SECTION]", help=", ".join(SECTIONS))
    parser.add_argument("--update", action="store_true", help="with --only: measure these sections of the file again, keep the others")
    parser.add_argument("--positions", type=int, default=300_000, help="of the flip rate in exact mode")
    parser.add_argument("--greedy-positions", type=int, default=50_000, help="of the flip rate in greedy mode")
    parser.add_argument("--greedy-isa", default="AVX2", help="DNNL_MAX_CPU_ISA of the flip rate in greedy mode; may be empty")
    parser.add_argument("--flip-widths", default="2,4,8,16", help="of the flip rate's blocks")
    parser.add_argument("--models", default="tiny-qwen35-4bit,tiny-qwen35,nano-qwen35", help="names, comma-separated")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--shapes", default="0.8b:bf16,0.8b:q8,0.8b:q4", help="of the limits, SHAPE:FORMAT, comma-separated")
    parser.add_argument("--exactness-shapes", default="0.8b:bf16,0.8b:q4", help="of the cost of exactness, SHAPE:FORMAT")
    parser.add_argument("--rounds", type=int, default=5, help="of the limits and of the cost of exactness")
    parser.add_argument("--log", type=pathlib.Path, default=ROOT / "build/report_runs.jsonl")
    arguments = parser.parse_args()
    arguments.sections = arguments.only.split(",") if arguments.only else SECTIONS
    for section in arguments.sections:
        if section not in SECTIONS:
            parser.error(f"[--only] expected {', '.join(SECTIONS)}, received {section}")
    if arguments.pairs < 1 or arguments.tokens < 2 or arguments.rounds < 1:
        parser.error("[--pairs, --tokens, --rounds] expected at least 1 pair, 2 tokens and 1 round")
    return arguments


def main():
    arguments = parse_arguments()
    machine = read_machine(pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    out = arguments.out or (
        pathlib.Path("-") if arguments.only and not arguments.update else ROOT / "docs/benchmark_results" / f"{machine.slug}.md")
    try:
        arguments.log.parent.mkdir(parents=True, exist_ok=True)
        with open(arguments.log, "w", encoding="utf-8") as log:
            program = Program(arguments.binary, log)
            report = Report(program, machine, arguments)
            text = (report.updated(arguments.sections, out.read_text(encoding="utf-8")) if arguments.update
                    else report.whole(arguments.sections))
        if str(out) == "-":
            sys.stdout.write(text)
        else:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(text, encoding="utf-8")
            print(f"report: wrote {shown(out)}", file=sys.stderr)
    except (ReportError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 3 if program.differences else 0


if __name__ == "__main__":
    sys.exit(main())

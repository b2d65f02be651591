"""report.py's figures, and its exit code when outputs differ, with a stub binary. Not a measurement."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import report  # noqa: E402
import report_figures  # noqa: E402

# Speculative runs take half the time of classic ones. BREAK=ids|logits|target|kind spoils one thing.
STUB = """#!{python} -IS
import json, os, sys
broken = os.environ.get("BREAK", "")
target = os.environ.get("VERBATIM_TARGET", "avx2")
if sys.argv[1] == "version":
    print(json.dumps(dict(version="0", commit="abc", compiler="c", targets=["scalar", "avx2"], target=target,
                          profile="portable", profile_version=1)))
    sys.exit(0)
if sys.argv[1] in ("bench", "parity", "flips"):
    if broken == "bench":
        sys.stderr.write("[bench] expected one output from every arm, received two")
        sys.exit(3)
    print(f"### {sys.argv[1]} " + " ".join(sys.argv[2:]))
    sys.exit(0)
option = lambda name: sys.argv[sys.argv.index(name) + 1]
spec, count = option("--spec"), int(option("-n"))
ids, digest = [1] * count, "d"
if spec == "mtp":
    ids = [2] * count if broken == "ids" else ids
    digest = "e" if broken == "logits" else digest
if target == "scalar" and broken == "target":
    digest = "e"
at = [] if spec == "off" else [2, 1]
print(json.dumps(dict(
    token_ids=ids, logits_sha256=digest, contract=dict(reason="why"), model=dict(weight_bytes=1000),
    timings=dict(predicted_n=count, predicted_ms=(count - 1) * (2.0 if spec == "off" else 1.0)),
    numerics=dict(target=target),
    speculation=dict(kind="off" if broken == "kind" else spec, rounds=count - 1, accepted_at=at, tested_at=[2 * n for n in at]))))
"""

CPUINFO = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nmodel\t: 99\n"


class FiguresTest(unittest.TestCase):
    def test_slug(self):
        for arguments, slug in [
            (("AMD EPYC", "25", "17"), "amd-epyc-family-25-model-17"),
            (("Intel(R) Xeon(R) CPU @ 2.20GHz", "6", "79"), "intel-xeon-cpu-2-20ghz-family-6-model-79"),
            (("aarch64",), "aarch64"),
        ]:
            self.assertEqual(report_figures.slug_of(*arguments), slug)

    def test_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            for index, size in enumerate(("32K", "2M", "1024K")):
                (pathlib.Path(folder) / f"index{index}").mkdir()
                (pathlib.Path(folder) / f"index{index}/size").write_text(size + "\n")
            machine = report_figures.read_machine(CPUINFO, pathlib.Path(folder))
        self.assertEqual(machine.name, "AMD EPYC family 25 model 17")
        self.assertEqual(machine.slug, "amd-epyc-family-25-model-17")
        self.assertEqual(machine.flags, ["avx2", "avx512f"])
        self.assertEqual(machine.cache, 2 << 20)

    def test_median_of_pairs_is_not_the_ratio_of_medians(self):
        classic, other = [100, 200, 50], [150, 400, 300]
        self.assertEqual(report_figures.pair_ratios(classic, other), [1.5, 2.0, 6.0])
        self.assertEqual(report_figures.spread(report_figures.pair_ratios(classic, other), 2), "2.00 (1.50..6.00)")
        self.assertEqual(report_figures.spread(other, 0), "300 (150..400)")
        self.assertEqual(report_figures.spread([1, 2], 1), "1.5 (1.0..2.0)")  # even count: the mean of the middle two
        with self.assertRaises(ValueError):
            report_figures.pair_ratios([1], [1, 2])

    def test_rate_counts_tokens_after_the_first(self):
        results = [{"timings": {"predicted_n": 11, "predicted_ms": 10}}, {"timings": {"predicted_n": 21, "predicted_ms": 30}}]
        self.assertEqual(report_figures.rate(results), 750)

    def test_acceptance_by_position(self):
        stats = [{"accepted_at": [1, 0], "tested_at": [2, 1]}, {"accepted_at": [3, 2, 0], "tested_at": [4, 3, 0]}]
        self.assertEqual(report_figures.by_position([{"speculation": s} for s in stats]), [(4, 6), (2, 4)])

    def test_perplexity(self):
        self.assertAlmostEqual(report_figures.perplexity([-0.6931471805599453, -1.3862943611198906]), 8 ** 0.5)

    def test_all_rows_of_the_acceptance_test(self):
        output = ("[ RUN      ] Acceptance.NanoAgreesWithItsCard\n"
                  "prose draft 1: 0.9209 of all rows (card 0.9209), 0.9100 of those tested in decoding\n"
                  "[ RUN      ] Acceptance.Tiny16BitAgreesWithItsCard\n"
                  "chat draft 3: 0.7650 of all rows (card 0.7653), 0.7500 of those tested in decoding\n"
                  "[ RUN      ] Acceptance.Other\nchat draft 3: 0.1 of all rows\n")
        self.assertEqual(report.parse_all_rows(output),
                         {("nano-qwen35", "prose", 0): "0.9209", ("tiny-qwen35", "chat", 2): "0.7650"})


class ReportTest(unittest.TestCase):
    def run_report(self, broken, only="speed"):
        """(exit code, the written report or None, standard error)."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            stub = folder / "verbatim"
            stub.write_text(STUB.replace("{python}", sys.executable))
            stub.chmod(0o755)
            done = subprocess.run(
                [sys.executable, report.__file__, "--binary", stub, "--out", folder / "out/cpu.md", "--only", only,
                 "--models", "nano-qwen35", "--threads", "1", "--pairs", "1", "--tokens", "3", "--log", folder / "log.jsonl"],
                env=dict(os.environ, BREAK=broken), capture_output=True, text=True, check=False)
            out = folder / "out/cpu.md"
            for line in (folder / "log.jsonl").read_text().splitlines():
                self.assertIn("timings", json.loads(line))
            return done.returncode, out.read_text() if out.exists() else None, done.stderr

    def test_equal_outputs(self):
        code, text, errors = self.run_report("")
        self.assertEqual(code, 0, errors)
        self.assertIn("| prose | 1 | mtp 3 | 500 (500..500) | 1000 (1000..1000) | 2.00 (2.00..2.00) | 1.00 | 0.50 0.50 |", text)
        self.assertEqual(text.count("| ngram 3 |"), 2)
        self.assertRegex(text, r"sha256 of model\.safetensors [0-9a-f]{12}\n")
        self.assertNotIn("differ**", text)

    def test_unequal_ids_or_logits_give_no_ratio_and_exit_code_3(self):
        for broken in ("ids", "logits"):
            code, text, errors = self.run_report(broken)
            self.assertEqual(code, 3, errors)
            rows = [line for line in text.splitlines() if re.match(r"\| (prose|chat) ", line)]
            self.assertEqual(len(rows), 2 * len(report.ARMS))
            for row in rows:
                self.assertEqual(row.split(" | ")[5], "outputs differ" if " mtp " in row else "2.00 (2.00..2.00)")
            self.assertIn("**Outputs differ** in 40 runs", text)  # 5 MTP arms, 8 prompts

    def test_unequal_target_gives_exit_code_3(self):
        self.assertEqual(self.run_report("", "targets")[0], 0)
        code, text, _ = self.run_report("target", "targets")
        self.assertEqual(code, 3)
        self.assertIn("outputs differ |", text)

    def test_limits_are_the_tables_of_bench(self):
        code, text, errors = self.run_report("", "limits")
        self.assertEqual(code, 0, errors)
        for form in ("bf16", "q8", "q4"):
            self.assertIn(f"### bench --shape 0.8b --format {form} --rounds 5 --markdown -q\n", text)

    def test_exactness_compares_both_modes(self):
        code, text, errors = self.run_report("", "exactness")
        self.assertEqual(code, 0, errors)
        for form in ("bf16", "q4"):
            self.assertIn(f"### bench --shape 0.8b --format {form} --prompt-tokens 128 --decode-tokens 33 --against greedy "
                          "--rounds 5 --markdown -q\n", text)
        self.assertEqual(self.run_report("bench", "exactness")[0], 3)

    def test_unequal_arms_of_bench_give_exit_code_3(self):
        code, text, _ = self.run_report("bench", "limits")
        self.assertEqual(code, 3)
        self.assertIn("Outputs differ, so there are no figures: [bench]", text)
        self.assertIn("**Outputs differ** in 3 runs", text)

    def test_a_drafter_that_did_not_run_is_a_failure(self):
        code, text, errors = self.run_report("kind")
        self.assertEqual((code, text), (1, None))
        self.assertIn("[generate] expected --spec mtp, received why", errors)

    def test_contract_sections_are_what_parity_and_flips_print(self):
        code, text, errors = self.run_report("", "op_parity,chain_parity,flips")
        self.assertEqual(code, 0, errors)
        for line in ("### parity ops --target all --markdown -q", "### parity ops --contract greedy --ops linear --markdown -q",
                     "### parity chain -m models/nano-qwen35 --tokens 200 --markdown -q"):
            self.assertIn(line + "\n", text)
        self.assertLess(text.index("<!-- section op_parity -->"), text.index("<!-- section flips -->"))

    def test_update_keeps_the_other_sections(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            stub = folder / "verbatim"
            stub.write_text(STUB.replace("{python}", sys.executable))
            stub.chmod(0o755)
            out = folder / "cpu.md"
            out.write_text("# cpu\n\n<!-- section speed -->\n\n## Speed\n\nold speed\n\n<!-- section chain_parity -->\n\nold chain\n\n"
                           "<!-- section targets -->\n\nold targets\n")
            done = subprocess.run(
                [sys.executable, report.__file__, "--binary", stub, "--out", out, "--only", "chain_parity,op_parity", "--update",
                 "--models", "nano-qwen35", "--log", folder / "log.jsonl"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = out.read_text()
            self.assertNotIn("old chain", text)
            places = [text.index(part) for part in ("# cpu", "old speed", "### parity ops", "### parity chain", "old targets")]
            self.assertEqual(places, sorted(places))

    def test_usage(self):
        for arguments in (["--only", "sped"], ["--pairs", "0"], ["--frobnicate"]):
            done = subprocess.run([sys.executable, report.__file__, *arguments], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

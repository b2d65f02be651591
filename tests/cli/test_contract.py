"""Contract modes with a broken kernel: exact declines, strict refuses, and parity names the op. Not the kernels themselves."""

import json
import os
import subprocess
import unittest

import support

BREAKABLE = os.environ.get("VERBATIM_BREAKABLE", str(support.SOURCE / "build" / "release" / "tests" / "breakable" / "verbatim_breakable"))
OPS = ("embed", "rms_norm", "linear", "silu_mul", "rope_and_cache", "attention", "conv_and_gated_delta", "fold_records", "gated_norm")


def run(*arguments, planted="", timeout=support.WAIT):
    """The finished breakable program, with a break or without."""
    environment = support.environment(**({"VERBATIM_BREAK": planted} if planted else {}))
    return subprocess.run([BREAKABLE, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment, timeout=timeout, check=False)


def generate(*arguments, planted=""):
    return run("generate", "-m", support.NANO, "-p", support.PROMPT, "-n", 12, "--ignore-eos", "--spec", "ngram", *arguments,
               planted=planted)


class ContractTest(unittest.TestCase):
    def test_without_a_break_it_is_exact(self):
        done = generate("--json", "--contract", "strict")
        self.assertEqual(done.returncode, 0, done.stderr)
        contract = json.loads(done.stdout)["contract"]
        self.assertEqual((contract["mode"], contract["held"], contract["probe"]["verdict"]), ("strict", "exact", "equal"))
        self.assertGreater(contract["probe"]["outputs_compared"], 10000)

    def test_exact_declines_and_warns_even_if_quiet(self):
        done = generate("--json", "-q", planted="attention:ninth-row")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["contract"]["held"], "off")
        self.assertEqual(result["contract"]["probe"]["verdict"], "localized")
        self.assertEqual(result["contract"]["probe"]["op"], "attention")
        self.assertEqual(result["speculation"]["drafted"], 0)
        self.assertIn("warning: --contract exact can't be kept here", done.stderr)
        self.assertIn("attention", done.stderr)
        # Classic decode is the classic chain: single rows take no broken kernel.
        classic = json.loads(run("generate", "-m", support.NANO, "-p", support.PROMPT, "-n", 12, "--ignore-eos", "--json").stdout)
        self.assertEqual(result["token_ids"], classic["token_ids"])
        self.assertEqual(result["logits_sha256"], classic["logits_sha256"])

    def test_strict_refuses_with_exit_code_3(self):
        for planted in ("linear:rare", "best_logits", "fold_records"):
            with self.subTest(planted):
                done = generate("--contract", "strict", planted=planted)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, r"\[--contract strict\] expected blocks with the bytes of single rows, received localized: ")
                self.assertIn(planted.partition(":")[0], done.stderr)

    def test_a_wrong_break_is_refused(self):
        done = generate(planted="lineal")
        self.assertEqual(done.returncode, 2)
        self.assertIn("[VERBATIM_BREAK] expected one of embed, ", done.stderr)

    def test_the_program_of_users_has_no_breaks(self):
        done = support.run("generate", "-m", support.NANO, "-p", support.PROMPT, "-n", 2, "--contract", "strict",
                           env={"VERBATIM_BREAK": "linear"})
        self.assertEqual(done.returncode, 0, done.stderr)


class ParityChainTest(unittest.TestCase):
    def test_equal(self):
        done = run("parity", "chain", "-m", support.NANO, "--tokens", 24, "--seeds", 1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("16 rows  equal: accepted, mixed 1, rejected", done.stdout)
        self.assertIn("all equal, byte for byte", done.stdout)

    def test_every_break_is_named(self):
        for op in OPS:
            with self.subTest(op):
                done = run("parity", "chain", "-m", support.NANO, "--tokens", 16, "--seeds", 1, "--widths", "4", "--json",
                           planted=f"{op}:blocks:silent")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                cases = [case for case in json.loads(done.stdout)["cases"] if not case["equal"]]
                self.assertTrue(cases)
                self.assertEqual({case["divergence"]["op"]["name"] for case in cases}, {op})

    def test_text_says_tokens_gaps_and_bytes(self):
        done = run("parity", "chain", "-m", support.NANO, "--tokens", 16, "--widths", "12", planted="linear:ninth-row:silent")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stdout, r"first divergence: blocks of 12, drafts accepted, position 8 \(round 0, row 8\)\n"
                                      r"first op that differs: linear \S*layers\.0\.\S+, layer 0, row 8\n"
                                      r"token: chain \d+, block \d+ \((no )?flip\); gap to the second logit: chain [\d.e-]+, block [\d.e-]+\n"
                                      r"logits: \d+ of 4096 bytes differ, by [\d.e-]+ at most; hidden state: \d+ of 768 bytes")
        markdown = run("parity", "chain", "-m", support.NANO, "--tokens", 16, "--widths", "12", "--markdown",
                       planted="linear:ninth-row:silent").stdout
        self.assertIn("| rows | equal | diverges |", markdown)

    def test_bad_options(self):
        for arguments, named in ((("chain",), "--model"), (("chain", "-m", support.NANO, "--widths", "17"), "--widths"),
                                 (("chain", "-m", support.NANO, "--ops", "linear"), "--ops"),
                                 (("chain", "-m", support.NANO, "--target", "all"), "--target"),
                                 (("chain", "-m", support.NANO, "--json", "--markdown"), "--markdown"),
                                 (("chains",), "WHAT"), ((), "WHAT")):
            with self.subTest(arguments):
                done = run("parity", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"[{named}]", done.stderr)


if __name__ == "__main__":
    unittest.main()

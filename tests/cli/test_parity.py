"""`verbatim parity ops` from outside: tables, JSON, exit codes, planted breaks. Not parity chain (test_contract.py), nor bad values (test_usage.py)."""

import json
import unittest

import support
from test_contract import run as run_breakable

OPS = ("linear", "embed", "rms_norm", "gated_norm", "silu_mul", "rope_and_cache", "attention", "conv_and_gated_delta",
       "best_logits", "log_softmax", "sampler")
NANO = ("-m", support.NANO, "-q", "-t", 1)


class EqualTest(unittest.TestCase):
    def test_every_op_of_a_model_is_equal(self):
        report = support.run_json("parity", "ops", *NANO, "--seeds", 1, "--widths", "1-3,9,32")
        self.assertTrue(report["holds"])
        self.assertEqual(report["widths"], [1, 2, 3, 9, 32])
        self.assertEqual({case["op"] for case in report["cases"]}, set(OPS))
        self.assertEqual(report["comparisons"], sum(w["comparisons"] for c in report["cases"] for w in c["widths"]))
        for case in report["cases"]:
            self.assertEqual([width["width"] for width in case["widths"]], report["widths"])
            for width in case["widths"]:
                self.assertEqual((width["verdict"], width["max_ulp"], width["same_route"]), ("equal", 0, True))
                self.assertEqual(width["differing_row_bytes"], [0] * width["width"])
                self.assertRegex(width["block"]["sha256"], r"^[0-9a-f]{64}$")
                self.assertEqual(width["block"]["sha256"], width["single"]["sha256"])
                for arm in ("block", "single"):
                    self.assertEqual(width[arm]["routes"] == [], case["target"] == "host")
        # State was compared where an op leaves any.
        stateful = {case["op"] for case in report["cases"] if case["widths"][0]["state_bytes"]}
        self.assertEqual(stateful, {"rope_and_cache", "conv_and_gated_delta"})

    def test_every_target(self):
        report = support.run_json("parity", "ops", *NANO, "--seeds", 1, "--widths", "2,9", "--target", "all")
        self.assertEqual(report["targets"], support.run_json("version")["targets"])
        self.assertTrue(report["holds"])
        self.assertEqual({case["target"] for case in report["cases"]}, {*report["targets"], "host"})

    def test_tables(self):
        quick = (*NANO, "--seeds", 1, "--widths", "1-4", "--ops", "linear,attention")
        text = support.run("parity", "ops", *quick).stdout.decode()
        self.assertIn("T = 1-4, 1 seed, contract exact, 1 thread", text)
        self.assertRegex(text, r"(?m)^  attention .* 1-4 equal +0 of \d+ +0 +attention \(chunks-256, split 256\)$")
        self.assertRegex(text, r"all equal\n$")
        markdown = support.run("parity", "ops", *quick, "--markdown").stdout.decode()
        tables = [line for line in markdown.splitlines() if line.startswith("|")]
        self.assertGreater(len(tables), 3)
        self.assertEqual(len({line.count("|") for line in tables}), 1)
        whole = support.run("parity", "ops", "-m", support.NANO, "-t", 1, "-v", "--seeds", 1, "--widths", "4", "--ops", "rms_norm")
        self.assertRegex(whole.stdout.decode(), r"(?m)^  rms_norm .* [0-9a-f]{16}$")


class BrokenTest(unittest.TestCase):
    def broken(self, planted, *arguments):
        done = run_breakable("parity", "ops", *NANO, "--json", *arguments, planted=planted)
        self.assertEqual(done.returncode, 3, done.stdout[:2000] + done.stderr)
        report = json.loads(done.stdout)
        self.assertFalse(report["holds"])
        return [case for case in report["cases"] if not case["equal"]]

    def test_every_op_is_named(self):
        for op in ("embed", "rms_norm", "linear", "silu_mul", "rope_and_cache", "attention", "conv_and_gated_delta",
                   "fold_records", "gated_norm", "best_logits"):
            with self.subTest(op):
                cases = self.broken(f"{op}:silent", "--seeds", 2, "--widths", "1-12")
                named = "conv_and_gated_delta" if op == "fold_records" else op
                self.assertEqual({case["op"] for case in cases}, {named})
                for case in cases:
                    self.assertEqual(case["widths"][0]["verdict"], "equal")  # one row against one row
                    self.assertEqual(case["widths"][-1]["verdict"], "differs")

    def test_the_width_and_the_ulp_are_said(self):
        for case in self.broken("rms_norm:ninth-row:silent", "--seeds", 1, "--widths", "1-12"):
            self.assertEqual(case["outcome"], "1-8 equal; 9-12 differs")
            width = case["widths"][8]
            self.assertEqual(width["max_ulp"], 1)
            self.assertEqual([r for r, differing in enumerate(width["differing_row_bytes"]) if differing], [8])
            self.assertNotEqual(width["block"]["sha256"], width["single"]["sha256"])
            self.assertRegex(width["first"]["place"], r"^row 8, value \d+$")
        text = run_breakable("parity", "ops", *NANO, "--seeds", 1, "--widths", "1-12", planted="rms_norm:ninth-row:silent")
        self.assertEqual(text.returncode, 3)
        self.assertRegex(text.stdout, r"T = 9: 1 of 9 rows differ, row 8 most with \d+ of \d+ bytes; 1 ulp at most\n"
                                      r"  first: seed 0, row 8, value \d+: block \S+ \(0x[0-9a-f]{8}\), single ")

    def test_another_kernel_is_a_divergence_whatever_its_bytes(self):
        """Sizes that no input has: the record alone tells."""
        for case in self.broken("silu_mul:positions", "--seeds", 1, "--widths", "1,2,16", "--ops", "silu_mul"):
            self.assertFalse(case["widths"][1]["same_route"])
            self.assertEqual(case["widths"][1]["block"]["routes"][0]["family"], "broken")

    def test_rare_and_large(self):
        for where in ("rare", "sizes"):
            with self.subTest(where):
                cases = self.broken(f"linear:{where}:silent", "--seeds", 3, "--widths", "2,16,32", "--ops", "linear")
                self.assertEqual({case["op"] for case in cases}, {"linear"})

    def test_odd_groups(self):
        """No published model has such a matrix; the default run has."""
        done = run_breakable("parity", "ops", "-q", "-t", 1, "--json", "--seeds", 1, "--widths", "2", "--ops", "linear",
                             planted="linear:odd-groups:silent")
        self.assertEqual(done.returncode, 3, done.stderr)
        cases = json.loads(done.stdout)["cases"]
        self.assertEqual({case["model"] for case in cases if not case["equal"]}, {"odd ones"})
        self.assertLessEqual({"affine 4-bit g64", "affine 4-bit g32", "affine 4-bit g128", "bf16"},
                             {case["format"] for case in cases if not case["equal"]})
        self.assertLessEqual({"Qwen3.5 27B", "Qwen3.5 0.8B", "Gemma 4 12B", "Gemma 4 31B"}, {case["model"] for case in cases})

    def test_greedy_asserts_no_linear(self):
        arguments = ("parity", "ops", *NANO, "--seeds", 1, "--widths", "2,16", "--contract", "greedy")
        done = run_breakable(*arguments, "--ops", "linear", "--json", planted="linear:silent")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(all(not case["asserted"] and not case["equal"] for case in report["cases"]))
        self.assertEqual(run_breakable(*arguments, "--ops", "rms_norm", planted="rms_norm:silent").returncode, 3)


class GreedyTest(unittest.TestCase):
    def test_a_vendor_s_products_differ_or_nobody_knows_their_order(self):
        report = support.run_json("parity", "ops", *NANO, "--seeds", 1, "--widths", "2,16,32", "--contract", "greedy", "--ops",
                                  "linear,rms_norm")
        self.assertTrue(report["holds"])
        routes = [width["block"]["routes"][0] for case in report["cases"] if case["op"] == "linear" for width in case["widths"]]
        vendor = [route for route in routes if route["order"] == "unknown"]
        self.assertIn(len(vendor), (0, len(routes)), "all linears are the vendor's, or the build has none")
        for case in report["cases"]:
            self.assertEqual(case["asserted"], case["op"] != "linear")
            if case["op"] == "linear":
                self.assertEqual(case["equal"], not vendor)


class ErrorTest(unittest.TestCase):
    def test_a_target_that_the_processor_lacks(self):
        missing = "neon" if "avx2" in support.run_json("version")["targets"] else "avx2"
        done = support.run("parity", "ops", *NANO, "--target", missing)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, b"")

    def test_a_missing_model(self):
        done = support.run("parity", "ops", "-m", "/nowhere/at/all")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, b"")


if __name__ == "__main__":
    unittest.main()

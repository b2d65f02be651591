"""The verb bench from outside: tables, JSON, temporary folders, signals, bad values. Nothing about speed."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from support import BINARY, NANO, WAIT, environment, run, run_json

QUICK = ("--rounds", 1, "--prompt-tokens", 16, "--decode-tokens", 17, "-t", 1)


class BenchTest(unittest.TestCase):
    def test_json_has_every_arm_with_its_limit(self):
        report = run_json("bench", "-m", NANO, *QUICK)
        self.assertTrue(report["outputs_equal"])
        self.assertEqual(len(report["rows"]), 16)
        for timed in [report["prefill"], *report["rows"], *(d["per_token"] for d in report["decode"].values())]:
            self.assertGreater(timed["ms"]["median"], 0)
            self.assertAlmostEqual(timed["limit_ms"], max(timed["memory_limit_ms"], timed["compute_limit_ms"]))
            bound = "memory" if timed["memory_limit_ms"] > timed["compute_limit_ms"] else "compute"
            self.assertEqual(timed["bound_by"], bound)
            self.assertAlmostEqual(timed["of_limit"], timed["limit_ms"] / timed["ms"]["median"])
        self.assertEqual(set(report["decode"]), {"classic", "mtp", "perfect_drafter_upper_bound"})
        # A step reads every layer and the head, and one row of the embedding.
        self.assertGreater(report["rows"][0]["bytes"], report["model"]["weight_bytes"])
        self.assertLess(report["rows"][0]["bytes"], report["model"]["weight_bytes"] + 4096)
        parts = [part["part"] for part in report["drafter"]["parts"]]
        self.assertIn("join (mtp.fc)", parts)
        self.assertGreater(report["machine"]["memory"]["bytes_per_second"]["median"], 0)

    def test_text_and_markdown_say_the_same(self):
        text = run("bench", "-m", NANO, *QUICK).stdout.decode()
        markdown = run("bench", "-m", NANO, "--markdown", *QUICK).stdout.decode()
        for line in ("Machine", "Steps", "Decode", "A classic step by part", "A block of 8 rows by part", "The drafter's step by part"):
            self.assertIn(f"\n{line}\n", text)
            self.assertIn(f"\n#### {line}\n", markdown)
        self.assertIn("upper bound: perfect drafter, 3 drafts", text)
        self.assertIn("16 rows", text)
        tables = [line for line in markdown.splitlines() if line.startswith("|")]
        self.assertTrue(all(line.endswith("|") for line in tables))

    def test_against_greedy_reports_both_modes(self):
        done = run("bench", "-m", NANO, "--against", "greedy", "--json", *QUICK)
        if done.returncode != 0:  # a build without oneDNN
            self.assertIn("oneDNN", done.stderr.decode())
            self.skipTest(done.stderr.decode())
        report = json.loads(done.stdout)
        self.assertEqual(list(report["modes"]), ["exact", "greedy"])
        self.assertTrue(report["modes"]["exact"]["mtp_against_classic"]["equal_logits"])
        self.assertTrue(report["modes"]["greedy"]["numerics"].startswith("onednn."))
        for key in ("prefill", "classic", "mtp"):
            self.assertGreater(report["cost_of_exactness"][key]["median"], 0)
        markdown = run("bench", "-m", NANO, "--against", "greedy", "--markdown", *QUICK).stdout.decode()
        self.assertIn("\n#### Cost of exactness\n", markdown)
        self.assertIn("| classic decode, tokens/s |", markdown)

    def test_target_is_that_of_the_environment(self):
        report = run_json("bench", "-m", NANO, *QUICK, env={"VERBATIM_TARGET": "scalar"})
        self.assertEqual(report["model"]["target"], "scalar")

    def test_bad_values(self):
        for arguments, words in [
            ((), "either --model or --shape"),
            (("-m", NANO, "--shape", "0.8b"), "either --model or --shape"),
            (("-m", NANO, "--format", "q4"), "--shape beside it"),
            (("-m", NANO, "--write", "x"), "--shape beside it"),
            (("--shape", "1b"), "--shape"),
            (("--shape", "0.8b", "--format", "q7"), "--format"),
            (("-m", NANO, "--rounds", 0), "--rounds"),
            (("-m", NANO, "--rounds", "3x"), "--rounds"),
            (("-m", NANO, "--decode-tokens", 16), "--decode-tokens"),
            (("-m", NANO, "--prompt-tokens", 0), "--prompt-tokens"),
            (("-m", NANO, "--draft-tokens", "auto"), "--draft-tokens"),
            (("-m", NANO, "--json", "--markdown"), "--markdown"),
            (("-m", NANO, "--against", "exact"), "--against"),
            (("-m", NANO, "--prompt-tokens", 9000), "context"),  # beyond nano's 8192
        ]:
            done = run("bench", *arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr.decode())
            self.assertEqual(done.stdout, b"")

    def test_a_missing_model_is_an_error(self):
        done = run("bench", "-m", "/nowhere/at/all")
        self.assertNotIn(done.returncode, (0, 3))
        self.assertEqual(done.stdout, b"")


class ShapeTest(unittest.TestCase):
    def test_a_signal_leaves_no_temporary_folder(self):
        """At once, while the checkpoint is written and while it is loaded or measured."""
        codes = []
        for delay in (0.05, 0.5, 2.0):
            with tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen(
                    [BINARY, "bench", "--shape", "0.8b", "--format", "q2", "-q", "-t", "1"], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, env=environment(TMPDIR=folder))
                time.sleep(delay)
                process.send_signal(signal.SIGINT)
                output, error = process.communicate(timeout=2 * WAIT)
                # The bare signal: it had not yet begun, on a slow machine.
                self.assertIn(process.returncode, (130, -signal.SIGINT), error)
                codes.append(process.returncode)
                self.assertEqual(output, b"")
                self.assertEqual(os.listdir(folder), [])
        self.assertIn(130, codes)

    def test_a_temporary_folder_that_is_not_there(self):
        done = run("bench", "--shape", "0.8b", "--format", "q2", env={"TMPDIR": "/nowhere/at/all"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected", done.stderr.decode())

    def test_write_refuses_an_existing_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("bench", "--shape", "0.8b", "--write", folder)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(os.listdir(folder), [])

    def test_write_makes_what_inspect_reads(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "made"
            self.assertEqual(run("bench", "--shape", "0.8b", "--format", "q2", "--write", target, "-q").returncode, 0)
            self.assertEqual(sorted(os.listdir(target)), ["config.json", "model.safetensors", "tokenizer.json"])
            text = json.loads((target / "config.json").read_text())["text_config"]
            self.assertEqual((text["hidden_size"], text["vocab_size"]), (1024, 248320))
            run_json("inspect", target)


if __name__ == "__main__":
    unittest.main()

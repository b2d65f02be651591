"""`verbatim flips -m`: report in every form, the bound, exit codes, prompts, signals. Not the servers."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

from test_contract import run as run_breakable
from support import BINARY, NANO, WAIT, environment, run, run_json
from terminal_session import TerminalSession

QUICK = ("-m", NANO, "--positions", 600, "-n", 12, "--widths", "3,16", "-t", 1)


class FlipsTest(unittest.TestCase):
    def test_exact_has_none_and_says_the_bound(self):
        report = run_json("flips", *QUICK)
        self.assertFalse(report["any_difference"])
        forced = report["teacher_forced"]
        self.assertEqual((forced["positions"], forced["comparisons"]), (600, 1200))
        self.assertEqual([width["width"] for width in forced["widths"]], [3, 16])
        for width in forced["widths"]:
            self.assertEqual((width["flips"]["events"], width["byte_differences"]), (0, 0))
            self.assertAlmostEqual(width["flips"]["upper_bound_3_over_n"], 3 / 600)
        self.assertEqual(sum(bin["count"] for bin in forced["gaps"]), 600)
        running = report["free_running"]
        self.assertEqual((running["prompts"], running["speculation"]), (28, "mtp"))
        for width in running["widths"]:
            self.assertEqual(width["divergences_per_token"]["events"], 0)
            self.assertGreater(width["drafted"], 0)

    def test_text_and_markdown_say_the_same(self):
        text = run("flips", *QUICK)
        markdown = run("flips", *QUICK, "--markdown").stdout.decode()
        self.assertEqual(text.returncode, 0, text.stderr)
        for words in ("0 of 600", "at most 0.5 %", "equal in all 1,200 comparisons"):
            self.assertIn(words, text.stdout.decode())
            self.assertIn(words, markdown)
        tables = [line for line in markdown.splitlines() if line.startswith("|")]
        self.assertGreater(len(tables), 6)
        self.assertTrue(all(line.endswith("|") for line in tables))

    def test_html_is_one_page_that_loads_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "flips.html"
            self.assertEqual(run("flips", *QUICK, "--html", path).returncode, 0)
            html = path.read_text()
            self.assertEqual(os.listdir(folder), ["flips.html"])
        self.assertNotRegex(html, r"https?:|src=|@import|url\(|<script|<link")
        svgs = re.findall(r"<svg.*?</svg>", html, re.S)
        self.assertEqual(len(svgs), 3)
        for svg in svgs:
            xml.etree.ElementTree.fromstring(svg)
        self.assertIn("0 of 600", html)
        self.assertIn("prefers-color-scheme:dark", html)
        self.assertIn("width=device-width", html)

    def test_a_page_that_can_not_be_written(self):
        done = run("flips", *QUICK, "--html", "/nowhere/at/all/x.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/at/all/x.html", done.stderr.decode())
        self.assertEqual(done.stdout, b"")

    def test_prompts_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.txt"
            path.write_text("--- first\nOnce upon a time there was\n--- second\nThe end came\n")
            report = run_json("flips", *QUICK, "--prompts", path)
            self.assertEqual(report["prompts"], 2)
            self.assertEqual(report["teacher_forced"]["prompts"], 2)
            path.write_text("---\n---\n")
            done = run("flips", *QUICK, "--prompts", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn("p.txt", done.stderr.decode())

    def test_parts_can_be_left_out(self):
        self.assertNotIn("teacher_forced", run_json("flips", "-m", NANO, "--positions", 0, "-n", 4, "--widths", "3", "-t", 1, "--spec", "replay"))
        self.assertNotIn("free_running", run_json("flips", "-m", NANO, "--positions", 600, "-n", 0, "--widths", "3", "-t", 1))

    def test_strict_is_held_too(self):
        report = run_json("flips", "-m", NANO, "--positions", 600, "-n", 0, "--widths", "3", "-t", 1, "--contract", "strict")
        self.assertEqual(report["contract"]["mode"], "strict")
        self.assertFalse(report["any_difference"])

    def test_bad_values(self):
        for arguments, words in [
            ((), "either --model or"),
            (("-m", NANO, "--widths", "1"), "--widths"),
            (("-m", NANO, "--widths", "2,17"), "--widths"),
            (("-m", NANO, "--widths", "4,2"), "--widths"),
            (("-m", NANO, "--widths", "2,"), "--widths"),
            (("-m", NANO, "--contract", "off"), "--contract"),
            (("-m", NANO, "--positions", 1), "--positions"),
            (("-m", NANO, "--positions", 0, "-n", 0), "--positions"),
            (("-m", NANO, "--json", "--markdown"), "--markdown"),
            (("-m", NANO, "--spec", "replay", "--draft-model", NANO), "--draft-model"),
            (("-m", NANO, "-n", 9000), "context"),  # beyond nano's 8192
        ]:
            done = run("flips", *arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr.decode())
            self.assertEqual(done.stdout, b"")

    def test_an_interrupt_ends_it_without_a_report(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [BINARY, "flips", "-m", NANO, "--positions", "1000000", "-q", "--html", folder + "/x.html"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            output, error = process.communicate(timeout=WAIT)
            self.assertEqual((process.returncode, output), (130, b""), error)
            self.assertEqual(os.listdir(folder), [])

    def test_a_person_sees_the_remaining_time(self):
        with TerminalSession([BINARY, "flips", "-m", NANO, "--positions", "100000"]) as session:
            session.expect("sampling texts")
            session.expect(" left")
            session.type("\x03")
            self.assertEqual(session.wait(), 130)


class PlantedBreakTest(unittest.TestCase):
    """A kernel with another order for several rows: the negative control of all of the above."""

    def test_exact_finds_it_and_strict_does_not_start(self):
        done = run_breakable("flips", *QUICK, "--json", planted="linear:silent")
        self.assertEqual(done.returncode, 3, done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report["any_difference"])
        for width in report["teacher_forced"]["widths"]:
            self.assertGreater(width["byte_differences"], 0)
        self.assertEqual(run_breakable("flips", *QUICK, "--contract", "strict", planted="linear").returncode, 3)

    def test_greedy_reports_it(self):
        done = run_breakable("flips", *QUICK, "--contract", "greedy", "--json", planted="linear:silent")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertGreater(report["teacher_forced"]["gap_change"]["p99"], 0)
        self.assertEqual(sum(width["state_bugs"] for width in report["teacher_forced"]["widths"]), 0)


if __name__ == "__main__":
    unittest.main()

"""`verbatim flips --baseline --candidate` against stub servers: rate, noise, empty answers, faults. Nothing local."""

import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from stub_server import Model, StubServer
from support import BINARY, WAIT, environment, run

DRAFTS = {"draft_n": 30, "draft_n_accepted": 20}


class PromptFile:
    """Many short prompts, so that there is something to estimate from."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name) / "prompts.jsonl"
        path.write_text("".join(json.dumps({"text": f"prompt {i}"}) + "\n" for i in range(self.count)))
        return str(path)

    def __exit__(self, *_):
        self.folder.cleanup()


def measure(baseline, candidate, *arguments, prompts=40, tokens=50):
    """The report, and the finished process."""
    with PromptFile(prompts) as path:
        done = run("flips", "--baseline", baseline.url, "--candidate", candidate.url, "--prompts", path, "-n", tokens,
                   "--json", *arguments)
    return (json.loads(done.stdout) if done.stdout else None), done


class RateTest(unittest.TestCase):
    def test_the_interval_has_the_true_rate(self):
        """At three rates and in every dialect."""
        for rate, dialect, unit in [(0.005, "llama", "token ids"), (0.02, "vllm", "token ids"),
                                    (0.08, "text", "characters")]:
            with StubServer(dialect=dialect) as a, StubServer(Model(rate, "s"), dialect, drafts=DRAFTS) as b:
                report, done = measure(a, b)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(report["compared"], 40)
            self.assertEqual(report["compared_by"][unit], 40)
            found = report["divergences_per_token"]
            self.assertLess(found["low"], rate, (rate, found))
            self.assertGreater(found["high"], rate, (rate, found))
            self.assertGreater(found["events"], 3)
            self.assertTrue(all(arm["repeats_itself"] for arm in report["arms"]))

    def test_equal_servers_are_reported_with_a_bound(self):
        with StubServer() as a, StubServer(drafts=DRAFTS) as b:
            report, _ = measure(a, b)
            text = run("flips", "--baseline", a.url, "--candidate", b.url + "/v1/", "-n", 8).stdout.decode()
        found = report["divergences_per_token"]
        self.assertEqual(found["events"], 0)
        self.assertAlmostEqual(found["upper_bound_3_over_n"], 3 / (40 * 50))
        self.assertEqual(report["survival"], [])
        self.assertIn("at most", text)
        self.assertIn("0 of 28", text)

    def test_speculation_is_looked_for(self):
        with StubServer() as a, StubServer(drafts=DRAFTS) as b:
            report, _ = measure(a, b, prompts=3)
            self.assertEqual([arm["speculation"]["verdict"] for arm in report["arms"]], ["none", "ran"])
            self.assertEqual(report["arms"][1]["speculation"]["drafted"], 30 * 6)
            text = run("flips", "--baseline", b.url, "--candidate", a.url, "-n", 4).stdout.decode()
        self.assertIn("The candidate did not speculate", text)
        self.assertIn("The baseline speculates too", text)

    def test_gaps_of_flips(self):
        with StubServer() as a, StubServer(Model(0.02, "s"), drafts=DRAFTS) as b:
            report, _ = measure(a, b)
        # Equal log-probabilities but for the flips: they are no rounding.
        self.assertEqual(report["rounding_limit"], 0)
        self.assertTrue(all(flip["large_gap"] for flip in report["flips"]))
        self.assertEqual(sum(bin["count"] for bin in report["gaps_at_flips"]), len(report["flips"]))

    def test_reasoning_is_compared(self):
        with StubServer(dialect="text", reasoning=True) as a, \
                StubServer(Model(0.05, "s"), "text", reasoning=True) as b:
            report, _ = measure(a, b, "--endpoint", "chat")
        self.assertEqual({flip["channel"] for flip in report["flips"]}, {"reasoning", "text"})


class NoiseTest(unittest.TestCase):
    def test_the_arm_that_does_not_repeat_itself_is_named(self):
        count = itertools.count()
        noisy = StubServer(lambda: Model(0.05, next(count)), drafts=DRAFTS)
        with StubServer() as a, noisy as b:
            report, _ = measure(a, b)
            text = run("flips", "--baseline", a.url, "--candidate", b.url, "-n", 60).stdout.decode()
        self.assertEqual([arm["repeats_itself"] for arm in report["arms"]], [True, False])
        self.assertGreater(report["arms"][1]["prompts_not_repeated"]["events"], 20)
        self.assertTrue(any(not flip["arms_repeat"] for flip in report["flips"]))
        self.assertIn("The candidate does not repeat itself", text)
        self.assertIn("The baseline repeats itself", text)

    def test_empty_answers_are_no_agreement(self):
        with StubServer(broken="empty") as a, StubServer(broken="empty") as b:
            report, done = measure(a, b, prompts=5)
        self.assertEqual(done.returncode, 1)
        self.assertEqual((report["compared"], report["no_data"]), (0, 5))
        self.assertEqual(report["arms"][0]["empty"], 5)
        self.assertIn("answers to compare", done.stderr.decode())

    def test_one_empty_arm(self):
        with StubServer() as a, StubServer(broken="empty") as b:
            report, done = measure(a, b, prompts=5)
        self.assertEqual((done.returncode, report["compared"], report["no_data"]), (1, 0, 5))


class FaultsTest(unittest.TestCase):
    def fault(self, baseline, candidate, *arguments):
        done = run("flips", "--baseline", baseline, "--candidate", candidate, "-n", 4, *arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(len(done.stderr.decode().splitlines()), 1, done.stderr)
        return done.stderr.decode()

    def test_each_bad_server_is_one_sentence(self):
        with StubServer() as good:
            for broken, words in [("json", "an answer in JSON"), ("status", "status 500: out of memory"),
                                  ("cut", "partial message"), ("slow", "within 1 s")]:
                with StubServer(broken=broken) as bad:
                    message = self.fault(good.url, bad.url, "--timeout", 1)
                    self.assertIn(words, message)
                    self.assertIn("candidate", message)
                    self.assertIn("baseline", self.fault(bad.url, good.url, "--timeout", 1))

    def test_nobody_there(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, but not listening
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            self.assertIn("refused", self.fault(url, url).lower())
        self.assertIn("[baseline]", self.fault("http://no-such-host.invalid", "http://127.0.0.1:1"))

    def test_https_to_a_server_without(self):
        with StubServer() as good:
            self.assertIn("https://", self.fault(good.url.replace("http", "https"), good.url))

    def test_no_http_at_all(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            process = subprocess.Popen([BINARY, "flips", "--baseline", url, "--candidate", url], stderr=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=environment())
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"220 mail.example.org ESMTP\r\n")
            connection.close()
            _, error = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"an HTTP server that answers", error)

    def test_a_server_that_dies_leaves_a_report(self):
        with StubServer() as a, StubServer(dies_after=10) as b:
            report, done = measure(a, b, prompts=30)
        self.assertEqual(done.returncode, 1)
        self.assertGreaterEqual(report["compared"], 3)
        self.assertEqual(report["arms"][1]["failed"], 3)
        self.assertEqual(report["compared"] + report["no_data"] + report["not_asked"], 30)
        self.assertIn("candidate", done.stderr.decode())

    def test_the_key_is_sent(self):
        with StubServer(key="secret") as a, StubServer(key="secret", drafts=DRAFTS) as b:
            self.assertIn("--api-key", self.fault(a.url, b.url))
            report, done = measure(a, b, "--api-key", "secret", prompts=2)
            self.assertEqual((done.returncode, report["compared"]), (0, 2))
            self.assertEqual(a.requests[-1][1]["model"], "stub-1")
            self.assertEqual(a.requests[-1][1]["temperature"], 0)

    def test_an_interrupt_ends_it(self):
        with StubServer(broken="slow") as slow:
            process = subprocess.Popen([BINARY, "flips", "--baseline", slow.url, "--candidate", slow.url],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            time.sleep(0.7)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=WAIT)
            self.assertEqual((process.returncode, output), (130, b""))
            self.assertLess(time.monotonic() - start, 2)  # not after the answer that never comes

    def test_bad_values(self):
        for arguments, words in [
            (("--baseline", "http://h"), "--candidate"),
            (("--candidate", "http://h"), "--baseline"),
            (("--baseline", "ftp://h", "--candidate", "http://h"), "--baseline"),
            (("--baseline", "http://127.0.0.1:1", "--candidate", "http://h", "-m", "x"), "either"),
            (("--baseline", "http://h", "--candidate", "http://h", "--widths", "2"), "--widths"),
            (("--baseline", "http://h", "--candidate", "http://h", "-n", 0), "--tokens"),
            (("--baseline", "http://h", "--candidate", "http://h", "--timeout", 0), "--timeout"),
            (("-m", "x", "--api-key", "k"), "--api-key"),
        ]:
            done = run("flips", *arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertIn(words, done.stderr.decode())
            self.assertEqual(done.stdout, b"")


if __name__ == "__main__":
    unittest.main()

"""`verbatim bench serve` against stub servers: what is asked, when, what is counted, and when ratios are refused."""

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

DRAFTS = {"draft_n": 20, "draft_n_accepted": 13}


def bench(server, *arguments, code=0):
    done = run("bench", "serve", getattr(server, "url", server), "--json", *arguments)
    if done.returncode != code:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}{done.stdout.decode()}")
    return json.loads(done.stdout)


class LoadTest(unittest.TestCase):
    def test_one_at_a_time(self):
        with StubServer() as server:
            report = bench(server, "--requests", 5, "-n", 10)
            self.assertEqual(server.most_running, 1)
        (arm,) = report["arms"]
        self.assertEqual((arm["requests"], arm["succeeded"], arm["errors"]), (5, 5, {}))
        self.assertEqual(arm["completion_tokens"], 50)
        self.assertEqual(arm["tokens_per_event"]["mean"], 2.5)  # four events of ten tokens, three in each but the last
        self.assertEqual(arm["inter_event_ms"]["n"], 15)
        self.assertEqual((arm["cached_tokens"], arm["prompt_tokens"]), (25, 100))
        self.assertIsNone(arm["drafts"])
        self.assertIsNone(arm["goodput"])
        self.assertNotIn("comparison", report)

    def test_many_at_a_time(self):
        with StubServer() as server:
            server.token_s = 0.1
            arm = bench(server, "--requests", 96, "--concurrency", 64, "-n", 12)["arms"][0]
            self.assertEqual(arm["succeeded"], 96)
            self.assertLessEqual(server.most_running, 64)
            self.assertGreater(server.most_running, 32)

    def test_times_are_those_of_the_server(self):
        with StubServer() as server:
            server.token_s, server.bundle = 0.02, 5
            arm = bench(server, "--requests", 4, "-n", 20)["arms"][0]
        self.assertGreaterEqual(arm["ttft_ms"]["p50"], 100)  # five tokens, then the first event
        self.assertGreaterEqual(arm["inter_event_ms"]["p50"], 95)
        self.assertAlmostEqual(arm["tpot_ms"]["p50"], 3 * arm["inter_event_ms"]["mean"] / 19, delta=2)
        self.assertGreaterEqual(arm["e2e_ms"]["p50"], 400)
        self.assertLessEqual(arm["tokens_per_s"], 50)

    def test_poisson_arrivals_are_the_same_trace_each_time(self):
        asked = []
        for _ in range(2):
            with StubServer() as server:
                bench(server, "--requests", 30, "--rate", 300, "-n", 2, "--seed", 3, "--shared-prefix", 0.5, "--prefix-words",
                      8)
                # Arrivals may be received in another order, when they are as close as these.
                asked.append(sorted(json.dumps(body) for _, body in server.requests))
        self.assertEqual(asked[0], asked[1])
        shared = sum('"system"' in body for body in asked[0])
        self.assertGreater(shared, 5)
        self.assertLess(shared, 25)

    def test_a_duration_ends_it(self):
        with StubServer() as server:
            server.token_s = 0.01
            arm = bench(server, "--duration", 0.5, "--concurrency", 2, "-n", 5)["arms"][0]
        self.assertGreater(arm["succeeded"], 2)
        self.assertEqual(arm["requests"], arm["succeeded"])
        self.assertLess(arm["elapsed_s"], 5)

    def test_goodput(self):
        with StubServer() as server:
            self.assertEqual(bench(server, "--requests", 3, "--slo", "ttft:60000,tpot:60000")["arms"][0]["goodput"]["requests"],
                             3)
            server.token_s = 0.01
            self.assertEqual(bench(server, "--requests", 3, "--slo", "tpot:0.01")["arms"][0]["goodput"]["requests"], 0)

    def test_completions_and_fields(self):
        with StubServer() as server:
            bench(server, "--requests", 1, "--endpoint", "completions", "--set", "temperature=0.5", "--set", "stop=[\"x\"]",
                  "--set", "contract=strict", "--model-name", "m")
            path, body = server.requests[0]
        self.assertEqual(path, "/v1/completions")
        self.assertIsInstance(body.pop("prompt"), str)
        self.assertEqual(body, {"model": "m", "max_tokens": 128, "temperature": 0.5, "seed": 0, "stream": True,
                                "stream_options": {"include_usage": True}, "stop": ["x"], "contract": "strict"})

    def test_prompts_of_a_file(self):
        with StubServer() as server, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "prompts.jsonl"
            path.write_text('{"messages": [{"role": "user", "content": "Only this."}]}\n')
            bench(server, "--requests", 2, "--prompts", path)
            self.assertEqual([body["messages"][0]["content"] for _, body in server.requests],
                             ["Only this.", "[2] Only this."])

    def test_speculation_is_told(self):
        with StubServer(drafts=DRAFTS) as server:
            drafts = bench(server, "--requests", 2)["arms"][0]["drafts"]
            text = run("bench", "serve", server.url, "--requests", 2).stdout.decode()
        self.assertEqual(drafts, {"drafted": 40, "accepted": 26, "from_metrics": False, "tested_at": [20, 16],
                                  "accepted_at": [18, 8]})
        self.assertIn("26 of 40 drafted, 65 %", text)
        self.assertIn("by position, %: 90 50", text)

    def test_the_key_comes_from_a_file(self):
        with StubServer(key="secret") as server, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "key"
            path.write_text("secret\n# other\n")
            self.assertEqual(bench(server, "--requests", 2, "--api-key-file", path)["arms"][0]["succeeded"], 2)
            arm = bench(server, "--requests", 2, code=1)["arms"][0]
        self.assertEqual(arm["errors"], {"status 401": 2})


class TwoArmsTest(unittest.TestCase):
    def test_ratios_over_equal_answers(self):
        with StubServer() as fast, StubServer() as slow:
            slow.token_s = 0.01
            report = bench(fast, "--against", slow.url, "--requests", 8, "-n", 12)
            text = run("bench", "serve", fast.url, "--against", slow.url, "--requests", 8, "-n", 12).stdout.decode()
        self.assertEqual(report["comparison"]["compared"], 8)
        self.assertEqual(report["comparison"]["differing"], 0)
        self.assertGreater(report["comparison"]["ratios"]["tokens_per_s"], 1.2)
        self.assertGreater(report["comparison"]["ratios"]["tpot_ms_p50"], 1.2)
        self.assertIn("times as many tokens per second", text)
        self.assertIn("The answers of both arms are equal, 8 of 8.", text)

    def test_no_ratio_over_unequal_answers(self):
        with StubServer() as a, StubServer(Model(0.02, "s")) as b:
            report = bench(a, "--against", b.url, "--requests", 8, code=3)
            done = run("bench", "serve", a.url, "--against", b.url, "--requests", 8)
        self.assertEqual(done.returncode, 3)
        self.assertIsNone(report["comparison"]["ratios"])
        self.assertGreater(report["comparison"]["differing"], 0)
        first = report["comparison"]["first_difference"]
        self.assertNotEqual(first["first"], first["second"])
        text = done.stdout.decode()
        self.assertIn("so times are not compared", text)
        self.assertNotIn("first is better", text)
        self.assertNotIn("times as many", text)

    def test_an_arm_is_the_same_server_with_another_field(self):
        def model(body):
            return Model(0.5 if body.get("speculation") == "off" else 0, "s")

        with StubServer(model) as server:
            bench(server, "--arm", "speculation=off", "--requests", 4, "--rounds", 2, code=3)
            told = [body.get("speculation") for _, body in server.requests]
        self.assertEqual(told, [None, None, "off", "off", "off", "off", None, None])

    def test_both_arms_get_the_same_requests(self):
        with StubServer() as a, StubServer() as b:
            bench(a, "--against", b.url, "--requests", 9, "--concurrency", 3, "--shared-prefix", 0.5)
            self.assertEqual(*(sorted(json.dumps(body) for _, body in server.requests) for server in (a, b)))

    def test_failures_are_no_agreement(self):
        with StubServer() as a, StubServer() as b:
            b.busy_every = 3
            done = run("bench", "serve", a.url, "--against", b.url, "--requests", 6, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the same requests answered in both arms", done.stderr.decode())
        self.assertIsNone(json.loads(done.stdout)["comparison"]["ratios"])


class FaultsTest(unittest.TestCase):
    def test_errors_are_counted_by_kind(self):
        with StubServer() as server:
            server.busy_every = 4
            arm = bench(server, "--requests", 8)["arms"][0]
            self.assertEqual((arm["errors"], arm["succeeded"], arm["first_error"]), ({"status 429": 2}, 6, "queue full"))
        for broken, kind, words in [("event", "error event", "out of pages"), ("half", "cut short", "[DONE]"),
                                    ("status", "status 500", "out of memory"), ("cut", "connection", "partial message")]:
            with StubServer(broken=broken) as server:
                arm = bench(server, "--requests", 2, code=1)["arms"][0]
                self.assertEqual(arm["errors"], {kind: 2})
                self.assertIn(words, arm["first_error"])
        with StubServer(broken="slow") as server:
            arm = bench(server, "--requests", 2, "--concurrency", 2, "--timeout", 1, code=1)["arms"][0]
            self.assertIn("within 1 s", arm["first_error"])

    def test_a_server_that_dies_leaves_a_report(self):
        with StubServer(dies_after=5) as server:
            arm = bench(server, "--requests", 8)["arms"][0]
        self.assertEqual((arm["succeeded"], arm["errors"]), (5, {"connection": 3}))

    def test_nobody_there(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound, but not listening
            done = run("bench", "serve", f"http://127.0.0.1:{unused.getsockname()[1]}")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn("refused", done.stderr.decode().lower())

    def test_an_interrupt_ends_it(self):
        with StubServer(broken="slow") as slow:
            process = subprocess.Popen([BINARY, "bench", "serve", slow.url, "--concurrency", "3"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment())
            time.sleep(0.7)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=WAIT)
            self.assertEqual((process.returncode, output), (130, b""))
            self.assertLess(time.monotonic() - start, 2)

    def test_bad_values(self):
        url = "http://127.0.0.1:1"
        for arguments, where in [
            ((), "[URL]"), (("ftp://h",), "[URL]"), ((url, "--against", "h"), "[--against]"),
            ((url, "--arm", "x"), "[--arm]"), ((url, "--arm", "=1"), "[--arm]"), ((url, "--set", "x"), "[--set]"),
            ((url, "--slo", "ttft"), "[--slo]"), ((url, "--rate", "0"), "[--rate]"), ((url, "--rounds", "2"), "[--rounds]"),
            ((url, "--shared-prefix", "1.5"), "[--shared-prefix]"), ((url, "--concurrency", "0"), "[--concurrency]"),
            ((url, "--duration", "5", "--arm", "a=1"), "[--duration]"), ((url, "--api-key-file", "/dev/null"), "[--api-key-file]"),
            ((url, "--json", "--markdown"), "[--markdown]"), ((url, "other"), "[argument]"),
        ]:
            done = run("bench", "serve", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), (arguments, done.stderr))
            self.assertTrue(done.stderr.decode().startswith(where), done.stderr)

    def test_files(self):
        with StubServer() as server, tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("bench", "serve", server.url, "--prompts", folder + "/none").returncode, 1)
            page = pathlib.Path(folder) / "report.html"
            done = run("bench-serve", server.url, "--requests", 1, "--html", page, "--markdown")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| time per output token |", done.stdout.decode())
            self.assertIn("time per output token", page.read_text())
            self.assertEqual(os.listdir(folder), ["report.html"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The server's process under load: SIGTERM, SIGINT, a second signal, SIGKILL and restart, a full disk for the log."""

import http.client
import json
import pathlib
import random
import select
import signal
import socket
import tempfile
import threading
import time
import unittest

from server import SLOW, WAIT, Server

CONTEXT = 2048
SMALL = ("--context", CONTEXT, "--log-level", "error")
# How long ending may take beyond --drain-seconds: the last writes have two seconds, the rest is for a machine that is
# busy with other tests.
MARGIN_S = WAIT / 4
PROMPTS = ("Once upon a time", "The rain", "def main():", "One, two, three")


def body_of(prompt, max_tokens):
    return {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True, "logits_digest": True}


class Load:
    """Clients that ask one after the other, streamed or whole, until the server is gone. `outcomes` counts what they saw."""

    def __init__(self, served, expected, max_tokens, clients=8):
        self.served, self.expected, self.max_tokens = served, expected, max_tokens
        self.outcomes, self.faults, self.lock = {}, [], threading.Lock()
        self.begun = threading.Semaphore(0)
        self.threads = [threading.Thread(target=self.client, args=(number,)) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def note(self, outcome):
        with self.lock:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def client(self, number):
        rng = random.Random(number)
        while True:
            prompt, streamed = rng.choice(PROMPTS), rng.random() < 0.5
            try:
                outcome = self.ask(prompt, streamed)
            except ConnectionRefusedError:
                return self.note("refused")  # nobody listens any more
            except (OSError, http.client.HTTPException):
                outcome = "cut"
            except BaseException as error:  # noqa: BLE001: shown by the main thread
                self.faults.append(error)
                return None
            self.note(outcome)
            if outcome != "whole":
                return None

    def ask(self, prompt, streamed):
        connection = self.served.connect()
        try:
            try:
                connection.request("POST", "/v1/completions", json.dumps({**body_of(prompt, self.max_tokens), "stream": streamed}))
                response = connection.getresponse()
            except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
                return "unheard"  # nothing had come back
            if response.status != 200:
                answer = json.loads(response.read())
                assert response.status == 503 and answer["error"]["code"] == "shutting_down", answer
                assert response.getheader("Retry-After"), answer
                return "503"
            if not streamed:
                self.begun.release()
                choice = json.loads(response.read())["choices"][0]
                return self.check(prompt, choice["text"], choice)
            text, end, done = "", None, False
            for line in response:
                if line == b"data: [DONE]\n":
                    done = True
                elif line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    if "error" in event:
                        assert event["error"]["code"] == "shutting_down", event
                        assert self.expected[prompt][0].startswith(text), text
                        return "error event"
                    self.begun.release()
                    text += event["choices"][0]["text"]
                    end = event["choices"][0] if event["choices"][0]["finish_reason"] else end
            if end is None or not done:
                return "cut"
            return self.check(prompt, text, end)
        finally:
            connection.close()

    def check(self, prompt, text, choice):
        got = (text, choice["verbatim"]["logits_sha256"])
        assert got == self.expected[prompt], (prompt, got, self.expected[prompt])
        return "whole"

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise self.faults[0]
        return self.outcomes


class ProcessTest(unittest.TestCase):
    def expected(self, served, max_tokens):
        found = {}
        for prompt in PROMPTS:
            choice = served.post("/v1/completions", body_of(prompt, max_tokens))["choices"][0]
            found[prompt] = (choice["text"], choice["verbatim"]["logits_sha256"])
        return found

    def under_load(self, served, max_tokens, clients=8):
        """The load, and some of it has begun to be answered."""
        load = Load(served, self.expected(served, max_tokens), max_tokens, clients)
        for _ in range(10):
            load.begun.acquire()
        return load

    def test_sigterm_lets_answers_end(self):
        with Server("--drain-seconds", WAIT, *SMALL) as served:
            load = self.under_load(served, 120)
            start = time.monotonic()
            self.assertEqual(served.stop(), 0)
            self.assertLess(time.monotonic() - start, WAIT)
            outcomes = load.join()
            self.assertLessEqual(set(outcomes), {"whole", "503", "unheard", "refused"}, outcomes)
            self.assertIn("drained", served.stderr())
            self.assertNotIn("not all answers", served.stderr())

    def test_sigterm_fails_what_is_left(self):
        for seconds in (0, 1):
            with self.subTest(seconds), Server("--drain-seconds", seconds, "--parallel", 32, *SMALL, **SLOW) as served:
                # Long ones, that can't end in time and that the server has; then short ones that come and go.
                long = Load(served, self.expected_of_long(served), 450, clients=10)
                while True:
                    health = json.loads(served.get("/health"))
                    if health["running"] + health["waiting"] == 10:
                        break
                load = self.under_load(served, 20)
                start = time.monotonic()
                self.assertEqual(served.stop(), 0)
                self.assertLess(time.monotonic() - start, seconds + MARGIN_S)
                # Nobody is left without a word but whose connection had not been heard yet.
                self.assertLessEqual(set(load.join()), {"whole", "503", "error event", "unheard", "refused"}, load.outcomes)
                self.assertLessEqual(set(long.join()), {"503", "error event"}, long.outcomes)
                self.assertIn("not all answers had ended", served.stderr())

    def expected_of_long(self, served):
        if not hasattr(ProcessTest, "long"):
            ProcessTest.long = self.expected(served, 450)
        return ProcessTest.long

    def test_a_second_signal_ends_at_once(self):
        for first, second, code in ((signal.SIGTERM, signal.SIGTERM, 143), (signal.SIGTERM, signal.SIGINT, 130),
                                    (signal.SIGINT, signal.SIGINT, 130)):
            with self.subTest((first, second)), Server("--drain-seconds", 3600, *SMALL, **SLOW) as served:
                hung = served.events("/v1/completions", body_of("Once", 1900))
                next(hung)
                served.process.send_signal(first)
                served.wait_for("draining: answers have 3600 s to end; a second signal ends at once")
                self.assertIsNone(served.process.poll())
                self.assertEqual(served.stop(second), code)
                with self.assertRaises((OSError, http.client.HTTPException)):
                    list(hung)
                    raise http.client.IncompleteRead(b"")  # the stream just ended: also cut

    def test_sigint(self):
        with Server(*SMALL) as served:
            served.get("/health")
            self.assertEqual(served.stop(signal.SIGINT), 130)

    def test_while_draining_nothing_new_is_taken(self):
        with Server("--drain-seconds", 3600, *SMALL, **SLOW) as served:
            kept = served.connect()
            kept.request("GET", "/health")
            kept.getresponse().read()
            stream = served.events("/v1/completions", body_of("Once", 500))
            next(stream)
            served.process.send_signal(signal.SIGTERM)
            served.wait_for("draining")
            with self.assertRaises((ConnectionError, http.client.HTTPException)):
                for _ in range(1000):  # until the listener is closed
                    served.get("/health")
            closed = finished = 0
            for event in stream:
                if event["choices"][0]["finish_reason"]:
                    finished += 1
                else:  # idle connections are closed while the answer still runs
                    closed = bool(select.select([kept.sock], [], [], 0)[0])
            self.assertTrue(closed)
            self.assertEqual(kept.sock.recv(1), b"")
            self.assertEqual(finished, 1)
            self.assertEqual(served.process.wait(WAIT), 0)

    def test_a_request_half_sent_does_not_hold_up_the_end(self):
        with Server("--drain-seconds", 1, *SMALL) as served:
            half = socket.create_connection((served.host, served.port))
            half.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            served.get("/health")  # behind it
            start = time.monotonic()
            self.assertEqual(served.stop(), 0)
            self.assertLess(time.monotonic() - start, 1 + MARGIN_S)
            half.close()

    def test_grammars_that_are_being_compiled_do_not_hold_up_the_end(self):
        # Seconds each, and more of them than threads that compile.
        slow = {"allOf": [{"type": "string", "pattern": f"a.{{{100 + i}}}"} for i in range(40)]}
        with Server("--drain-seconds", 0, *SMALL) as served:
            compiling = [served.connect() for _ in range(6)]
            for number, connection in enumerate(compiling):
                path = ("/v1/completions", "/v1/messages")[number % 2]
                connection.request("POST", path, json.dumps({
                    "prompt": "x", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2,
                    "output_config": {"format": {"type": "json_schema", "schema": slow}}}))
            served.get("/health")  # behind them
            self.assertEqual(served.stop(), 0)
            for connection in compiling:
                response = connection.getresponse()
                answer = json.loads(response.read())
                self.assertEqual(response.status, 503, answer)
                self.assertIn("shutting down", answer["error"]["message"])
                self.assertTrue(response.getheader("Retry-After"))
                connection.close()

    def kill_and_restart(self, again):
        """`again()` starts a server at the same address."""
        with again() as served:
            expected = self.expected(served, 60)
            load = Load(served, expected, 60)
            for _ in range(20):
                load.begun.acquire()
            served.process.kill()
            served.process.wait()
            outcomes = load.join()
            self.assertLessEqual(set(outcomes), {"whole", "cut", "unheard", "refused"}, outcomes)
            with again() as second:
                self.assertEqual(second.address, served.address)
                self.assertEqual(self.expected(second, 60), expected)

    def test_sigkill_and_restart_at_the_same_port(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.kill_and_restart(lambda: Server(*SMALL, port=port))

    def test_sigkill_and_restart_at_the_same_unix_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "socket"
            self.kill_and_restart(lambda: Server("--unix-socket", path, *SMALL))

    def test_a_full_disk_for_the_log(self):
        with Server("--context", CONTEXT, "--log-file", "/dev/full", "--log-level", "debug") as served:
            expected = self.expected(served, 30)
            for _ in range(5):
                self.assertEqual(self.expected(served, 30), expected)
            for number in range(100):
                served.request("GET", f"/{number}")
            self.assertEqual(served.stop(), 0)
        said = [line for line in served.lines if line and "log can't be written" in line]
        self.assertEqual(len(said), 1, served.stderr())
        self.assertIn("No space left", said[0])

    def test_the_log_goes_to_standard_error(self):
        with Server("--context", CONTEXT, "--log-format", "json") as served:
            served.post("/v1/completions", body_of("Once", 2))
            self.assertEqual(served.stop(), 0)
        entries = [json.loads(line) for line in served.lines if line and line.startswith("{")]
        self.assertEqual([entry["status"] for entry in entries], [200])


if __name__ == "__main__":
    unittest.main()

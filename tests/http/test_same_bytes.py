#!/usr/bin/env python3
"""Every answer of the server has the bytes of `generate --spec off` alone, whoever else is being served.

Axes A3, A5 and A7 of docs/contract.md over HTTP: clients at once, arrivals, cancellations, row budgets, a prefix cache
that is cold, warm or evicting, sequences that are preempted, streamed and whole answers; temperature 0 and seeded
sampling, penalties, biases, stop strings, JSON schemas. The last test goes on for VERBATIM_SOAK_SECONDS.
"""

import concurrent.futures
import json
import os
import random
import threading
import time
import unittest

import server
from server import NANO, SLOWDOWN, SOURCE, Server
from support import run_json

SOAK_SECONDS = float(os.environ.get("VERBATIM_SOAK_SECONDS", 60 * SLOWDOWN))
CONTEXT = 640
CASES = 64 if SLOWDOWN == 1 else 24  # 24: every kind, with and without what prompts share, as chat and as text
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "n": {"type": "integer"},
                                           "kind": {"enum": ["a", "b"]}},
          "required": ["name", "n", "kind"], "additionalProperties": False}


def texts():
    """The prompts of src/measure/flip_prompts.txt: prose, code, JSON, mathematics, dialogue, lists, languages."""
    found = []
    for line in (SOURCE / "src" / "measure" / "flip_prompts.txt").read_text().splitlines(keepends=True):
        if line.startswith("---"):
            found.append("")
        elif found:
            found[-1] += line
    return [text.strip() for text in found if text.strip()]


class Case:
    """One request in the server's words and in the command line's."""

    def __init__(self, index, text, shared, max_tokens=None):
        self.chat = index % 4 == 3
        # Some begin alike, some reach over the end of a page of 256 tokens.
        self.text = (shared if index % 3 == 0 else "") + text.encode()[:60 + 37 * (index % 9)].decode(errors="ignore")
        max_tokens = max_tokens or 1 + 7 * (index % 8)
        self.body = {"max_tokens": max_tokens, "temperature": 0, "logits_digest": True}
        self.arguments = ["-n", str(max_tokens), "--context", str(CONTEXT), "--generation-config", "off"]
        kind = index % 8
        if kind == 1:
            self.add({"temperature": 0.8, "top_p": 0.9, "seed": 7 + index}, "--temp", "0.8", "--top-p", "0.9", "--seed", 7 + index)
        elif kind == 2:
            self.add({"repetition_penalty": 1.25, "frequency_penalty": 0.5, "presence_penalty": 0.25}, "--repeat-penalty", "1.25",
                     "--frequency-penalty", "0.5", "--presence-penalty", "0.25")
        elif kind == 3:
            self.add({"logit_bias": {"260": 3.5, "32": -100}, "min_tokens": 5}, "--logit-bias", "260:3.5", "--logit-bias", "32:-100",
                     "--min-tokens", "5")
        elif kind == 4:
            self.add({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}}, "--json-schema",
                     json.dumps(SCHEMA))
        elif kind == 5:
            self.add({"stop": ["e", "the "]}, "--stop", "e", "--stop", "the ")
        elif kind == 6:
            self.add({"temperature": 1.0, "top_k": 20, "min_p": 0.05, "seed": index, "ignore_eos": True}, "--temp", "1", "--top-k", "20",
                     "--min-p", "0.05", "--seed", index, "--ignore-eos")
        self.expected = None

    def add(self, fields, *arguments):
        self.body.update(fields)
        self.arguments += map(str, arguments)

    @property
    def path(self):
        return "/v1/chat/completions" if self.chat else "/v1/completions"

    def request(self, rng):
        body = dict(self.body)
        body.update({"messages": [{"role": "user", "content": self.text}]} if self.chat else {"prompt": self.text})
        body["speculation"] = rng.choice(["off", "mtp", {"kind": "mtp", "draft_tokens": "auto"}, {"kind": "mtp", "draft_tokens": 7},
                                          "ngram"])
        return body

    def run_alone(self):
        arguments = ["-m", NANO, *(["--chat"] if self.chat else []), "-p", self.text, "--spec", "off", *self.arguments]
        result = run_json("generate", *arguments)
        self.expected = (result["text"], result["logits_sha256"], result["finish_reason"], result["usage"]["completion_tokens"])


def answer_of(case, choice, text, usage):
    return text, choice["verbatim"]["logits_sha256"], choice["finish_reason"], usage["completion_tokens"]


class SameBytesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        prompts = texts()
        shared = prompts[0][:300] + "\n\n"
        cls.cases = [Case(i, prompts[i % len(prompts)] * 2, shared) for i in range(CASES)]
        # Long enough to need a second page of slots, whatever they say.
        cls.long = [Case(i, prompts[i % len(prompts)] * 2, shared, max_tokens=300) for i in (14, 22, 38, 46)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(Case.run_alone, cls.cases + cls.long))
        cls.least_kv = server.least_kv_memory("--context", CONTEXT)

    def check(self, case, got):
        self.assertEqual(got, case.expected, f"{case.path} {case.body} {case.text!r}")

    def ask(self, served, case, rng, streamed, cancel=False):
        """Asks once and compares; a cancelled answer is left in the middle."""
        body = case.request(rng)
        if not streamed and not cancel:
            answer = served.post(case.path, body)
            choice = answer["choices"][0]
            return self.check(case, answer_of(case, choice, choice["message"]["content"] if case.chat else choice["text"], answer["usage"]))
        if cancel and "stop" not in body and "response_format" not in body:
            body.update({"max_tokens": 400, "ignore_eos": True})  # else it has ended before anybody can hang up
        text, end, usage = "", None, None
        events = served.events(case.path, {**body, "stream_options": {"include_usage": True}})
        for count, event in enumerate(events):
            if cancel and count >= rng.randrange(4):
                events.close()
                whole = case.expected[0].rstrip("\ufffd")  # of a character that the last token cut
                common = min(len(text), len(whole))
                self.assertEqual(text[:common], whole[:common])
                return None
            usage = event.get("usage") or usage
            for choice in event["choices"]:
                text += (choice["delta"].get("content") or "") if case.chat else choice["text"]
                end = choice if choice["finish_reason"] else end
        return self.check(case, answer_of(case, end, text, usage))

    def serve(self, served, clients, seconds=None, cancels=False, rounds=1, more=()):
        """Every case and `more` `rounds` times, or as many as `seconds` allow, by so many clients at once."""
        order = [case for _ in range(rounds) for case in (*self.cases, *more)]
        random.Random(clients).shuffle(order)
        end = time.monotonic() + seconds if seconds else None
        next_case, failures, asked = iter(order), [], [0]
        lock = threading.Lock()

        def client(number):
            rng = random.Random(1000 * clients + number)
            while not failures:
                with lock:
                    case = rng.choice(self.cases) if end else next(next_case, None)
                if case is None or (end and time.monotonic() > end):
                    return
                try:
                    self.ask(served, case, rng, streamed=rng.random() < 0.5, cancel=cancels and rng.random() < 0.15)
                except BaseException as error:  # noqa: BLE001: shown by the main thread
                    failures.append(error)
                with lock:
                    asked[0] += 1
                if rng.random() < 0.3:
                    time.sleep(rng.expovariate(20))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return asked[0]

    def served(self, *arguments):
        return Server("--context", CONTEXT, "--log-level", "error", *arguments)

    def test_one_client_and_no_kept_states(self):
        with self.served("--prefix-cache-memory", "0") as served:
            self.serve(served, 1)
            self.assertEqual(served.metrics()["vllm:prefix_cache_hits_total"], 0)

    def test_eight_clients_cold_then_warm(self):
        with self.served() as served:
            self.serve(served, 8, rounds=2)
            self.assertGreater(served.metrics()["vllm:prefix_cache_hits_total"], 0)
            self.assertGreater(served.metrics()["vllm:spec_decode_num_accepted_tokens_total"], 0)

    def test_small_row_budgets(self):
        for rows in (1, 5, 17):
            with self.served("--max-rows", rows, "--parallel", 6) as served:
                self.serve(served, 8)

    def test_thirty_two_clients_evicting_preempting_and_going_away(self):
        with self.served("--parallel", 12, "--kv-memory", self.least_kv + 1, "--prefix-cache-memory", "900KiB", "--max-rows", 40) as served:
            self.serve(served, 32, cancels=True, rounds=3, more=self.long)
            metrics = served.metrics()
            self.assertGreater(metrics["vllm:num_preemptions_total"], 0)
            self.assertGreater(metrics["verbatim:prefix_cache_evictions_total"], 0)
            self.assertGreater(metrics["verbatim:requests_cancelled_total"], 0)

    def test_soak(self):
        with self.served("--parallel", 10, "--kv-memory", 2 * self.least_kv, "--prefix-cache-memory", "4MiB", "-t", "2") as served:
            asked = self.serve(served, 32, seconds=SOAK_SECONDS, cancels=True)
            self.assertGreater(asked, 50)
            metrics = served.metrics()
            self.assertEqual(metrics["vllm:num_requests_running"] + metrics["vllm:num_requests_waiting"], 0)


if __name__ == "__main__":
    unittest.main()

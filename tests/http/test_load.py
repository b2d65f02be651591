#!/usr/bin/env python3
"""Thirty-two clients for VERBATIM_LOAD_SECONDS: every request is answered, /metrics counts what clients saw, memory stays
flat. Jitter of steps and of events is printed, not judged: it is the machine's as much as the server's."""

import json
import os
import random
import re
import threading
import time
import unittest

from server import HAS_ASAN, SLOWDOWN, WAIT, Server

SECONDS = float(os.environ.get("VERBATIM_LOAD_SECONDS", 20 * SLOWDOWN))
CLIENTS = 32
CONTEXT = 1024
# Of this much after the warm-up, and of what a megabyte of answers a second might leave if something leaked: malloc's arenas
# of the threads settle late, at some 64 MiB at most.
MAX_GROWTH = 96 << 20
if HAS_ASAN:
    MAX_GROWTH += 256 << 20  # what AddressSanitizer keeps in quarantine
SCRAPE_S = 0.25
WORDS = "once upon a time there was rain over the hills and nobody knew why it fell so long".split()
ENDPOINTS = ("/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages")


def request_of(rng):
    """(path, body) of something that people ask: short and long, with and without what costs more."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.choice([3, 20, 150])))
    path = rng.choice(ENDPOINTS)
    tokens = rng.choice([1, 16, 64, 160])
    if path == "/v1/completions":
        body = {"prompt": text if rng.random() < 0.8 else [text, text[::-1]], "max_tokens": tokens, "n": rng.choice([1, 1, 1, 2])}
    elif path == "/v1/responses":
        body = {"input": text, "max_output_tokens": tokens}
    else:
        body = {"messages": [{"role": "user", "content": text}], "max_tokens": tokens}
    body["temperature"] = rng.choice([0, 0.8])
    if path in ENDPOINTS[:2]:
        body.update(rng.choice([{}, {}, {"stop": ["e "]}, {"logprobs": 3 if path == ENDPOINTS[0] else True}, {"repetition_penalty": 1.2},
                                {"guided_regex": "[a-z ]{3,30}"}]))
        body["stream_options"] = {"include_usage": True}
    return path, body


def usage_of(answer):
    """(prompt tokens, generated tokens) under either API's names."""
    usage = answer["usage"]
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"], usage["completion_tokens"]
    return usage["input_tokens"], usage["output_tokens"]


class Client:
    def __init__(self, served, number, end):
        self.served, self.rng, self.end = served, random.Random(number), end
        self.requests, self.prompt_tokens, self.tokens, self.choices, self.gaps = {}, 0, 0, 0, []
        self.fault = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        connection = self.served.connect()  # kept, as clients do
        try:
            while time.monotonic() < self.end:
                path, body = request_of(self.rng)
                prompt, tokens = self.ask(connection, path, body)
                self.requests[path] = self.requests.get(path, 0) + 1
                self.choices += body.get("n", 1) * (2 if isinstance(body.get("prompt"), list) else 1)
                # Usage counts a prompt once, whatever n; the engine computes it for each choice.
                self.prompt_tokens += prompt * body.get("n", 1)
                self.tokens += tokens
        except BaseException as error:  # noqa: BLE001: shown by the main thread
            self.fault = error
        finally:
            connection.close()

    def ask(self, connection, path, body):
        streamed = self.rng.random() < 0.5
        connection.request("POST", path, json.dumps({**body, "stream": streamed}))
        response = connection.getresponse()
        if not streamed:
            data = response.read()
            assert response.status == 200, (path, body, data)
            return usage_of(json.loads(data))
        assert response.status == 200, (path, body, response.read())
        usage, last, events = {}, None, []
        for line in response:
            if not line.startswith(b"data: ") or line == b"data: [DONE]\n":
                continue
            now = time.monotonic()
            if last is not None:
                self.gaps.append(now - last)
            last = now
            event = json.loads(line[6:])
            events.append(event)
            assert "error" not in event or event["error"] is None, event
            # Anthropic's message_start has the prompt's tokens, its message_delta the answer's.
            for holder in (event, event.get("message") or {}, event.get("response") or {}):
                if holder.get("usage"):
                    usage.update(holder["usage"])
        last_type = events[-1].get("type")
        assert last_type in (None, "message_stop", "response.completed", "response.incomplete"), events[-1]
        return usage_of({"usage": usage})


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class LoadTest(unittest.TestCase):
    def test_nothing_is_lost_and_memory_is_flat(self):
        with Server("--context", CONTEXT, "--parallel", 16, "--kv-memory", "24MiB", "--prefix-cache-memory", "16MiB", "--log-level",
                    "error") as served:
            steps, scraping = [], threading.Event()

            def scrape():
                while not scraping.wait(SCRAPE_S):
                    steps.append(served.metrics()["verbatim:longest_step_seconds"])

            # The caches fill and the allocator settles in the first part.
            start = time.monotonic()
            warm_up = [Client(served, number, start + SECONDS / 4) for number in range(CLIENTS)]
            for client in warm_up:
                client.thread.join()
            after_warm_up = served.resident_bytes()
            scraper = threading.Thread(target=scrape)
            scraper.start()
            clients = [Client(served, 1000 + number, start + SECONDS) for number in range(CLIENTS)]
            for client in clients:
                client.thread.join()
            growth = served.resident_bytes() - after_warm_up
            scraping.set()
            scraper.join()
            everyone = warm_up + clients
            for client in everyone:
                if client.fault:
                    raise client.fault

            gaps = [gap for client in clients for gap in client.gaps]
            total = sum(sum(client.requests.values()) for client in everyone)
            tokens = sum(client.tokens for client in everyone)
            print(f"load: {SECONDS:.0f} s, {CLIENTS} clients, {total} requests, {tokens} tokens, memory {growth / 2**20:+.1f} MiB\n"
                  f"load: longest step per {SCRAPE_S} s, n = {len(steps)}: median {1e3 * percentile(steps, .5):.1f} ms, "
                  f"p99 {1e3 * percentile(steps, .99):.1f} ms, most {1e3 * max(steps, default=0):.1f} ms\n"
                  f"load: between events of a stream, n = {len(gaps)}: median {1e3 * percentile(gaps, .5):.1f} ms, "
                  f"p99 {1e3 * percentile(gaps, .99):.1f} ms, most {1e3 * max(gaps, default=0):.1f} ms", flush=True)
            self.assertGreater(min(sum(client.requests.values()) for client in clients), 0)
            self.check_counts(served, everyone)
            self.assertLess(growth, MAX_GROWTH)
            self.assertEqual(served.stop(), 0)
            self.assertNotIn("failed", served.stderr())

    def counted(self, served):
        """requests by endpoint, choices, prompt tokens, tokens, in flight: as the server counts them."""
        page = served.get("/metrics").decode()
        requests = {}
        for labels, value in re.findall(r"^verbatim:http_requests_total\{(.*)\} (\S+)$", page, re.M):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if labels["endpoint"] in ENDPOINTS:
                requests[labels["endpoint"], labels["status"]] = float(value)

        def total(name):
            return sum(float(value) for value in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", page, re.M))

        return (requests, total("vllm:request_success_total"), total("vllm:prompt_tokens_total"), total("vllm:generation_tokens_total"),
                total("vllm:num_requests_running") + total("vllm:num_requests_waiting"), total("verbatim:requests_cancelled_total"))

    def check_counts(self, served, clients):
        requests = {}
        for client in clients:
            for path, count in client.requests.items():
                requests[path, "200"] = requests.get((path, "200"), 0) + count
        seen = (requests, sum(c.choices for c in clients), sum(c.prompt_tokens for c in clients), sum(c.tokens for c in clients), 0, 0)
        end = time.monotonic() + WAIT
        while self.counted(served) != seen and time.monotonic() < end:
            time.sleep(0.05)  # an answer is counted right behind its last byte
        self.assertEqual(self.counted(served), seen)


if __name__ == "__main__":
    unittest.main()

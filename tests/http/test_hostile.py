#!/usr/bin/env python3
"""Four clients get their exact bytes while two hundred slow, dying, malformed and excessive ones do what they can, and
while poisoned requests fail alone. VERBATIM_HOSTILE_SECONDS makes it go on for longer."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import select
import shutil
import struct
import tempfile
import threading
import time
import unittest

import hostile
from server import NANO, WAIT, Server, least_kv_memory
from support import read_safetensors

SECONDS = float(os.environ.get("VERBATIM_HOSTILE_SECONDS", "25"))
CONTEXT = 1024
NUM_BAD = 200
# Connections' buffers, bodies of 1 MiB that are parsed at the same time, arenas of malloc; and what a grammar compiler that
# was stopped at a limit keeps (docs/hardening.md), which the compiler itself bounds by 1 GiB.
MAX_GROWTH = 1536 << 20
# Roles unknown to it are an error, as in the templates of other models.
TEMPLATE = """{% for m in messages %}{% if m.role not in ['user', 'assistant', 'tool'] %}{{ raise_exception('unknown role') }}{% endif %}
{{- m.role }}: {{ m.content }}
{% endfor %}assistant:"""
CASES = [
    ("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 60, "temperature": 0, "ignore_eos": True}),
    ("/v1/completions", {"prompt": "The rain " * 40, "max_tokens": 40, "temperature": 0.9, "seed": 7, "top_p": 0.9}),
    ("/v1/completions", {"prompt": "def main():", "max_tokens": 50, "temperature": 0, "repetition_penalty": 1.3, "logit_bias": {"260": 2}}),
    ("/v1/completions", {"prompt": "It is", "max_tokens": 30, "temperature": 0, "guided_regex": "[a-z ]{5,40}\\."}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Tell me a story"}], "max_tokens": 40, "temperature": 0}),
]


def ask(served, path, body, streamed):
    """(text, digest, reason) of the one choice."""
    body = {**body, "logits_digest": True}
    chat = "messages" in body
    if not streamed:
        choice = served.post(path, body)["choices"][0]
        return choice["message"]["content"] if chat else choice["text"], choice["verbatim"]["logits_sha256"], choice["finish_reason"]
    text, end = "", None
    for event in served.events(path, body):
        for choice in event["choices"]:
            text += (choice["delta"].get("content") or "") if chat else choice["text"]
            end = choice if choice["finish_reason"] else end
    return text, end["verbatim"]["logits_sha256"], end["finish_reason"]


class Good:
    """Clients that ask for known answers until told to stop."""

    def __init__(self, served, cases=CASES, clients=4):
        self.served, self.stopped, self.asked, self.faults = served, threading.Event(), [0] * clients, []
        self.cases = [(path, body, ask(served, path, body, False)) for path, body in cases]
        self.threads = [threading.Thread(target=self.run, args=(number,)) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        rng = random.Random(number)
        while not self.stopped.is_set():
            path, body, expected = rng.choice(self.cases)
            try:
                got = ask(self.served, path, {**body, "speculation": rng.choice(["off", "mtp", "ngram"])}, rng.random() < 0.5)
                if got != expected:
                    raise AssertionError(f"{path} {body}: {got}, expected {expected}")
            except BaseException as error:  # noqa: BLE001: shown by the main thread
                self.faults.append(error)
                return
            self.asked[number] += 1

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        if self.faults:
            raise self.faults[0]
        return self.asked


def wait_idle(served):
    """The last metrics: nothing runs or waits, and nobody is connected but who asks."""
    end = time.monotonic() + WAIT
    while True:
        metrics = served.metrics()
        busy = metrics["vllm:num_requests_running"] + metrics["vllm:num_requests_waiting"] + metrics["verbatim:http_connections_open"] - 1
        if busy == 0 or time.monotonic() > end:
            return metrics
        time.sleep(0.1)


class HostileTest(unittest.TestCase):
    def test_good_clients_among_bad_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            template = pathlib.Path(folder) / "template.jinja"
            template.write_text(TEMPLATE)
            with Server("--context", CONTEXT, "--parallel", 8, "--chat-template", template, "--prefix-cache-memory", "32MiB",
                        "--max-queue", 1000, "--log-level", "error") as served:
                self.attack(served)
                self.assertEqual(served.stop(), 0)
                self.assertNotIn("a request failed", served.stderr())

    def attack(self, served):
        good = Good(served)
        before = served.resident_bytes()
        end = time.monotonic() + SECONDS
        statuses, faults, lock = {}, [], threading.Lock()

        def bad(number):
            rng = random.Random(1000 + number)
            attack = hostile.ATTACKS[number % len(hostile.ATTACKS)]
            while time.monotonic() < end:
                try:
                    answer = attack(served, rng, end)
                except (OSError, http.client.HTTPException):
                    answer = None  # cut, which is what some deserve
                except BaseException as error:  # noqa: BLE001: shown by the main thread
                    faults.append(error)
                    return
                with lock:
                    key = (attack.__name__, answer[0] if answer else None)
                    statuses[key] = statuses.get(key, 0) + 1
                # 501 and 505 are HTTP's words for what is no HTTP/1.1 of ours; 503 is for who comes when it is full.
                if answer and answer[0] >= 500:
                    faults.append(AssertionError(f"{attack.__name__}: {answer}"))
                    return

        threads = [threading.Thread(target=bad, args=(number,)) for number in range(NUM_BAD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        asked = good.stop()
        growth = served.resident_bytes() - before
        print(f"hostile: {SECONDS:.0f} s, good answers {asked}, memory {growth / 2**20:+.0f} MiB, "
              f"{sum(statuses.values())} attacks: {sorted(statuses.items(), key=str)}", flush=True)
        if faults:
            raise faults[0]
        self.assertGreater(min(asked), 0)
        self.assertEqual({name for name, _ in statuses}, {attack.__name__ for attack in hostile.ATTACKS})
        self.assertLess(growth, MAX_GROWTH)
        metrics = wait_idle(served)
        self.assertEqual((metrics["vllm:num_requests_running"], metrics["vllm:num_requests_waiting"],
                          metrics["verbatim:http_connections_open"]), (0, 0, 1))
        for path, body, expected in good.cases:
            self.assertEqual(ask(served, path, body, True), expected)


class PoisonTest(unittest.TestCase):
    """Requests that fail inside of the engine fail alone."""

    def poisoned_model(self, folder, token):
        """nano with an output matrix of its own and one token whose embedding is NaN: who sends it gets NaN logits."""
        model = pathlib.Path(folder) / "poisoned"
        shutil.copytree(NANO, model)
        tensors = read_safetensors(model / "model.safetensors")
        name = next(n for n in tensors if n.endswith("embed_tokens.weight") and not n.startswith("mtp"))
        dtype, shape, data = tensors[name]
        tensors["lm_head.weight"] = (dtype, shape, data)
        row = 2 * shape[1]
        tensors[name] = (dtype, shape, data[:token * row] + b"\xc0\x7f" * shape[1] + data[(token + 1) * row:])
        header, offset = {}, 0
        for key, (kind, dims, values) in tensors.items():
            header[key] = {"dtype": kind, "shape": dims, "data_offsets": [offset, offset + len(values)]}
            offset += len(values)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (model / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(v for _, _, v in tensors.values()))
        config = json.loads((model / "config.json").read_text())
        config["tie_word_embeddings"] = config["text_config"]["tie_word_embeddings"] = False
        (model / "config.json").write_text(json.dumps(config))
        return model

    def fails_alone(self, served, status, bodies, says):
        """Each of `bodies` gets an error, streamed or whole, while four clients get their bytes."""
        good = Good(served, CASES[:4])
        for number in range(30):
            body = {**bodies[number % len(bodies)], "stream": number % 2 == 1}
            got, _, data = served.request("POST", "/v1/completions", body)
            if got == 200:  # a stream that had begun
                self.assertTrue(body["stream"], data)
                events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
                error = events[-1]["error"]
                self.assertFalse([e for e in events if e.get("choices") and e["choices"][0]["finish_reason"]], events)
            else:
                self.assertEqual(got, status, data)
                error = json.loads(data)["error"]
            self.assertIn(says, error["message"])
        self.assertGreater(sum(good.stop()), 0)
        # And what it left behind (pages, states) poisons nobody.
        for path, body, expected in good.cases:
            self.assertEqual(ask(served, path, body, False), expected)
        metrics = wait_idle(served)
        self.assertEqual(metrics["vllm:num_requests_running"] + metrics["vllm:num_requests_waiting"], 0)
        self.assertEqual(served.stop(), 0)

    def test_nan_logits(self):
        with tempfile.TemporaryDirectory() as folder:
            model = self.poisoned_model(folder, token=1000)
            least = least_kv_memory("--context", CONTEXT, model=model)
            # Few pages, so that those of the poisoned are given to others at once; and a cache that could keep its states.
            with Server("--context", CONTEXT, "--kv-memory", least, "--prefix-cache-memory", "8MiB", "--log-level", "error", model=model) as served:
                bodies = [{"prompt": [1000], "max_tokens": 5}, {"prompt": [5, 6, 7] * 90 + [1000] + [5, 6] * 20, "max_tokens": 50},
                          {"prompt": [5, 6, 1000], "max_tokens": 5, "temperature": 0.8, "seed": 1},
                          {"prompt": [1000, 5], "max_tokens": 5, "speculation": "off", "logprobs": 3},
                          {"prompt": [5, 1000], "max_tokens": 5, "n": 3, "temperature": 1}]
                self.fails_alone(served, 500, bodies, "NaN")

    def test_bans_of_everything(self):
        with Server("--context", CONTEXT, "--log-level", "error") as served:
            every = list(range(1024))
            bodies = [{"prompt": "Once", "max_tokens": 5, "banned_token_ids": every},
                      {"prompt": "Once", "max_tokens": 5, "guided_regex": "a", "banned_token_ids": every[:-1], "min_tokens": 4},
                      {"prompt": "Once", "max_tokens": 5, "temperature": 1, "seed": 1, "banned_token_ids": every}]
            self.fails_alone(served, 400, bodies, "a token that is not banned")

    def test_a_grammar_that_takes_long_holds_up_nobody(self):
        # Seconds until a limit of memory, each; more of them than threads that compile.
        slow = {"allOf": [{"type": "string", "pattern": f"a.{{{100 + i}}}"} for i in range(40)]}
        with Server("--context", CONTEXT, "--log-level", "error") as served:
            path, body = CASES[0]
            expected = ask(served, path, body, False)
            compiling = [served.connect() for _ in range(3)]
            for connection in compiling:
                connection.request("POST", path, json.dumps({"prompt": "x", "guided_json": slow}))
            for streamed in (True, False):
                self.assertEqual(ask(served, path, body, streamed), expected)
            self.assertEqual(select.select([connection.sock for connection in compiling], [], [], 0)[0], [])
            for connection in compiling:
                response = connection.getresponse()
                self.assertEqual(response.status, 400, response.read())
                connection.close()

    def test_extremes_are_answers(self):
        """The ends of every range, alone and together: an answer, and never an error of the server."""
        with Server("--context", CONTEXT, "--log-level", "error") as served:
            biases = {str(i): 100 if i % 2 else -100 for i in range(1024)}
            extremes = [{"temperature": 2, "seed": 1}, {"temperature": 1e-2}, {"logit_bias": biases}, {"top_k": 1}, {"top_k": 2**62},
                        {"top_p": 0}, {"min_p": 1}, {"repetition_penalty": 0.01}, {"frequency_penalty": -2}, {"presence_penalty": 2}]
            rng = random.Random(5)
            bodies = extremes + [{k: v for one in rng.sample(extremes, 5) for k, v in one.items()} for _ in range(20)]
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                for body, (status, _, data) in zip(bodies, pool.map(
                        lambda body: served.request("POST", "/v1/completions", {"prompt": "Once", "max_tokens": 12, **body}), bodies)):
                    self.assertEqual(status, 200, (body, data))


if __name__ == "__main__":
    unittest.main()

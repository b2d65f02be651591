"""OpenAI-compatible servers that misbehave in chosen ways, for tests of `verbatim flips` and `bench serve`. Not a test.

A model of the stubs is a function of the prompt and the tokens so far, so that an answer that has parted from another
one stays parted, as with real models.
"""

import hashlib
import http.server
import json
import socket
import struct
import threading
import time

VOCABULARY = 1000


def number(*parts):
    """A number in [0, 1) out of anything."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "little") / 2**64


class Model:
    """Tokens w0 to w999. With `flip_rate`, each token is another one with that probability."""

    def __init__(self, flip_rate=0.0, salt=""):
        self.flip_rate, self.salt = flip_rate, salt

    def tokens(self, prompt, count):
        tokens = []
        for i in range(count):
            token = int(number("token", prompt, i, tokens[-8:]) * VOCABULARY)
            if number("flip", prompt, i, self.salt) < self.flip_rate:
                token = (token + 1) % VOCABULARY
            tokens.append(token)
        return tokens


class StubServer:
    """Runs while it is entered. `url` is its address, `requests` what it was asked.

    model      what it answers with; called anew per request if it is a function
    dialect    "llama" (ids in content), "vllm" (token_ids), "text" (no log-probabilities)
    drafts     counts for timings, or None
    broken     "empty", "json", "status", "cut" (closes mid-answer), "slow"
    dies_after requests of text, after which every connection is closed at once
    Streams    tokens come `bundle` per event and `token_s` each; `busy_every` k: each k-th is answered with 429;
               broken "event" (an error in the middle) and "half" (ends without [DONE]); `running` and `most_running`
               count answers under way
    """

    def __init__(self, model=None, dialect="llama", drafts=None, broken=None, dies_after=None, reasoning=False,
                 key=None):
        self.model, self.dialect, self.drafts, self.broken = model or Model(), dialect, drafts, broken
        self.dies_after, self.reasoning, self.key = dies_after, reasoning, key
        self.requests, self.answers = [], 0
        self.bundle, self.token_s, self.busy_every = 3, 0, None
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.path == "/v1/models":
                    self.reply(200, {"data": [{"id": "stub-1"}]})
                else:
                    self.reply(404, {"error": {"message": "no such path"}})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.requests.append((self.path, body))
                if stub.key and self.headers["Authorization"] != "Bearer " + stub.key:
                    self.reply(401, {"error": {"message": "wrong key"}})
                    return
                stub.answers += 1
                if stub.busy_every and stub.answers % stub.busy_every == 0:
                    self.reply(429, {"error": {"message": "queue full"}})
                elif stub.dies_after is not None and stub.answers > stub.dies_after:
                    # A reset instead of an orderly end.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    self.connection.close()
                elif stub.broken == "json":
                    self.raw(200, b"<html>It works</html>")
                elif stub.broken == "status":
                    self.reply(500, {"error": {"message": "out of memory"}})
                elif stub.broken == "cut":
                    self.raw(200, b'{"choices": [', length=1000)
                elif stub.broken == "slow":
                    threading.Event().wait(3)
                    self.close_connection = True
                elif body.get("stream"):
                    self.stream(body)
                else:
                    self.reply(200, stub.answer(self.path, body))

            def stream(self, body):
                with stub.lock:
                    stub.running += 1
                    stub.most_running = max(stub.most_running, stub.running)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in stub.events(self.path, body):
                    data = f"data: {event}\n\n".encode()
                    # Cut anywhere: readers must not take a chunk for an event.
                    for part in (data[:7], data[7:]):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.flush()
                with stub.lock:  # before the end is seen
                    stub.running -= 1
                self.wfile.write(b"0\r\n\r\n")

            def raw(self, status, data, length=None):
                self.send_response(status)
                self.send_header("Content-Length", str(length or len(data)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = True

            def reply(self, status, value):
                self.raw(status, json.dumps(value).encode())

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256  # the standard library's 5 make 64 clients wait for seconds

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path, body):
        chat = path.endswith("/chat/completions")
        prompt = json.dumps(body["messages"]) if chat else body["prompt"]
        model = self.model() if callable(self.model) else self.model
        tokens = [] if self.broken == "empty" else model.tokens(prompt, body["max_tokens"])
        words = [f"w{token} " for token in tokens]
        choice = {"index": 0, "finish_reason": "length"}
        half = len(words) // 2 if self.reasoning else 0
        if chat:
            choice["message"] = {"role": "assistant", "content": "".join(words[half:])}
            if half:
                choice["message"]["reasoning_content"] = "".join(words[:half])
        else:
            choice["text"] = "".join(words)
        if body.get("logprobs") and self.dialect == "llama":
            choice["logprobs"] = {"content": [
                {"id": token, "token": word, "logprob": -0.1, "top_logprobs": [
                    {"id": token, "token": word, "logprob": -0.1},
                    {"id": 0, "token": "other", "logprob": -0.1 - 8 * number("gap", prompt, i)}]}
                for i, (token, word) in enumerate(zip(tokens, words))]}
        if body.get("logprobs") and self.dialect == "vllm":
            choice["logprobs"] = {"tokens": words, "top_logprobs": [{word: -0.1, "o": -3.1} for word in words]}
            if body.get("return_token_ids"):
                choice["token_ids"] = tokens
        answer = {"choices": [choice], "usage": {"completion_tokens": len(tokens)}}
        if self.dialect == "llama":
            answer["timings"] = {"predicted_n": len(tokens), **(self.drafts or {})}
        return answer

    def events(self, path, body):
        chat = path.endswith("/chat/completions")
        prompt = json.dumps(body["messages"]) if chat else body["prompt"]
        model = self.model(body) if callable(self.model) else self.model
        words = [f"w{token} " for token in model.tokens(prompt, body["max_tokens"])]
        for i in range(0, len(words), self.bundle):
            time.sleep(self.token_s * len(words[i:i + self.bundle]))
            text = "".join(words[i:i + self.bundle])
            yield json.dumps({"choices": [{"index": 0, **({"delta": {"content": text}} if chat else {"text": text})}]})
            if self.broken == "event":
                yield json.dumps({"error": {"message": "out of pages"}})
                return
            if self.broken == "half":
                return
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
        if self.drafts:
            end["timings"] = self.drafts
            end["choices"][0]["verbatim"] = {"speculation": {"tested_at": [10, 8], "accepted_at": [9, 4]}}
        yield json.dumps(end)
        yield json.dumps({"choices": [], "usage": {"completion_tokens": len(words), "prompt_tokens": 20,
                                                   "prompt_tokens_details": {"cached_tokens": 5}}})
        yield "[DONE]"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

"""A server that speaks the page's part of the HTTP interface and answers from a script. Not an engine, and not a test."""

import hashlib
import http.server
import json
import pathlib
import re
import threading
import time

SOURCE = pathlib.Path(__file__).parents[2]
PAGE = SOURCE / "src" / "serve" / "page"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".js": "text/javascript; charset=utf-8"}
# As the real server's (page_assets.h): a page that needs anything else breaks here.
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

THINKING = "The reader asks for a story. A king and three sons: a quest, and the youngest finds it.\n"
ANSWER = """Once upon a time there was a king who had three sons. The two eldest were clever, and knew it; the youngest \
was called Simpleton, and said little.

When the king grew old he called them together. “Go out into the world,” he said, “and whoever brings me the finest \
carpet shall have the crown.” So that there should be no quarrel he took three feathers, blew them into the air, and \
told each son to follow his own. 🪶

The first feather flew east, the second west; the third rose a little and fell to the ground. <b>There it lay</b> &amp; \
there Simpleton sat down beside it, until he saw that a small door was hidden in the grass."""
ACCEPTED = [3, 2, 3, 0, 3, 3, 1, 3, 2, 3]  # of three drafts, step by step


def tokens_of(text):
    """Pieces as a tokenizer makes them, as bytes; a character beyond the basic plane is two of them."""
    pieces = []
    for piece in re.findall(r"\s?\w{1,6}|\s+|[^\w\s]", text):
        data = piece.encode()
        pieces += [data[:2], data[2:]] if len(data) == 4 and len(piece) == 1 else [data]
    return pieces


def token_id(data):
    return int.from_bytes(hashlib.sha256(data).digest()[:2], "big")


class StubServer:
    """`with StubServer() as server`: server.url. Behaviour is set by attributes, at any time."""

    def __init__(self):
        self.answer, self.thinking = ANSWER, THINKING
        self.health = (200, {"status": "ok", "contract": {"mode": "exact", "held": "exact", "reason": ""}})
        self.key = None           # asked for if set
        self.refuse = None        # (status, error object) for each chat request
        self.fail_after = None    # steps, then an error event
        self.cut_after = None     # steps, then the end of the connection
        self.classic_differs = False
        self.tells_tokens = True  # other engines don't
        self.step_s = {"mtp": 0.004, "off": 0.003}
        self.requests = []        # bodies of chat requests
        self.clients_gone = 0     # before the end of their answer
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                if self.path == "/health":
                    return stub.send_json(self, *stub.health)
                if self.path == "/v1/models":
                    if stub.refuses_key(self):
                        return None
                    return stub.send_json(self, 200, {"object": "list", "data": [{"id": "tiny-qwen35-4bit"}]})
                name = "index.html" if self.path == "/" else self.path.removeprefix("/page/")
                file = PAGE / name
                if "/" in name or file.suffix not in TYPES or not file.is_file():
                    return stub.send_json(self, 404, {"error": {"message": "no such page", "type": "not_found_error"}})
                data = file.read_bytes()
                self.send_response(200)
                self.send_header("Content-Type", TYPES[file.suffix])
                self.send_header("Content-Security-Policy", POLICY)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if stub.refuses_key(self):
                    return
                stub.requests.append(body)
                if stub.refuse:
                    status, error = stub.refuse
                    stub.send_json(self, status, {"error": error})
                elif body.get("stream"):
                    try:
                        stub.stream(self, body)
                    except (BrokenPipeError, ConnectionResetError):
                        stub.clients_gone += 1
                else:
                    stub.send_json(self, 200, stub.whole(body))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def send_json(handler, status, value):
        data = json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def refuses_key(self, handler):
        if not self.key or handler.headers.get("Authorization") == f"Bearer {self.key}":
            return False
        self.send_json(handler, 401, {"error": {"message": "[api key] expected a valid key, received none",
                                                "type": "authentication_error", "param": None, "code": "invalid_api_key"}})
        return True

    def pieces(self, body):
        """[(channel, bytes)] of the whole answer as tokens; channel None is not shown."""
        thinking = body.get("chat_template_kwargs", {}).get("enable_thinking", True) and self.thinking
        made = [("reasoning_content", data) for data in tokens_of(thinking)] + [(None, b"</think>"), (None, b"\n\n")] \
            if thinking else []
        made += [("content", data) for data in tokens_of(self.answer)] + [(None, b"<|im_end|>")]
        if body["speculation"]["kind"] == "off" and self.classic_differs:
            made[20] = (made[20][0], b" other")
        return made[:body.get("max_tokens", len(made))]

    @staticmethod
    def digest(pieces):
        return hashlib.sha256(b"".join(data for _, data in pieces)).hexdigest()

    def steps(self, body):
        """Blocks of tokens (channel, bytes, details)."""
        pieces, at, block = self.pieces(body), 0, 0
        while at < len(pieces):
            rows = 1 if block == 0 or body["speculation"]["kind"] == "off" else 4
            accepted = min(ACCEPTED[block % len(ACCEPTED)], rows - 1)
            step = []
            for row, (channel, data) in enumerate(pieces[at:at + accepted + 1]):
                step.append((channel, data, {"id": token_id(data), "text": data.decode(errors="replace"),
                                             "bytes": list(data), "drafted": row < accepted, "block": block, "row": row,
                                             "block_rows": rows}))
            at, block = at + len(step), block + 1
            yield step

    def stream(self, handler, body):
        pieces = self.pieces(body)
        kind = body["speculation"]["kind"]
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()

        def send(text):
            data = text.encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            handler.wfile.flush()

        def event(choices, **more):
            send("data: " + json.dumps({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": choices, **more},
                                       ensure_ascii=False) + "\n\n")

        def cut():
            handler.close_connection = True
            handler.wfile.write(b"0\r\n\r\n")

        send(": waiting\n\n")
        event([{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}])
        tested, accepted, held, start = [0] * 3, [0] * 3, b"", time.monotonic()
        for number, step in enumerate(self.steps(body)):
            if number == self.fail_after:
                send('data: {"error": {"message": "[engine] expected finite logits, received NaN", "type": "server_error"}}\n\n')
                return cut()
            if number == self.cut_after:
                return cut()
            time.sleep(self.step_s[kind])
            shown = {}
            for channel, data, details in step:
                if details["block"] and details["row"] < details["block_rows"] - 1:
                    tested[details["row"]] += 1
                    accepted[details["row"]] += details["drafted"]
                if channel:
                    held += data
                    try:
                        text, held = held.decode(), b""
                    except UnicodeDecodeError:
                        continue  # half a character waits for its other half
                    shown[channel] = shown.get(channel, "") + text
            details = [entry for _, _, entry in step]
            for channel, text in shown.items() or [("content", "")]:
                told = {"verbatim": {"tokens": details}} if self.tells_tokens else {}
                event([{"index": 0, "delta": {channel: text}, "finish_reason": None, **told}])
                details = []
        elapsed_ms = 1000 * (time.monotonic() - start)
        told = {"logits_sha256": self.digest(pieces),
                "speculation": {"kind": kind, "tested": sum(tested), "accepted": sum(accepted),
                                "tested_at": tested, "accepted_at": accepted}}
        event([{"index": 0, "delta": {}, "finish_reason": "stop" if "max_tokens" not in body else "length",
                **({"verbatim": told} if self.tells_tokens else {})}],
              timings={"predicted_n": len(pieces), "predicted_ms": elapsed_ms,
                       "predicted_per_second": 1000 * (len(pieces) - 1) / elapsed_ms})
        event([], usage={"prompt_tokens": 21, "completion_tokens": len(pieces), "prompt_tokens_details": {"cached_tokens": 16}})
        send("data: [DONE]\n\n")
        handler.wfile.write(b"0\r\n\r\n")

    def whole(self, body):
        pieces = self.pieces(body)
        receipt = {"receipt": 1, "logits_sha256": self.digest(pieces), "token_ids": [token_id(data) for _, data in pieces]}
        return {"id": "chatcmpl-2", "object": "chat.completion", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": self.answer}, "finish_reason": "stop",
             "verbatim": {"receipt": receipt}}]}


if __name__ == "__main__":
    with StubServer() as server:
        server.step_s = {"mtp": 0.06, "off": 0.045}  # as fast as a person reads
        print(server.url, flush=True)
        threading.Event().wait()

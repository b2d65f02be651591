"""Clients that nobody wants: slow, dying, malformed, excessive. Each attack is a function of (served, rng, end). Not a test."""

import json
import socket
import time

ENDPOINTS = ("/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/tokenize", "/detokenize",
             "/apply-template")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}}
# What each endpoint takes, with as many fields as it has.
VALID = {
    "/v1/completions": {"prompt": "Once", "max_tokens": 4, "temperature": 0.7, "top_p": 0.9, "top_k": 20, "seed": 1, "n": 1, "stop": ["x"],
                        "logprobs": 2, "logit_bias": {"5": 1}, "stream": False, "stream_options": {"include_usage": True}, "echo": False,
                        "min_tokens": 1, "repetition_penalty": 1.1, "frequency_penalty": 0.1, "speculation": {"kind": "mtp", "draft_tokens": 2},
                        "banned_token_ids": [3], "bad_words": ["zebra"], "guided_choice": ["a", "b"], "contract": "exact"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "2"}],
        "max_tokens": 4, "tools": [TOOL], "tool_choice": "auto", "response_format": {"type": "text"}, "logprobs": True, "top_logprobs": 2,
        "chat_template_kwargs": {"x": 1}, "reasoning_effort": "low", "parallel_tool_calls": False},
    "/v1/responses": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], "instructions": "Be brief",
                      "max_output_tokens": 4, "text": {"format": {"type": "text"}}, "tools": [], "reasoning": {"effort": "low"}},
    "/v1/messages": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}], "system": "Be brief", "max_tokens": 4,
                     "stop_sequences": ["x"], "tools": [], "thinking": {"type": "disabled"}, "temperature": 0.5},
    "/tokenize": {"content": "Once"},
    "/detokenize": {"tokens": [5, 6]},
    "/apply-template": {"messages": [{"role": "user", "content": "Hi"}]},
}
BIG = "x" * (1 << 20)
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, -2**63, 2**64, 1e308, -1e308, 1e-320, 0.5, "", "x", BIG[:1000], "\0", "\ud7ff\u0301",
          "1", [], [None], [[]], [1] * 3000, ["x"] * 100, {}, {"": ""}, {"type": "x"}, {"role": "user"}, [{"role": "user", "content": "x"}]]
NOT_JSON = [b"", b" ", b"{", b"}", b"nul", b"NaN", b'{"prompt": NaN}', b'{"prompt": Infinity}', b'{"prompt": 1e999}', b'{"max_tokens": -1e999}',
            b"\xff\xfe{}", b'{"prompt": "\xff"}', b'{"prompt": "\xed\xa0\x80"}', b'{"prompt": "\\ud800"}', b'{"prompt": "\\udc00\\ud800"}',
            b'{"prompt": "\\u12"}', b'{"prompt": "a\nb"}', b"[" * 10000, b'{"a":' * 10000, b"[" * 10000 + b"]" * 10000, b'{"prompt": "x",}',
            b"{'prompt': 'x'}", b'{"prompt": "x"} x', b"\0", b'{"prompt": 01}', b'{"a":1' + b',"a":1' * 20000 + b"}", b"[1]", b'"x"', b"7",
            b'{"prompt": "' + BIG.encode(), b'{"messages": ' + b"[" * 63 + b"]" * 63 + b"}"]
RAW = [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
       b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n",
       b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
       b"GET / HTTP/1.1\nHost: localhost\n\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
       b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20000, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
       b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100000]
GRAMMARS = [{"guided_regex": "(a{1,1000}){1000}"}, {"guided_regex": "(" * 3000 + ")" * 3000}, {"guided_regex": "(x+x+)+y"},
            {"guided_regex": "((a|b)*a(a|b){18})"}, {"guided_regex": "[^"}, {"guided_json": {"$ref": "#"}},
            {"guided_json": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}},
            {"guided_json": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}},
            {"guided_json": {"description": BIG}}, {"guided_json": {"enum": [f"{i:0100}" for i in range(9000)]}},
            {"guided_json": {"$ref": "http://example.invalid/schema"}}, {"guided_json": {"type": "string", "pattern": "(?=a)b"}},
            {"guided_json": {"allOf": [{"anyOf": [{"properties": {f"a{i}": {"type": "string"}}}, {"properties": {f"b{i}": {"type": "null"}}}]}
                                       for i in range(25)]}},
            {"guided_grammar": 'start: start "a" | "a"'}, {"guided_grammar": 'start: start start | "a" | "b" | "ab"'},
            {"guided_grammar": "start: start"}, {"guided_grammar": "start: a\na: b\nb: a"}, {"guided_grammar": "start: nobody"},
            {"guided_grammar": "start: " + " | ".join(f'"{i}"' for i in range(20000))}, {"guided_grammar": "%%%"},
            {"guided_grammar": "start: A\nA: " + " & ".join(f"/.*a.{{{20 + i}}}/" for i in range(10))}]
EXCESSIVE = [("/v1/completions", {"prompt": "hello " * 20000}), ("/v1/completions", {"prompt": [5] * 5000}), ("/v1/completions", {"prompt": [10**6]}),
             ("/v1/completions", {"prompt": ["a"] * 65}), ("/v1/completions", {"prompt": "x", "n": 17}), ("/v1/completions", {"prompt": "x", "n": 0}),
             ("/v1/completions", {"prompt": "x", "stop": ["x"] * 17}), ("/v1/completions", {"prompt": "x", "stop": "y" * 1025}),
             ("/v1/completions", {"prompt": ["a"] * 64, "n": 16}), ("/v1/completions", {"prompt": "x", "logprobs": 21}),
             ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello " * 20000}]}),
             ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}] * 4097}),
             ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "tools": [TOOL] * 257}),
             ("/v1/completions", {"prompt": "x", "banned_token_ids": list(range(1024))}),
             ("/v1/chat/completions", {"messages": [{"role": "developer", "content": "x"}, {"role": "system", "content": "x"}]}),
             ("/v1/chat/completions", {"messages": [{"role": "system", "content": "x"}]}),
             ("/v1/messages", {"messages": [{"role": "user", "content": "x"}], "system": "x", "max_tokens": 2}),
             ("/apply-template", {"messages": [{"role": "system", "content": "x"}]})]


def connect(served, receive_buffer=None):
    client = socket.socket()
    if receive_buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(60)
    client.connect((served.host, served.port))
    return client


def head(path, length):
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def post(served, path, data):
    """(status, body) or None if the connection ended first."""
    status, _, body = served.request("POST", path, data)
    return status, body


def mutate(value, rng):
    """A copy with one place, at any depth, replaced, removed, doubled or renamed."""
    value = json.loads(json.dumps(value))
    place = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return value
        key = rng.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.6:
            place = place[key]
            continue
        how = rng.randrange(8)
        if how == 0:
            del place[key]
        elif how == 1 and isinstance(place, list):
            place.append(place[key])
        elif how == 1:
            place[key + "\u0000"] = place.pop(key)
        else:
            place[key] = rng.choice(VALUES)
        return value


def slow_header(served, rng, end):
    client = connect(served)
    for byte in b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"y" * 10000:
        if time.monotonic() > end:
            break
        client.sendall(bytes([byte]))
        time.sleep(rng.uniform(0.05, 0.4))
    client.close()


def slow_body(served, rng, end):
    client = connect(served)
    client.sendall(head("/v1/completions", 10000))
    while time.monotonic() < end:
        client.sendall(b" ")
        time.sleep(rng.uniform(0.05, 0.4))
    client.close()


def slow_reader(served, rng, end):
    client = connect(served, receive_buffer=2048)
    body = json.dumps({"prompt": "Once", "max_tokens": 800, "ignore_eos": True, "stream": True, "logprobs": 20, "token_details": True}).encode()
    client.sendall(head("/v1/completions", len(body)) + body)
    while time.monotonic() < end and client.recv(rng.randrange(1, 200)):
        time.sleep(rng.uniform(0.05, 0.3))
    client.close()


def hangs_up(served, rng, end):
    client = connect(served)
    body = json.dumps({**VALID[rng.choice(ENDPOINTS[:2])], "max_tokens": 300, "ignore_eos": True, "stream": rng.random() < 0.7,
                       "n": rng.choice([1, 1, 2])}).encode()
    data = head(rng.choice(ENDPOINTS[:2]), len(body)) + body
    moment = rng.randrange(4)
    client.sendall(data[:rng.randrange(len(data))] if moment == 0 else data)
    if moment == 2:
        client.recv(rng.randrange(1, 4000))
    elif moment == 3:
        time.sleep(rng.uniform(0, 0.3))
    if rng.random() < 0.5:  # with a reset
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def malformed_http(served, rng, end):
    client = connect(served)
    data = rng.choice(RAW) if rng.random() < 0.7 else rng.randbytes(rng.randrange(1, 3000))
    if rng.random() < 0.3:
        body = json.dumps(VALID["/tokenize"]).encode()
        data = bytearray(head("/tokenize", len(body)) + body)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)
    answer = client.recv(100)
    client.close()
    return (int(answer[9:12]), answer) if answer.startswith(b"HTTP/1.1 ") else None


def bad_json(served, rng, end):
    path = rng.choice(ENDPOINTS)
    if rng.random() < 0.3:
        return post(served, path, rng.choice(NOT_JSON))
    data = json.dumps(mutate(VALID[path], rng)).encode()
    if rng.random() < 0.2:
        data = data[:rng.randrange(len(data))]
    elif rng.random() < 0.1:
        data = data.replace(b"Once", BIG.encode()).replace(b"Hi", BIG.encode())
    return post(served, path, data)


def grammar(served, rng, end):
    return post(served, "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 12, **rng.choice(GRAMMARS)}))


def excessive(served, rng, end):
    path, body = rng.choice(EXCESSIVE)
    answer = post(served, path, json.dumps(body))
    if answer[0] not in (400, 429):
        raise AssertionError(f"{path} {str(body)[:100]}: {answer}")
    return answer


ATTACKS = (slow_header, slow_body, slow_reader, hangs_up, malformed_http, bad_json, grammar, excessive)

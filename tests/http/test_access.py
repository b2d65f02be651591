#!/usr/bin/env python3
"""Who may ask and what is told to whom: keys, origins, methods, paths, names, queues, logs. Not the answers themselves."""

import concurrent.futures
import json
import pathlib
import re
import socket
import tempfile
import threading
import unittest

from server import SLOW, WAIT, Server

KEY, OTHER_KEY = "key-0123456789", "another-key-9876543210"
SMALL = ("--context", 512, "--log-level", "error")
SHORT = {"prompt": "Once upon a time", "max_tokens": 3, "temperature": 0}
# Seconds, of a slow server: long enough to be there when the next requests come.
LONG = {"prompt": "Once upon a time", "max_tokens": 400, "temperature": 0, "ignore_eos": True, "speculation": "off",
        "logits_digest": True}


def cors_headers(headers):
    return {name: value for name, value in headers.items() if name.lower().startswith("access-control")}


class AccessTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def keys(self):
        path = self.folder / "keys"
        path.write_text(f"# of two clients\n{KEY}\n\n{OTHER_KEY}\n")
        return path

    def error(self, served, method, path, status, body=None, headers=None):
        """The error object of an answer with that status, in OpenAI's form, and the headers."""
        got, answer_headers, data = served.request(method, path, body, headers)
        self.assertEqual(got, status, data)
        error = json.loads(data)["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        return error, answer_headers

    def test_keys(self):
        with Server("--api-key-file", self.keys(), *SMALL) as served:
            protected = [("GET", "/v1/models"), ("GET", "/v1/models/x"), ("GET", "/metrics"), ("GET", "/version"),
                         ("GET", "/openapi.json"), ("POST", "/v1/completions"), ("POST", "/v1/chat/completions"),
                         ("POST", "/v1/responses"), ("POST", "/tokenize"), ("POST", "/detokenize"),
                         ("POST", "/apply-template"), ("GET", "/nothing"), ("DELETE", "/v1/models")]
            wrong = [{}, {"Authorization": "Bearer wrong-key-0123"}, {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"},
                     {"Authorization": "Bearer "}, {"x-api-key": KEY[:-1]}, {"x-api-key": KEY + "0"}, {"x-api-key": KEY.upper()}]
            for number, (method, path) in enumerate(protected):
                # Nobody without a key learns what there is.
                error, headers = self.error(served, method, path, 401, "{}" if method == "POST" else None, wrong[number % len(wrong)])
                self.assertEqual((error["type"], error["code"]), ("authentication_error", "invalid_api_key"))
                self.assertEqual(headers["WWW-Authenticate"], "Bearer")
            for headers in wrong:
                error, _ = self.error(served, "POST", "/v1/completions", 401, SHORT, headers)
                self.assertNotIn(KEY, error["message"])
            status, _, data = served.request("POST", "/v1/messages", {}, {"x-api-key": "wrong-key-0123"})
            self.assertEqual(status, 401)
            answer = json.loads(data)
            self.assertEqual((answer["type"], answer["error"]["type"]), ("error", "authentication_error"))
            self.assertTrue(answer["request_id"])
            for headers in ({"Authorization": f"Bearer {KEY}"}, {"authorization": f"bearer {OTHER_KEY}"}, {"X-API-Key": KEY},
                            {"x-api-key": OTHER_KEY, "Authorization": "Bearer wrong-key-0123"}):
                status, _, data = served.request("POST", "/v1/completions", SHORT, headers)
                self.assertEqual(status, 200, data)
            # A balancer and a browser come without one.
            for path in ("/health", "/v1/health", "/"):
                self.assertEqual(served.request("GET", path)[0], 200, path)

    def test_paths_of_strangers_leave_nothing_behind(self):
        with Server("--api-key-file", self.keys(), *SMALL) as served:
            for number in range(50):
                served.request("GET", f"/stranger-{number}")
                served.request(f"METHOD{number}", "/v1/models", headers={"x-api-key": KEY})
                served.request("GET", f"/v1/models/stranger-{number}")
                served.request("GET", f"/stranger-{number}", headers={"x-api-key": KEY})
            _, _, page = served.request("GET", "/metrics", headers={"x-api-key": KEY})
            self.assertFalse(b"stranger" in page, "a path of a stranger is a label")  # too long a page to show
            endpoints = set(re.findall(rb'http_requests_total\{[^}]*endpoint="([^"]*)"', page))
            self.assertLessEqual(len(endpoints), 4, endpoints)

    def test_methods_and_paths(self):
        with Server(*SMALL) as served:
            error, _ = self.error(served, "GET", "/nothing", 404)
            self.assertEqual(error["code"], "not_found")
            for method, path, allowed in (("GET", "/v1/chat/completions", "POST"), ("HEAD", "/tokenize", "POST"),
                                          ("DELETE", "/v1/models", "GET"), ("POST", "/health", "GET"), ("PUT", "/metrics", "GET"),
                                          ("OPTIONS", "/v1/messages", "POST"), ("PATCH", "/v1/models/x", "GET")):
                status, headers, data = served.request(method, path)
                self.assertEqual((status, headers["Allow"]), (405, allowed), (method, path))
                if method == "HEAD":
                    self.assertEqual(data, b"")
                else:
                    self.assertIn(b"method: expected " + allowed.encode(), data)
            for path in ("/health", "/", "/v1/models", "/metrics", "/openapi.json", f"/v1/models/{served.model}"):
                status, headers, data = served.request("HEAD", path)
                self.assertEqual((status, data), (200, b""), path)
                # Of what changes from moment to moment only that there is something.
                length = int(headers["Content-Length"])
                self.assertGreater(length, 10)
                if path not in ("/health", "/metrics"):
                    self.assertEqual(length, len(served.get(path)))

    def test_names_of_the_model(self):
        with Server("--served-model-name", "team/écho-1", *SMALL) as served:
            self.assertEqual(served.model, "team/écho-1")
            self.assertEqual([m["id"] for m in json.loads(served.get("/v1/models"))["data"]], ["team/écho-1"])
            self.assertEqual(json.loads(served.get("/v1/models/team/%C3%A9cho-1"))["id"], "team/écho-1")
            for body in (SHORT, {**SHORT, "model": ""}, {**SHORT, "model": "team/écho-1"}):
                self.assertEqual(served.post("/v1/completions", body)["model"], "team/écho-1")
            messages = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "model": "gpt-4"}
            for path, body in (("/v1/completions", {**SHORT, "model": "nano-qwen35"}), ("/v1/chat/completions", messages),
                               ("/v1/responses", {"input": "Hi", "model": "gpt-4"})):
                error, _ = self.error(served, "POST", path, 404, body)
                self.assertEqual((error["code"], error["param"]), ("model_not_found", "model"))
                self.assertIn("écho-1", error["message"])
            error, _ = self.error(served, "GET", "/v1/models/gpt-4", 404)
            self.assertEqual(error["code"], "model_not_found")
            status, _, data = served.request("POST", "/v1/messages", messages)
            self.assertEqual((status, json.loads(data)["error"]["type"]), (404, "not_found_error"))

    def test_chat_template(self):
        template = self.folder / "mine.jinja"
        template.write_text("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
                            "<{{ m.role }}>{{ m.content }}{% endfor %}")
        with Server("--chat-template", template, *SMALL) as served:
            said = served.post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})
            self.assertEqual(said["prompt"], "<user>Hi")
            system = {"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "Hi"}], "max_tokens": 2}
            for path in ("/v1/chat/completions", "/apply-template"):
                error, _ = self.error(served, "POST", path, 400, system)
                self.assertIn("no system here", error["message"])
                self.assertEqual(error["param"], "messages")

    def test_request_ids(self):
        with Server(*SMALL) as served:
            for path in ("/health", "/nothing", "/v1/models"):
                self.assertEqual(served.request("GET", path, headers={"x-request-id": "mine-1"})[1]["x-request-id"], "mine-1")
            status, headers, data = served.request("POST", "/v1/completions", SHORT, {"X-Request-Id": "mine.2"})
            self.assertEqual((status, headers["x-request-id"]), (200, "mine.2"))
            self.assertIn("mine.2", json.loads(data)["id"])
            # What would harm a log or a header is replaced; two that are drawn differ.
            drawn = {served.request("GET", "/health", headers={"x-request-id": sent})[1]["x-request-id"]
                     for sent in ("", "a b", "x" * 300, "quote\"", "{}", "<script>")}
            self.assertEqual(len(drawn), 6)
            for name in drawn:
                self.assertRegex(name, r"^req_[0-9a-f]{32}$")

    def test_no_origin_may_read_by_default(self):
        with Server(*SMALL) as served:
            origin = {"Origin": "https://evil.example"}
            for method, path, body in (("GET", "/v1/models", None), ("POST", "/v1/completions", SHORT), ("GET", "/", None),
                                       ("GET", "/nothing", None)):
                _, headers, _ = served.request(method, path, body, origin)
                self.assertEqual(cors_headers(headers), {})
            status, headers, _ = served.request("OPTIONS", "/v1/completions", headers={
                **origin, "Access-Control-Request-Method": "POST"})
            self.assertEqual((status, cors_headers(headers)), (405, {}))

    def test_listed_origins_may_read(self):
        with Server("--cors-origin", "https://one.example", "--cors-origin", "http://localhost:3000", "--api-key-file", self.keys(),
                    *SMALL) as served:
            # Of the clients of OpenAI and Anthropic in a browser.
            wanted = "anthropic-beta,anthropic-dangerous-direct-browser-access,authorization,content-type,x-stainless-arch"
            for origin in ("https://one.example", "http://localhost:3000"):
                # A preflight never has the key.
                status, headers, data = served.request("OPTIONS", "/v1/chat/completions", headers={
                    "Origin": origin, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": wanted})
                self.assertEqual((status, data), (204, b""))
                self.assertEqual(headers["Access-Control-Allow-Origin"], origin)
                self.assertIn("POST", headers["Access-Control-Allow-Methods"])
                self.assertEqual(headers["Access-Control-Allow-Headers"], wanted)
                self.assertEqual(headers["Vary"], "Origin, Access-Control-Request-Headers")
                for key, path, body, status in ((KEY, "/v1/completions", SHORT, 200), ("", "/v1/completions", SHORT, 401),
                                                (KEY, "/v1/completions", {**SHORT, "stream": True}, 200), (KEY, "/v1/completions", {}, 400)):
                    got, headers, data = served.request("POST", path, body, {"Origin": origin, "x-api-key": key})
                    self.assertEqual((got, headers["Access-Control-Allow-Origin"], headers["Vary"]), (status, origin, "Origin"))
                    self.assertEqual(headers["Access-Control-Expose-Headers"], "x-request-id, retry-after")
                    self.assertNotIn("Access-Control-Allow-Credentials", headers)
                    if body.get("stream"):
                        self.assertTrue(data.endswith(b"data: [DONE]\n\n"), data)
            for origin in ("https://one.example.evil", "https://evil.example", "null", "https://ONE.example", "http://one.example"):
                _, headers, _ = served.request("POST", "/v1/completions", SHORT, {"Origin": origin, "x-api-key": KEY})
                self.assertEqual(cors_headers(headers), {})

    def test_errors_of_the_transport(self):
        """In the form that the path's clients read, readable for an allowed page, and counted."""
        origin = {"Origin": "https://one.example"}
        with Server("--cors-origin", origin["Origin"], "--max-body", 1000, *SMALL) as served:
            def ask(path, body="x" * 1001, **headers):
                status, headers, data = served.request("POST", path, body, {**origin, **headers})
                self.assertEqual(headers["Access-Control-Allow-Origin"], origin["Origin"])
                return status, headers, json.loads(data)

            for path in ("/v1/messages", "/v1/messages/count_tokens"):
                status, headers, answer = ask(path)
                self.assertEqual((status, answer["type"], answer["error"]["type"]), (413, "error", "request_too_large"))
                self.assertEqual(answer["request_id"], headers["x-request-id"])
            status, _, answer = ask("/v1/messages/nothing", "{}")
            self.assertEqual((status, answer["type"], answer["error"]["type"]), (404, "error", "not_found_error"))
            status, _, answer = ask("/v1/completions")
            self.assertEqual((status, answer["error"]["type"]), (413, "invalid_request_error"))
            status, headers, answer = ask("/v1/completions", "{}", **{"Content-Encoding": "gzip"})
            self.assertEqual((status, headers["Accept-Encoding"]), (415, "identity"))
            self.assertIn("Content-Encoding", answer["error"]["message"])
            self.assertEqual(self.error(served, "GET", "/" + "x" * 40000, 414)[0]["type"], "invalid_request_error")
            page = served.get("/metrics").decode()
            for endpoint, status in (("/v1/messages", 413), ("/v1/completions", 413), ("/v1/completions", 415), ("other", 414)):
                self.assertRegex(page, rf'http_requests_total\{{endpoint="{endpoint}",[^}}]*status="{status}"\}} 1\n')

    def test_names_of_other_machines_are_refused(self):
        """A page whose name was made to resolve to 127.0.0.1 is of the server's origin: only its name tells."""
        evil = ("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.1")
        with Server(*SMALL) as served:
            good = ("localhost", "LOCALHOST:1", "a.localhost:3000", "127.0.0.1", f"127.0.0.1:{served.port}", "127.3.2.1", "[::1]:80")
            for host in evil:
                for method, path, body in (("GET", "/health", None), ("GET", "/", None), ("POST", "/v1/completions", SHORT),
                                           ("GET", "/nothing", None), ("OPTIONS", "/v1/models", None)):
                    error, _ = self.error(served, method, path, 403, body and json.dumps(body), {"Host": host})
                    self.assertEqual(error["code"], "host_not_allowed")
                    self.assertIn(f"received {host};", error["message"])
            for host in good:
                self.assertEqual(served.request("GET", "/health", headers={"Host": host})[0], 200, host)
            with socket.create_connection((served.host, served.port), timeout=WAIT) as old:  # HTTP/1.0 has no such header
                old.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                self.assertTrue(old.recv(100).startswith(b"HTTP/1.1 200 "))
        for arguments in (("--api-key-file", self.keys()), ("--allow-public",), ("--unix-socket", self.folder / "s")):
            with Server(*arguments, *SMALL) as served:
                self.assertEqual(served.request("GET", "/health", headers={"Host": evil[0]})[0], 200, arguments)

    def test_a_full_queue(self):
        with Server("--parallel", 1, "--max-queue", 1, "--context", 2048, "--log-level", "error", **SLOW) as served:
            expected = served.post("/v1/completions", LONG)["choices"][0]
            begun = threading.Semaphore(0)

            def stream():
                events = served.events("/v1/completions", LONG)
                first = next(events)
                begun.release()
                text = first["choices"][0]["text"]
                for event in events:
                    text += event["choices"][0]["text"] if event["choices"] else ""
                return text

            with concurrent.futures.ThreadPoolExecutor() as pool:
                running = pool.submit(stream)
                begun.acquire()
                waiting = pool.submit(served.post, "/v1/completions", LONG)
                while json.loads(served.get("/health"))["waiting"] == 0 and not waiting.done():
                    pass
                for _ in range(3):
                    error, headers = self.error(served, "POST", "/v1/completions", 429, SHORT)
                    self.assertEqual((error["type"], error["code"]), ("rate_limit_error", "queue_full"))
                    self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                self.assertEqual(running.result(), expected["text"])
                self.assertEqual(waiting.result()["choices"][0]["verbatim"]["logits_sha256"], expected["verbatim"]["logits_sha256"])
            # As room is again, so are answers.
            served.post("/v1/completions", SHORT)

    def test_more_choices_than_the_queue_ever_has_room_for(self):
        with Server("--parallel", 1, "--max-queue", 1, *SMALL) as served:
            served.post("/v1/completions", {**SHORT, "n": 2})
            # Not 429: the same request will never fit.
            error, headers = self.error(served, "POST", "/v1/completions", 400, {**SHORT, "n": 3})
            self.assertNotIn("Retry-After", headers)
            self.assertIn("at most 2", error["message"])


class LogTest(unittest.TestCase):
    def test_lines_tell_of_requests_and_never_what_was_said(self):
        """JSON lines at the level that says most."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "keys").write_text(KEY)
            log = folder / "log"
            prompt = "Zanzibar's secret recipe"
            with Server("--context", 512, "--log-level", "debug", "--log-format", "json", "--log-file", log, "--api-key-file",
                        folder / "keys") as served:
                ids, said = [], []

                def ask(method, path, body=None, **headers):
                    status, got, data = served.request(method, path, body, {"x-api-key": KEY, **headers})
                    ids.append(got["x-request-id"])
                    return status, data

                status, data = ask("POST", "/v1/completions", {"prompt": prompt, "max_tokens": 40, "temperature": 0,
                                                               "ignore_eos": True})
                said.append(json.loads(data)["choices"][0]["text"])
                messages = [{"role": "user", "content": prompt}]
                ask("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": 5, "stream": True})
                ask("POST", "/v1/chat/completions", {"messages": messages, "max_tokens": "five"})
                ask("POST", "/v1/chat/completions", {"messages": messages, "model": "gpt"})
                ask("POST", "/v1/completions", '{"prompt": "' + prompt)
                ask("POST", "/v1/completions", {"prompt": prompt, "guided_regex": f"({prompt}"})
                ask("POST", "/tokenize", {"content": prompt, "x": 1})
                ask("GET", "/nothing?" + prompt.replace(" ", "+"))
                ask("GET", "/v1/models", **{"x-api-key": "wrong-" + KEY})
                self.assertEqual(served.stop(), 0)
                errors = served.stderr()
            lines = log.read_text().splitlines()
            entries = [json.loads(line) for line in lines]
            self.assertGreaterEqual(len(entries), 8)
            for entry in entries:
                self.assertRegex(entry["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                self.assertIn(entry["level"], ("error", "warning", "info", "debug"))
                self.assertIn(entry["id"], ids)
            self.assertLessEqual(set(ids[:6]), {entry["id"] for entry in entries})
            first = next(entry for entry in entries if entry["id"] == ids[0])
            self.assertEqual((first["event"], first["status"], first["tokens"]), ("request", 200, 40))
            for text in (log.read_text(), errors):
                for secret in ("Zanzibar", "recipe", KEY, said[0][:12]):
                    self.assertNotIn(secret, text)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""How a server starts, and every clear error where it can't: addresses, keys, sockets, files, settings. Not what it answers."""

import pathlib
import re
import shutil
import socket
import stat
import tempfile
import unittest

from server import NANO, Server, refused

KEY = "key-0123456789"
SMALL = ("--context", 256, "--log-level", "error")


class StartupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def fails(self, *arguments, code=1, says=(), model=NANO):
        """One last line of the errors' one form, which holds all of `says`."""
        done = refused(*arguments, model=model)
        lines = done.stderr.decode().splitlines()
        self.assertEqual((done.returncode, done.stdout), (code, b""), lines)
        self.assertRegex(lines[-1], r"^\[.+\] expected .+, received .+")
        for part in says:
            self.assertIn(str(part), lines[-1])
        self.assertFalse([line for line in lines[:-1] if "expected" in line], lines)

    # Addresses.

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.fails("--port", port, says=[port, "in use", "try"])

    def test_addresses_that_this_machine_does_not_have(self):
        # 192.0.2.0/24 is RFC 5737's for documents, .invalid RFC 2606's.
        self.fails("--host", "192.0.2.1", "--port", 0, "--allow-public", says=["192.0.2.1", "Cannot assign"])
        self.fails("--host", "nobody.invalid", "--port", 0, "--allow-public", says=["nobody.invalid"])

    def test_a_public_address_needs_a_key_or_a_word(self):
        for host in ("0.0.0.0", "::", "192.0.2.1"):
            self.fails("--host", host, "--port", 0, code=2, says=[host, "--api-key-file", "--allow-public"])
        with Server("--host", "0.0.0.0", "--allow-public", *SMALL) as served:
            served.host = "127.0.0.1"
            self.assertEqual(served.request("GET", "/v1/models")[0], 200)
        with Server("--host", "0.0.0.0", "--api-key-file", self.file("keys", KEY), *SMALL) as served:
            served.host = "127.0.0.1"
            self.assertEqual(served.request("GET", "/v1/models")[0], 401)
            self.assertEqual(served.request("GET", "/v1/models", headers={"x-api-key": KEY})[0], 200)

    def test_port_0_takes_free_ones(self):
        with Server(*SMALL) as one, Server(*SMALL) as other:
            self.assertNotIn(0, (one.port, other.port))
            self.assertNotEqual(one.port, other.port)
            for served in (one, other):
                served.get("/health")

    def test_names_of_this_machine_need_no_key(self):
        with Server("--host", "localhost", *SMALL) as served:
            served.get("/health")

    # Unix sockets.

    def test_unix_socket(self):
        path = self.folder / "socket"
        with Server("--unix-socket", path, *SMALL) as served:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
            answer = served.post("/v1/completions", {"prompt": "Once", "max_tokens": 3, "temperature": 0})
            self.assertEqual(answer["usage"]["completion_tokens"], 3)
            self.assertEqual(len(list(served.events("/v1/completions", {"prompt": "Once", "max_tokens": 3})) ) > 1, True)
            # A live server keeps its socket.
            self.fails("--unix-socket", path, says=[path])
            served.get("/health")
            self.assertEqual(served.stop(), 0)
            self.assertFalse(path.exists())

    def test_a_stale_unix_socket_is_replaced(self):
        path = self.folder / "socket"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        self.assertTrue(path.exists())
        with Server("--unix-socket", path, *SMALL) as served:
            served.get("/health")

    def test_unix_sockets_that_cannot_be(self):
        taken = self.file("text", "mine")
        self.fails("--unix-socket", taken, says=[taken, "another kind"])
        self.assertEqual(taken.read_text(), "mine")
        self.fails("--unix-socket", self.folder / "none" / "socket", says=["No such file"])
        self.fails("--unix-socket", self.folder / ("x" * 120), says=["shorter"])
        self.fails("--unix-socket", self.folder / "socket", "--port", 0, code=2, says=["--port"])

    # Files.

    def test_missing_model(self):
        self.fails("--port", 0, model="/nonexistent", says=["/nonexistent"])
        self.fails("--port", 0, model=self.folder, says=[self.folder])
        self.fails("--port", 0, model=None, code=2, says=["--model"])

    def test_key_files(self):
        self.fails("--api-key-file", self.folder / "none", says=["none", "No such file"])
        self.fails("--api-key-file", self.folder, says=[self.folder, "Is a directory"])
        for text in ("", "\n\n", "# only a comment\n"):
            self.fails("--api-key-file", self.file("keys", text), code=2, says=["at least one", "openssl"])
        for text, line in (("short", 1), (f"{KEY}\n{'x' * 513}\n", 2), (f"\n{KEY}\nwith a blank\n", 3)):
            path = self.file("keys", text)
            self.fails("--api-key-file", path, code=2, says=[f"{path}:{line}"])

    def test_log_files_that_cannot_be_written(self):
        for path in (self.folder, self.folder / "text" / "log", "/proc/nobody/log"):
            self.file("text", "")
            self.fails("--port", 0, "--log-file", path, says=["--log-file", path])

    def test_templates_that_are_none(self):
        self.fails("--port", 0, "--chat-template", self.folder / "none", says=["none"])
        self.fails("--port", 0, "--chat-template", self.file("broken.jinja", "{% for x in %}"), says=["broken.jinja"])

    # Settings in a file.

    def test_config_with_each_kind_of_value(self):
        keys, log = self.file("keys", KEY), self.folder / "log"
        config = self.file("serve.toml", f"""
            # Texts, words, integers, a flag, sizes, a list.
            model = "{NANO}"
            port = 0
            served-model-name = "from-the-file"
            parallel = 3
            context = 256
            kv-memory = "auto"
            prefix-cache-memory = 0
            api-key-file = "{keys}"
            allow-public = false
            cors-origin = ["https://one.example", "https://two.example"]
            log-format = "json"
            log-file = "{log}"
            draft-tokens = "auto"
            drain-seconds = 5
        """)
        with Server("--config", config, model=None, port=None) as served:
            self.assertEqual(served.model, "from-the-file")
            self.assertIn("3 at once", served.stderr())
            self.assertIn("context 256", served.stderr())
            self.assertIn("prefix cache off", served.stderr())
            self.assertEqual(served.request("GET", "/v1/models")[0], 401)
            for origin in ("https://one.example", "https://two.example"):
                _, headers, _ = served.request("GET", "/health", headers={"Origin": origin})
                self.assertEqual(headers["Access-Control-Allow-Origin"], origin)
        # One line for the refused request, and the log in the file alone.
        self.assertEqual(len(log.read_text().splitlines()), 1)

    def test_the_command_line_goes_first(self):
        config = self.file("serve.toml", 'port = 1\nserved-model-name = "file"\ncontext = 256\nallow-public = true\n')
        with Server("--config", config, "--served-model-name", "line", "--context", 300) as served:
            self.assertEqual(served.model, "line")
            self.assertIn("context 300", served.stderr())
            self.assertNotEqual(served.port, 1)
        with Server("--config", config, "--host", "0.0.0.0") as served:  # true of the file counts
            self.assertEqual(served.model, "file")

    def test_configs_that_are_wrong(self):
        self.fails("--config", self.folder / "none.toml", says=["none.toml"])
        for text, where in (
                ('nonsense = 1', "serve.toml nonsense"), ('config = "other.toml"', "serve.toml config"),
                ('port = "many"', "serve.toml port"), ("port = 65536", "0 to 65535"), ("port = [1]", "array"),
                ("port = true", "boolean"), ("port = 1.5", "serve.toml port"), ("port = 2020-01-01", "date"),
                ("allow-public = 1", "true or false"), ('log-level = "loud"', "error, warning, info or debug"),
                ("[network]\nport = 1", "serve.toml network"), ("cors-origin = [1.5, {}]", "table"),
                ('kv-memory = "lots"', "--kv-memory"), ("\n\nport = ", "line 3"), ('x = "no end', "line 1"),
                ("port = 1\nport = 2", "line 2")):
            with self.subTest(text):
                self.fails("--config", self.file("serve.toml", text + "\n"), code=2, says=[where])

    def test_a_model_that_the_copy_lacks(self):
        copy = self.folder / "model"
        shutil.copytree(NANO, copy)
        (copy / "tokenizer.json").unlink()
        self.fails("--port", 0, model=copy, says=["tokenizer.json"])


if __name__ == "__main__":
    unittest.main()

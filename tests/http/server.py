"""`verbatim serve` as a child process, and plain HTTP to it. Standard library only. Not a test."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import BINARY, HAS_ASAN, NANO, SLOWDOWN, SOURCE, WAIT, environment  # noqa: E402,F401

START_S = WAIT
# For Server(**SLOW): some hundred tokens take seconds on any machine (136 tokens/s on a fast one), where an answer must still be
# running when something else happens. A sanitizer slows down enough (61 tokens/s).
SLOW = {"model": SOURCE / "models" / "tiny-qwen35-4bit", "env": {"VERBATIM_TARGET": "scalar"} if SLOWDOWN == 1 else {}}


class UnixConnection(http.client.HTTPConnection):
    """HTTP to a Unix socket."""

    def __init__(self, path, timeout=WAIT):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """Context manager; `arguments` follow `serve -m MODEL --port 0`, without `-m` for no model, and without a port where
    it is None or there is a Unix socket."""

    def __init__(self, *arguments, model=NANO, binary=BINARY, port=0, env=None, **popen):
        self.process = subprocess.Popen(
            [binary, "serve", *(["-m", str(model)] if model else []),
             *([] if "--unix-socket" in arguments or port is None else ["--port", str(port)]), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(**(env or {})),
            **popen)
        self.lines, self._has_line = [], threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        address = self.wait_for(r"serving +(\S+) as (\S+),")
        self.address, self.model = address.group(1), address.group(2)
        if self.address.startswith("http"):
            host, _, port_text = self.address.removeprefix("http://").rpartition(":")
            self.host, self.port = host.strip("[]"), int(port_text)

    def _read(self):
        for line in self.process.stderr:
            with self._has_line:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self._has_line.notify_all()
        with self._has_line:
            self.lines.append(None)
            self._has_line.notify_all()

    def wait_for(self, pattern, seconds=START_S):
        """The match of the first line of standard error that has one."""
        end, seen = time.monotonic() + seconds, 0
        with self._has_line:
            while True:
                for line in self.lines[seen:]:
                    if line is None:
                        self.process.wait()
                        raise AssertionError(f"serve ended with {self.process.returncode}: {self.stderr()}")
                    if match := re.search(pattern, line):
                        return match
                seen = len(self.lines)
                if not self._has_line.wait(max(0.0, end - time.monotonic())):
                    self.process.kill()
                    raise AssertionError(f"no line with {pattern!r} in {self.stderr()}")

    def stderr(self):
        return "\n".join(line for line in self.lines if line is not None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join()
        self.process.stderr.close()
        self.process.stdout.close()

    def stop(self, number=signal.SIGTERM):
        """The exit code."""
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def connect(self):
        if self.address.startswith("unix:"):
            return UnixConnection(self.address.removeprefix("unix:"))
        return http.client.HTTPConnection(self.host, self.port, timeout=WAIT)

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body as bytes) of one request on a connection of its own."""
        connection = self.connect()
        try:
            data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status}: {body.decode()}")
        return body

    def post(self, path, body):
        """The object of a successful answer."""
        status, _, data = self.request("POST", path, body)
        if status != 200:
            raise AssertionError(f"POST {path}: {status}: {data.decode()}")
        return json.loads(data)

    def events(self, path, body):
        """Yields the objects of a streamed answer, as they come; closing the generator hangs up."""
        connection = self.connect()
        try:
            connection.request("POST", path, json.dumps({**body, "stream": True}))
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"POST {path}: {response.status}: {response.read().decode()}")
            for line in response:
                if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def resident_bytes(self):
        """What of the process is in memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))

    def metrics(self):
        """name -> sum over labels."""
        sums = {}
        for line in self.get("/metrics").decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                name = name.split("{")[0]
                sums[name] = sums.get(name, 0.0) + float(value)
        return sums


def refused(*arguments, model=NANO, binary=BINARY):
    """The finished process of a server that must not start."""
    return subprocess.run([binary, "serve", *(["-m", str(model)] if model else []), *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment(), timeout=WAIT)


def least_kv_memory(*arguments, model=NANO):
    """Bytes of the KV pages of one context, as the refusal of less says."""
    done = refused("--kv-memory", "1", *arguments, model=model)
    match = re.search(rb"at least (\d+) bytes", done.stderr)
    if not match:
        raise AssertionError(done.stderr.decode())
    return int(match.group(1))

"""A program in a pseudo-terminal, typed at and read as a person would. Not a test."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support import SLOWDOWN, environment

TIMEOUT_S = 60 * SLOWDOWN  # far beyond any step; a test that waits this long has failed
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07")


class TerminalSession:
    """Context manager; `command` gets a terminal of its own as all three streams."""

    def __init__(self, command, columns=100, rows=30, stderr=None, **variables):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave if stderr is None else stderr,
            env=environment(**{"TERM": "xterm", **variables}), start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.received = b""
        self.seen = 0  # what expect() has passed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)

    def _read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            part = os.read(self.master, 65536)
        except OSError:  # EIO: the other end is closed
            return False
        self.received += part
        return bool(part)

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def expect(self, text, plain=True):
        """Waits for `text` behind all that was expected before; escape sequences are left out if plain."""
        wanted = text if isinstance(text, bytes) else text.encode()
        end = time.monotonic() + TIMEOUT_S
        while True:
            rest = self.received[self.seen:]
            shown = ESCAPES.sub(b"", rest) if plain else rest
            if wanted in shown:
                # Everything up to here is passed, in raw bytes as far as needed.
                for cut in range(len(rest) + 1):
                    part = ESCAPES.sub(b"", rest[:cut]) if plain else rest[:cut]
                    if wanted in part:
                        self.seen += cut
                        return part
            if time.monotonic() > end or (not self._read(1) and self.process.poll() is not None and
                                          not self._read(0)):
                raise AssertionError(f"expected {wanted!r}, received {rest!r}")

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.killpg(self.process.pid, signal.SIGWINCH)

    def wait(self):
        """The exit code, after all output was read."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if not self._read(0.1) and self.process.poll() is not None:
                while self._read(0):
                    pass
                return self.process.returncode
        raise AssertionError(f"the program goes on; received {self.received[self.seen:]!r}")

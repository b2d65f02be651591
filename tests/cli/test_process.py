"""Manners of the process: signals, pipes, full disks, colours, terminals."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import time
import unittest

from support import BINARY, HAS_TSAN, NANO, PROMPT, SOURCE, WAIT, environment, run

# Longer than any machine needs to be interrupted.
ENDLESS = (BINARY, "generate", "-m", NANO, "-p", PROMPT, "-n", "8000", "--ignore-eos", "-t", "1")


def drain(master):
    """What a terminal receives until its other end is closed."""
    received = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # EIO: the other end is closed
            return received
        if not part:
            return received
        received += part


class ProcessTest(unittest.TestCase):
    def interrupted(self, number, *extra):
        with subprocess.Popen([*ENDLESS, *extra], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            while b"engine" not in process.stderr.readline():
                pass  # the model is loaded
            if not extra:
                self.assertTrue(process.stdout.read(1))  # and the first text is out
            else:
                time.sleep(0.3)
            process.send_signal(number)
            out, err = process.communicate(timeout=WAIT)
        return process.returncode, out, err

    def test_first_sigint_ends_the_generation(self):
        code, _, err = self.interrupted(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertIn(b"ended by cancelled", err)

    def test_sigterm(self):
        code, _, err = self.interrupted(signal.SIGTERM)
        self.assertEqual(code, 143)
        self.assertIn(b"ended by cancelled", err)

    def test_json_after_sigint(self):
        code, out, _ = self.interrupted(signal.SIGINT, "--json")
        self.assertEqual(code, 130)
        self.assertEqual(json.loads(out)["finish_reason"], "cancelled")

    @unittest.skipIf(HAS_TSAN, "TSan hands on no signal while a whole prompt is computed")
    def test_second_sigint_ends_the_process(self):
        # The whole prompt in one step: the first signal cannot take effect for a while.
        with subprocess.Popen([BINARY, "generate", "-m", NANO, "-f", "-", "--prefill-chunk", "whole", "-t", "1"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(VERBATIM_TARGET="scalar")) as process:
            process.stdin.write(b"word and word " * 1000)
            process.stdin.close()
            process.stdin = None
            while b"engine" not in process.stderr.readline():
                pass
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 130)
        self.assertNotIn(b"ended by", err)

    def test_sigint_removes_what_was_half_written(self):
        """The bar tells that quantize has begun with its file, a temporary file that score has."""
        tiny = SOURCE / "models" / "tiny-qwen35-4bit"  # large enough for a signal to arrive in the middle
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            text = folder / "text"
            text.write_text("word and word " * 1000)
            lines = {"quantize": ("quantize", tiny, folder / "out", "--bits", "8"),
                     "score": ("score", "-m", NANO, "-f", text, "--width", "1", "-t", "1", "--logits", folder / "out")}
            for verb, arguments in lines.items():
                master, slave = pty.openpty()
                with subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=slave,
                                      env=environment(VERBATIM_TARGET="scalar", TERM="xterm")) as process:
                    os.close(slave)
                    received = os.read(master, 1)
                    while len(list(folder.iterdir())) == 1 and process.poll() is None:
                        if verb == "score":
                            received += os.read(master, 4096) if b"loaded" not in received else b""
                        time.sleep(0.01)
                    process.send_signal(signal.SIGINT)
                    drain(master)
                    out = process.stdout.read()
                    code = process.wait(timeout=WAIT)
                os.close(master)
                with self.subTest(verb=verb):
                    self.assertEqual((code, out), (130, b""))
                    self.assertEqual(list(folder.iterdir()), [text])

    def test_broken_pipe_is_quiet(self):
        with subprocess.Popen([*ENDLESS, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment()) as process:
            process.stdout.read(4)
            process.stdout.close()
            err = process.stderr.read()
            process.wait(timeout=WAIT)
        self.assertEqual(process.returncode, -signal.SIGPIPE)
        self.assertEqual(err, b"")

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "generate", "-m", NANO, "-p", PROMPT, "-n", "8", "-q"], stdout=full,
                                  stderr=subprocess.PIPE, env=environment(), timeout=WAIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"[standard output]", done.stderr)

    def test_colours(self):
        short = ("generate", "-m", NANO, "-p", PROMPT, "-n", "2")
        self.assertIn(b"\x1b", run(*short, "--color", "always", env={"NO_COLOR": "1"}).stderr)
        self.assertIn(b"\x1b", run(*short, env={"FORCE_COLOR": "1"}).stderr)
        self.assertNotIn(b"\x1b", run(*short, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stderr)
        self.assertNotIn(b"\x1b", run(*short, "--color", "never", env={"FORCE_COLOR": "1"}).stderr)

    def on_terminal(self, **variables):
        """What a terminal on standard error receives."""
        master, slave = pty.openpty()
        with subprocess.Popen([BINARY, "generate", "-m", NANO, "-p", PROMPT, "-n", "2"], stdout=subprocess.PIPE,
                              stderr=slave, env=environment(**variables)) as process:
            os.close(slave)
            received = drain(master)
            self.assertNotIn(b"\x1b", process.stdout.read())
            process.wait(timeout=WAIT)
        os.close(master)
        return received

    def test_terminal_gets_bar_and_colours(self):
        received = self.on_terminal(TERM="xterm")
        self.assertIn(b"%", received)
        self.assertIn(b"\x1b[2m", received)
        received = self.on_terminal(TERM="dumb")
        self.assertNotIn(b"\x1b", received)
        received = self.on_terminal(TERM="xterm", NO_COLOR="1")
        self.assertNotIn(b"\x1b[2m", received)


if __name__ == "__main__":
    unittest.main()

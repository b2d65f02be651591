"""Faults of the world outside: files that are no files, limits, full disks, rights, closed streams, signals at any
time. Whatever happens: exit 1 and one line, or the signal's code, and nothing half-written is left."""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import BINARY, HAS_TSAN, NANO, PROMPT, SOURCE, WAIT, environment, run

TINY = SOURCE / "models" / "tiny-qwen35-4bit"
LINE = re.compile(rb"^\[[^\]\n]+\] expected [^\n]+, received [^\n]+\n$")
NOBODY = 65534  # whom rights are refused to, when the tests run as root
SIGNALS_PER_CASE = int(os.environ.get("VERBATIM_SIGNALS_PER_CASE", "10"))


class FaultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)

    def refused(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertRegex(done.stderr, LINE)
        for part in parts:
            self.assertIn(str(part).encode(), done.stderr)

    def copy_of_nano(self):
        model = self.folder / "model"
        shutil.copytree(NANO, model)
        return model

    # ---- Files that are something else

    def test_what_is_no_file(self):
        model = self.copy_of_nano()
        for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
                     "tokenizer_config.json"):
            path = model / name
            content = path.read_bytes()
            path.unlink()
            cases = {"a folder": path.mkdir, "empty": lambda p=path: p.write_bytes(b""),
                     "itself": lambda p=path: p.symlink_to(p), "a device": lambda p=path: p.symlink_to("/dev/null")}
            for what, make in cases.items():
                with self.subTest(name=name, what=what):
                    make()
                    # A link to itself does not exist for optional files.
                    done = run("generate", "-m", model, "-p", "x", "-n", "1", "-q")
                    if not (what == "itself" and name in ("generation_config.json", "tokenizer_config.json")):
                        self.refused(done, name)
                path.rmdir() if what == "a folder" else path.unlink()
            path.write_bytes(content)

    def test_unreadable_files(self):
        """As a user without rights; the program goes with it, because the checkout may be out of its reach."""
        model = self.copy_of_nano()
        for path in (model, *model.iterdir()):
            path.chmod(0o755)
        binary = shutil.copy(BINARY, self.folder / "verbatim")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        cache = self.folder / "cache"
        commit = "0" * 40
        repository = cache / "models--org--nano"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(commit)
        (repository / "snapshots").mkdir()
        (repository / "snapshots" / commit).symlink_to(model)

        def as_nobody(*arguments, **env):
            return subprocess.run([binary, *map(str, arguments)], capture_output=True, cwd="/",
                                  env=environment(**env), timeout=WAIT, **user)

        # A cache that can only be read is enough.
        for path in (cache, repository, repository / "refs", repository / "snapshots"):
            path.chmod(0o555)
        done = as_nobody("generate", "-m", "org/nano", "-p", "x", "-n", "1", "-q", HF_HUB_CACHE=str(cache))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for path in (cache, repository, repository / "refs", repository / "snapshots"):
            path.chmod(0o755)
        # Nor can it write where it may not.
        closed = self.folder / "closed"
        closed.mkdir(mode=0o555)
        self.refused(as_nobody("score", "-m", model, "--ids", "5,6,7", "-q", "--logits", closed / "out"), closed / "out")
        self.refused(as_nobody("quantize", model, closed / "out", "-q"), closed)
        self.assertEqual(list(closed.iterdir()), [])
        for name in ("config.json", "model.safetensors", "tokenizer.json", "generation_config.json"):
            (model / name).chmod(0)
            self.refused(as_nobody("generate", "-m", model, "-p", "x", "-q"), name, "Permission denied")
            (model / name).chmod(0o644)
        model.chmod(0)
        self.refused(as_nobody("generate", "-m", model, "-p", "x", "-q"), model)
        model.chmod(0o755)

    # ---- Disks and streams

    def limited(self, bytes_at_most, *arguments):
        limit = (bytes_at_most, bytes_at_most)
        return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, env=environment(), timeout=WAIT,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))

    def test_full_disk(self):
        """A limit of the file's size ends a write as a full disk does."""
        out = self.folder / "out"
        for size in (4096, 100000) if HAS_TSAN else (0, 1, 4096, 100000):
            with self.subTest(size=size):
                self.refused(self.limited(size, "quantize", NANO, out, "-q"))
                self.refused(self.limited(min(size, 10000), "score", "-m", NANO, "--ids", "5,6,7", "-q", "--logits", out))
                self.assertEqual(list(self.folder.iterdir()), [])
        self.refused(run("score", "-m", NANO, "--ids", "5,6,7", "-q", "--logits", "/dev/full"), "/dev/full")

    def test_where_nothing_can_be_written(self):
        self.refused(run("quantize", NANO, "/proc/out", "-q"), "/proc/")
        self.refused(run("score", "-m", NANO, "--ids", "5,6,7", "-q", "--logits", "/proc/out"), "/proc/out")
        file = self.folder / "file"
        file.write_text("x")
        self.refused(run("quantize", NANO, file / "out", "-q"), file)
        self.refused(run("score", "-m", NANO, "--ids", "5,6,7", "-q", "--logits", file / "out"), file)
        self.assertEqual(list(self.folder.iterdir()), [file])

    def test_closed_streams(self):
        """What is meant for a stream that is closed must not go into a file that takes its number."""
        out = self.folder / "out"
        arguments = f"'{BINARY}' score -m '{NANO}' --ids 5,6,7 --logits '{out}'"
        expected = subprocess.run(["/bin/sh", "-c", arguments], capture_output=True, env=environment(), timeout=WAIT)
        self.assertEqual(expected.returncode, 0)
        whole = out.read_bytes()
        for closed, code in ((">&-", 1), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 1)):
            with self.subTest(closed=closed):
                out.unlink()
                done = subprocess.run(["/bin/sh", "-c", f"{arguments} {closed}"], capture_output=True,
                                      env=environment(), timeout=WAIT)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(out.read_bytes(), whole)
                self.assertEqual(list(self.folder.iterdir()), [out])

    # ---- Signals

    def test_signals_at_any_time(self):
        """From the start of the process to its end: load, prefill, decode, both verbs that write."""
        text = self.folder / "text"
        text.write_text("word and word " * 300)
        out = self.folder / "out"
        cases = {
            "prefill": ("generate", "-m", NANO, "-f", text, "-n", "1", "-t", "1"),
            "decode": ("generate", "-m", NANO, "-p", PROMPT, "-n", "400", "--ignore-eos", "--spec", "mtp"),
            "json": ("generate", "-m", NANO, "-p", PROMPT, "-n", "200", "--ignore-eos", "--json"),
            "quantize": ("quantize", TINY, out, "--bits", "3"),
            "score": ("score", "-m", NANO, "-f", text, "--width", "8", "-t", "1", "--logits", out),
        }
        rng = random.Random(4)
        ended = dict.fromkeys(cases, 0)
        for name, arguments in cases.items():
            begin = time.monotonic()
            self.assertEqual(run(*arguments).returncode, 0)
            whole = time.monotonic() - begin
            output = self.content(out)
            self.remove(out)
            for turn in range(SIGNALS_PER_CASE):
                number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
                with self.subTest(case=name, turn=turn):
                    with subprocess.Popen([BINARY, *map(str, arguments)], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, env=environment()) as process:
                        time.sleep(rng.uniform(0, whole))
                        process.send_signal(number)
                        stdout, stderr = process.communicate(timeout=WAIT)
                    # 0: it was done before; the bare signal: it had not yet begun.
                    self.assertIn(process.returncode, (128 + number, 0, -number), stderr)
                    ended[name] += process.returncode == 128 + number
                    # Whole or not there: a signal may come between the last write and the end of the process.
                    self.assertIn(set(self.folder.iterdir()), ({text}, {text, out}))
                    self.assertIn(self.content(out), (None, output))
                    if name == "json" and stdout:
                        json.loads(stdout)
                    self.assertNotIn(b"[", stderr.split(b"\n")[-2] if stderr.endswith(b"\n") else b"")
                    self.remove(out)
        self.assertGreater(sum(ended.values()), len(cases), ended)

    @staticmethod
    def content(path):
        """The bytes of a file, or of every file of a folder by name; None where nothing is."""
        if path.is_dir():
            return {file.name: file.read_bytes() for file in path.iterdir()}
        return path.read_bytes() if path.exists() else None

    @staticmethod
    def remove(path):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


if __name__ == "__main__":
    unittest.main()

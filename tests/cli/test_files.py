"""quantize and inspect from outside, and models that are missing or broken. Not the reader's own tests."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from support import BINARY, NANO, PROMPT, WAIT, environment, run, run_json


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def failed(self, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        return done.stderr.decode()

    def test_missing_model(self):
        for verb in ("generate", "score"):
            self.assertIn("/nonexistent", self.failed(verb, "-m", "/nonexistent", "-p", "x"))
        self.failed("demo", "-m", self.folder)
        self.failed("inspect", "nobody/nothing")
        self.failed("quantize", "nobody/nothing", self.folder / "out")

    def test_missing_prompt_and_replay_files(self):
        self.failed("generate", "-m", NANO, "-f", self.folder / "none")
        self.failed("generate", "-m", NANO, "-p", "x", "--spec", f"replay:{self.folder}/none")

    def test_truncated_weights(self):
        copy = self.folder / "model"
        shutil.copytree(NANO, copy)
        weights = copy / "model.safetensors"
        data = weights.read_bytes()
        weights.write_bytes(data[:len(data) // 2])
        self.assertIn("model.safetensors", self.failed("generate", "-m", copy, "-p", "x"))

    def test_quantize_then_generate(self):
        out = self.folder / "out"
        done = run("quantize", NANO, out, "--bits", "4", "--group-size", "32", "--override", "embed_tokens=8",
                   "--override", "mtp.fc=none")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertIn(b"written", done.stderr)
        description = run_json("inspect", out)
        self.assertGreater(len(description), 3)
        result = run_json("generate", "-m", out, "-p", PROMPT, "-n", "8", "--spec", "mtp", "-q")
        self.assertEqual(result["model"]["layout"], "mlx")
        self.assertIn("affine 8-bit g32 (1 tensor)", result["model"]["weights"])
        again = run("quantize", NANO, out)
        self.assertNotEqual(again.returncode, 0)  # never over an existing folder
        self.assertEqual(again.stderr.count(b"\n"), 1)

    def test_devices_stay_devices(self):
        link = self.folder / "null"
        link.symlink_to("/dev/null")
        done = run("score", "-m", NANO, "--ids", "5,6,7", "--logits", link, "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(link.is_symlink() and link.is_char_device())
        self.assertEqual(list(self.folder.iterdir()), [link])

    def test_logits_to_standard_output(self):
        """A pipe takes them; a file there would be replaced under the text that follows."""
        link = self.folder / "stdout"  # of our own: a fault must not replace the machine's /dev/stdout
        link.symlink_to("/proc/self/fd/1")
        arguments = (BINARY, "score", "-m", NANO, "--ids", "5,6,7", "-q", "--logits", link)
        piped = subprocess.run(arguments, capture_output=True, env=environment(), timeout=WAIT)
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))
        self.assertIn(b'"logits":{"dtype":"F32","shape":[3,1024]', piped.stdout)
        with open(self.folder / "out", "wb") as out:
            done = subprocess.run(arguments, stdout=out, stderr=subprocess.PIPE, env=environment(), timeout=WAIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"the file behind standard output", done.stderr)
        self.assertEqual(set(self.folder.iterdir()), {self.folder / "out", link})
        self.assertTrue(link.is_symlink())

    def test_prompt_from_a_pipe(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen(["/bin/sh", "-c", f"printf '{PROMPT}' >'{pipe}'"]):
            piped = run_json("generate", "-m", NANO, "-f", pipe, "-n", "4", "-q")
        self.assertEqual(piped["token_ids"], run_json("generate", "-m", NANO, "-p", PROMPT, "-n", "4", "-q")["token_ids"])
        self.assertIn("a directory", self.failed("generate", "-m", NANO, "-f", self.folder))

    def test_inspect_counts_the_pages_of_the_engine(self):
        for context in (252, 253, 508, 509):
            memory = run_json("inspect", "-m", NANO, "--context", context)["memory"]
            caches = (memory["kv_cache"] + memory["recurrent_state"]) / 2**20
            done = run("generate", "-m", NANO, "-p", "x", "-n", "1", "-c", context, "--spec", "mtp", "-v")
            self.assertIn(f"{caches:.1f} MiB of caches", done.stderr.decode())

    def test_quantize_merges_a_draft_model(self):
        done = run("quantize", NANO, self.folder / "out", "--draft-model", "/nonexistent/drafter")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/nonexistent/drafter", done.stderr)

    def test_inspect(self):
        done = run("inspect", NANO, "--context", "512", "--kv-type", "f32")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for word in (b"qwen3_5", b"512 tokens", b"KV cache f32", b"embed_tokens", b"[1024, 192]", b"mtp"):
            self.assertIn(word, done.stdout)
        run_json("inspect", NANO)


if __name__ == "__main__":
    unittest.main()

"""score from outside: log-probabilities against the logits that it writes itself. Not against the goldens."""

import array
import math
import pathlib
import struct
import tempfile
import unittest

from support import NANO, PROMPT, read_safetensors, run, run_json

TEXT = PROMPT + " there was a king who had three sons, and the youngest of them was called Hans."


def floats(data):
    values = array.array("f")
    values.frombytes(data)
    return values


class ScoreTest(unittest.TestCase):
    def test_logits_file_and_logprobs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "out.safetensors")
            result = run_json("score", "-m", NANO, "-p", TEXT, "--logits", path, "-q")
            tensors = read_safetensors(path)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [path])  # nothing temporary left
        count = len(result["token_ids"])
        self.assertEqual(set(tensors), {"logits", "hidden"})
        self.assertEqual(tensors["logits"][:2], ("F32", [count, 1024]))
        self.assertEqual(tensors["hidden"][:2], ("F32", [count, 192]))
        self.assertEqual(len(tensors["hidden"][2]), count * 192 * 4)
        self.assertTrue(any(floats(tensors["hidden"][2])))
        logits = floats(tensors["logits"][2])
        self.assertEqual(len(result["logprobs"]), count - 1)
        for row, (token, logprob) in enumerate(zip(result["token_ids"][1:], result["logprobs"])):
            values = logits[row * 1024:(row + 1) * 1024]
            top = max(values)
            expected = values[token] - top - math.log(sum(math.exp(v - top) for v in values))
            self.assertAlmostEqual(logprob, expected, delta=1e-4)
        mean = sum(result["logprobs"]) / (count - 1)
        self.assertAlmostEqual(result["perplexity"], math.exp(-mean), delta=1e-6 * math.exp(-mean))

    def test_any_width_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            files, scores = [], []
            for width in ("1", "5", "16", "64"):
                path = pathlib.Path(folder, width)
                scores.append(run_json("score", "-m", NANO, "-p", TEXT, "--width", width, "--drafts", "--logits", path,
                                       "-q"))
                files.append(path.read_bytes())
        for data, score in zip(files[1:], scores[1:]):
            self.assertEqual(data, files[0])
            for key in ("logprobs", "perplexity", "drafts"):
                self.assertEqual(score[key], scores[0][key])

    def test_numbers_are_binary32(self):
        result = run_json("score", "-m", NANO, "-p", TEXT, "--drafts", "-q")
        for value in result["logprobs"] + sum(result["drafts"]["margins"], []):
            narrowed = struct.unpack("f", struct.pack("f", value))[0]
            self.assertEqual(struct.pack("f", narrowed), struct.pack("f", value))
            self.assertLessEqual(len(repr(value)), 16)  # shortest form: at most 9 digits, sign, point, exponent

    def test_drafts(self):
        result = run_json("score", "-m", NANO, "-p", TEXT, "--drafts", "-q")
        count = len(result["token_ids"])
        self.assertEqual(set(result["drafts"]), {"ids", "margins"})
        for key in ("ids", "margins"):
            self.assertEqual([len(row) for row in result["drafts"][key]], [3] * (count - 1))
        self.assertNotIn("drafts", run_json("score", "-m", NANO, "-p", TEXT, "-q"))

    def test_text_output(self):
        done = run("score", "-m", NANO, "--ids", "5,6,7,8", "--drafts", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout.decode(), r"^perplexity [0-9.]+, .*3 of 4 tokens scored\ndrafts ")

    def test_too_short(self):
        done = run("score", "-m", NANO, "--ids", "5", "-q")
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_unwritable_logits(self):
        done = run("score", "-m", NANO, "--ids", "5,6,7", "--logits", "/nonexistent/x.safetensors", "-q")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()

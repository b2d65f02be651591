"""generate from outside: streams, JSON fields, and one digest whatever drafts. Not the full grid of the contract tests."""

import json
import pathlib
import random
import re
import tempfile
import unittest

from support import NANO, PROMPT, run, run_json

BASE = ("generate", "-m", NANO, "-p", PROMPT, "-n", "48", "--ignore-eos", "-q")


class GenerateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.classic = run_json(*BASE)

    def same(self, *arguments):
        result = run_json(*BASE, *arguments)
        with self.subTest(arguments=arguments):
            for key in ("token_ids", "text", "logits_sha256", "finish_reason"):
                self.assertEqual(result[key], self.classic[key], key)
        return result["speculation"]

    def test_one_digest_whatever_drafts(self):
        for spec in ("mtp", "ngram", "wrong", "draft-mtp", "ngram-simple"):
            self.same("--spec", spec)
        for count in ("1", "7", "15", "auto"):
            self.same("--spec", "mtp", "--draft-tokens", count)
        self.same("-t", "1", "--prefill-chunk", "1")
        self.same("-t", "2", "--prefill-chunk", "whole", "--spec-type", "draft-mtp", "--spec-draft-n-max", "5")

    def test_replay_right_and_random(self):
        ids = self.classic["token_ids"]
        coin = random.Random(3)
        mixed = [i if coin.random() < 0.6 else (i + 1) % 1024 for i in ids]
        forms = (" ".join, "\n".join, ",".join, lambda words: json.dumps([int(w) for w in words]))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "drafts.txt")
            for form, drafts in zip(forms, (ids, ids, mixed, mixed)):
                path.write_text(form(map(str, drafts)))
                stats = self.same("--spec", f"replay:{path}", "--draft-tokens", "7")
                with self.subTest(form=form):
                    if drafts is ids:
                        self.assertEqual(stats["accepted"], stats["tested"])
                        self.assertGreater(stats["accepted"], 30)
                    else:
                        self.assertLess(stats["accepted"], stats["tested"])

    def test_bad_replay_file_names_its_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "drafts.txt")
            path.write_text("1\n2\nthree\n")
            done = run(*BASE, "--spec", f"replay:{path}")
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.decode().startswith(f"[{path}:3] expected"), done.stderr)

    def test_fields(self):
        result = run_json(*BASE, "--spec", "mtp", "--kv-type", "f16", "--contract", "strict")
        self.assertEqual(list(result), ["text", "token_ids", "prompt_token_ids", "finish_reason", "usage", "sampling", "timings",
                                        "speculation", "contract", "numerics", "logits_sha256", "model"])
        self.assertEqual(result["usage"], {"prompt_tokens": len(result["prompt_token_ids"]), "completion_tokens": 48,
                                           "total_tokens": len(result["prompt_token_ids"]) + 48})
        self.assertEqual(result["finish_reason"], "length")
        self.assertRegex(result["logits_sha256"], r"^[0-9a-f]{64}$")
        self.assertEqual(result["contract"]["mode"], "strict")
        self.assertEqual(result["numerics"]["profile"], "portable")
        self.assertEqual(result["numerics"]["kv_type"], "f16")
        stats = result["speculation"]
        self.assertEqual((stats["kind"], stats["draft_tokens"]), ("mtp", 3))
        for total in ("drafted", "tested", "accepted"):
            self.assertEqual(stats[total], sum(stats[total + "_at"]))
        self.assertEqual(stats["rounds"], sum(stats["widths"].values()))
        # Every decode step gives its accepted drafts and one token of its own; the prompt gave one.
        self.assertEqual(48, 1 + stats["rounds"] + stats["accepted"])
        timings = result["timings"]
        self.assertEqual((timings["prompt_n"], timings["predicted_n"]), (len(result["prompt_token_ids"]), 48))
        self.assertEqual((timings["draft_n"], timings["draft_n_accepted"]), (stats["drafted"], stats["accepted"]))
        self.assertNotIn("draft_n", self.classic["timings"])
        self.assertEqual(self.classic["speculation"]["widths"], {"1": 47})

    def test_streams(self):
        done = run(*BASE)
        self.assertEqual(done.stdout.decode(), self.classic["text"])
        self.assertEqual(done.stderr, b"")
        done = run(*BASE[:-1], "--spec", "mtp")  # not quiet
        self.assertEqual(done.stdout.decode(), self.classic["text"])
        self.assertEqual(run(*BASE, "--json").stdout.count(b"\n"), 1)
        for word in (b"model ", b"weights ", b"mtp ", b"tokens/s", b"drafts accepted"):
            self.assertIn(word, done.stderr)
        self.assertNotIn(b"\x1b", done.stderr)
        self.assertNotIn(b"\r", done.stderr)

    def test_prompt_sources_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "prompt.txt")
            path.write_text(PROMPT)
            arguments = ("generate", "-m", NANO, "-n", "8", "-q")
            ids = ",".join(map(str, self.classic["prompt_token_ids"]))
            results = [run_json(*arguments, "-p", PROMPT), run_json(*arguments, "-f", path),
                       run_json(*arguments, "-f", "-", stdin=PROMPT.encode()), run_json(*arguments, "--ids", ids)]
        for result in results:
            self.assertEqual(result["logits_sha256"], results[0]["logits_sha256"])
            self.assertEqual(result["prompt_token_ids"], results[0]["prompt_token_ids"])

    def test_chat_wraps_the_prompt(self):
        plain = run_json("generate", "-m", NANO, "-p", "hi", "-n", "1", "-q")
        chat = run_json("generate", "-m", NANO, "-p", "hi", "-n", "1", "-q", "--chat")
        self.assertGreater(len(chat["prompt_token_ids"]), len(plain["prompt_token_ids"]))

    def test_stop_string(self):
        text = self.classic["text"]
        stop = text[len(text) // 2:len(text) // 2 + 3]
        result = run_json(*BASE, "--stop", "never in the text", "--stop", stop)
        self.assertEqual(result["text"], text[:text.index(stop)])
        self.assertEqual((result["finish_reason"], result["matched_stop"]), ("stop", stop))
        streamed = run(*BASE, "--stop", stop, "--spec", "mtp")
        self.assertEqual(streamed.stdout.decode(), result["text"])

    def test_constraints_hold_whoever_drafts(self):
        schema = '{"type": "object", "properties": {"n": {"type": "integer", "maximum": 99}}, "required": ["n"], "additionalProperties": false}'
        with tempfile.TemporaryDirectory() as folder:
            file, grammar = pathlib.Path(folder, "schema.json"), pathlib.Path(folder, "grammar.lark")
            file.write_text(schema)
            grammar.write_text('start: ("ab" | "c")+ "!"')
            for option, value, matches in (("--json-schema", schema, lambda text: set(json.loads(text)) == {"n"}),
                                           ("--json-schema-file", file, lambda text: set(json.loads(text)) == {"n"}),
                                           ("--regex", "[a-f]{9}", lambda text: re.fullmatch("[a-f]{9}", text)),
                                           ("--grammar-file", grammar, lambda text: re.match("(ab|c)+", text))):
                answers = [run_json("generate", "-m", NANO, "-p", PROMPT, "-n", "60", option, value, *spec)
                           for spec in (("--spec", "off"), ("--spec", "mtp", "--draft-tokens", "7"), ("--spec", "wrong"), ("--spec", "ngram"))]
                self.assertTrue(matches(answers[0]["text"]), answers[0]["text"])
                self.assertEqual({(a["text"], a["logits_sha256"], tuple(a["token_ids"])) for a in answers},
                                 {(answers[0]["text"], answers[0]["logits_sha256"], tuple(answers[0]["token_ids"]))})

    def test_strict_is_no_downgrade(self):
        done = run("generate", "-m", NANO, "-p", PROMPT, "-n", "1", "--contract", "strict")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(b"contract", done.stderr)

    def test_contract_off_does_not_speculate(self):
        result = run_json(*BASE, "--contract", "off")
        self.assertEqual(result["logits_sha256"], self.classic["logits_sha256"])
        self.assertEqual(result["contract"]["held"], "off")

    def test_prompt_that_is_not_utf8(self):
        done = run("generate", "-m", NANO, "-f", "-", "-n", "1", "-q", stdin=b"a\xff\xfeb")
        self.assertIn(done.returncode, (0, 2), done.stderr)  # replaced or refused, never a crash
        self.assertLessEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()

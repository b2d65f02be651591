"""Every option with bad values: exit 2, one sentence on standard error, nothing on standard output."""

import re
import unittest

from support import NANO, SOURCE, run, run_json

SENTENCE = re.compile(r"^\[[^\]\n]+\] expected [^\n]+, received [^\n]+\n$")
PROMPTED = ("-m", NANO, "-p", "x")

# option in the message -> command lines that must be refused
BAD = {
    "generate": {
        "--model": [("-p", "x"), ("-p", "x", "-m", "")],
        "prompt": [("-m", NANO), ("-m", NANO, "-p", "x", "--ids", "1"), ("-m", NANO, "-p", "x", "-f", "y")],
        "--file": [("-m", NANO, "-f", "")],
        "--ids": [("-m", NANO, "--ids", bad) for bad in ("", "x", "1,,2", "1,", "-1", "1.5", "[1", "4294967296")],
        "--chat": [("-m", NANO, "--ids", "1", "--chat")],
        "--max-tokens": [(*PROMPTED, "-n", bad) for bad in ("0", "-1", "x", "1x", "", "1e3", "99999999999999999999")],
        "--spec": [(*PROMPTED, "--spec", bad) for bad in ("", "eagle3", "replay", "replay:", "mtp,ngram", "MTP")],
        "--draft-tokens": [(*PROMPTED, "--spec", "mtp", "--draft-tokens", bad) for bad in ("0", "16", "99", "a", "3x")]
        + [(*PROMPTED, "--draft-tokens", "3"), (*PROMPTED, "--spec", "off", "--draft-tokens", "auto")],
        "--draft-model": [(*PROMPTED, "--draft-model", NANO), (*PROMPTED, "--draft-model", "", "--spec", "mtp")],
        "--threads": [(*PROMPTED, "-t", bad) for bad in ("0", "-1", "1025", "two", "2.0")],
        "--prefill-chunk": [(*PROMPTED, "--prefill-chunk", bad) for bad in ("-1", "all", "")],
        "--context": [(*PROMPTED, "-c", bad) for bad in ("0", "1", "x", "99999999")],
        "--kv-type": [(*PROMPTED, "--kv-type", bad) for bad in ("q8_0", "fp16", "")],
        "--stop": [(*PROMPTED, "--stop", ""), (*PROMPTED, "--stop=")],
        "--contract": [(*PROMPTED, "--contract", "maybe"), (*PROMPTED, "--contract", "off", "--spec", "mtp")],
        "--color": [(*PROMPTED, "--color", "blue")],
        "--json": [(*PROMPTED, "--json=yes")],
        "--quiet": [(*PROMPTED, "-q", "-v")],
        "--temp": [(*PROMPTED, "--temp", bad) for bad in ("-1", "x", "", "nan", "inf", "101", "1e-7", "0.8x")]
        + [(*PROMPTED, "--temperature", "hot")],
        "--top-k": [(*PROMPTED, "--top-k", bad) for bad in ("-1", "1.5", "x", "", "99999999999")],
        "--top-p": [(*PROMPTED, "--top-p", bad) for bad in ("-0.1", "1.1", "x", "")],
        "--min-p": [(*PROMPTED, "--min-p", bad) for bad in ("-0.1", "1.1", "x", "")],
        "--seed": [(*PROMPTED, "--seed", bad) for bad in ("-1", "1.5", "x", "", "99999999999999999999")],
        "--repeat-penalty": [(*PROMPTED, "--repeat-penalty", bad) for bad in ("0", "-1", "101", "x", "")],
        "--presence-penalty": [(*PROMPTED, "--presence-penalty", bad) for bad in ("101", "-101", "x", "")],
        "--frequency-penalty": [(*PROMPTED, "--frequency-penalty", bad) for bad in ("101", "-101", "x", "")],
        "--logit-bias": [(*PROMPTED, "--logit-bias", bad) for bad in ("", "1", "x:1", "1:x", "1:", ":1", "1:1e9", "1:nan", "-1:1")],
        "--ban-ids": [(*PROMPTED, "--ban-ids", bad) for bad in ("", "x", "1,,2", "-1")],
        "--ban": [(*PROMPTED, "--ban", "")],
        "--min-tokens": [(*PROMPTED, "--min-tokens", bad) for bad in ("-1", "x", "")],
        "--logprobs": [(*PROMPTED, "--json", "--logprobs", bad) for bad in ("-1", "101", "x", "")]
        + [(*PROMPTED, "--logprobs", "3")],
        "--generation-config": [(*PROMPTED, "--generation-config", "maybe")],
        "--receipt": [(*PROMPTED, "--receipt", ""), (*PROMPTED, "--receipt=")],
        "--draft-noise": [(*PROMPTED, "--spec", "mtp", "--draft-noise", "loud"), (*PROMPTED, "--draft-noise", "off")],
        "--json-schema": [(*PROMPTED, "--json-schema", "")],
        "--json-schema-file": [(*PROMPTED, "--json-schema-file", "")],
        "--regex": [(*PROMPTED, "--regex", ""), (*PROMPTED, "--json-schema", "{}", "--regex", "a")],
        "--grammar-file": [(*PROMPTED, "--grammar-file", ""), (*PROMPTED, "--regex", "a", "--grammar-file", "/dev/null")],
        "-hf": [("-hf", "Qwen/Qwen3.5-0.8B"), (*PROMPTED, "-hf", "x")],
        "-ngl": [(*PROMPTED, "-ngl", "99")],
        "-ctk": [(*PROMPTED, "-ctk", "f16")],
        "-md": [(*PROMPTED, "-md", NANO)],
        "-ub": [(*PROMPTED, "-ub", "512")],
        "-vq": [(*PROMPTED, "-vq")],
        "argument": [(*PROMPTED, "stray"), (NANO, "-p", "x")],
    },
    "score": {
        "--width": [(*PROMPTED, "--width", bad) for bad in ("0", "4097", "x")],
        "--logits": [(*PROMPTED, "--logits", "")],
        "--draft-model": [(*PROMPTED, "--draft-model", NANO)],
        "--spec": [(*PROMPTED, "--spec", "mtp")],
        "--contract": [(*PROMPTED, "--contract", "off", "--drafts")],
        "prompt": [("-m", NANO)],
    },
    "quantize": {
        "IN": [()],
        "OUT": [(NANO,)],
        "--bits": [(NANO, "/tmp/never", "--bits", bad) for bad in ("1", "7", "16", "x")],
        "--group-size": [(NANO, "/tmp/never", "--group-size", bad) for bad in ("16", "100", "256")],
    },
    "inspect": {
        "MODEL": [(), (NANO, "-m", NANO)],
        "--context": [(NANO, "--context", "1"), (NANO, "--context", "9000")],
        "--kv-type": [(NANO, "--kv-type", "q4")],
    },
    "demo": {
        "--model": [()],
        "--draft-tokens": [("-m", NANO, "--draft-tokens", "16")],
        "--prompt": [("-m", NANO, "-p", "")],
        "--spec": [("-m", NANO, "--spec", "mtp")],
    },
    "parity": {
        "WHAT": [(), ("",), ("op",), ("OPS",)],
        "--widths": [("ops", "--widths", bad) for bad in ("", "0", "65", "3-2", "1,,2", "1-", "-1", "x", "1-x")],
        "--ops": [("ops", "--ops", bad) for bad in ("", "lineal", "linear,", "linear,,embed")],
        "--seeds": [("ops", "--seeds", bad) for bad in ("0", "-1", "x", "1001")],
        "--target": [("ops", "--target", bad) for bad in ("mmx", "", "ALL")],
        "--contract": [("ops", "--contract", bad) for bad in ("off", "strict", "maybe")],
        "--threads": [("ops", "-t", bad) for bad in ("0", "-1", "1025", "two")],
        "--model": [("ops", "-m", "")],
        "--markdown": [("ops", "--json", "--markdown")],
        "--json": [("ops", "--json=yes")],
        "argument": [("ops", "stray")],
    },
    "receipt": {
        "ACTION": [(), ("", "x"), ("show", "x"), ("VERIFY", "x", "-m", NANO)],
        "FILE": [("verify",), ("verify", "-m", NANO), ("verify", "", "-m", NANO)],
        "--model": [("verify", "x"), ("verify", "x", "-m", "")],
        "--threads": [("verify", "x", "-m", NANO, "-t", bad) for bad in ("0", "-1", "1025", "two")],
        "--kv-type": [("verify", "x", "-m", NANO, "--kv-type", "f32")],
        "--json": [("verify", "x", "-m", NANO, "--json=yes")],
        "argument": [("verify", "x", "y", "-m", NANO)],
    },
    "help": {"VERB": [("nonsense",)]},
}


class UsageTest(unittest.TestCase):
    def refused(self, *arguments):
        done = run(*arguments)
        with self.subTest(arguments=arguments):
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(done.stdout, b"")
            self.assertRegex(done.stderr.decode(), SENTENCE)
        return done.stderr.decode()

    def test_bad_values(self):
        for verb, options in BAD.items():
            for where, lines in options.items():
                for line in lines:
                    message = self.refused(verb, *line)
                    with self.subTest(line=line):
                        self.assertTrue(message.startswith(f"[{where}]"), message)

    def test_bad_override_patterns(self):
        for bad in ("x", "=4", "x=7", "x=4/48", "x=", "matches_nothing=8"):
            self.refused("quantize", NANO, "/tmp/never-written", "--override", bad)

    def test_every_option_is_tried(self):
        """A new option of generate must get a bad value above; flags can only be given a value."""
        help_text = run("generate", "--help").stdout.decode()
        for name in re.findall(r"^  (?:-\w, |    )(--[a-z-]+)(?: \S+)?", help_text, re.M):
            if name in ("--prompt", "--verbose", "--ignore-eos", "--help"):
                continue  # any text is a prompt; flags without conflicts
            self.assertIn(name, BAD["generate"], "no bad value is tried")

    def test_unknown_verb_and_no_verb(self):
        self.assertIn("try verbatim generate", self.refused("generat"))
        self.assertIn("received nothing", self.refused())

    def test_what_only_the_engine_can_refuse(self):
        for arguments in (("--ids", "1024"), ("-p", "x", "--logit-bias", "1024:1"), ("-p", "x", "--ban-ids", "1024"),
                          ("-p", "x", "--logit-bias", "3:1", "--logit-bias", "3:2"), ("-p", "x", "--ban", "x" * 257),
                          ("-p", "x", "--json-schema", "{"), ("-p", "x", "--json-schema", '{"type": 3}'), ("-p", "x", "--regex", "(")):
            done = run("generate", "-m", NANO, "-q", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr.decode(), SENTENCE)

    def test_empty_and_overlong_prompts(self):
        for arguments in (("-p", ""), ("-p", "a b c d e f g h", "-c", "4")):
            done = run("generate", "-m", NANO, "-q", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr.decode(), SENTENCE)

    def test_unavailable_target(self):
        # A name that there is, of a processor that this is not; and a name that there is not.
        missing = "neon" if "avx2" in run_json("version")["targets"] else "avx2"
        for target, code in ((missing, 1), ("mmx", 2)):
            done = run("generate", *PROMPTED, env={"VERBATIM_TARGET": target})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertRegex(done.stderr.decode(), SENTENCE)

    def test_help_and_version(self):
        for arguments in (("--help",), ("help",), ("help", "score"), ("generate", "--help"), ("score", "-h")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"Usage", done.stdout)
        done = run("--version")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for word in (b"commit", b"compiler", b"targets", b"scalar", b"chosen", b"portable-1"):
            self.assertIn(word, done.stdout)
        version = run_json("version")
        self.assertIn(version["target"], version["targets"])
        self.assertRegex(version["commit"], r"^([0-9a-f]{12}(-changed)?|unknown)$")
        self.assertTrue((SOURCE / "models").is_dir())


if __name__ == "__main__":
    unittest.main()

"""Receipts from outside: made with everything that is fast, verified with nothing of it; tampering is caught and named."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from support import BINARY, NANO, SOURCE, WAIT, environment, run, run_json

BREAKABLE = os.environ.get("VERBATIM_BREAKABLE", str(SOURCE / "build" / "release" / "tests" / "breakable" / "verbatim_breakable"))
TINY = str(SOURCE / "models" / "tiny-qwen35-4bit")
FAST = ("--spec", "mtp", "--draft-tokens", "7", "-t", "2")
SAMPLED = ("--temp", "0.8", "--top-p", "0.95", "--top-k", "100", "--repeat-penalty", "1.1", "--presence-penalty", "0.2",
           "--frequency-penalty", "0.1", "--logit-bias", "5:1.5", "--logit-bias", "9:-2", "--ban", "zebra", "--ban-ids", "11",
           "--min-tokens", "32", "--seed", "7", "--stop", "never\n\u00f6")
PREFIXES = ("model.language_model.", "language_model.model.", "model.", "language_model.")


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def reseal(receipt):
    """Checksums of an edited receipt made to fit again, as docs/receipts.md defines them."""
    receipt = {k: v for k, v in receipt.items() if k not in ("checksums", "receipt_sha256")}
    checksums = {}

    def collect(value, path):
        for key, member in value.items():
            name = f"{path}.{key}" if path else key
            if isinstance(member, dict):
                collect(member, name)
            else:
                checksums[name] = sha256(f"{name}={canonical(member)}")[:8]

    collect(receipt, "")
    receipt["checksums"] = checksums
    receipt["receipt_sha256"] = sha256(canonical(receipt))
    return receipt


def model_digest(path):
    """The model digest of docs/receipts.md of one safetensors file of a text model with an MTP head."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    lines = {}
    for name, info in header.items():
        if name.startswith(("mtp.", "language_model.mtp.", "model.visual.", "vision_tower.")):
            continue
        for prefix in PREFIXES:
            if name.startswith(prefix):
                name = name[len(prefix):]
                break
        begin, end = info["data_offsets"]
        lines[name.encode()] = (f"{name} {info['dtype']} {json.dumps(info['shape'])} "
                                f"{sha256(data[8 + size + begin:8 + size + end])}\n")
    return sha256("".join(lines[name] for name in sorted(lines)))


class ReceiptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.shared.name, "made.json")
        cls.generated = cls.make(cls.made, *SAMPLED)
        cls.receipt = json.loads(cls.made.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    @staticmethod
    def make(path, *arguments, model=NANO):
        return run_json("generate", "-m", model, "-p", "Once upon a time", "-n", "32", "-q", *FAST, *arguments, "--receipt", path)

    def verify(self, path, expected, model=NANO, env=None):
        """Verified as text and as JSON, on scalar code with one thread unless told; the object."""
        env = {"VERBATIM_TARGET": "scalar"} if env is None else env
        arguments = ("receipt", "verify", path, "-m", model, "-t", "1", "-q")
        self.text = run(*arguments, env=env)
        self.assertEqual(self.text.returncode, expected, self.text)
        self.assertEqual(self.text.stderr, b"")
        done = run(*arguments, "--json", env=env)
        self.assertEqual((done.returncode, done.stderr), (expected, b""))
        report = json.loads(done.stdout)
        self.assertEqual(report["verified"], expected == 0)
        self.assertEqual(b"verdict   verified" in self.text.stdout, expected == 0, self.text.stdout)
        return report

    def edited(self, change, sealed=False):
        receipt = json.loads(self.made.read_text())
        change(receipt)
        path = self.folder / "edited.json"
        path.write_text(json.dumps(reseal(receipt) if sealed else receipt))
        return path

    def copy_model(self):
        model = self.folder / "model"
        shutil.copytree(NANO, model)
        return model

    # Equal.

    def test_made_with_mtp_and_two_threads_verified_on_scalar_classic(self):
        made_by = self.receipt["made_by"]
        self.assertEqual((made_by["speculation"], made_by["threads"]), ("mtp", 2))
        self.assertIn("8", made_by["widths"])  # blocks of eight rows
        self.assertEqual(made_by["target"], run_json("version")["target"])  # the best there is
        report = self.verify(self.made, 0)
        self.assertEqual(report["replayed_by"]["target"], "scalar")
        self.assertEqual(report["replay"], {"equal": True, "positions": 32, "positions_equal": 32, "difference": None})
        self.assertEqual((report["edited"], report["mismatches"]), ([], []))

    def test_quantized_model_greedy(self):
        path = self.folder / "tiny.json"
        self.make(path, model=TINY)
        self.assertEqual(self.verify(path, 0, model=TINY)["replay"]["positions_equal"], 32)

    def test_constraints_are_replayed_too(self):
        grammar = self.folder / "grammar.lark"
        grammar.write_text('start: ("ab" | "ö")+ "!"')
        for kind, *constraint in (("json_schema", "--json-schema", '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'),
                                  ("regex", "--regex", '[a-f "]{3,40}'), ("grammar", "--grammar-file", grammar)):
            path = self.folder / f"{kind}.json"
            self.make(path, *SAMPLED[:6], *constraint)
            self.assertEqual(json.loads(path.read_text())["request"]["constraint"]["kind"], kind)
            self.verify(path, 0)
        receipt = json.loads(path.read_text())
        receipt["request"]["constraint"]["text"] = 'start: "c"+'
        path.write_text(json.dumps(receipt))
        self.assertEqual(self.verify(path, 3)["edited"], ["request.constraint.text"])
        path.write_text(json.dumps(reseal(receipt)))
        difference = self.verify(path, 3)["replay"]["difference"]
        self.assertEqual((difference["kind"], difference["position"]), ("token", 0))
        receipt["request"]["constraint"]["text"] = "start: ("
        path.write_text(json.dumps(reseal(receipt)))
        done = run("receipt", "verify", path, "-m", NANO)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"constraint", done.stderr)

    def test_other_targets_kv_types_and_a_copy_of_the_model(self):
        model = self.copy_model()
        for target in run_json("version")["targets"]:
            self.verify(self.made, 0, model=model, env={"VERBATIM_TARGET": target})
        path = self.folder / "f32.json"
        self.make(path, "--kv-type", "f32", "--ignore-eos", "-c", "64")
        self.assertEqual(self.verify(path, 0)["replayed_by"]["numerics"], "portable-1/kv-f32")

    def test_it_says_what_generate_says(self):
        output = self.receipt["output"]
        self.assertEqual(output["token_ids"], self.generated["token_ids"])
        self.assertEqual(output["finish_reason"], self.generated["finish_reason"])
        self.assertEqual(self.receipt["request"]["prompt_token_ids"], self.generated["prompt_token_ids"])
        sampling = {k: v for k, v in self.receipt["request"]["sampling"].items() if k not in ("choice", "logit_bias")}
        self.assertEqual(sampling, {k: self.generated["sampling"][k] for k in sampling})
        self.assertEqual(self.receipt["request"]["sampling"]["logit_bias"],
                         [{"token_id": 5, "bias": 1.5}, {"token_id": 9, "bias": -2}])
        self.assertEqual(len(output["position_digests"]), 32)
        self.assertTrue(output["logits_sha256"].startswith(output["position_digests"][-1]))

    # The format, computed by other means.

    def test_digests_are_those_of_the_document(self):
        self.assertEqual(self.receipt["model"]["sha256"], model_digest(pathlib.Path(NANO, "model.safetensors")))
        self.assertEqual(self.receipt["model"]["tokenizer_sha256"], sha256(pathlib.Path(NANO, "tokenizer.json").read_bytes()))
        self.assertEqual(reseal(self.receipt), self.receipt)

    def test_the_documents_script_says_so_too(self):
        text = (SOURCE / "docs" / "receipts.md").read_text()
        script = text.split("```python\n")[1].split("```")[0].replace("story.json", str(self.made)).replace("MODEL", NANO)
        for name, model, said in ((NANO, "True", "True"), (TINY, "False", "True")):
            done = subprocess.run([sys.executable, "-c", script.replace(NANO, name)], capture_output=True, timeout=WAIT)
            self.assertEqual(done.stdout.decode(), f"file {said}\nmodel {model}\n", done.stderr)

    def test_position_digests_are_a_chain_over_the_logits(self):
        ids = self.receipt["request"]["prompt_token_ids"] + self.receipt["output"]["token_ids"]
        logits = self.folder / "logits.safetensors"
        run_json("score", "-m", NANO, "--ids", ",".join(map(str, ids)), "--logits", logits, "-q")
        data = logits.read_bytes()
        size = int.from_bytes(data[:8], "little")
        info = json.loads(data[8:8 + size])["logits"]
        rows = data[8 + size + info["data_offsets"][0]:]
        width = 4 * info["shape"][1]
        digest, digests = bytes(32), []
        for row in range(len(self.receipt["request"]["prompt_token_ids"]) - 1, len(ids) - 1):
            digest = hashlib.sha256(digest + rows[row * width:(row + 1) * width]).digest()
            digests.append(digest.hex()[:16])
        self.assertEqual(self.receipt["output"]["position_digests"], digests)
        self.assertEqual(self.receipt["output"]["logits_sha256"], digest.hex())

    # Tampering.

    def test_a_changed_token(self):
        def change(receipt):
            receipt["output"]["token_ids"][20] = (receipt["output"]["token_ids"][20] + 1) % 1000
        report = self.verify(self.edited(change), 3)
        self.assertEqual(report["edited"], ["output.token_ids"])
        self.assertIn(b"edited after it was written: output.token_ids", self.text.stdout)
        report = self.verify(self.edited(change, sealed=True), 3)
        self.assertEqual(report["edited"], [])
        difference = report["replay"]["difference"]
        self.assertEqual((difference["kind"], difference["position"]), ("token", 20))
        self.assertEqual(difference["replay_token"], self.receipt["output"]["token_ids"][20])
        self.assertIn(b"differs at output position 20", self.text.stdout)

    def test_a_changed_sampling_parameter(self):
        def change(receipt):
            receipt["request"]["sampling"]["temperature"] = 0.2
        report = self.verify(self.edited(change), 3)
        self.assertEqual(report["edited"], ["request.sampling.temperature"])
        self.assertIn(b"edited after it was written: request.sampling.temperature", self.text.stdout)
        report = self.verify(self.edited(change, sealed=True), 3)
        self.assertEqual((report["edited"], report["mismatches"]), ([], []))
        self.assertEqual(report["replay"]["difference"]["kind"], "token")
        self.assertIn(b"the logits are equal", self.text.stdout)

    def test_a_changed_weight_byte(self):
        model = self.copy_model()
        path = model / "model.safetensors"
        data = bytearray(path.read_bytes())
        size = int.from_bytes(data[:8], "little")
        tensors = json.loads(data[8:8 + size])
        name = next(n for n in tensors if n.endswith("layers.1.mlp.down_proj.weight"))
        # The exponent of one weight's bf16: large enough to be seen in the logits of the first position.
        at = 8 + size + tensors[name]["data_offsets"][0] + 1
        data[at] ^= 1
        path.write_bytes(data)
        report = self.verify(self.made, 3, model=model)
        self.assertEqual([m["what"] for m in report["mismatches"]], ["weights"])
        self.assertEqual(report["mismatches"][0]["receipt"], self.receipt["model"]["sha256"])
        self.assertEqual(report["mismatches"][0]["here"], model_digest(path))
        self.assertEqual(report["replay"]["difference"]["position"], 0)
        self.assertIn("logits", report["replay"]["difference"]["kind"])
        self.assertIn(b"other weights", self.text.stdout)

    def test_a_changed_byte_of_the_mtp_head_decides_nothing(self):
        model = self.copy_model()
        path = model / "model.safetensors"
        data = bytearray(path.read_bytes())
        size = int.from_bytes(data[:8], "little")
        tensors = json.loads(data[8:8 + size])
        data[8 + size + tensors["mtp.fc.weight"]["data_offsets"][0]] ^= 1
        path.write_bytes(data)
        self.verify(self.made, 0, model=model)

    def test_another_model_another_tokenizer_another_config(self):
        report = self.verify(self.made, 3, model=TINY)
        self.assertIn("weights", [m["what"] for m in report["mismatches"]])
        model = self.copy_model()
        (model / "tokenizer.json").write_bytes(pathlib.Path(NANO, "tokenizer.json").read_bytes() + b"\n")
        report = self.verify(self.made, 3, model=model)
        self.assertEqual([m["what"] for m in report["mismatches"]], ["tokenizer"])
        self.assertTrue(report["replay"]["equal"])
        config = json.loads((model / "config.json").read_text())
        config["text_config"]["rms_norm_eps"] = 2e-6
        (model / "config.json").write_text(json.dumps(config))
        report = self.verify(self.made, 3, model=model)
        self.assertEqual([m["what"] for m in report["mismatches"]], ["config", "tokenizer"])

    def test_another_numerics_version(self):
        def change(receipt):
            receipt["numerics"]["version"] = 2
        report = self.verify(self.edited(change, sealed=True), 3)
        self.assertEqual(report["mismatches"], [{"what": "numerics", "receipt": "portable-2/kv-bf16", "here": "portable-1/kv-bf16"}])

    def test_a_kernel_that_rounds_blocks_otherwise(self):
        """Made in greedy mode, which has no probe, by a program with a planted break that only blocks meet."""
        path = self.folder / "broken.json"
        arguments = ("generate", "-m", NANO, "-p", "Once upon a time", "-n", "32", "-q", "--contract", "greedy", *FAST)
        for planted in ({}, {"VERBATIM_BREAK": "linear"}):
            done = subprocess.run([BREAKABLE, *arguments, "--receipt", str(path)], capture_output=True, timeout=WAIT,
                                  env=environment(**planted))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(json.loads(path.read_text())["numerics"]["profile"].startswith("onednn"))
            if planted:
                difference = self.verify(path, 3, env={})["replay"]["difference"]
                self.assertGreater(difference["position"], 0)  # the first comes from the prompt, before any block
                self.assertIn("logits", difference["kind"])
            else:
                report = json.loads(run("receipt", "verify", path, "-m", NANO, "--json", "-q").stdout)
                self.assertEqual((report["edited"], report["mismatches"]), ([], []))

    # Bad input.

    def test_bad_receipts_are_one_error(self):
        path = self.folder / "bad.json"
        text = self.made.read_bytes()
        for bad in (b"", b"{", text[:1000], b"[]", b"\xff\xfe", b"[" * 100000, text.replace(b"32", b'"32"', 1), b"{}"):
            path.write_bytes(bad)
            done = run("receipt", "verify", path, "-m", NANO)
            self.assertEqual((done.returncode, done.stdout), (1, b""), done)
            self.assertRegex(done.stderr.decode(), r"^\[[^\n]+\] expected [^\n]+, received [^\n]+\n$")

    def test_a_request_that_no_engine_takes(self):
        for section, key, value, words in (("sampling", "top_p", 7, "top_p"), (None, "context", 2, "prompt"),
                                           (None, "prompt_token_ids", [4096], "token ids"),
                                           (None, "prompt_token_ids", [1] * 9000, "context")):
            def change(receipt):
                place = receipt["request"] if section is None else receipt["request"][section]
                place[key] = value
                if len(value if isinstance(value, list) else []) > 100:
                    receipt["request"]["context"] = 1 << 20
            done = run("receipt", "verify", self.edited(change, sealed=True), "-m", NANO, "-q")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr.decode(), r"^\[[^\n]+edited.json\] expected [^\n]+\n$")
            self.assertIn(words, done.stderr.decode())

    def test_files_that_are_none(self):
        for file in ("/nowhere/at/all.json", "/dev/null", NANO):
            done = run("receipt", "verify", file, "-m", NANO)
            self.assertEqual((done.returncode, done.stdout), (1, b""), done)
        for target in ("/nowhere/r.json", NANO, "/dev/full"):
            done = run("generate", "-m", NANO, "-p", "x", "-n", "2", "-q", "--receipt", target)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(target, done.stderr.decode())
        self.assertEqual(run("receipt", "verify", self.made, "-m", "/nowhere").returncode, 1)

    def test_usage(self):
        for arguments, words in (((), "ACTION"), (("verify",), "FILE"), (("show", self.made), "ACTION"),
                                 (("verify", self.made), "--model"), (("verify", self.made, "-m", NANO, "-t", "0"), "--threads"),
                                 (("verify", self.made, self.made, "-m", NANO), "argument")):
            done = run("receipt", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), done)
            self.assertIn(f"[{words}]", done.stderr.decode())

    def test_texts_that_are_not_utf8(self):
        done = run("generate", "-m", NANO, "-p", "x", "-n", "2", "-q", "--receipt", self.folder / "r.json", "--stop", b"\xff".decode("utf-8", "surrogateescape"))
        self.assertEqual(done.returncode, 2, done)
        self.assertFalse((self.folder / "r.json").exists())

    def test_an_interrupted_request_leaves_no_receipt(self):
        path = self.folder / "r.json"
        with subprocess.Popen([BINARY, "generate", "-m", NANO, "-p", "x", "-n", "8000", "--ignore-eos", "-t", "1", "-q",
                               "--receipt", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(VERBATIM_TARGET="scalar")) as process:
            self.assertTrue(process.stdout.read(1))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WAIT)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()

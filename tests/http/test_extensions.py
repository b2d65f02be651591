#!/usr/bin/env python3
"""What is this server's own: contract modes, receipts, digests, details of tokens, fingerprints, the small endpoints, the page."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from server import NANO, Server
from support import WAIT, environment, run, run_json

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
BREAKABLE = os.environ.get("VERBATIM_BREAKABLE")
ASKED = {"prompt": "Once upon a time", "max_tokens": 30, "temperature": 0, "ignore_eos": True}


class ExtensionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--log-level", "error", "--context", 512)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_receipts_are_verified_by_the_program(self):
        for extra in ({}, {"temperature": 0.9, "seed": 3, "top_p": 0.9}, {"stop": ["e"]}, {"guided_regex": "[a-f ]{9}|ö"},
                      {"response_format": {"type": "json_object"}}):
            for streamed in (False, True):
                body = {**ASKED, **extra, "receipt": True, "speculation": {"kind": "mtp", "draft_tokens": 7}}
                if streamed:
                    ends = [c for event in self.server.events(COMPLETIONS, body) for c in event["choices"] if c["finish_reason"]]
                    receipt = ends[0]["verbatim"]["receipt"]
                else:
                    receipt = self.server.post(COMPLETIONS, body)["choices"][0]["verbatim"]["receipt"]
                with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                    file.write(json.dumps(receipt, ensure_ascii=False))
                    file.flush()
                    done = run("receipt", "verify", file.name, "-m", NANO, "--threads", "1")
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    receipt["output"]["token_ids"][0] += 1
                    pathlib.Path(file.name).write_text(json.dumps(receipt, ensure_ascii=False))
                    self.assertEqual(run("receipt", "verify", file.name, "-m", NANO).returncode, 3)

    def test_a_receipt_of_thinking_and_a_call_is_verified(self):
        tool = {"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {"up": {"type": "boolean"}}, "required": ["up"]}}}
        receipt = self.server.post(CHAT, {"messages": [{"role": "user", "content": "Look"}], "tools": [tool], "tool_choice": "required",
                                          "max_tokens": 200, "temperature": 0, "receipt": True})["choices"][0]["verbatim"]["receipt"]
        self.assertEqual(receipt["request"]["constraint"]["kind"], "grammar")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(receipt, ensure_ascii=False))
            file.flush()
            done = run("receipt", "verify", file.name, "-m", NANO, "--threads", "1")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_digests_are_those_of_generate(self):
        answer = self.server.post(COMPLETIONS, {**ASKED, "logits_digest": True})["choices"][0]
        alone = run_json("generate", "-m", NANO, "-p", ASKED["prompt"], "-n", "30", "--ignore-eos", "--generation-config", "off")
        self.assertEqual(answer["verbatim"]["logits_sha256"], alone["logits_sha256"])
        self.assertNotIn("logits_sha256", self.server.post(COMPLETIONS, ASKED)["choices"][0]["verbatim"])

    def test_token_details_tell_blocks(self):
        body = {**ASKED, "token_details": True, "speculation": {"kind": "mtp", "draft_tokens": 3}}
        end = self.server.post(COMPLETIONS, body)["choices"][0]["verbatim"]
        tokens = end["tokens"]
        self.assertEqual(sum(token["drafted"] for token in tokens), end["speculation"]["accepted"])
        self.assertEqual(tokens[0]["block"], 0)
        for before, after in zip(tokens, tokens[1:]):
            same = before["block"] == after["block"]
            self.assertEqual((after["block"], after["row"]), (before["block"], before["row"] + 1) if same else (before["block"] + 1, 0))
            self.assertLess(after["row"], after["block_rows"])
        # All but the last token of a block had been drafted, and were right.
        for before, after in zip(tokens[1:], tokens[2:]):
            if before["block"] == after["block"]:
                self.assertTrue(before["drafted"])

    def test_contract_of_a_request(self):
        texts = set()
        for contract in ("exact", "strict", "greedy", "off"):
            choice = self.server.post(COMPLETIONS, {**ASKED, "contract": contract, "speculation": {"kind": "mtp", "draft_tokens": 3}})["choices"][0]
            self.assertEqual(choice["verbatim"]["speculation"]["drafted"] == 0, contract == "off")
            texts.add(choice["text"])
        self.assertEqual(len(texts), 1)

    def test_fingerprint_names_what_the_bytes_depend_on(self):
        fingerprint = self.server.post(COMPLETIONS, ASKED)["system_fingerprint"]
        self.assertEqual(fingerprint, json.loads(self.server.get("/health"))["system_fingerprint"])
        with Server("--log-level", "error", "--kv-type", "f32") as other:
            self.assertNotEqual(fingerprint, other.post(COMPLETIONS, ASKED)["system_fingerprint"])
        with Server("--log-level", "error", "-t", "1", env={"VERBATIM_TARGET": "scalar"}) as other:
            answer = other.post(COMPLETIONS, {**ASKED, "logits_digest": True})
            self.assertEqual(fingerprint, answer["system_fingerprint"])
            self.assertEqual(answer["choices"][0]["verbatim"]["logits_sha256"],
                             self.server.post(COMPLETIONS, {**ASKED, "logits_digest": True})["choices"][0]["verbatim"]["logits_sha256"])

    def test_health_version_and_models(self):
        health = json.loads(self.server.get("/health"))
        self.assertEqual((health["status"], health["contract"]["held"], health["contract"]["verdict"]), ("ok", "exact", "equal"))
        self.assertEqual(json.loads(self.server.get("/version"))["version"], run_json("version")["version"])
        (model,) = json.loads(self.server.get("/v1/models"))["data"]
        self.assertEqual((model["id"], model["max_model_len"], model["meta"]["has_mtp"]), ("nano-qwen35", 512, True))
        self.assertEqual(json.loads(self.server.get("/v1/models/nano-qwen35")), model)

    def test_tokenize_detokenize_and_apply_template(self):
        text = "Héllo 世界 <|im_start|>🙂"
        tokens = self.server.post("/tokenize", {"content": text})["tokens"]
        self.assertEqual(self.server.post("/detokenize", {"tokens": tokens})["content"], text)
        prompt = self.server.post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]})["prompt"]
        self.assertEqual(prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
        chat = self.server.post(CHAT, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5, "temperature": 0, "logits_digest": True})
        same = self.server.post(COMPLETIONS, {"prompt": prompt, "max_tokens": 5, "temperature": 0, "logits_digest": True})
        self.assertEqual(chat["choices"][0]["verbatim"]["logits_sha256"], same["choices"][0]["verbatim"]["logits_sha256"])

    def test_the_page_and_its_files(self):
        status, headers, body = self.server.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertIn(b"<!doctype html>", body[:200].lower())
        status, _, rest = self.server.request("GET", "/", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((status, rest), (304, b""))

    def test_the_openapi_document_names_every_route(self):
        paths = json.loads(self.server.get("/openapi.json"))["paths"]
        for path in (CHAT, COMPLETIONS, "/v1/responses", "/v1/messages", "/v1/models", "/tokenize", "/detokenize", "/apply-template", "/health",
                     "/metrics", "/version"):
            self.assertIn(path, paths)


@unittest.skipUnless(BREAKABLE, "VERBATIM_BREAKABLE names no program")
class BrokenKernelsTest(unittest.TestCase):
    """A machine on which blocks have other bytes: the server says so and decodes classically."""

    def test_exact_declines_and_says_so_everywhere(self):
        with Server("--log-level", "error", binary=BREAKABLE, env={"VERBATIM_BREAK": "linear:blocks"}) as server:
            self.assertIn("warning: --contract exact can't be kept here", server.stderr())
            contract = json.loads(server.get("/health"))["contract"]
            self.assertEqual((contract["mode"], contract["held"], contract["verdict"], contract["op"]), ("exact", "off", "localized", "linear"))
            self.assertEqual(server.metrics()["verbatim:contract_exact"], 0)
            choice = server.post(COMPLETIONS, {**ASKED, "logits_digest": True, "speculation": {"kind": "mtp", "draft_tokens": 3}})["choices"][0]
            self.assertEqual(choice["verbatim"]["speculation"]["drafted"], 0)
            status, _, body = server.request("POST", COMPLETIONS, {**ASKED, "contract": "strict"})
            self.assertEqual((status, json.loads(body)["error"]["code"]), (503, "contract_not_held"))

    def test_strict_does_not_start(self):
        done = subprocess.run([BREAKABLE, "serve", "-m", NANO, "--contract", "strict", "--port", "0"], stdin=subprocess.DEVNULL,
                              capture_output=True, env=environment(VERBATIM_BREAK="attention:blocks"), timeout=WAIT)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"attention", done.stderr)


if __name__ == "__main__":
    unittest.main()

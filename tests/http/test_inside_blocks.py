#!/usr/bin/env python3
"""What can happen inside of an accepted block, at every offset, over HTTP: the answer is that of classic decode.

Each situation is asked once without speculation. Then its own tokens are drafted (speculation "replay"), in blocks of
several widths, and with one wrong draft at each of 16 places, after which blocks begin one row further on: so whatever
happens, happens at every row of a block. Text, reasoning, calls, log-probabilities, digests, usage and ends must agree,
streamed and whole.
"""

import json
import pathlib
import tempfile
import unittest

from server import NANO, Server

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
WIDTHS = (1, 3, 7, 15)
CONTEXT = 320
VOCABULARY = 1024
END_OF_THINKING = 1019
# ChatML as the model knows it; thinking is open at the end of the prompt if asked for, tools are named in a system line.
TEMPLATE = """{%- if tools %}{{- '<|im_start|>system\\nTools: ' }}{%- for t in tools %}{{- t.function.name + ' ' }}{%- endfor %}{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and enable_thinking %}{{- '<think>\\n' }}{%- endif %}{%- endif %}"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}, "b": {"enum": ["x", "yes"]}},
          "required": ["a", "b"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"], "additionalProperties": False}}}


def user(text):
    return [{"role": "user", "content": text}]


def schema_format(schema):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


class InsideBlocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        template = pathlib.Path(cls.folder.name, "template.jinja")
        template.write_text(TEMPLATE)
        cls.server = Server("--context", CONTEXT, "--chat-template", template, "--parallel", 4, "--log-level", "error", "-t", "1")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def whole(self, path, body):
        """Everything that a client may see of an answer, but for times and what speculation did."""
        answer = self.server.post(path, body)
        choice = answer["choices"][0]
        end = choice.pop("verbatim")
        tokens = end["tokens"]
        self.assertEqual(answer["usage"]["completion_tokens"], len(tokens))
        message = choice.pop("message", None) or {"content": choice.pop("text")}
        for call in message.get("tool_calls") or []:
            call.pop("id")
        return {"message": {k: v for k, v in message.items() if v is not None}, "ids": [token["id"] for token in tokens],
                "digest": end["logits_sha256"], "finish_reason": choice["finish_reason"], "stop": choice.get("stop_reason"),
                "logprobs": choice["logprobs"], "reasoning_tokens": end["reasoning_tokens"], "usage": answer["usage"]}, end

    def streamed(self, path, body):
        """The message that a client puts together from a stream, with finish_reason, digest and ids."""
        message, ids, end, logprobs = {}, [], {}, []
        for event in self.server.events(path, body):
            for choice in event["choices"]:
                delta = choice.get("delta", {"content": choice.get("text", "")})
                for key in ("content", "reasoning_content"):
                    if delta.get(key):
                        message[key] = message.get(key, "") + delta[key]
                for call in delta.get("tool_calls", ()):
                    calls = message.setdefault("tool_calls", [])
                    if call["index"] == len(calls):
                        calls.append({"name": call["function"]["name"], "arguments": ""})
                    calls[call["index"]]["arguments"] += call["function"].get("arguments", "")
                ids += [token["id"] for token in choice.get("verbatim", {}).get("tokens", ())]
                if choice.get("logprobs") and path == CHAT:
                    logprobs += choice["logprobs"]["content"]
                if choice["finish_reason"]:
                    end = choice
        return message, ids, end["finish_reason"], end["verbatim"]["logits_sha256"], logprobs

    def at_every_offset(self, path, body, drafts=None, at_least=1):
        """Asks classic, then with blocks; returns the classic answer."""
        body = {"temperature": 0, **body, "logits_digest": True, "token_details": True}
        classic, _ = self.whole(path, {**body, "speculation": "off"})
        self.assertGreaterEqual(len(classic["ids"]), at_least, classic)
        drafts = classic["ids"] if drafts is None else drafts
        plans = [(width, drafts) for width in WIDTHS]
        for wrong in range(min(16, len(drafts))):
            changed = list(drafts)
            changed[wrong] = (changed[wrong] + 1) % VOCABULARY
            plans.append((15, changed))
        rows = set()
        for number, (width, replay) in enumerate(plans):
            asked = {**body, "speculation": {"kind": "replay", "tokens": replay, "draft_tokens": width}}
            answer, end = self.whole(path, asked)
            # What is kept of the prompt may differ, and is not part of the answer.
            answer["usage"].pop("prompt_tokens_details", None), classic["usage"].pop("prompt_tokens_details", None)
            self.assertEqual(answer, classic, asked)
            rows.add(end["tokens"][-1]["row"])
            if number % 3 == 0:
                message, ids, finish_reason, digest, logprobs = self.streamed(path, asked)
                self.assertEqual((ids, finish_reason, digest), (classic["ids"], classic["finish_reason"], classic["digest"]))
                self.assertEqual(message.get("content", ""), classic["message"].get("content", ""))
                self.assertEqual(message.get("reasoning_content", ""), classic["message"].get("reasoning_content", ""))
                self.assertEqual([(call["name"], call["arguments"]) for call in message.get("tool_calls", ())],
                                 [(call["function"]["name"], call["function"]["arguments"])
                                  for call in classic["message"].get("tool_calls", ())])
                if classic["logprobs"] and path == CHAT:
                    self.assertEqual(logprobs, classic["logprobs"]["content"])
        return classic, rows

    def test_every_row_of_a_block_is_met(self):
        _, rows = self.at_every_offset(COMPLETIONS, {"prompt": "Once upon a time", "max_tokens": 40, "ignore_eos": True}, at_least=40)
        self.assertEqual(rows, set(range(16)))

    def test_max_tokens_around_the_natural_end_and_eos(self):
        for seed in range(100):
            body = {"prompt": "Once upon a time", "max_tokens": 60, "temperature": 1.0, "seed": seed, "logit_bias": {"1017": 4}}
            natural, _ = self.whole(COMPLETIONS, {**body, "token_details": True, "logits_digest": True})
            if natural["finish_reason"] == "stop" and len(natural["ids"]) >= 18:
                break
        self.assertEqual(natural["finish_reason"], "stop")
        length = len(natural["ids"])
        for max_tokens in range(length - 2, length + 3):
            answer, _ = self.at_every_offset(COMPLETIONS, {**body, "max_tokens": max_tokens}, drafts=natural["ids"])
            self.assertEqual(answer["finish_reason"], "length" if max_tokens < length else "stop")
            self.assertEqual(len(answer["ids"]), min(max_tokens, length))

    def test_stop_strings_over_the_border_of_two_tokens(self):
        body = {"prompt": "The old man", "max_tokens": 36, "ignore_eos": True}
        free = self.server.post(COMPLETIONS, {"temperature": 0, **body, "token_details": True})["choices"][0]
        pieces = [token["text"] for token in free["verbatim"]["tokens"]]
        for index in (1, 2, 5, 9, 14, 15, 16, 17, 22):
            stop = pieces[index][-1:] + pieces[index + 1][:2]
            answer, _ = self.at_every_offset(COMPLETIONS, {**body, "stop": ["\x01", stop]})
            self.assertEqual(answer["finish_reason"], "stop")
            self.assertEqual(answer["stop"], stop)
            self.assertEqual(answer["message"]["content"], free["text"][:free["text"].index(stop)])

    def test_constraint_that_rejects_all_drafts(self):
        prose = [260, 340, 262, 312] * 20
        answer, _ = self.at_every_offset(CHAT, {"messages": user("Numbers"), "max_tokens": 60, **schema_format(SCHEMA)}, drafts=prose)
        self.assertEqual(set(json.loads(answer["message"]["content"])), {"a", "b"})
        self.at_every_offset(CHAT, {"messages": user("Numbers"), "max_tokens": 60, **schema_format(SCHEMA)})

    def test_end_of_thinking_inside_a_block_then_json(self):
        met = 0
        for seed in range(60):
            body = {"messages": user("Think"), "max_tokens": 80, "temperature": 1.0, "seed": seed,
                    "logit_bias": {str(END_OF_THINKING): 16.5}, "chat_template_kwargs": {"enable_thinking": True}, **schema_format(SCHEMA)}
            natural, _ = self.whole(CHAT, {**body, "token_details": True, "logits_digest": True})
            if END_OF_THINKING not in natural["ids"][3:40] or natural["finish_reason"] != "stop":
                continue
            met += 1
            answer, _ = self.at_every_offset(CHAT, body, at_least=6)
            self.assertEqual(set(json.loads(answer["message"]["content"])), {"a", "b"})
            self.assertTrue(answer["message"]["reasoning_content"])
            self.assertEqual(answer["usage"]["completion_tokens_details"]["reasoning_tokens"], answer["reasoning_tokens"])
            if met == 2:
                return
        self.fail(f"{met} of 2 answers ended thinking in a place to look at")

    def test_tool_call(self):
        for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
            answer, _ = self.at_every_offset(CHAT, {"messages": user("How is it?"), "max_tokens": 120, "tools": [TOOL],
                                                    "tool_choice": choice, "parallel_tool_calls": False})
            self.assertEqual(answer["finish_reason"], "tool_calls")
            (call,) = answer["message"]["tool_calls"]
            self.assertEqual(call["function"]["name"], "weather")
            arguments = json.loads(call["function"]["arguments"])
            self.assertIn(arguments["city"], ("Oslo", "Rome"))
            self.assertIsInstance(arguments["days"], int)

    def test_context_limit(self):
        for spare in (1, 2, 3, 15, 16, 17, 18, 33):
            prompt = [5 + i % 900 for i in range(CONTEXT - spare)]
            answer, _ = self.at_every_offset(COMPLETIONS, {"prompt": prompt, "ignore_eos": True, "max_tokens": 100})
            self.assertEqual((answer["finish_reason"], len(answer["ids"])), ("length", spare))

    def test_penalties_min_tokens_and_logprobs(self):
        body = {"messages": user("Tell me"), "max_tokens": 30, "repetition_penalty": 1.3, "frequency_penalty": 0.7, "presence_penalty": 0.4,
                "min_tokens": 20, "logit_bias": {"1017": 6}, "logprobs": True, "top_logprobs": 3}
        answer, _ = self.at_every_offset(CHAT, body, at_least=20)
        self.assertEqual(len(answer["logprobs"]["content"]), len(answer["ids"]))
        self.at_every_offset(CHAT, {**body, "temperature": 0.8, "top_p": 0.9, "seed": 3}, at_least=20)
        self.at_every_offset(COMPLETIONS, {"prompt": "Tell me", "max_tokens": 24, "logprobs": 4, "ignore_eos": True})
        self.at_every_offset(COMPLETIONS, {"prompt": "Tell me", "max_tokens": 24, "echo": True, "ignore_eos": True})

    def test_characters_of_several_tokens(self):
        answer, _ = self.at_every_offset(COMPLETIONS, {"prompt": "Faces:", "max_tokens": 100, "temperature": 1.0, "seed": 4,
                                                       "guided_regex": "(é😀漢字|👩‍🚀é漢){3}"}, at_least=17)
        self.assertRegex(answer["message"]["content"], r"^(é😀漢字|👩‍🚀é漢){3}$")

    def test_two_turns_equal_cold_ones(self):
        with Server("--context", CONTEXT, "--prefix-cache-memory", "0", "--log-level", "error", "-t", "1") as cold, \
                Server("--context", CONTEXT, "--log-level", "error", "-t", "1") as warm:
            for speculation in ("off", "mtp", {"kind": "mtp", "draft_tokens": 15}, "ngram"):
                messages = user(f"Tell me of {json.dumps(speculation)} and the sea")
                for turn in range(3):
                    body = {"messages": messages, "max_tokens": 23, "temperature": 0, "logits_digest": True, "speculation": speculation}
                    first, second = cold.post(CHAT, body), warm.post(CHAT, body)
                    for answer in (first, second):
                        self.assertEqual(answer["choices"][0]["message"], first["choices"][0]["message"])
                        self.assertEqual(answer["choices"][0]["verbatim"]["logits_sha256"], first["choices"][0]["verbatim"]["logits_sha256"])
                    if turn > 0:
                        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"], 16)
                    messages = messages + [{"role": "assistant", "content": first["choices"][0]["message"]["content"]}, *user("And then?")]


if __name__ == "__main__":
    unittest.main()

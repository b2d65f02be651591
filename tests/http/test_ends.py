#!/usr/bin/env python3
"""Answers that end as nobody wished: half a tool call, thinking without an answer, prompts that can't fit. None may look like a whole one."""

import json
import pathlib
import tempfile
import unittest

from server import Server

CHAT, COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
ASKED = [{"role": "user", "content": "Look it up"}]
PARAMETERS = {"type": "object", "properties": {"x": {"type": "string"}, "n": {"type": "integer"}}, "required": ["x"]}
HEAD = r"<tool_call>\n<function=f>\n"
WHOLE = HEAD + r"<parameter=x>\na\n</parameter>\n</function>\n</tool_call>"
HALF = (HEAD + r"<parameter=x>\na", HEAD + r"<parameter=x>\na\n</parameter>\n", HEAD + r"<parameter=n>\n1", WHOLE + r"\n" + HEAD + r"<parameter=x>\nb")
THINKS = """{%- for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant: <think>\n{% endif %}"""


class CallsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--log-level", "error", "--context", 512)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def ask(self, path, regex, **fields):
        """The answer whose text is `regex`, at its natural end."""
        function = {"name": "f", "parameters": PARAMETERS}
        tool = {CHAT: {"type": "function", "function": function}, RESPONSES: {"type": "function", **function},
                MESSAGES: {"name": "f", "input_schema": PARAMETERS}}[path]
        prompt = {"input": "Look it up"} if path == RESPONSES else {"messages": ASKED}
        limit = {"max_output_tokens" if path == RESPONSES else "max_tokens": 200}
        return self.server.post(path, {**prompt, **limit, "tools": [tool], "temperature": 0, "guided_regex": regex, **fields})

    def test_whole_calls_are_calls(self):
        choice = self.ask(CHAT, WHOLE)["choices"][0]
        self.assertEqual((choice["finish_reason"], choice["message"]["tool_calls"][0]["function"]["arguments"]), ("tool_calls", '{"x":"a"}'))
        self.assertEqual(self.ask(MESSAGES, WHOLE)["stop_reason"], "tool_use")
        self.assertEqual(self.ask(RESPONSES, WHOLE)["output"][0]["status"], "completed")

    def test_half_a_call_is_none(self):
        for half in HALF:
            with self.subTest(half):
                choice = self.ask(CHAT, half)["choices"][0]
                self.assertEqual(choice["finish_reason"], "stop")
                with self.assertRaises(json.JSONDecodeError):
                    json.loads(choice["message"]["tool_calls"][-1]["function"]["arguments"])
                self.assertEqual(self.ask(MESSAGES, half)["stop_reason"], "end_turn")
                items = self.ask(RESPONSES, half)["output"]
                self.assertEqual([item["status"] for item in items], ["completed"] * (len(items) - 1) + ["incomplete"])

    def test_a_stop_string_inside_of_a_call(self):
        choice = self.ask(CHAT, WHOLE, stop=["</param"])["choices"][0]
        self.assertEqual((choice["finish_reason"], choice["stop_reason"]), ("stop", "</param"))
        self.assertEqual(self.ask(MESSAGES, WHOLE, stop_sequences=["</param"])["stop_reason"], "stop_sequence")

    def test_the_rest_is_streamed_with_the_same_ends(self):
        events = self.server.events(RESPONSES, {"input": "Look", "max_output_tokens": 200, "temperature": 0, "guided_regex": HALF[0],
                                                "tools": [{"type": "function", "name": "f", "parameters": PARAMETERS}]})
        done = [event["item"]["status"] for event in events if event["type"] == "response.output_item.done"]
        self.assertEqual(done, ["incomplete"])


class ThinkingTest(unittest.TestCase):
    def test_what_was_demanded_is_not_given_up_while_thinking(self):
        """A model that would end inside of its thinking, where the constraint has not begun."""
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write(THINKS)
            template.flush()
            with Server("--log-level", "error", "--context", 512, "--chat-template", template.name) as server:
                ends = [token for text in ("<|im_end|>", "<|endoftext|>") for token in server.post("/tokenize", {"content": text})["tokens"]]
                asked = {"messages": ASKED, "max_tokens": 20, "temperature": 0, "logit_bias": {str(token): 100 for token in ends}}
                self.assertEqual(server.post(CHAT, asked)["choices"][0]["finish_reason"], "stop")
                texts = set()
                for speculation in ("off", "mtp", "ngram"):
                    answer = server.post(CHAT, {**asked, "speculation": speculation, "response_format": {
                        "type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}}})
                    choice = answer["choices"][0]
                    self.assertEqual((choice["finish_reason"], answer["usage"]["completion_tokens"]), ("length", 20))
                    texts.add(choice["message"]["reasoning_content"])
                self.assertEqual(len(texts), 1)


class LimitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--log-level", "error", "--context", 128)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def refusal(self, path, body):
        status, _, text = self.server.request("POST", path, body)
        error = json.loads(text)["error"]
        return status, error.get("param"), error["message"]

    def test_a_prompt_that_cannot_fit_is_refused_before_the_work(self):
        long = "word " * 2_000_000
        for path, body, param in ((CHAT, {"messages": [{"role": "user", "content": long}]}, "messages"),
                                  (COMPLETIONS, {"prompt": long}, "prompt"), (RESPONSES, {"input": long}, "input")):
            status, named, message = self.refusal(path, body)
            self.assertEqual((status, named), (400, param))
            self.assertRegex(message, "expected fewer tokens than the context of 128, received at least [0-9]+;")
        status, named, message = self.refusal(RESPONSES, {"input": "word " * 200})
        self.assertEqual((status, named), (400, "input"))
        self.assertNotIn("at least", message)

    def test_completions_have_openai_s_default_length(self):
        asked = {"prompt": "Once", "temperature": 0, "ignore_eos": True}
        self.assertEqual(self.server.post(COMPLETIONS, asked)["usage"]["completion_tokens"], 16)
        self.assertEqual(self.server.post(COMPLETIONS, {**asked, "max_tokens": 40})["usage"]["completion_tokens"], 40)

    def test_errors_name_the_field_that_was_sent(self):
        for path, body, param in ((COMPLETIONS, {"prompt": "a", "guided_regex": "("}, "guided_regex"),
                                  (CHAT, {"messages": ASKED, "structured_outputs": {"grammar": "start: ("}}, "structured_outputs.grammar"),
                                  (RESPONSES, {"input": "a", "text": {"format": {"type": "json_schema", "name": "s", "schema": {"type": "x"}}}},
                                   "text.format.schema"),
                                  (CHAT, {"messages": ASKED, "cache_salt": "mine"}, "cache_salt"),
                                  (CHAT, {"messages": ASKED, "chat_template": "{{ messages }}"}, "chat_template")):
            self.assertEqual(self.refusal(path, body)[:2], (400, param))

    def test_the_assistant_s_last_words_are_not_gone_on_with(self):
        status, _, message = self.refusal(MESSAGES, {"max_tokens": 5, "messages": [*ASKED, {"role": "assistant", "content": "It is ("}]})
        self.assertEqual(status, 400)
        self.assertIn('[messages[1].role] expected "user" in the last message, received "assistant"', message)


if __name__ == "__main__":
    unittest.main()

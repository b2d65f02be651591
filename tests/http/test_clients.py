#!/usr/bin/env python3
"""Real clients: openai, anthropic, LangChain, httpx, curl, prometheus-client, schemathesis. In the environment of tools/python_env.sh.

Each is used as its users do; what they make of the answers is compared with one another and with the bytes asked for plainly.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import anthropic
import httpx
import openai
from langchain_openai import ChatOpenAI
from prometheus_client.parser import text_string_to_metric_families

from server import SLOW, WAIT, Server
from test_inside_blocks import END_OF_THINKING, SCHEMA, TEMPLATE, TOOL, schema_format, user

KEY = "key-for-the-tests-of-clients"
EXTRA = {"temperature": 0}


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        template, keys = pathlib.Path(cls.folder.name, "template.jinja"), pathlib.Path(cls.folder.name, "keys")
        template.write_text(TEMPLATE)
        keys.write_text(f"# of the tests\n{KEY}\n")
        cls.server = Server("--context", 512, "--chat-template", template, "--api-key-file", keys, "--log-level", "error")
        cls.openai = openai.OpenAI(base_url=cls.server.address + "/v1", api_key=KEY, max_retries=0)
        cls.anthropic = anthropic.Anthropic(base_url=cls.server.address, api_key=KEY, max_retries=0)
        cls.model = cls.server.model

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        cls.anthropic.close()
        cls.server.__exit__()
        cls.folder.cleanup()

    def plain(self, path, body):
        status, _, data = self.server.request("POST", path, body, {"Authorization": f"Bearer {KEY}"})
        self.assertEqual(status, 200, data)
        return json.loads(data)

    # openai

    def test_openai_chat_whole_and_streamed(self):
        arguments = {"model": self.model, "messages": user("Hello there"), "max_tokens": 20, "temperature": 0}
        whole = self.openai.chat.completions.create(**arguments)
        text, usage, roles = "", None, []
        with self.openai.chat.completions.create(**arguments, stream=True, stream_options={"include_usage": True}) as stream:
            for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    roles += [choice.delta.role] if choice.delta.role else []
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertTrue(text)
        self.assertEqual(roles, ["assistant"])
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(whole.choices[0].finish_reason, "length")
        self.assertTrue(whole.system_fingerprint)
        plain = self.plain("/v1/chat/completions", arguments)
        self.assertEqual(plain["choices"][0]["message"]["content"], text)

    def test_openai_several_answers_and_seeds(self):
        arguments = {"model": self.model, "messages": user("Say something"), "max_tokens": 12, "temperature": 1.0, "seed": 5, "n": 3}
        first, second = (self.openai.chat.completions.create(**arguments) for _ in range(2))
        texts = [choice.message.content for choice in first.choices]
        self.assertEqual(texts, [choice.message.content for choice in second.choices])
        self.assertGreater(len(set(texts)), 1)
        streamed = [""] * 3
        for chunk in self.openai.chat.completions.create(**arguments, stream=True):
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ""
        self.assertEqual(streamed, texts)

    def test_openai_logprobs(self):
        answer = self.openai.chat.completions.create(model=self.model, messages=user("Numbers"), max_tokens=8, temperature=0, logprobs=True,
                                                     top_logprobs=4)
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), answer.usage.completion_tokens)
        self.assertEqual(b"".join(bytes(entry.bytes) for entry in content).decode(errors="replace"), answer.choices[0].message.content)
        for entry in content:
            self.assertEqual(len(entry.top_logprobs), 4)
            self.assertEqual(entry.top_logprobs[0].token, entry.token)
            self.assertEqual(sorted((top.logprob for top in entry.top_logprobs), reverse=True), [top.logprob for top in entry.top_logprobs])

    def test_openai_completions(self):
        answer = self.openai.completions.create(model=self.model, prompt=["Once upon a time", "The old man"], max_tokens=9, temperature=0, logprobs=2,
                                                n=2, seed=1)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2, 3])
        self.assertEqual(answer.choices[0].text, answer.choices[1].text)
        self.assertEqual(len(answer.choices[0].logprobs.tokens), 9)
        echoed = self.openai.completions.create(model=self.model, prompt="Once upon a time", max_tokens=4, temperature=0, echo=True)
        self.assertTrue(echoed.choices[0].text.startswith("Once upon a time"))
        self.assertTrue(answer.choices[0].text.startswith(echoed.choices[0].text.removeprefix("Once upon a time")))

    def test_openai_structured_output(self):
        answer = self.openai.chat.completions.create(model=self.model, messages=user("A record"), max_tokens=80, temperature=0,
                                                     **schema_format(SCHEMA))
        self.assertEqual(set(json.loads(answer.choices[0].message.content)), {"a", "b"})
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        anything = self.openai.chat.completions.create(model=self.model, messages=user("JSON"), max_tokens=60, temperature=0,
                                                       response_format={"type": "json_object"})
        self.assertTrue(anything.choices[0].message.content.startswith("{"))

    def test_openai_tools_whole_and_streamed(self):
        arguments = {"model": self.model, "messages": user("How is it in Oslo?"), "max_tokens": 120, "temperature": 0, "tools": [TOOL],
                     "tool_choice": "required", "parallel_tool_calls": False}
        whole = self.openai.chat.completions.create(**arguments).choices[0]
        self.assertEqual(whole.finish_reason, "tool_calls")
        (call,) = whole.message.tool_calls
        with self.openai.chat.completions.stream(**arguments) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion().choices[0].message.tool_calls
        self.assertEqual([(c.function.name, c.function.arguments) for c in final], [(call.function.name, call.function.arguments)])
        # The result goes back, and the conversation goes on.
        follow = self.openai.chat.completions.create(
            model=self.model, max_tokens=8, temperature=0, tools=[TOOL], tool_choice="none",
            messages=[*user("How is it?"), {"role": "assistant", "content": "", "tool_calls": [call.model_dump()]},
                      {"role": "tool", "tool_call_id": call.id, "content": "sunny"}])
        self.assertTrue(follow.choices[0].message.content)

    def test_openai_responses(self):
        arguments = {"model": self.model, "input": "Hello there", "max_output_tokens": 16, "temperature": 0}
        whole = self.openai.responses.create(**arguments)
        self.assertEqual(whole.status, "incomplete")
        kinds, text, numbers = [], "", []
        with self.openai.responses.create(**arguments, stream=True) as stream:
            for event in stream:
                kinds.append(event.type)
                numbers.append(event.sequence_number)
                text += event.delta if event.type == "response.output_text.delta" else ""
        self.assertEqual(text, whole.output_text)
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertEqual((kinds[0], kinds[-1]), ("response.created", "response.incomplete"))
        chat = self.plain("/v1/chat/completions", {"messages": user("Hello there"), "max_tokens": 16, "temperature": 0})
        self.assertEqual(whole.output_text, chat["choices"][0]["message"]["content"])

    def test_openai_models_and_errors(self):
        self.assertEqual([model.id for model in self.openai.models.list()], [self.model])
        self.assertEqual(self.openai.models.retrieve(self.model).id, self.model)
        ask = self.openai.chat.completions.create
        with self.assertRaises(openai.NotFoundError) as missing:
            ask(model="another", messages=user("x"))
        self.assertEqual(missing.exception.code, "model_not_found")
        with self.assertRaises(openai.BadRequestError) as bad:
            ask(model=self.model, messages=user("x"), temperature="hot")
        self.assertEqual(bad.exception.param, "temperature")
        with self.assertRaises(openai.BadRequestError) as long:
            ask(model=self.model, messages=user("word " * 5000))
        self.assertEqual(long.exception.code, "context_length_exceeded")
        with self.assertRaises(openai.AuthenticationError):
            openai.OpenAI(base_url=self.server.address + "/v1", api_key="wrong-wrong", max_retries=0).models.list()

    def test_openai_retries_when_the_queue_is_full(self):
        with Server("--parallel", 1, "--max-queue", 0, "--context", 1024, "--log-level", "error", **SLOW) as small:
            client = openai.OpenAI(base_url=small.address + "/v1", api_key="none", max_retries=8)
            with client.chat.completions.create(model=small.model, messages=user("x"), max_tokens=900, temperature=0, stream=True,
                                                extra_body={"ignore_eos": True}) as busy:
                next(iter(busy))
                with self.assertRaises(openai.RateLimitError) as full:
                    client.with_options(max_retries=0).chat.completions.create(model=small.model, messages=user("y"), max_tokens=2)
                self.assertEqual(full.exception.response.headers["retry-after"], "1")
            answer = client.chat.completions.create(model=small.model, messages=user("y"), max_tokens=2, temperature=0)
            self.assertTrue(answer.choices)

    def test_openai_thinking(self):
        for seed in range(40):
            answer = self.openai.chat.completions.create(
                model=self.model, messages=user("Think"), max_tokens=60, temperature=1, seed=seed, logit_bias={str(END_OF_THINKING): 16},
                extra_body={"chat_template_kwargs": {"enable_thinking": True}, "guided_regex": "[a-z ]{5,20}"})
            if answer.choices[0].message.content and getattr(answer.choices[0].message, "reasoning_content", None):
                self.assertNotIn("</think>", answer.choices[0].message.content)
                self.assertGreater(answer.usage.completion_tokens_details.reasoning_tokens, 0)
                return
        self.fail("no answer ended its thinking")

    # anthropic

    def test_anthropic_whole_and_streamed(self):
        arguments = {"model": self.model, "messages": user("Hello there"), "max_tokens": 20, "extra_body": EXTRA}
        whole = self.anthropic.messages.create(**arguments)
        with self.anthropic.messages.stream(**arguments) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual((final.stop_reason, final.usage.output_tokens), (whole.stop_reason, whole.usage.output_tokens))
        self.assertEqual(whole.stop_reason, "max_tokens")
        chat = self.plain("/v1/chat/completions", {"messages": user("Hello there"), "max_tokens": 20, **EXTRA})
        self.assertEqual(text, chat["choices"][0]["message"]["content"])

    def test_anthropic_system_stop_and_tools(self):
        free = self.anthropic.messages.create(model=self.model, system="Be brief.", messages=user("Tell me"), max_tokens=30, extra_body=EXTRA)
        stop = free.content[0].text[6:9]
        stopped = self.anthropic.messages.create(model=self.model, system="Be brief.", messages=user("Tell me"), max_tokens=30, extra_body=EXTRA,
                                                 stop_sequences=[stop])
        self.assertEqual((stopped.stop_reason, stopped.stop_sequence), ("stop_sequence", stop))
        tool = {"name": "weather", "input_schema": TOOL["function"]["parameters"]}
        arguments = {"model": self.model, "messages": user("How is it?"), "max_tokens": 120, "extra_body": EXTRA, "tools": [tool],
                     "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
        called = self.anthropic.messages.create(**arguments)
        self.assertEqual(called.stop_reason, "tool_use")
        use = next(block for block in called.content if block.type == "tool_use")
        self.assertIn(use.input["city"], ("Oslo", "Rome"))
        with self.anthropic.messages.stream(**arguments) as stream:
            final = stream.get_final_message()
        self.assertEqual([block.input for block in final.content if block.type == "tool_use"], [use.input])
        follow = self.anthropic.messages.create(
            model=self.model, max_tokens=8, extra_body=EXTRA, tools=[tool],
            messages=[*user("How is it?"), {"role": "assistant", "content": [block.model_dump() for block in called.content]},
                      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]}])
        self.assertTrue(follow.content)

    def test_anthropic_errors(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.anthropic.messages.create(model="another", messages=user("x"), max_tokens=2)
        with self.assertRaises(anthropic.BadRequestError) as bad:
            self.anthropic.messages.create(model=self.model, messages=user("x"), max_tokens=-1)
        self.assertIn("max_tokens", str(bad.exception))
        with self.assertRaises(anthropic.AuthenticationError):
            anthropic.Anthropic(base_url=self.server.address, api_key="wrong-wrong", max_retries=0).messages.create(
                model=self.model, messages=user("x"), max_tokens=2)

    # others

    def test_langchain(self):
        model = ChatOpenAI(base_url=self.server.address + "/v1", api_key=KEY, model=self.model, temperature=0, max_tokens=20, max_retries=0)
        whole = model.invoke([("system", "Be brief."), ("human", "Hello")])
        self.assertEqual("".join(chunk.content for chunk in model.stream([("system", "Be brief."), ("human", "Hello")])), whole.content)
        self.assertTrue(whole.content)
        tools = ChatOpenAI(base_url=self.server.address + "/v1", api_key=KEY, model=self.model, temperature=0, max_tokens=120,
                           max_retries=0).bind_tools([TOOL], tool_choice="required", parallel_tool_calls=False)
        (call,) = tools.invoke("How is it?").tool_calls
        self.assertEqual(call["name"], "weather")
        structured = ChatOpenAI(base_url=self.server.address + "/v1", api_key=KEY, model=self.model, temperature=0, max_tokens=80,
                                max_retries=0).with_structured_output({"title": "x", **SCHEMA}, method="json_schema")
        self.assertEqual(set(structured.invoke("A record")), {"a", "b"})

    def test_httpx_streams_lines(self):
        with httpx.stream("POST", self.server.address + "/v1/completions", headers={"x-api-key": KEY}, timeout=WAIT,
                          json={"prompt": "Once", "max_tokens": 10, "temperature": 0, "stream": True}) as response:
            lines = [line for line in response.iter_lines() if line]
        self.assertTrue(response.headers["content-type"].startswith("text/event-stream"))
        self.assertTrue(all(line.startswith("data: ") for line in lines))
        self.assertEqual(lines[-1], "data: [DONE]")

    @unittest.skipUnless(shutil.which("curl"), "there is no curl")
    def test_curl(self):
        done = subprocess.run(["curl", "-sS", "--fail-with-body", "-H", f"Authorization: Bearer {KEY}", self.server.address + "/v1/chat/completions",
                               "-d", json.dumps({"messages": user("Hello"), "max_tokens": 5, **EXTRA})], capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["usage"]["completion_tokens"], 5)

    def test_prometheus(self):
        self.plain("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 20, "speculation": {"kind": "mtp", "draft_tokens": 3}, **EXTRA})
        status, headers, page = self.server.request("GET", "/metrics", headers={"Authorization": f"Bearer {KEY}"})
        self.assertEqual(status, 200)
        families = {family.name: family for family in text_string_to_metric_families(page.decode())}
        for name, kind in (("vllm:num_requests_running", "gauge"), ("vllm:kv_cache_usage_perc", "gauge"),
                           ("vllm:spec_decode_num_draft_tokens", "counter"), ("vllm:spec_decode_num_accepted_tokens_per_pos", "counter"),
                           ("vllm:time_to_first_token_seconds", "histogram"), ("vllm:request_success", "counter"),
                           ("verbatim:contract_exact", "gauge")):
            self.assertEqual(families[name].type, kind, name)
        self.assertEqual([sample.value for sample in families["verbatim:contract_exact"].samples], [1.0])
        positions = {sample.labels["position"]: sample.value for sample in families["vllm:spec_decode_num_accepted_tokens_per_pos"].samples}
        self.assertEqual(len(positions), 15)
        self.assertGreater(positions["0"], 0)

    def test_schemathesis(self):
        """Whatever the OpenAPI document allows, and near it: no 5xx, and answers as it says."""
        command = [str(pathlib.Path(sys.executable).with_name("schemathesis")), "run", self.server.address + "/openapi.json",
                   "-H", f"Authorization: Bearer {KEY}", "--checks", "not_a_server_error,content_type_conformance,response_schema_conformance",
                   "--max-examples", os.environ.get("VERBATIM_SCHEMATHESIS_EXAMPLES", "20"), "--seed", "1", "--workers", "2", "--no-color",
                   "--request-timeout", "60", "--phases", "examples,fuzzing"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()

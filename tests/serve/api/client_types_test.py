"""The goldens of the four APIs through the types of the openai and anthropic packages. Not a running server (tests/http)."""

import json
import os
import pathlib
import unittest

import anthropic.types
import openai.types
import openai.types.chat
import openai.types.responses
import pydantic

GOLDENS = pathlib.Path(os.environ["VERBATIM_SOURCE_DIR"]) / "tests/serve/api/goldens"


def whole(kind, name):
    return pydantic.TypeAdapter(kind).validate_python(json.loads((GOLDENS / name).read_text()), strict=True)


def events(kind, name):
    """Every event of a stream as the client's type; the type of Anthropic's and Responses' events stands in their field `type`."""
    adapter = pydantic.TypeAdapter(kind)
    found = []
    for event in (GOLDENS / name).read_text().split("\n\n")[:-1]:
        data = event.split("data: ", 1)[1]
        if data != "[DONE]":
            found.append(adapter.validate_python(json.loads(data), strict=True))
    return found


class ClientTypesTest(unittest.TestCase):
    def test_chat(self):
        answer = whole(openai.types.chat.ChatCompletion, "chat.json")
        message = answer.choices[0].message
        self.assertEqual(message.content, 'Grüß "dich"\n')
        self.assertEqual(message.reasoning_content, "Hm")
        self.assertEqual(json.loads(message.tool_calls[0].function.arguments), {"city": "Köln"})
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")
        self.assertEqual(answer.usage.prompt_tokens_details.cached_tokens, 8)
        self.assertEqual(len(answer.choices[0].logprobs.content), 6)
        chunks = events(openai.types.chat.ChatCompletionChunk, "chat.sse")
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.total_tokens, 18)
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        self.assertEqual(text, message.content)

    def test_completions(self):
        answer = whole(openai.types.Completion, "completions.json")
        self.assertEqual(answer.choices[0].text, 'Grüß "dich"\n')
        self.assertEqual(answer.choices[0].logprobs.text_offset, [0, 2, 4])
        self.assertEqual(answer.choices[0].stop_reason, "END")
        # The client's type of whole and streamed completions is one, and demands a finish_reason that streams have late.
        for event in (GOLDENS / "completions.sse").read_text().split("\n\n")[:-2]:
            chunk = openai.types.Completion.construct(**json.loads(event.removeprefix("data: ")))
            self.assertEqual(chunk.object, "text_completion")

    def test_responses(self):
        answer = whole(openai.types.responses.Response, "responses.json")
        self.assertEqual([item.type for item in answer.output], ["reasoning", "message", "function_call"])
        self.assertEqual(answer.output_text, 'Grüß "dich"\n')
        found = events(openai.types.responses.ResponseStreamEvent, "responses.sse")
        self.assertEqual([event.sequence_number for event in found], list(range(len(found))))
        self.assertEqual(found[-1].type, "response.completed")
        self.assertEqual(found[-1].response.output_text, answer.output_text)

    def test_messages(self):
        answer = whole(anthropic.types.Message, "messages.json")
        self.assertEqual([block.type for block in answer.content], ["thinking", "text", "tool_use"])
        self.assertEqual(answer.content[2].input, {"city": "Köln"})
        self.assertEqual(answer.stop_reason, "tool_use")
        self.assertEqual(answer.usage.cache_read_input_tokens, 8)
        found = events(anthropic.types.RawMessageStreamEvent, "messages.sse")
        self.assertEqual(found[0].type, "message_start")
        self.assertEqual([event.type for event in found[-2:]], ["message_delta", "message_stop"])


if __name__ == "__main__":
    unittest.main()

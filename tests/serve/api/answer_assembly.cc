// What clients do with the streams of the four APIs: they put the deltas together.
#include <gtest/gtest.h>

#include "tests/serve/api/answer_support.h"

namespace verbatim::serve::testing {
namespace {

void Concatenate(Json& list, const Json& more) {
  for (const Json& element : more) list.push_back(element);
}

void AppendText(Json& object, const char* key, const Json& text) {
  if (!object.contains(key)) object[key] = "";
  object[key].get_ref<std::string&>() += text.get_ref<const std::string&>();
}

// What both of OpenAI's older APIs have beside the text of a choice.
void TakeChoiceFields(const Json& chunk, Json& choice) {
  for (const char* key : {"finish_reason", "stop_reason"}) {
    if (chunk.contains(key) && !chunk[key].is_null()) choice[key] = chunk[key];
  }
  if (!chunk.contains("verbatim")) return;
  for (const auto& [key, value] : chunk["verbatim"].items()) {
    if (key == "tokens") {
      Concatenate(choice["verbatim"]["tokens"], value);
    } else {
      choice["verbatim"][key] = value;
    }
  }
}

// The chunks of chat.completion.chunk and text_completion, up to [DONE].
template <typename TakeChoice>
Json AssembleChunks(const AnswerScript& script, std::string_view stream, Json first_choice,
                    TakeChoice take) {
  const std::vector<SseMessage> messages = ParseSse(stream);
  EXPECT_EQ(messages.back().data, "[DONE]");
  Json answer = Json::object();
  answer["choices"] = Json::array();
  for (size_t i = 0; i < script.choices.size(); ++i) {
    first_choice["index"] = i;
    answer["choices"].push_back(first_choice);
  }
  int usages = 0;
  for (size_t i = 0; i + 1 < messages.size(); ++i) {
    EXPECT_EQ(messages[i].event, "");
    const Json chunk = Json::parse(messages[i].data);
    for (const char* key : {"id", "created", "model", "system_fingerprint", "object"}) {
      if (answer.contains(key)) {
        EXPECT_EQ(answer[key], chunk[key]);
      }
      answer[key] = chunk[key];
    }
    for (const char* key : {"timings", "metrics"}) {
      if (chunk.contains(key)) answer[key] = chunk[key];
    }
    EXPECT_EQ(chunk.contains("usage"), script.request.include_usage);
    if (chunk.contains("usage") && !chunk["usage"].is_null()) {
      ++usages;
      EXPECT_TRUE(chunk["choices"].empty());
      EXPECT_EQ(i + 2, messages.size());
      answer["usage"] = chunk["usage"];
    } else {
      EXPECT_EQ(chunk["choices"].size(), 1U);
    }
    for (const Json& choice : chunk["choices"]) {
      take(choice, answer["choices"][choice["index"].get<size_t>()]);
    }
  }
  EXPECT_EQ(usages, script.request.include_usage ? 1 : 0);
  return answer;
}

void TakeChatDelta(const Json& chunk, Json& choice) {
  Json& message = choice["message"];
  const Json& delta = chunk["delta"];
  EXPECT_TRUE(choice["finish_reason"].is_null()) << "a delta behind the end";
  if (delta.contains("role")) message["role"] = delta["role"];
  for (const char* key : {"content", "reasoning_content"}) {
    if (delta.contains(key)) AppendText(message, key, delta[key]);
  }
  if (delta.contains("tool_calls")) {
    for (const Json& part : delta["tool_calls"]) {
      const auto index = part["index"].get<size_t>();
      if (part.contains("id")) {
        EXPECT_EQ(message["tool_calls"].size(), index);  // in order
        message["tool_calls"].push_back(
            {{"id", part["id"]}, {"type", part["type"]}, {"function", part["function"]}});
      } else {
        AppendText(message["tool_calls"][index]["function"], "arguments",
                   part["function"]["arguments"]);
      }
    }
  }
  if (!chunk["logprobs"].is_null()) {
    if (choice["logprobs"].is_null()) {
      choice["logprobs"] = {{"content", Json::array()}, {"refusal", nullptr}};
    }
    Concatenate(choice["logprobs"]["content"], chunk["logprobs"]["content"]);
  }
  TakeChoiceFields(chunk, choice);
}

Json AssembleChat(const AnswerScript& script, std::string_view stream) {
  const Json first = {{"index", 0},
                      {"message", {{"refusal", nullptr}}},
                      {"logprobs", nullptr},
                      {"finish_reason", nullptr},
                      {"stop_reason", nullptr}};
  Json answer = AssembleChunks(script, stream, first, TakeChatDelta);
  EXPECT_EQ(answer["object"], "chat.completion.chunk");
  answer["object"] = "chat.completion";
  for (Json& choice : answer["choices"]) {
    Json& message = choice["message"];
    if (message["content"] == "" && message.contains("tool_calls")) message["content"] = nullptr;
  }
  return answer;
}

void TakeCompletionsChunk(const Json& chunk, Json& choice) {
  EXPECT_TRUE(choice["finish_reason"].is_null()) << "text behind the end";
  AppendText(choice, "text", chunk["text"]);
  if (!chunk["logprobs"].is_null()) {
    if (choice["logprobs"].is_null()) choice["logprobs"] = Json::object();
    for (const auto& [key, list] : chunk["logprobs"].items()) {
      Concatenate(choice["logprobs"][key], list);
    }
  }
  TakeChoiceFields(chunk, choice);
}

Json AssembleCompletions(const AnswerScript& script, std::string_view stream) {
  const Json first = {{"index", 0},
                      {"text", ""},
                      {"logprobs", nullptr},
                      {"finish_reason", nullptr},
                      {"stop_reason", nullptr}};
  return AssembleChunks(script, stream, first, TakeCompletionsChunk);
}

// Follows the typed events item by item; what the last event says of the whole must be the same.
class ResponsesClient {
 public:
  void Take(const Json& event) {
    EXPECT_EQ(event["sequence_number"], sequence_number_++);
    const auto type = event["type"].get<std::string>();
    if (event.contains("verbatim")) Concatenate(tokens_, event["verbatim"]["tokens"]);
    if (event.contains("output_index") && type != "response.output_item.added") {
      EXPECT_EQ(event["output_index"].get<size_t>() + 1, output_.size());
      if (event.contains("item_id")) {
        EXPECT_EQ(event["item_id"], output_.back()["id"]);
      }
    }
    if (type == "response.output_item.added") {
      EXPECT_EQ(event["output_index"], output_.size());
      EXPECT_EQ(event["item"]["status"], "in_progress");
      output_.push_back(event["item"]);
    } else if (type == "response.content_part.added") {
      output_.back()["content"].push_back(event["part"]);
    } else if (type.ends_with(".delta")) {
      TakeDelta(type, event);
    } else if (type == "response.output_text.done") {
      EXPECT_EQ(event["text"], Part()["text"]);
      EXPECT_EQ(event["logprobs"], Part()["logprobs"]);
    } else if (type == "response.reasoning_text.done") {
      EXPECT_EQ(event["text"], Part()["text"]);
    } else if (type == "response.function_call_arguments.done") {
      EXPECT_EQ(event["arguments"], output_.back()["arguments"]);
      EXPECT_EQ(event["name"], output_.back()["name"]);
    } else if (type == "response.content_part.done") {
      EXPECT_EQ(event["part"], Part());
    } else if (type == "response.output_item.done") {
      output_.back()["status"] = event["item"]["status"];
      EXPECT_EQ(event["item"], output_.back());
    } else {
      TakeResponse(type, event["response"]);
    }
  }

  Json Answer(const AnswerScript& script) {
    EXPECT_EQ(response_["output"], output_);
    if (script.request.token_details) {
      // Tokens behind the last text have no event to be in.
      const Json& all = response_["verbatim"]["tokens"];
      EXPECT_LE(tokens_.size(), all.size());
      for (size_t i = 0; i < tokens_.size(); ++i) EXPECT_EQ(tokens_[i], all[i]);
    } else {
      EXPECT_TRUE(tokens_.empty());
    }
    return response_;
  }

 private:
  Json& Part() { return output_.back()["content"].back(); }

  void TakeDelta(const std::string& type, const Json& event) {
    if (type == "response.function_call_arguments.delta") {
      return AppendText(output_.back(), "arguments", event["delta"]);
    }
    AppendText(Part(), "text", event["delta"]);
    if (type == "response.output_text.delta") Concatenate(Part()["logprobs"], event["logprobs"]);
  }

  void TakeResponse(const std::string& type, const Json& response) {
    if (type == "response.created" || type == "response.in_progress") {
      EXPECT_EQ(response["status"], "in_progress");
      EXPECT_TRUE(response["output"].empty());
      return;
    }
    EXPECT_EQ(type, "response." + response["status"].get<std::string>());
    EXPECT_TRUE(response_.is_null());
    response_ = response;
  }

  int64_t sequence_number_ = 0;
  Json output_ = Json::array();
  Json tokens_ = Json::array();
  Json response_;
};

Json AssembleResponses(const AnswerScript& script, std::string_view stream) {
  ResponsesClient client;
  for (const SseMessage& message : ParseSse(stream)) {
    const Json event = Json::parse(message.data);
    EXPECT_EQ(event["type"], message.event);
    client.Take(event);
  }
  return client.Answer(script);
}

Json AssembleMessages(const AnswerScript& script, std::string_view stream) {
  Json answer;
  Json tokens = Json::array();
  std::vector<std::string> inputs;  // JSON text of each block's input
  bool stopped = false;
  for (const SseMessage& message : ParseSse(stream)) {
    const Json event = Json::parse(message.data);
    const auto type = event["type"].get<std::string>();
    EXPECT_EQ(type, message.event);
    EXPECT_FALSE(stopped);
    if (event.contains("verbatim") && event["verbatim"].contains("tokens")) {
      Concatenate(tokens, event["verbatim"]["tokens"]);
    }
    if (type == "message_start") {
      answer = event["message"];
    } else if (type == "content_block_start") {
      EXPECT_EQ(event["index"], answer["content"].size());
      answer["content"].push_back(event["content_block"]);
      inputs.emplace_back();
    } else if (type == "content_block_delta") {
      EXPECT_EQ(event["index"].get<size_t>() + 1, answer["content"].size());
      Json& block = answer["content"].back();
      const Json& delta = event["delta"];
      if (delta["type"] == "text_delta") AppendText(block, "text", delta["text"]);
      if (delta["type"] == "thinking_delta") AppendText(block, "thinking", delta["thinking"]);
      if (delta["type"] == "input_json_delta") {
        inputs.back() += delta["partial_json"].get<std::string>();
      }
    } else if (type == "content_block_stop") {
      EXPECT_EQ(event["index"].get<size_t>() + 1, answer["content"].size());
      const Json input = Json::parse(inputs.back(), nullptr, false);
      if (input.is_object()) answer["content"].back()["input"] = input;
    } else if (type == "message_delta") {
      for (const auto& [key, value] : event["delta"].items()) answer[key] = value;
      for (const char* key : {"usage", "verbatim", "metrics", "timings"}) {
        if (event.contains(key)) answer[key] = event[key];
      }
    } else {
      EXPECT_EQ(type, "message_stop");
      stopped = true;
    }
  }
  EXPECT_TRUE(stopped);
  if (script.request.token_details) answer["verbatim"]["tokens"] = tokens;
  return answer;
}

}  // namespace

Json Assemble(const AnswerScript& script, std::string_view stream) {
  switch (script.request.api) {
    case Api::kChatCompletions:
      return AssembleChat(script, stream);
    case Api::kCompletions:
      return AssembleCompletions(script, stream);
    case Api::kResponses:
      return AssembleResponses(script, stream);
    case Api::kMessages:
      return AssembleMessages(script, stream);
  }
  return {};
}

}  // namespace verbatim::serve::testing

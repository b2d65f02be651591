// Requests and answers of the OpenAI interface, with what llama.cpp, vLLM, SGLang and mlx-lm add.
#include "measure/completion_server.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "checkpoint/json.h"
#include "measure/draft_counts.h"

namespace verbatim {
namespace {

using nlohmann::json;

// 4096 tokens with 20 alternatives of six values each are half a million values.
constexpr JsonLimits kAnswerLimits = {.max_depth = 64, .max_values = int64_t{1} << 23};
// The chosen token and its rival; OpenAI allows 20, mlx-lm 10.
constexpr int kAlternatives = 2;

const json* Find(const json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string StringOf(const json& object, std::string_view key) {
  const json* found = Find(object, key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

std::optional<int64_t> IntegerOf(const json& object, std::string_view key) {
  const json* found = Find(object, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->get<int64_t>();
}

// vLLM writes "token_id:17" where ids were asked for.
void TakeIdFromText(AnsweredToken& token) {
  constexpr std::string_view kPrefix = "token_id:";
  if (!token.text.starts_with(kPrefix)) return;
  const char* end = token.text.data() + token.text.size();
  int64_t id = 0;
  const auto parsed = std::from_chars(token.text.data() + kPrefix.size(), end, id);
  if (parsed.ec == std::errc() && parsed.ptr == end) token.id = id;
}

// Alternatives in any order, of which the two most probable count.
class TopTwo {
 public:
  void Add(const std::string& token, const json& logprob) {
    if (!logprob.is_number()) return;
    const float value = logprob.get<float>();
    if (count_ == 0 || value > first_) {
      second_ = std::exchange(first_, value);
      second_token_ = std::exchange(first_token_, token);
    } else if (count_ == 1 || value > second_) {
      second_ = value;
      second_token_ = token;
    }
    ++count_;
  }
  void WriteTo(AnsweredToken& token) const {
    if (count_ < 2 || !std::isfinite(first_) || !std::isfinite(second_)) return;
    token.gap = first_ - second_;
    token.best = first_token_;
    token.second = second_token_;
  }

 private:
  int count_ = 0;
  float first_ = 0, second_ = 0;
  std::string first_token_, second_token_;
};

// {"content": [{"token", "id" (llama.cpp), "logprob", "top_logprobs": [...]}]}, the chat form, and
// llama.cpp's of both endpoints.
void ReadContentForm(const json& content, Answer& answer) {
  for (const json& entry : content) {
    AnsweredToken token = {.text = StringOf(entry, "token"),
                           .id = IntegerOf(entry, "id").value_or(-1)};
    TakeIdFromText(token);
    TopTwo top;
    if (const json* list = Find(entry, "top_logprobs"); list != nullptr && list->is_array()) {
      for (const json& alternative : *list) {
        const json* logprob = Find(alternative, "logprob");
        if (logprob != nullptr) top.Add(StringOf(alternative, "token"), *logprob);
      }
    }
    top.WriteTo(token);
    answer.tokens.push_back(std::move(token));
  }
}

// {"tokens": [...], "top_logprobs": [{token: logprob}]}, the form of the old completions.
void ReadTokensForm(const json& logprobs, const json& tokens, Answer& answer) {
  const json* alternatives = Find(logprobs, "top_logprobs");
  for (size_t i = 0; i < tokens.size(); ++i) {
    AnsweredToken token;
    if (tokens[i].is_string()) token.text = tokens[i].get<std::string>();
    TakeIdFromText(token);
    if (alternatives != nullptr && alternatives->is_array() && i < alternatives->size() &&
        (*alternatives)[i].is_object()) {
      TopTwo top;
      for (const auto& [text, logprob] : (*alternatives)[i].items()) top.Add(text, logprob);
      top.WriteTo(token);
    }
    answer.tokens.push_back(std::move(token));
  }
}

void ReadTokens(const json& choice, Answer& answer) {
  if (const json* logprobs = Find(choice, "logprobs")) {
    const json* content = Find(*logprobs, "content");
    const json* tokens = Find(*logprobs, "tokens");
    if (content != nullptr && content->is_array()) {
      ReadContentForm(*content, answer);
    } else if (tokens != nullptr && tokens->is_array()) {
      ReadTokensForm(*logprobs, *tokens, answer);
    }
  }
  // vLLM with return_token_ids; in place of the texts, or beside them.
  if (const json* ids = Find(choice, "token_ids"); ids != nullptr && ids->is_array()) {
    if (answer.tokens.size() != ids->size()) answer.tokens.assign(ids->size(), {});
    for (size_t i = 0; i < ids->size(); ++i) {
      if ((*ids)[i].is_number_integer()) answer.tokens[i].id = (*ids)[i].get<int64_t>();
    }
  }
  answer.has_ids = !answer.tokens.empty();
  for (const AnsweredToken& token : answer.tokens) {
    answer.has_ids = answer.has_ids && token.id >= 0;
  }
}

std::string OneLine(std::string_view body) {
  constexpr size_t kShown = 160;  // two lines of a terminal
  std::string line(body.substr(0, kShown));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return body.size() > kShown ? line + "..." : line;
}

// What a server says is wrong, if it says so in OpenAI's form.
std::string ErrorText(const HttpResponse& response) {
  std::string text = OneLine(response.body);
  if (const auto parsed = ParseJson(response.body, "error", kAnswerLimits); parsed.ok()) {
    if (const json* error = Find(*parsed, "error")) {
      const std::string message = StringOf(*error, "message");
      if (!message.empty()) text = OneLine(message);
    }
  }
  return fmt::format("status {}{}{}", response.status, text.empty() ? "" : ": ", text);
}

}  // namespace

Expected<Answer> ParseAnswer(std::string_view body, Endpoint endpoint, const std::string& where) {
  const auto fault = [&where](std::string_view expected, std::string_view received) {
    return MakeError(StatusCode::kCorrupt, where, expected, received,
                     "the URL of an OpenAI-compatible server");
  };
  const auto parsed = ParseJson(body, where, kAnswerLimits);
  if (!parsed.ok()) return fault("an answer in JSON", body.empty() ? "nothing" : OneLine(body));
  const json* choices = Find(*parsed, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty()) {
    return fault("an answer with choices", OneLine(body));
  }
  const json& choice = choices->front();
  Answer answer;
  if (endpoint == Endpoint::kChat) {
    const json* message = Find(choice, "message");
    if (message == nullptr) return fault("choices[0].message", OneLine(body));
    answer.text = StringOf(*message, "content");
    answer.reasoning = StringOf(*message, "reasoning_content");
    if (answer.reasoning.empty()) answer.reasoning = StringOf(*message, "reasoning");
    if (const json* calls = Find(*message, "tool_calls"); calls != nullptr && !calls->empty()) {
      answer.tool_calls = calls->dump(-1, ' ', false, json::error_handler_t::replace);
    }
  } else {
    const json* text = Find(choice, "text");
    if (text == nullptr || !text->is_string()) return fault("choices[0].text", OneLine(body));
    answer.text = text->get<std::string>();
    answer.reasoning = StringOf(choice, "reasoning_content");
  }
  ReadTokens(choice, answer);
  if (const json* usage = Find(*parsed, "usage")) {
    answer.completion_tokens = IntegerOf(*usage, "completion_tokens").value_or(0);
  }
  // Some servers have probabilities for a part of the tokens only (llama.cpp: not for accepted
  // drafts). The end of the sequence may be counted or not.
  if (static_cast<int64_t>(answer.tokens.size()) + 1 < answer.completion_tokens) {
    answer.tokens.clear();
    answer.has_ids = false;
  }
  answer.drafts = FindDraftCounts(*parsed);
  answer.would_tell_drafts = Find(*parsed, "timings") != nullptr;
  return answer;
}

CompletionServer::CompletionServer(std::string name, const HttpUrl& url,
                                   std::unique_ptr<HttpClient> client, CompletionOptions options)
    : name_(std::move(name)),
      where_(fmt::format("{} {}:{}", name_, url.host, url.port)),
      client_(std::move(client)),
      options_(std::move(options)),
      detail_(options_.logprobs ? Detail::kIds : Detail::kText) {}

Expected<HttpResponse> CompletionServer::Send(const std::string& path, const std::string& body) {
  auto response = client_->Send({.path = path, .body = body, .bearer = options_.api_key});
  if (response.ok()) return response;
  return Status(response.status().code(),
                fmt::format("[{}] {}", name_, response.status().message()));
}

Status CompletionServer::Connect() {
  VERBATIM_ASSIGN_OR_RETURN(const HttpResponse response, Send("/v1/models", ""));
  if (!options_.model.empty()) return Status();  // somebody answers, that is enough
  if (response.status == 401 || response.status == 403) {
    return MakeError(StatusCode::kIo, where_, "to be let in", ErrorText(response), "--api-key KEY");
  }
  // Not every server lists its models; then it serves one, whatever its name.
  options_.model = "default";
  if (response.status != 200) return Status();
  const auto parsed = ParseJson(response.body, where_, kAnswerLimits);
  if (!parsed.ok()) {
    return MakeError(StatusCode::kCorrupt, where_, "its models in JSON", OneLine(response.body),
                     "the URL of an OpenAI-compatible server");
  }
  const json* data = Find(*parsed, "data");
  if (data == nullptr || !data->is_array() || data->empty()) return Status();
  if (std::string id = StringOf(data->front(), "id"); !id.empty()) options_.model = std::move(id);
  return Status();
}

std::string CompletionServer::BodyOf(const FlipPrompt& prompt, Endpoint endpoint) const {
  json body = {{"model", options_.model},
               {"max_tokens", options_.max_tokens},
               {"temperature", 0},
               {"seed", options_.seed},
               {"stream", false}};
  if (endpoint == Endpoint::kChat) {
    body["messages"] = prompt.messages_json.empty()
                           ? json::array({{{"role", "user"}, {"content", prompt.text}}})
                           : json::parse(prompt.messages_json, nullptr, /*allow_exceptions=*/false);
  } else {
    body["prompt"] = prompt.text;
  }
  if (detail_ > Detail::kText) {
    if (endpoint == Endpoint::kChat) {
      body["logprobs"] = true;
      body["top_logprobs"] = kAlternatives;
    } else {
      body["logprobs"] = kAlternatives;
    }
  }
  if (detail_ == Detail::kIds) body["return_token_ids"] = true;  // vLLM
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<Answer> CompletionServer::Ask(const FlipPrompt& prompt, Endpoint endpoint) {
  const std::string path = endpoint == Endpoint::kChat ? "/v1/chat/completions" : "/v1/completions";
  VERBATIM_ASSIGN_OR_RETURN(HttpResponse response, Send(path, BodyOf(prompt, endpoint)));
  const auto refused = [](int status) { return status == 400 || status == 422 || status == 501; };
  const Detail wanted = detail_;
  while (refused(response.status) && detail_ > Detail::kText) {
    detail_ = detail_ == Detail::kIds ? Detail::kTokens : Detail::kText;
    VERBATIM_ASSIGN_OR_RETURN(response, Send(path, BodyOf(prompt, endpoint)));
  }
  // Then it was something else that the server did not like.
  if (refused(response.status)) detail_ = wanted;
  if (response.status == 200) return ParseAnswer(response.body, endpoint, where_);
  const bool absent = response.status == 404 || response.status == 405;
  return MakeError(absent ? StatusCode::kUnsupported : StatusCode::kIo, where_,
                   "status 200 of " + path, ErrorText(response),
                   response.status == 401 || response.status == 403 ? "--api-key KEY" : "");
}

Expected<Answer> CompletionServer::AskForText(const FlipPrompt& prompt, Endpoint endpoint) {
  const Detail before = std::exchange(detail_, Detail::kText);
  Expected<Answer> answer = Ask(prompt, endpoint);
  detail_ = before;
  return answer;
}

Expected<std::optional<DraftCounts>> CompletionServer::Metrics() {
  const auto response = Send("/metrics", "");
  if (response.status().code() == StatusCode::kCancelled) return response.status();
  if (!response.ok() || response->status != 200) return std::optional<DraftCounts>();
  return ParseDraftMetrics(response->body);
}

}  // namespace verbatim

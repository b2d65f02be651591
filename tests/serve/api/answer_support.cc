// Random answers, random cuts.
#include "tests/serve/api/answer_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace verbatim::serve::testing {
namespace {

using Kind = AnswerDelta::Kind;

int Below(std::mt19937_64& random, int bound) {
  return static_cast<int>(random() % static_cast<uint64_t>(bound));
}
bool Coin(std::mt19937_64& random) { return random() % 2 == 0; }

std::string RandomCharacters(std::mt19937_64& random) {
  constexpr const char* kPieces[] = {"a",      " word",  "\n",         "\"", "\\",
                                     "\u00e9", "\u65e5", "\U0001F600", "{",  "data: [DONE]\n\n"};
  std::string text;
  for (int i = Below(random, 3); i >= 0; --i) text += kPieces[Below(random, std::size(kPieces))];
  return text;
}

// Where characters begin.
std::vector<size_t> Boundaries(std::string_view text) {
  std::vector<size_t> places;
  for (size_t i = 1; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) places.push_back(i);
  }
  return places;
}

class Writer {
 public:
  Writer(Api api, std::mt19937_64& random, ChoiceScript& choice)
      : api_(api), random_(random), choice_(choice) {}

  void Write() {
    for (int i = Below(random_, 12); i > 0; --i) {
      Step step;
      step.token = RandomToken();
      for (int k = Below(random_, 3); k > 0; --k) step.deltas.push_back(RandomDelta());
      choice_.steps.push_back(std::move(step));
    }
    if (Coin(random_)) choice_.last.push_back(RandomDelta());
    choice_.end.called_tools = calls_ > 0;
  }

 private:
  AnswerDelta RandomDelta() {
    // A kind goes on more often than not.
    if (Below(random_, 3) == 0) kind_ = static_cast<Kind>(Below(random_, 4));
    if (api_ == Api::kCompletions) kind_ = Kind::kContent;
    AnswerDelta delta = {.kind = kind_, .text = RandomCharacters(random_)};
    if (kind_ == Kind::kToolCallArguments && (calls_ == 0 || !in_call_))
      delta.kind = Kind::kToolCall;
    in_call_ = delta.kind == Kind::kToolCall || delta.kind == Kind::kToolCallArguments;
    if (delta.kind == Kind::kToolCall) {
      delta.text = "name" + std::to_string(calls_++);
      kind_ = Kind::kToolCallArguments;
    } else if (Below(random_, 8) == 0) {
      delta.text.clear();
    }
    if (in_call_) delta.tool_call = calls_ - 1;
    return delta;
  }

  ReportedToken RandomToken() {
    ReportedToken token;
    token.id = Below(random_, 1000);
    token.text = RandomCharacters(random_);
    if (Coin(random_)) token.text.resize(token.text.size() - 1);  // often half a character
    token.logprobs.raw = -static_cast<float>(Below(random_, 100)) / 7;
    for (int i = Below(random_, 3); i > 0; --i) {
      token.logprobs.top_raw.push_back({.token_id = i, .logprob = -0.5F});
      token.top.push_back(RandomCharacters(random_));
    }
    token.drafted = Coin(random_);
    token.block = static_cast<int64_t>(choice_.steps.size()) / 2;
    token.row = Below(random_, 4);
    token.block_rows = 4;
    return token;
  }

  Api api_;
  std::mt19937_64& random_;
  ChoiceScript& choice_;
  Kind kind_ = Kind::kReasoning;
  int calls_ = 0;
  bool in_call_ = false;
};

void FillEnd(std::mt19937_64& random, const AnswerRequest& request, ChoiceScript& choice) {
  ChoiceEnd& end = choice.end;
  end.finish_reason = Coin(random) ? FinishReason::kStop : FinishReason::kLength;
  if (end.finish_reason == FinishReason::kStop && Coin(random)) {
    end.has_matched_stop = true;
    end.matched_stop = "END";
  }
  if (request.logits_digest) end.logits_sha256 = std::string(64, 'a');
  if (request.receipt) end.receipt = R"({"verbatim_receipt": 1})";
  end.prompt_tokens = 10;
  end.cached_prompt_tokens = Below(random, 10);
  end.completion_tokens = static_cast<int64_t>(choice.steps.size());
  end.reasoning_tokens = Below(random, 5);
  end.speculation_kind = Coin(random) ? "mtp" : "off";
  if (end.speculation_kind == "mtp") {
    end.speculation = {.rounds = 3, .drafted = 5, .tested = 4, .accepted = 3};
    end.speculation.drafted_at = {3, 2};
    end.speculation.tested_at = {3, 1};
    end.speculation.accepted_at = {2, 1};
    end.speculation.rounds_with_width = {0, 1, 2};
  }
  end.timings = {.prompt_ms = 12.5, .predicted_ms = 30.25};
}

// Cut where a parser could have said it in several deltas.
std::vector<AnswerDelta> Cut(const std::vector<AnswerDelta>& deltas, std::mt19937_64& random) {
  std::vector<AnswerDelta> cut;
  for (const AnswerDelta& delta : deltas) {
    const std::vector<size_t> places = Boundaries(delta.text);
    if (delta.kind == Kind::kToolCall || places.empty() || Coin(random)) {
      cut.push_back(delta);
      continue;
    }
    const size_t place =
        places[static_cast<size_t>(Below(random, static_cast<int>(places.size())))];
    cut.push_back(delta);
    cut.back().text.resize(place);
    cut.push_back(delta);
    cut.back().text.erase(0, place);
  }
  return cut;
}

bool ReportsTokens(const AnswerRequest& request) {
  return request.sampling.logprobs >= 0 || request.token_details;
}

template <typename Fragment, typename EndsPart>
std::vector<AnswerPart> MakeParts(const AnswerScript& script, size_t index, Fragment fragment,
                                  EndsPart ends_part) {
  std::vector<AnswerPart> parts;
  const auto begin = [&] { parts.push_back({.choice = static_cast<int>(index)}); };
  begin();
  const ChoiceScript& choice = script.choices[index];
  for (const Step& step : choice.steps) {
    for (AnswerDelta& delta : fragment(step.deltas))
      parts.back().deltas.push_back(std::move(delta));
    if (ReportsTokens(script.request)) {
      parts.back().tokens.push_back(step.token);
      parts.back().tokens.back().num_deltas = static_cast<int>(parts.back().deltas.size());
    }
    if (ends_part()) begin();
  }
  for (AnswerDelta& delta : fragment(choice.last)) parts.back().deltas.push_back(std::move(delta));
  return parts;
}

}  // namespace

AnswerScript RandomAnswer(Api api, std::mt19937_64& random) {
  AnswerScript script;
  AnswerRequest& request = script.request;
  request.api = api;
  request.include_usage = Coin(random);
  request.token_details = Coin(random);
  request.logits_digest = Coin(random);
  request.receipt = Coin(random);
  if (Coin(random)) request.sampling.logprobs = 2;
  int choices = 1;
  if (api == Api::kChatCompletions || api == Api::kCompletions) {
    request.n = 1 + Below(random, 3);
    choices = request.n;
  }
  if (api == Api::kCompletions) {
    for (int i = Below(random, 2); i >= 0; --i) request.prompts.emplace_back("p");
    choices *= static_cast<int>(request.prompts.size());
  }
  if (api == Api::kResponses) request.echoed = {{"instructions", "i"}, {"tools", Json::array()}};
  script.head = {.id = "id1",
                 .created = 1'700'000'000,
                 .model = "m",
                 .system_fingerprint = "fp",
                 .prompt_tokens = 10};
  script.choices.resize(static_cast<size_t>(choices));
  for (int i = 0; i < choices; ++i) {
    ChoiceScript& choice = script.choices[static_cast<size_t>(i)];
    Writer(api, random, choice).Write();
    choice.end.choice = i;
    FillEnd(random, request, choice);
  }
  return script;
}

std::vector<AnswerPart> RandomParts(const AnswerScript& script, std::mt19937_64& random) {
  std::vector<std::vector<AnswerPart>> by_choice;
  const int coarseness = 1 + Below(random, 4);
  for (size_t i = 0; i < script.choices.size(); ++i) {
    by_choice.push_back(MakeParts(
        script, i, [&](const auto& deltas) { return Cut(deltas, random); },
        [&] { return Below(random, coarseness) == 0; }));
  }
  std::vector<AnswerPart> parts;
  std::vector<size_t> next(by_choice.size(), 0);
  for (;;) {
    std::vector<size_t> open;
    for (size_t i = 0; i < by_choice.size(); ++i) {
      if (next[i] < by_choice[i].size()) open.push_back(i);
    }
    if (open.empty()) return parts;
    const size_t i = open[static_cast<size_t>(Below(random, static_cast<int>(open.size())))];
    parts.push_back(by_choice[i][next[i]++]);
  }
}

std::vector<AnswerPart> PartsByStep(const AnswerScript& script) {
  std::vector<AnswerPart> parts;
  for (size_t i = 0; i < script.choices.size(); ++i) {
    for (AnswerPart& part :
         MakeParts(script, i, [](const auto& deltas) { return deltas; }, [] { return true; })) {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

std::string Write(const AnswerScript& script, const std::vector<AnswerPart>& parts, bool stream) {
  AnswerRequest request = script.request;
  request.stream = stream;
  const std::unique_ptr<AnswerWriter> writer = MakeAnswerWriter(request, script.head);
  EXPECT_EQ(writer->content_type(), stream ? "text/event-stream" : "application/json");
  std::string out = writer->Begin();
  for (const AnswerPart& part : parts) out += writer->Part(part);
  for (const ChoiceScript& choice : script.choices) out += writer->EndChoice(choice.end);
  if (!stream) {
    EXPECT_EQ(out, "");
  }
  return out + writer->End();
}

std::vector<SseMessage> ParseSse(std::string_view stream) {
  std::vector<SseMessage> messages;
  while (!stream.empty()) {
    const size_t end = stream.find("\n\n");
    if (end == stream.npos) {
      ADD_FAILURE() << "no end of an event: " << stream;
      return messages;
    }
    std::string_view event = stream.substr(0, end);
    stream.remove_prefix(end + 2);
    SseMessage message;
    if (event.starts_with("event: ")) {
      const size_t line = event.find('\n');
      message.event = event.substr(7, line - 7);
      event.remove_prefix(line + 1);
    }
    EXPECT_TRUE(event.starts_with("data: ")) << event;
    EXPECT_EQ(event.find('\n'), event.npos) << event;
    message.data = event.substr(std::min<size_t>(6, event.size()));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace verbatim::serve::testing

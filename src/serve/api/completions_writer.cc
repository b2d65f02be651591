// Answers of POST /v1/completions: text_completion. Not its request (completions.cc).
#include "serve/api/openai_writer.h"
#include "text/utf8.h"

namespace verbatim::serve {
namespace {

// Counts characters (code points) of text that comes in tokens, which may end inside of one.
class CharacterCount {
 public:
  void Append(std::string_view bytes) {
    std::string text;
    stream_.Append(bytes, text);
    for (const char c : text) count_ += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  int64_t count() const { return count_; }

 private:
  Utf8Stream stream_;
  int64_t count_ = 0;
};

// The lists of one chunk, or of a whole choice.
struct Logprobs {
  Json tokens = Json::array();
  Json token_logprobs = Json::array();
  Json top_logprobs = Json::array();
  Json text_offset = Json::array();

  void Add(const ReportedToken& token, CharacterCount& characters) {
    const std::string text = LossyUtf8(token.text);
    tokens.push_back(text);
    token_logprobs.push_back(JsonFloat(token.logprobs.raw));
    Json top = Json::object();  // the chosen token is always in it
    for (size_t i = 0; i < token.logprobs.top_raw.size() && i < token.top.size(); ++i) {
      const std::string name = LossyUtf8(token.top[i]);
      // Tokens of parts of characters look alike: the likelier one stays.
      if (!top.contains(name)) top[name] = JsonFloat(token.logprobs.top_raw[i].logprob);
    }
    if (!top.contains(text)) top[text] = JsonFloat(token.logprobs.raw);
    top_logprobs.push_back(std::move(top));
    text_offset.push_back(characters.count());
    characters.Append(token.text);
  }

  Json Take() {
    Json json;
    json["tokens"] = std::move(tokens);
    json["token_logprobs"] = std::move(token_logprobs);
    json["top_logprobs"] = std::move(top_logprobs);
    json["text_offset"] = std::move(text_offset);
    return json;
  }
};

struct Choice {
  CharacterCount characters;
  // Of a whole answer.
  std::string text;
  Logprobs logprobs;
  Json tokens = Json::array();
};

class CompletionsWriter final : public OpenAiWriter {
 public:
  CompletionsWriter(const AnswerRequest& request, AnswerHead head)
      : OpenAiWriter(
            request, std::move(head),
            {.id_prefix = "cmpl-", .whole = "text_completion", .chunk = "text_completion"}),
        choices_(ends_.size()) {}

  std::string Begin() override { return {}; }

  std::string Part(const AnswerPart& part) override {
    Choice& choice = choices_[ChoiceIndex(part.choice)];
    std::string text;
    for (const AnswerDelta& delta : part.deltas) text += delta.text;
    Logprobs logprobs;
    Json tokens = Json::array();
    for (const ReportedToken& token : part.tokens) {
      if (logprobs_) (stream_ ? logprobs : choice.logprobs).Add(token, choice.characters);
      if (token_details_) (stream_ ? tokens : choice.tokens).push_back(TokenJson(token));
    }
    if (!stream_) {
      choice.text += text;
      return {};
    }
    const bool report = !part.tokens.empty() && (logprobs_ || token_details_);
    if (text.empty() && !report) return {};
    Json json = ChoiceJson(part.choice, std::move(text));
    if (report && logprobs_) json["logprobs"] = logprobs.Take();
    if (report && token_details_) json["verbatim"]["tokens"] = std::move(tokens);
    return Chunk(std::move(json));
  }

 private:
  Json EmptyChoice(int index) const override { return ChoiceJson(index, ""); }

  Json TakeChoice(int index) override {
    Choice& choice = choices_[static_cast<size_t>(index)];
    Json json = ChoiceJson(index, std::move(choice.text));
    if (logprobs_) json["logprobs"] = choice.logprobs.Take();
    return json;
  }

  Json TakeTokens(int index) override {
    return std::move(choices_[static_cast<size_t>(index)].tokens);
  }

  static Json ChoiceJson(int index, std::string text) {
    Json json;
    json["index"] = index;
    json["text"] = std::move(text);
    json["logprobs"] = nullptr;
    json["finish_reason"] = nullptr;
    return json;
  }

  std::vector<Choice> choices_;
};

}  // namespace

std::unique_ptr<AnswerWriter> MakeCompletionsWriter(const AnswerRequest& request, AnswerHead head) {
  return std::make_unique<CompletionsWriter>(request, std::move(head));
}

}  // namespace verbatim::serve

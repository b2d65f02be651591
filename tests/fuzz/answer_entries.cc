// What must hold for every constraint and every answer: one error, or masks that rollbacks do not
// change; the same deltas for every cut.
#include "fuzz/answer_entries.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "fuzz/check_fault.h"
#include "fuzz/split_input.h"
#include "text/answer_test_support.h"
#include "text/grammar.h"
#include "text/small_vocabulary.h"

namespace verbatim::fuzz {
namespace {

using text_test::IsSet;

const GrammarCompiler& Compiler() {
  static const auto compiler = [] {
    const std::vector<int32_t> eos = {text_test::kEndOfTurn};
    auto made = GrammarCompiler::Create(text_test::SmallVocabulary(), eos);
    VERBATIM_CHECK(made.ok());
    return *made;
  }();
  return *compiler;
}

// The mask, or an empty one where a limit or a dead end is reached.
std::vector<uint32_t> Mask(GrammarMatcher& matcher) {
  std::vector<uint32_t> mask(Compiler().MaskWords());
  const Status status = matcher.ComputeMask(mask);
  if (status.ok()) return mask;
  CheckFault(status);
  return {};
}

void Walk(GrammarMatcher matcher, std::string_view choices) {
  std::vector<std::vector<uint32_t>> masks = {
      Mask(matcher)};  // in front of each token, and the last
  for (const char c : choices.substr(0, 32)) {
    const auto choice = static_cast<uint8_t>(c);
    if (choice >= 0xC0 && masks.size() > 1) {
      const size_t back = 1 + choice % (masks.size() - 1);
      VERBATIM_CHECK(matcher.Rollback(static_cast<int>(back)).ok());
      masks.resize(masks.size() - back);
      const std::vector<uint32_t> again = Mask(matcher);
      // A limit may have been reached on one way and not on the other, with more states known.
      if (!again.empty() && !masks.back().empty()) VERBATIM_CHECK(again == masks.back());
      continue;
    }
    std::vector<int32_t> allowed;
    for (size_t id = 0; id < masks.back().size() * 32; ++id) {
      if (IsSet(masks.back(), static_cast<int32_t>(id)))
        allowed.push_back(static_cast<int32_t>(id));
    }
    VERBATIM_CHECK(masks.back().empty() || !allowed.empty());
    if (allowed.empty()) return;
    VERBATIM_CHECK(!matcher.may_end() || IsSet(masks.back(), text_test::kEndOfTurn));
    const Status status = matcher.Commit(allowed[choice % allowed.size()]);
    if (!status.ok()) return CheckFault(status);  // a limit
    masks.push_back(Mask(matcher));
  }
}

}  // namespace

bool FuzzConstraint(std::span<const std::byte> bytes) {
  const std::vector<std::string_view> parts = SplitInput(bytes, 2);
  if (parts[0].empty()) return true;
  ConstraintOptions options = {.text = std::string(parts[0].substr(1))};
  switch (parts[0][0]) {
    case 'o':
      options.kind = ConstraintKind::kJsonObject;
      break;
    case 's':
      options.kind = ConstraintKind::kJsonSchema;
      break;
    case 'r':
      options.kind = ConstraintKind::kRegex;
      break;
    case 't': {
      const auto tools =
          nlohmann::ordered_json::parse(options.text, nullptr, /*allow_exceptions=*/false);
      const auto text = ToolCallGrammar(AnswerFormat::kQwen35, tools, "", true);
      if (!text.ok()) {
        CheckFault(text.status());
        return true;
      }
      options.text = *text;
      options.kind = ConstraintKind::kGrammar;
      break;
    }
    default:
      options.kind = ConstraintKind::kGrammar;
  }
  auto matcher = Compiler().Compile(options);
  if (!matcher.ok()) {
    CheckFault(matcher.status());
    return matcher.status().code() != StatusCode::kResourceExhausted &&
           matcher.status().message().find("to compile it") == std::string::npos;
  }
  Walk(*std::move(matcher), parts.size() > 1 ? parts[1] : std::string_view());
  return true;
}

void FuzzAnswerParser(std::span<const std::byte> bytes) {
  const std::string_view input(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (input.size() < 2) return;
  AnswerParserOptions options;
  options.split_reasoning = (input[0] & 1) != 0;
  options.starts_in_reasoning = (input[0] & 2) != 0;
  static const nlohmann::ordered_json tools = text_test::Tools();
  if ((input[0] & 4) != 0) options.tools = tools;
  const std::string_view text = input.substr(2);
  const text_test::Deltas whole = text_test::Parse(options, text);
  for (const size_t stride : {size_t{1}, size_t{2} + static_cast<uint8_t>(input[1]) % 61}) {
    std::vector<size_t> cuts;
    for (size_t cut = stride; cut < text.size(); cut += stride) cuts.push_back(cut);
    VERBATIM_CHECK(text_test::ParseCut(options, text, cuts) == whole);
  }
  std::string content;
  bool only_content = true;
  for (const AnswerDelta& delta : whole) {
    VERBATIM_CHECK(!delta.text.empty());
    only_content = only_content && delta.kind == AnswerDelta::Kind::kContent;
    content += delta.text;
  }
  // Without tags that count, an answer is its text.
  const bool tags =
      options.split_reasoning && (options.starts_in_reasoning || text.find("<think>") != text.npos);
  if (only_content && !tags) VERBATIM_CHECK(content == text);
}

}  // namespace verbatim::fuzz

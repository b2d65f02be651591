// Text or random ids, repeated or cut.
#include "measure/bench_prompts.h"

#include <algorithm>

#include "measure/random_values.h"

namespace verbatim {

Expected<BenchPrompts> MakeBenchPrompts(const BenchOptions& options, const Engine& engine) {
  std::vector<int32_t> text;
  if (!options.prompt.empty()) {
    VERBATIM_ASSIGN_OR_RETURN(text, engine.Tokenize(options.prompt));
  }
  const auto token = [&](int64_t i) {
    if (!text.empty()) return text[static_cast<size_t>(i) % text.size()];
    return static_cast<int32_t>(RandomWord(0, static_cast<uint64_t>(i)) %
                                static_cast<uint64_t>(engine.info().vocab_size));
  };
  BenchPrompts prompts;
  for (int i = 0; i < options.prompt_tokens; ++i) prompts.prefill.push_back(token(i));
  // A decode starts at the end of the text, not inside a repetition of it.
  const int64_t most = text.empty() ? kMaxDecodePromptTokens : static_cast<int64_t>(text.size());
  for (int64_t i = 0; i < std::min<int64_t>(kMaxDecodePromptTokens, most); ++i) {
    prompts.decode.push_back(token(i));
  }
  return prompts;
}

}  // namespace verbatim

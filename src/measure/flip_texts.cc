// Prompts first, then rounds of continuations, eight at a time.
#include "measure/flip_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace verbatim {
namespace {

int64_t Counted(std::span<const FlipText> texts) {
  int64_t counted = 0;
  for (const FlipText& text : texts) counted += text.num_counted();
  return counted;
}

Request ContinuationOf(std::span<const int32_t> prompt, uint64_t seed, uint32_t choice) {
  const size_t head = std::min(prompt.size(), static_cast<size_t>(kContinuedTokens));
  Request request;
  request.prompt_token_ids.assign(prompt.begin(), prompt.begin() + static_cast<int64_t>(head));
  request.max_tokens = kFlipTextTokens - static_cast<int64_t>(head);
  request.ignore_eos = true;
  request.want_text = false;
  request.sampling.temperature = kTextTemperature;
  request.sampling.seed = seed;
  request.sampling.choice = choice;
  return request;
}

}  // namespace

Expected<std::vector<std::vector<int32_t>>> TokenizePrompts(const Engine& engine,
                                                            std::span<const FlipPrompt> prompts) {
  std::vector<std::vector<int32_t>> ids;
  for (const FlipPrompt& prompt : prompts) {
    std::string text = prompt.text;
    if (!prompt.messages_json.empty()) {
      VERBATIM_ASSIGN_OR_RETURN(text, engine.ApplyChatTemplate(prompt.messages_json));
    }
    VERBATIM_ASSIGN_OR_RETURN(std::vector<int32_t> tokens, engine.Tokenize(text));
    if (tokens.size() < 2) {
      return MakeError(StatusCode::kInvalidArgument, fmt::format("prompt {}", ids.size() + 1),
                       "at least 2 tokens", fmt::format("{}", tokens.size()), "a longer text");
    }
    ids.push_back(std::move(tokens));
  }
  return ids;
}

std::vector<FlipText> TextsOfPrompts(std::span<const std::vector<int32_t>> prompts,
                                     int64_t positions) {
  std::vector<FlipText> texts;
  int64_t left = positions;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<int32_t>& ids = prompts[i];
    const auto size = static_cast<int64_t>(ids.size());
    for (int64_t begin = 0; begin < size && left > 0; begin += kFlipTextTokens) {
      const int64_t count = std::min({kFlipTextTokens, size - begin, left});
      if (count < 2) break;  // a score needs two tokens
      texts.push_back({.prompt = static_cast<int64_t>(i),
                       .token_ids = {ids.begin() + begin, ids.begin() + begin + count}});
      left -= count;
    }
  }
  return texts;
}

Status AddContinuations(Engine& engine, std::span<const std::vector<int32_t>> prompts,
                        int64_t positions, uint64_t seed, const std::function<bool()>& stop,
                        const std::function<void(double)>& progress, std::vector<FlipText>& texts) {
  const int64_t before = Counted(texts);
  int64_t left = positions - before;
  const auto wanted = static_cast<double>(left);
  for (size_t next = 0; left > 0;) {
    std::vector<std::pair<size_t, RequestId>> running;  // prompt and request
    int64_t planned = 0;
    while (running.size() < kSampledAtOnce && planned < left) {
      const size_t prompt = next % prompts.size();
      Request request = ContinuationOf(prompts[prompt], seed, static_cast<uint32_t>(next));
      planned += request.max_tokens;
      VERBATIM_ASSIGN_OR_RETURN(const RequestId id, engine.Submit(std::move(request)));
      running.emplace_back(prompt, id);
      ++next;
    }
    int64_t steps = 0;
    while (engine.Step()) {
      ++steps;
      if (progress) {
        const double done = wanted - static_cast<double>(left) +
                            static_cast<double>(steps * static_cast<int64_t>(running.size()));
        progress(std::min(1.0, done / wanted));
      }
      if (!stop || !stop()) continue;
      for (const auto& [prompt, id] : running) (void)engine.Cancel(id);  // may have ended
    }
    for (const auto& [prompt, id] : running) {
      VERBATIM_ASSIGN_OR_RETURN(const Result result, engine.TakeResult(id));
      if (result.finish_reason == FinishReason::kError) return result.error;
      if (result.finish_reason == FinishReason::kCancelled) {
        return MakeError(StatusCode::kCancelled, "flips", "to finish", "a request to stop");
      }
      const Request request = ContinuationOf(prompts[prompt], seed, 0);
      FlipText text = {.prompt = static_cast<int64_t>(prompt),
                       .token_ids = request.prompt_token_ids,
                       .first_counted = static_cast<int64_t>(request.prompt_token_ids.size()),
                       .sampled = true};
      const int64_t count =
          std::clamp<int64_t>(left, 0, static_cast<int64_t>(result.token_ids.size()));
      if (count == 0) continue;
      text.token_ids.insert(text.token_ids.end(), result.token_ids.begin(),
                            result.token_ids.begin() + count);
      left -= count;
      texts.push_back(std::move(text));
    }
  }
  return Status();
}

}  // namespace verbatim

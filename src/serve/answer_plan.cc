// Prompt, then constraint, then the engine's requests.
#include "serve/answer_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "measure/receipt.h"

namespace verbatim::serve {
namespace {

constexpr std::string_view kEndOfThinking = "</think>";
constexpr int64_t kCompletionTokens = 16;  // OpenAI's, where a request says nothing

struct Prompt {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<int64_t> cache_points;
};

bool TellsOfTools(const AnswerRequest& answer) {
  return answer.tools.is_array() && !answer.tools.empty() &&
         answer.tool_choice != ToolChoice::kNone;
}

Expected<std::string> Render(const Engine& engine, const AnswerRequest& answer,
                             const Json& messages, bool add_generation_prompt) {
  const std::string messages_json = messages.dump();
  const std::string tools_json = TellsOfTools(answer) ? answer.tools.dump() : std::string();
  const std::string kwargs_json =
      answer.template_kwargs.is_object() ? answer.template_kwargs.dump() : std::string();
  return engine.ApplyChatTemplate({.messages_json = messages_json,
                                   .tools_json = tools_json,
                                   .kwargs_json = kwargs_json,
                                   .enable_thinking = answer.enable_thinking,
                                   .add_generation_prompt = add_generation_prompt});
}

// How much of the prompt a rendering of fewer messages is: the tokens that both begin with. 0 if
// the template does not render it.
int64_t SharedTokens(const Engine& engine, const AnswerRequest& answer, const Json& messages,
                     const std::vector<int32_t>& prompt) {
  const auto text = Render(engine, answer, messages, false);
  if (!text.ok()) return 0;
  const auto ids = engine.Tokenize(*text);
  if (!ids.ok()) return 0;
  return std::ranges::mismatch(*ids, prompt).in1 - ids->begin();
}

// Where other prompts will be like this one: behind the system message, and behind the messages so
// far, which the next turn repeats whatever the template makes of the answer.
std::vector<int64_t> CachePoints(const Engine& engine, const AnswerRequest& answer,
                                 const std::vector<int32_t>& prompt) {
  std::vector<int64_t> points;
  const Json& messages = answer.messages;
  if (messages.size() > 1 && messages[0].value("role", "") == "system") {
    points.push_back(SharedTokens(engine, answer, Json::array({messages[0]}), prompt));
  }
  points.push_back(SharedTokens(engine, answer, messages, prompt));
  return points;
}

std::string_view PromptField(Api api) {
  switch (api) {
    case Api::kCompletions:
      return "prompt";
    case Api::kResponses:
      return "input";
    default:
      return "messages";
  }
}

ApiError Refusal(std::string_view param, std::string message, std::string code = {}) {
  return {.code = std::move(code), .param = std::string(param), .message = std::move(message)};
}

// Sorts, and drops what is no proper prefix.
void Tidy(int64_t prompt_size, std::vector<int64_t>& points) {
  std::erase_if(points, [&](int64_t point) { return point < 1 || point >= prompt_size; });
  std::ranges::sort(points);
  const auto repeated = std::ranges::unique(points);
  points.erase(repeated.begin(), repeated.end());
}

std::optional<ApiError> ReadPrompts(const Engine& engine, const AnswerRequest& answer,
                                    std::vector<Prompt>& prompts) {
  const std::string_view param = PromptField(answer.api);
  if (answer.api != Api::kCompletions) {
    auto text = RenderMessages(engine, answer);
    if (auto* error = std::get_if<ApiError>(&text)) return std::move(*error);
    prompts.push_back(
        {.text = std::get<std::string>(std::move(text)), .ids = {}, .cache_points = {}});
  }
  for (const CompletionPrompt& given : answer.prompts) {
    Prompt& prompt = prompts.emplace_back();
    if (const auto* text = std::get_if<std::string>(&given)) {
      prompt.text = *text;
    } else {
      prompt.ids = std::get<std::vector<int32_t>>(given);
      auto text_of_ids = engine.Detokenize(prompt.ids, false);
      if (!text_of_ids.ok()) return ToApiError(text_of_ids.status(), param);
      prompt.text = *std::move(text_of_ids);
    }
  }
  const int64_t context = engine.info().context;
  const auto too_long = [&](std::string_view received) {
    return Refusal(param,
                   fmt::format("{}: expected fewer tokens than the context of {}, received {}; try "
                               "a shorter prompt or a server with a larger --context",
                               param, context, received),
                   "context_length_exceeded");
  };
  for (Prompt& prompt : prompts) {
    if (prompt.ids.empty()) {
      // Tokenizing megabytes takes seconds, for which other requests would wait.
      if (const int64_t least = engine.LeastTokens(prompt.text); least >= context) {
        return too_long(fmt::format("at least {}", least));
      }
      auto ids = engine.Tokenize(prompt.text);
      if (!ids.ok()) return ToApiError(ids.status(), param);
      prompt.ids = *std::move(ids);
    }
    const auto size = static_cast<int64_t>(prompt.ids.size());
    if (size == 0)
      return Refusal(param, fmt::format("{}: expected at least one token, received none", param));
    if (size >= context) return too_long(fmt::format("{}", size));
    if (answer.api != Api::kCompletions) {
      prompt.cache_points = CachePoints(engine, answer, prompt.ids);
    }
    // The other choices find all but the last token's work done.
    if (answer.n > 1) prompt.cache_points.push_back(size - 1);
    Tidy(size, prompt.cache_points);
  }
  return std::nullopt;
}

std::optional<ApiError> SetConstraint(const Engine& engine, const PlanDefaults& defaults,
                                      const AnswerRequest& answer, bool starts_in_reasoning,
                                      Request& request) {
  request.constraint = answer.constraint;
  if (answer.demands_call()) {
    auto grammar = ToolCallGrammar(defaults.format, answer.tools, answer.tool_name,
                                   answer.parallel_tool_calls);
    if (!grammar.ok()) return ToApiError(grammar.status(), "tools");
    request.constraint = {.kind = ConstraintKind::kGrammar, .text = *std::move(grammar)};
  }
  if (request.constraint.kind == ConstraintKind::kNone) return std::nullopt;
  if (starts_in_reasoning) {
    auto ids = engine.Tokenize(kEndOfThinking);
    if (!ids.ok()) return ToApiError(ids.status());
    request.constraint.begin_after = *std::move(ids);
  }
  auto compiled = engine.CompileConstraint(request.constraint);
  if (!compiled.ok())
    return ToApiError(compiled.status(),
                      answer.demands_call() ? std::string_view("tools") : answer.constraint_field);
  request.compiled_constraint = *std::move(compiled);
  return std::nullopt;
}

std::optional<ApiError> SetSpeculation(const Engine& engine, const PlanDefaults& defaults,
                                       const AnswerRequest& answer, Request& request) {
  const EngineInfo& info = engine.info();
  request.speculation = defaults.speculation;
  if (answer.speculation) request.speculation.kind = *answer.speculation;
  request.speculation.replay = answer.replay;
  if (answer.draft_tokens) {
    request.speculation.automatic = *answer.draft_tokens == 0;
    if (*answer.draft_tokens > 0) request.speculation.draft_tokens = *answer.draft_tokens;
  }
  if (answer.contract == ContractMode::kOff) request.speculation.kind = SpeculationKind::kOff;
  if (request.speculation.kind == SpeculationKind::kMtp && !info.has_mtp) {
    if (answer.speculation == SpeculationKind::kMtp) {
      return Refusal("speculation", fmt::format("speculation: expected off or ngram, as this model "
                                                "has no MTP head, received mtp: {}",
                                                info.mtp_source));
    }
    request.speculation.kind = SpeculationKind::kOff;
  }
  // Exact at least is what every mode but off promises; strict refuses where that is not held.
  const bool held = info.contract_held == ContractMode::kExact;
  if (answer.contract == ContractMode::kStrict && !held) {
    return ApiError{.status = 503,
                    .type = "contract_error",
                    .code = "contract_not_held",
                    .param = "contract",
                    .message = fmt::format("contract: strict can't be kept here: {}; try exact, "
                                           "which then decodes classically",
                                           info.contract_reason)};
  }
  if (answer.contract == ContractMode::kExact && !held) {
    request.speculation.kind = SpeculationKind::kOff;
  }
  return std::nullopt;
}

uint64_t DrawSeed() {
  thread_local std::random_device device;
  return (uint64_t{device()} << 32 | device()) >> 11;  // exact in JSON's numbers
}

}  // namespace

std::variant<std::string, ApiError> RenderMessages(const Engine& engine,
                                                   const AnswerRequest& answer) {
  auto text = Render(engine, answer, answer.messages, answer.add_generation_prompt);
  if (!text.ok()) return ToApiError(text.status(), PromptField(answer.api));
  return *std::move(text);
}

std::variant<AnswerPlan, ApiError> PlanAnswer(const Engine& engine, const PlanDefaults& defaults,
                                              const AnswerRequest& answer) {
  std::vector<Prompt> prompts;
  if (auto error = ReadPrompts(engine, answer, prompts)) return *std::move(error);
  AnswerPlan plan;
  const bool chat = answer.api != Api::kCompletions;
  plan.parser = {.split_reasoning = true,
                 .starts_in_reasoning = chat && EndsInReasoning(defaults.format, prompts[0].text),
                 .tools = TellsOfTools(answer) ? answer.tools : Json(nullptr)};
  Request request;
  request.stop = answer.stop;
  request.ignore_eos = answer.ignore_eos;
  request.sampling = answer.sampling;
  request.sampling.seed = answer.seed ? *answer.seed : DrawSeed();
  request.logits_digest = answer.logits_digest;
  request.position_digests = answer.receipt;
  if (auto error =
          SetConstraint(engine, defaults, answer, plan.parser.starts_in_reasoning, request)) {
    return *std::move(error);
  }
  if (auto error = SetSpeculation(engine, defaults, answer, request)) return *std::move(error);
  if (answer.receipt) {
    if (Status status = CheckReceiptRequest(request); !status.ok()) {
      return ToApiError(status, "receipt");
    }
  }
  for (Prompt& prompt : prompts) {
    const auto size = static_cast<int64_t>(prompt.ids.size());
    plan.prompt_tokens += size;
    const int64_t left = engine.info().context - size;
    request.max_tokens = answer.max_tokens.value_or(chat ? left : kCompletionTokens);
    request.cache_points = std::move(prompt.cache_points);
    request.prompt_token_ids = std::move(prompt.ids);
    plan.prompt_texts.push_back(std::move(prompt.text));
    for (int choice = 0; choice < answer.n; ++choice) {
      request.sampling.choice = static_cast<uint32_t>(choice);
      plan.requests.push_back(request);
    }
  }
  return plan;
}

}  // namespace verbatim::serve

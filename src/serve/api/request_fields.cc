// Ends, delivery, thinking and extensions. Sampling: sampling_fields.cc; refusals:
// unsupported_fields.cc.
#include "serve/api/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace verbatim::serve {
namespace {

// Effort is a hint: a template knows thinking or not, and the levels between mean thinking.
constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium",
                                                      "high", "xhigh",   "max"};
constexpr size_t kFirstThinkingEffort = 2;
constexpr std::array<std::string_view, 3> kThinkingTypes = {"disabled", "enabled", "adaptive"};
constexpr std::array<std::string_view, 4> kContracts = {"exact", "strict", "greedy", "off"};
constexpr std::array kModes = {ContractMode::kExact, ContractMode::kStrict, ContractMode::kGreedy,
                               ContractMode::kOff};
constexpr std::array<std::string_view, 4> kSpeculations = {"off", "mtp", "ngram", "replay"};
constexpr std::array kSpeculationKinds = {SpeculationKind::kOff, SpeculationKind::kMtp,
                                          SpeculationKind::kNgram, SpeculationKind::kReplay};

void ReadEffort(const FieldReader& object, std::string_view key, AnswerRequest& request) {
  if (const auto effort = object.Word(key, kEfforts)) {
    request.enable_thinking = *effort >= kFirstThinkingEffort;
  }
}

void ReadSpeculation(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  const Json* value = body.Find("speculation");
  if (value == nullptr) return;
  if (value->is_string()) {
    if (const auto kind = body.Word("speculation", kSpeculations)) {
      request.speculation = kSpeculationKinds[*kind];
    }
    return;
  }
  if (!value->is_object()) {
    return body.Fault(
        "speculation",
        R"("off", "mtp" or "ngram", or {"kind": ..., "draft_tokens": ..., "tokens": ...})");
  }
  const FieldReader object(*value, body.Path("speculation"), body.fault());
  if (const auto kind = object.Word("kind", kSpeculations)) {
    request.speculation = kSpeculationKinds[*kind];
  }
  if (request.speculation == SpeculationKind::kReplay) {
    request.replay =
        object.TokenIds("tokens", static_cast<size_t>(limits.context), limits.vocab_size);
  }
  const Json* width = object.Find("draft_tokens");
  if (width == nullptr) return;
  if (*width == "auto") {
    request.draft_tokens = 0;
  } else if (width->is_number()) {
    if (const auto number = object.Integer("draft_tokens", 1, kMaxDraftTokens)) {
      request.draft_tokens = static_cast<int>(*number);
    }
  } else {
    object.Fault("draft_tokens",
                 fmt::format("\"auto\" or an integer from 1 to {}", kMaxDraftTokens));
  }
}

}  // namespace

void ReadMaxTokens(const FieldReader& body, std::initializer_list<std::string_view> keys,
                   const ApiLimits& limits, AnswerRequest& request) {
  for (const std::string_view key : keys) {
    // llama.cpp: -1 is without limit.
    if (key == "n_predict" && body.Has(key) && *body.Find(key) == -1) continue;
    const auto tokens = body.Integer(key, 1, std::numeric_limits<int64_t>::max());
    if (!tokens || request.max_tokens) continue;
    request.max_tokens = limits.context > 0 ? std::min(*tokens, limits.context) : *tokens;
  }
}

void ReadStop(const FieldReader& body, std::string_view key, const ApiLimits& limits,
              AnswerRequest& request) {
  const bool single = request.api != Api::kMessages;  // Anthropic's is a list
  request.stop =
      body.Texts(key, static_cast<size_t>(limits.max_stop), limits.max_stop_bytes, single);
}

void ReadDelivery(const FieldReader& body, AnswerRequest& request) {
  request.model = body.String("model").value_or("");
  request.stream = body.Bool("stream").value_or(false);
  if (const auto options = body.Object("stream_options")) {
    request.include_usage = options->Bool("include_usage").value_or(false);
  }
}

void ReadChoices(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  request.n = static_cast<int>(body.Integer("n", 1, limits.max_n).value_or(1));
  const auto best_of = body.Integer("best_of", 1, std::numeric_limits<int64_t>::max());
  if (best_of && *best_of != request.n) {
    body.Unsupported("best_of", fmt::format("the same as n, {}", request.n));
  }
}

void ReadThinking(const FieldReader& body, AnswerRequest& request) {
  ReadEffort(body, "reasoning_effort", request);
  const Json* reasoning = body.Find("reasoning");
  if (reasoning != nullptr && reasoning->is_boolean()) {
    request.enable_thinking = reasoning->get<bool>();
  } else if (const auto object = body.Object("reasoning")) {
    ReadEffort(*object, "effort", request);
    if (const auto enabled = object->Bool("enabled")) request.enable_thinking = enabled;
  }
  if (const auto object = body.Object("thinking")) {
    object->Missing("type", R"("enabled", "disabled" or "adaptive")");
    const auto type = object->Word("type", kThinkingTypes);
    if (type && kThinkingTypes[*type] != "adaptive") request.enable_thinking = *type != 0;
  }
  if (const auto enabled = body.Bool("enable_thinking")) request.enable_thinking = enabled;
  if (const auto kwargs = body.Object("chat_template_kwargs")) {
    request.template_kwargs = kwargs->json();
    const Json* enabled = kwargs->Find("enable_thinking");
    if (enabled != nullptr && enabled->is_boolean()) request.enable_thinking = enabled->get<bool>();
  }
  request.add_generation_prompt = body.Bool("add_generation_prompt").value_or(true);
}

void ReadExtensions(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  if (const auto mode = body.Word("contract", kContracts)) request.contract = kModes[*mode];
  request.receipt = body.Bool("receipt").value_or(false);
  request.logits_digest = body.Bool("logits_digest").value_or(false);
  request.token_details = body.Bool("token_details").value_or(false);
  ReadSpeculation(body, limits, request);
}

void CheckTogether(const FieldReader& body, const AnswerRequest& request) {
  if (request.max_tokens && request.sampling.min_tokens > *request.max_tokens) {
    body.Fault("min_tokens", fmt::format("at most max_tokens, {}", *request.max_tokens));
  }
  if (request.demands_call() && request.constraint.kind != ConstraintKind::kNone) {
    body.Unsupported("tool_choice", "\"auto\" or \"none\" beside a constraint on the text",
                     "leaving out one of them: no text is both");
  }
}

void ReadCommon(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request) {
  ReadDelivery(body, request);
  ReadSampling(body, limits, request);
  ReadExtensions(body, limits, request);
  RefuseUnsupported(body);
}

}  // namespace verbatim::serve

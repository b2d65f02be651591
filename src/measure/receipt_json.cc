// A receipt as JSON; docs/receipts.md lists the fields. receipt_parse.cc is the way back.
#include <fmt/format.h>

#include "measure/canonical_json.h"
#include "measure/receipt.h"
#include "measure/receipt_checksums.h"

namespace verbatim {
namespace {

using Json = nlohmann::ordered_json;

Json OriginJson(const ReceiptOrigin& origin) {
  Json widths = Json::object();
  for (size_t i = 0; i < origin.stats.rounds_with_width.size(); ++i) {
    if (origin.stats.rounds_with_width[i] == 0) continue;
    widths[fmt::format("{}", i + 1)] = origin.stats.rounds_with_width[i];
  }
  return {{"verbatim", origin.verbatim_version},
          {"speculation", origin.speculation},
          {"draft_tokens", origin.draft_tokens},
          {"automatic", origin.automatic},
          {"drafted", origin.stats.drafted},
          {"accepted", origin.stats.accepted},
          {"widths", widths},
          {"contract", origin.contract},
          {"contract_held", origin.contract_held},
          {"backend", origin.backend},
          {"target", origin.target},
          {"threads", origin.threads},
          {"cached_prompt_tokens", origin.cached_prompt_tokens}};
}

Json SamplingJson(const SamplingOptions& sampling) {
  Json biases = Json::array();
  for (const auto& [token_id, bias] : sampling.logit_bias) {
    biases.push_back({{"token_id", token_id}, {"bias", JsonNumber(bias)}});
  }
  return {{"temperature", JsonNumber(sampling.temperature)},
          {"top_k", sampling.top_k},
          {"top_p", JsonNumber(sampling.top_p)},
          {"min_p", JsonNumber(sampling.min_p)},
          {"seed", sampling.seed},
          {"choice", sampling.choice},
          {"repetition_penalty", JsonNumber(sampling.repetition_penalty)},
          {"presence_penalty", JsonNumber(sampling.presence_penalty)},
          {"frequency_penalty", JsonNumber(sampling.frequency_penalty)},
          {"logit_bias", biases},
          {"banned_token_ids", sampling.banned_token_ids},
          {"banned_strings", sampling.banned_strings},
          {"min_tokens", sampling.min_tokens}};
}

// Without a constraint there is no such field.
Json RequestJson(const Receipt& receipt) {
  Json request = {{"prompt_token_ids", receipt.prompt_token_ids},
                  {"max_tokens", receipt.max_tokens},
                  {"context", receipt.context},
                  {"stop", receipt.stop},
                  {"ignore_eos", receipt.ignore_eos},
                  {"eos_token_ids", receipt.eos_token_ids},
                  {"sampling", SamplingJson(receipt.sampling)}};
  const ConstraintOptions& constraint = receipt.constraint;
  if (constraint.kind != ConstraintKind::kNone) {
    request["constraint"] = {{"kind", ConstraintKindName(constraint.kind)},
                             {"text", constraint.text},
                             {"begin_after", constraint.begin_after}};
  }
  return request;
}

}  // namespace

std::string ReceiptJson(const Receipt& receipt) {
  Json json = {{"verbatim_receipt", kReceiptVersion},
               {"model",
                {{"type", receipt.model_type},
                 {"sha256", receipt.model.model_sha256},
                 {"tensors", receipt.model.num_tensors},
                 {"bytes", receipt.model.num_bytes},
                 {"config_sha256", receipt.model.config_sha256},
                 {"tokenizer_sha256", receipt.model.tokenizer_sha256}}},
               {"numerics",
                {{"profile", receipt.numerics_profile},
                 {"version", receipt.numerics_version},
                 {"kv_type", KvCacheTypeName(receipt.kv_type)}}},
               {"request", RequestJson(receipt)},
               {"output",
                {{"token_ids", receipt.token_ids},
                 {"finish_reason", FinishReasonName(receipt.finish_reason)},
                 {"position_digests", receipt.position_digests},
                 {"logits_sha256", receipt.logits_sha256}}},
               {"made_by", OriginJson(receipt.origin)}};
  AddChecksums(&json);
  return ReadableJson(json);
}

}  // namespace verbatim

// The replay, and the comparison of what it gives with what a receipt says.
#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "measure/receipt.h"

namespace verbatim {
namespace {

std::string IdsText(const std::vector<int32_t>& ids) {
  return fmt::format("{}", fmt::join(ids, ","));
}

std::string ShortDigest(const Sha256Bytes& digest) {
  return HexOf(std::span(digest).first(kPositionDigits / 2));
}

Request ReplayRequest(const Receipt& receipt) {
  Request request;
  request.prompt_token_ids = receipt.prompt_token_ids;
  // One more than the receipt has shows whether the output goes on; nothing in the choice of a
  // token depends on the limit.
  request.max_tokens =
      std::min(receipt.max_tokens, static_cast<int64_t>(receipt.token_ids.size()) + 1);
  request.stop = receipt.stop;
  request.ignore_eos = receipt.ignore_eos;
  request.sampling = receipt.sampling;
  request.constraint = receipt.constraint;
  request.want_text = false;
  request.position_digests = true;
  return request;
}

// The first position whose token or logits differ; none: the shorter list is the other's start.
std::optional<ReplayDifference> FirstDifference(const Receipt& receipt, const Result& replay,
                                                int64_t* positions_equal) {
  using Kind = ReplayDifference::Kind;
  const size_t common = std::min(receipt.token_ids.size(), replay.token_ids.size());
  for (size_t i = 0; i < common; ++i) {
    std::string here = ShortDigest(replay.position_digests[i]);
    std::string said = receipt.position_digests[i];
    if (here == said && i + 1 == receipt.token_ids.size()) {  // of the last one there is all
      here = HexOf(replay.position_digests[i]);
      said = receipt.logits_sha256;
    }
    const bool token_equal = receipt.token_ids[i] == replay.token_ids[i];
    const bool logits_equal = here == said;
    *positions_equal = static_cast<int64_t>(i);
    if (token_equal && logits_equal) continue;
    const Kind kind = logits_equal  ? Kind::kToken
                      : token_equal ? Kind::kLogits
                                    : Kind::kTokenAndLogits;
    return ReplayDifference{.kind = kind,
                            .position = static_cast<int64_t>(i),
                            .receipt_token = receipt.token_ids[i],
                            .replay_token = replay.token_ids[i],
                            .receipt_says = said,
                            .replay_says = here};
  }
  *positions_equal = static_cast<int64_t>(common);
  return std::nullopt;
}

// What differs where all common positions are equal.
std::optional<ReplayDifference> EndDifference(const Receipt& receipt, const Result& replay) {
  using Kind = ReplayDifference::Kind;
  ReplayDifference difference;
  const size_t common = std::min(receipt.token_ids.size(), replay.token_ids.size());
  difference.position = static_cast<int64_t>(common);
  difference.receipt_says = FinishReasonName(receipt.finish_reason);
  difference.replay_says = FinishReasonName(replay.finish_reason);
  if (replay.finish_reason == FinishReason::kError) {
    difference.kind = Kind::kReplayFails;
    difference.replay_says = replay.error.message();
  } else if (common < receipt.token_ids.size()) {
    difference.kind = Kind::kReplayEnds;
    difference.receipt_token = receipt.token_ids[common];
  } else if (common < replay.token_ids.size()) {
    difference.kind = Kind::kReplayGoesOn;
    difference.replay_token = replay.token_ids[common];
  } else if (receipt.finish_reason != replay.finish_reason) {
    difference.kind = Kind::kFinishReason;
    difference.position = static_cast<int64_t>(common) - 1;
  } else {
    return std::nullopt;
  }
  return difference;
}

}  // namespace

EngineOptions ReplayOptions(const Receipt& receipt, const std::string& model) {
  const auto needed =
      static_cast<int64_t>(receipt.prompt_token_ids.size() + receipt.token_ids.size() + 1);
  const bool greedy = receipt.origin.contract_held == ContractModeName(ContractMode::kGreedy);
  return {.model = model,
          .contract = greedy ? ContractMode::kGreedy : ContractMode::kOff,
          .context = std::min(receipt.context, needed),
          .kv_type = receipt.kv_type};
}

std::vector<IdentityMismatch> CompareIdentity(const Receipt& receipt, const ModelIdentity& identity,
                                              const EngineInfo& info) {
  std::vector<IdentityMismatch> mismatches;
  const auto compare = [&](std::string_view what, const std::string& said,
                           const std::string& here) {
    if (said != here) mismatches.push_back({std::string(what), said, here});
  };
  const ModelIdentity& said = receipt.model;
  compare("weights", said.model_sha256, identity.model_sha256);
  compare("config", said.config_sha256, identity.config_sha256);
  compare("tokenizer", said.tokenizer_sha256, identity.tokenizer_sha256);
  compare("numerics", receipt.NumericsName(), info.numerics);
  compare("eos_token_ids", IdsText(receipt.eos_token_ids), IdsText(info.eos_token_ids));
  return mismatches;
}

std::string_view ReplayDifferenceName(ReplayDifference::Kind kind) {
  switch (kind) {
    case ReplayDifference::Kind::kToken:
      return "token";
    case ReplayDifference::Kind::kLogits:
      return "logits";
    case ReplayDifference::Kind::kTokenAndLogits:
      return "token_and_logits";
    case ReplayDifference::Kind::kReplayEnds:
      return "replay_ends";
    case ReplayDifference::Kind::kReplayGoesOn:
      return "replay_goes_on";
    case ReplayDifference::Kind::kFinishReason:
      return "finish_reason";
    case ReplayDifference::Kind::kReplayFails:
      return "replay_fails";
  }
  return "unknown";
}

Expected<ReplayOutcome> ReplayReceipt(Engine& engine, const Receipt& receipt,
                                      const std::string& where,
                                      const std::function<bool(int64_t tokens)>& on_token) {
  Request request = ReplayRequest(receipt);
  bool stopped = false;
  bool differs = false;
  size_t done = 0;
  request.on_token = [&](const TokenEvent& event) {
    differs |= done < receipt.token_ids.size() && receipt.token_ids[done] != event.token_id;
    ++done;
    stopped |= on_token && !on_token(static_cast<int64_t>(done));
  };
  const Expected<RequestId> id = engine.Submit(std::move(request));
  if (!id.ok()) {
    return MakeError(StatusCode::kCorrupt, where, "a request that this model can replay",
                     id.status().message());
  }
  while (engine.Step()) {
    if (!stopped && !differs) continue;
    // kNotFound: the step just ended it by itself, which is as good.
    const Status status = engine.Cancel(*id);
    if (!status.ok() && status.code() != StatusCode::kNotFound) return status;
    stopped = stopped && !differs;
    break;
  }
  while (engine.Step()) {
  }
  VERBATIM_ASSIGN_OR_RETURN(const Result replay, engine.TakeResult(*id));
  ReplayOutcome outcome;
  outcome.cancelled = stopped;
  if (outcome.cancelled) return outcome;
  outcome.difference = FirstDifference(receipt, replay, &outcome.positions_equal);
  if (!outcome.difference) outcome.difference = EndDifference(receipt, replay);
  return outcome;
}

}  // namespace verbatim

// Sentences and fields.
#include "apps/verbatim/receipt_report.h"

#include <fmt/format.h>

#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

std::string Line(std::string_view label, std::string_view text) {
  return fmt::format("{:<9} {}\n", label, text);
}

std::string OriginText(const Receipt& receipt) {
  const ReceiptOrigin& origin = receipt.origin;
  std::string speculation = "classic decode";
  if (origin.speculation != "off") {
    int widest = 1;
    for (size_t i = 0; i < origin.stats.rounds_with_width.size(); ++i) {
      if (origin.stats.rounds_with_width[i] > 0) widest = static_cast<int>(i) + 1;
    }
    speculation =
        fmt::format("{}, blocks of up to {} rows, {} of {} drafts accepted", origin.speculation,
                    widest, origin.stats.accepted, origin.stats.drafted);
  }
  return fmt::format("{} tokens after {} of prompt, by verbatim {}: {}; {} {}, {} thread{}",
                     receipt.token_ids.size(), receipt.prompt_token_ids.size(),
                     origin.verbatim_version, speculation, origin.backend, origin.target,
                     origin.threads, origin.threads == 1 ? "" : "s");
}

std::string MismatchText(const IdentityMismatch& mismatch) {
  return fmt::format("{}: {} in the receipt, {} here", mismatch.what, mismatch.in_receipt,
                     mismatch.here);
}

std::string Advice(std::string_view what) {
  if (what == "weights") return "these are other weights";
  if (what == "config") return "config.json says another arithmetic";
  if (what == "tokenizer") return "another tokenizer.json";
  if (what == "numerics") return "this build's arithmetic is another one";
  return "other tokens end the text";
}

std::string DifferenceText(const ReplayDifference& difference) {
  using Kind = ReplayDifference::Kind;
  const auto token = [](const std::optional<int32_t>& id) {
    return id ? fmt::format("{}", *id) : std::string("none");
  };
  const std::string tokens =
      fmt::format("token {} in the receipt, {} in the replay", token(difference.receipt_token),
                  token(difference.replay_token));
  const std::string logits = fmt::format("digest {} in the receipt, {} in the replay",
                                         difference.receipt_says, difference.replay_says);
  switch (difference.kind) {
    case Kind::kToken:
      return fmt::format("{}; the logits are equal: the token, or how it is chosen, was changed",
                         tokens);
    case Kind::kLogits:
      return fmt::format("the token is equal ({}), the logits differ: {}",
                         token(difference.receipt_token), logits);
    case Kind::kTokenAndLogits:
      return fmt::format("{}, and the logits differ: {}", tokens, logits);
    case Kind::kReplayEnds:
      return fmt::format("{}: the replay ended before, by {}", tokens, difference.replay_says);
    case Kind::kReplayGoesOn:
      return fmt::format("{}: the receipt ends before, by {}", tokens, difference.receipt_says);
    case Kind::kFinishReason:
      return fmt::format("ended by {} in the receipt, by {} in the replay", difference.receipt_says,
                         difference.replay_says);
    case Kind::kReplayFails:
      return fmt::format("the replay fails: {}", difference.replay_says);
  }
  return "";
}

}  // namespace

std::string ReceiptIdentityText(const Receipt& receipt,
                                const std::vector<IdentityMismatch>& mismatches) {
  std::string text = Line("receipt", OriginText(receipt));
  text += Line("file", receipt.edited.empty() ? "as it was written"
                                              : fmt::format("edited after it was written: {}",
                                                            fmt::join(receipt.edited, ", ")));
  if (mismatches.empty()) {
    return text + Line("model", fmt::format("the receipt's: weights {}..., config, tokenizer, {}",
                                            receipt.model.model_sha256.substr(0, 12),
                                            receipt.NumericsName()));
  }
  for (const IdentityMismatch& mismatch : mismatches) {
    text += Line("model", fmt::format("not the receipt's, {}: {}", Advice(mismatch.what),
                                      MismatchText(mismatch)));
  }
  return text;
}

std::string ReceiptReplayText(const Receipt& receipt, const ReceiptCheck& check,
                              const EngineInfo& info) {
  const std::string how =
      fmt::format("classic decode, {} {}, {} thread{}", info.backend, info.target, info.num_threads,
                  info.num_threads == 1 ? "" : "s");
  std::string text;
  if (check.replay.difference) {
    text += Line("replay", fmt::format("differs at output position {} (from 0) of {}: {} ({})",
                                       check.replay.difference->position, receipt.token_ids.size(),
                                       DifferenceText(*check.replay.difference), how));
  } else {
    text += Line("replay", fmt::format("equal: {} tokens and the logits of their positions ({})",
                                       check.replay.positions_equal, how));
  }
  return text + Line("verdict", check.Verified(receipt) ? "verified" : "not verified");
}

std::string ReceiptCheckJson(const Receipt& receipt, const ReceiptCheck& check,
                             const EngineInfo& info) {
  JsonWriter json;
  json.BeginObject();
  json.Key("verified").Bool(check.Verified(receipt));
  json.Key("edited").BeginArray();
  for (const std::string& field : receipt.edited) json.String(field);
  json.EndArray();
  json.Key("mismatches").BeginArray();
  for (const IdentityMismatch& mismatch : check.mismatches) {
    json.BeginObject();
    json.Key("what").String(mismatch.what);
    json.Key("receipt").String(mismatch.in_receipt);
    json.Key("here").String(mismatch.here);
    json.EndObject();
  }
  json.EndArray();
  json.Key("replay").BeginObject();
  json.Key("equal").Bool(!check.replay.difference);
  json.Key("positions").Integer(static_cast<int64_t>(receipt.token_ids.size()));
  json.Key("positions_equal").Integer(check.replay.positions_equal);
  json.Key("difference");
  if (!check.replay.difference) {
    json.Null();
  } else {
    const ReplayDifference& difference = *check.replay.difference;
    const auto token = [&](std::string_view key, const std::optional<int32_t>& id) {
      json.Key(key);
      id ? json.Integer(*id) : json.Null();
    };
    json.BeginObject();
    json.Key("kind").String(ReplayDifferenceName(difference.kind));
    json.Key("position").Integer(difference.position);
    token("receipt_token", difference.receipt_token);
    token("replay_token", difference.replay_token);
    json.Key("receipt_says").String(difference.receipt_says);
    json.Key("replay_says").String(difference.replay_says);
    json.EndObject();
  }
  json.EndObject();
  json.Key("replayed_by").BeginObject();
  json.Key("backend").String(info.backend);
  json.Key("target").String(info.target);
  json.Key("threads").Integer(info.num_threads);
  json.Key("numerics").String(info.numerics);
  json.EndObject();
  json.EndObject();
  return json.Take();
}

}  // namespace verbatim::cli

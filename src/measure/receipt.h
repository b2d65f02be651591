// Receipts: a request, its output and the model's identity in a file, so that anybody can replay it
// with classic decode and see that nothing else decided the output (docs/receipts.md). Not a
// signature: a receipt proves what it says by being replayed.
#ifndef VERBATIM_MEASURE_RECEIPT_H_
#define VERBATIM_MEASURE_RECEIPT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_identity.h"
#include "verbatim/constraint.h"
#include "verbatim/engine.h"

namespace verbatim {

inline constexpr int kReceiptVersion = 1;
// Hex digits of a position's digest in the file: 64 bits find any accident, and the last one is
// there in full.
inline constexpr size_t kPositionDigits = 16;
// Prompt and output of the longest context (2^20 tokens) have 30 bytes a token.
inline constexpr size_t kMaxReceiptBytes = size_t{64} << 20;

// Which speculation made it. Informative: no part of what is compared.
struct ReceiptOrigin {
  std::string verbatim_version;
  std::string speculation;  // SpeculationKindName, or a later version's
  int64_t draft_tokens = 0;
  bool automatic = false;
  SpeculationStats stats;  // drafted, accepted and rounds_with_width only
  std::string contract;    // ContractModeName of the mode asked for
  std::string contract_held;
  std::string backend;
  std::string target;
  int64_t threads = 0;
  int64_t cached_prompt_tokens = 0;
};

struct Receipt {
  ReceiptOrigin origin;
  ModelIdentity model;
  std::string model_type;
  std::string numerics_profile;  // "portable"
  int64_t numerics_version = 0;
  KvCacheType kv_type = KvCacheType::kBF16;

  // The request.
  std::vector<int32_t> prompt_token_ids;
  int64_t max_tokens = 0;
  int64_t context = 0;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::vector<int32_t> eos_token_ids;  // of the model and its tokenizer
  SamplingOptions sampling;            // without logprobs, which decide nothing
  ConstraintOptions constraint;

  // The output.
  std::vector<int32_t> token_ids;
  FinishReason finish_reason = FinishReason::kStop;  // kStop or kLength
  std::vector<std::string> position_digests;         // kPositionDigits hex digits for each token
  std::string logits_sha256;                         // the last position's digest, all of it

  // ParseReceipt: the fields that no longer fit the file's own checksums, e.g.
  // "request.sampling.temperature". Empty in a receipt as it was written.
  std::vector<std::string> edited;

  std::string NumericsName() const;  // "portable-1/kv-bf16"
};

// Whether a receipt can hold the request. kInvalidArgument: texts that are not UTF-8, which JSON
// can't carry.
Status CheckReceiptRequest(const Request& request);

// `result` is that of `request` with position_digests. kInvalidArgument: a request that was
// cancelled or failed, no digests, those of CheckReceiptRequest.
Expected<Receipt> MakeReceipt(const EngineInfo& info, const ModelIdentity& identity,
                              const Request& request, const Result& result);

std::string ReceiptJson(const Receipt& receipt);

// `where` names the file. Errors: kCorrupt for a field that is missing, of another type or out of
// range; kUnsupported for another format version. Fields that were edited are no error: `edited`.
Expected<Receipt> ParseReceipt(std::string_view text, const std::string& where);

Expected<Receipt> ReadReceipt(const std::filesystem::path& path);

// Options for an engine that can replay it: no speculation, the receipt's KV type, no more context
// than needed. A receipt of greedy mode is replayed by classic decode of that mode, which may well
// differ: nothing is promised there.
EngineOptions ReplayOptions(const Receipt& receipt, const std::string& model);

// Something that decides the output and is not as the receipt says.
struct IdentityMismatch {
  std::string what;  // "weights", "config", "tokenizer", "numerics", "eos_token_ids"
  std::string in_receipt;
  std::string here;
};
std::vector<IdentityMismatch> CompareIdentity(const Receipt& receipt, const ModelIdentity& identity,
                                              const EngineInfo& info);

struct ReplayDifference {
  enum class Kind {
    kToken,           // another token from the same logits
    kLogits,          // other logits, the same token
    kTokenAndLogits,  // both
    kReplayEnds,      // the receipt has this position, the replay ended before it
    kReplayGoesOn,    // the receipt ended before this position, the replay has it
    kFinishReason,    // all positions are equal, the ends have other reasons
    kReplayFails,     // the replay's request fails here: `replay_says`
  };
  Kind kind = Kind::kToken;
  int64_t position = 0;  // of the output, from 0
  std::optional<int32_t> receipt_token = {};
  std::optional<int32_t> replay_token = {};
  std::string receipt_says = {};  // digest of the position, or finish reason; may be empty
  std::string replay_says = {};
};
std::string_view ReplayDifferenceName(ReplayDifference::Kind kind);  // "token", "logits", ...

struct ReplayOutcome {
  bool cancelled = false;       // by `on_token`; nothing is known then
  int64_t positions_equal = 0;  // leading ones with the same token and the same logits
  std::optional<ReplayDifference> difference;  // the first; none: equal
};

// Replays with classic decode: no speculation, one token at a time, no other request beside it. It
// ends at the first token that differs. `on_token` gets the tokens done, returns whether to go on,
// and may be empty. Errors: kCorrupt if the engine refuses the request, with its reason.
Expected<ReplayOutcome> ReplayReceipt(Engine& engine, const Receipt& receipt,
                                      const std::string& where,
                                      const std::function<bool(int64_t tokens)>& on_token = {});

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_RECEIPT_H_

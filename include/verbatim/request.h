// Request and Result: one generation, as a caller states it and as it ended. Not how it is
// scheduled.
#ifndef VERBATIM_REQUEST_H_
#define VERBATIM_REQUEST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/constraint.h"
#include "verbatim/sampling.h"
#include "verbatim/status.h"

namespace verbatim {

inline constexpr int kMaxDraftTokens = 15;  // a block is at most 16 rows: the token and its drafts

enum class SpeculationKind {
  kOff,
  kMtp,     // the checkpoint's multi-token-prediction head
  kNgram,   // prompt lookup: what followed the last tokens when they occurred before
  kReplay,  // a given list of output tokens, for tests
  kWrong,   // never right, for tests
};

inline constexpr int kNumSpeculationKinds = 5;

std::string_view SpeculationKindName(SpeculationKind kind);  // "off", "mtp", ...

struct SpeculationOptions {
  SpeculationKind kind = SpeculationKind::kOff;
  int draft_tokens = 3;    // drafts per block, 1 to 15; the most of them if automatic
  bool automatic = false;  // choose the width from measured acceptance and cost; changes speed only
  std::vector<int32_t> replay = {};  // kReplay: replay[i] is drafted for output position i
  // kMtp: drafts are drawn with the noise that the choice will have. False drafts what is most
  // probable, which at temperatures above 0 is seldom right; for measuring.
  bool draft_noise = true;
};

// A conversation of an engine (Engine::OpenConversation).
using ConversationId = int64_t;
inline constexpr ConversationId kNoConversation = 0;

enum class FinishReason { kStop, kLength, kCancelled, kError };

std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "cancelled", "error"

// One generated token, in order, while a request runs.
struct TokenEvent {
  int32_t token_id = 0;
  // What became safe to show with this token; may be empty or span tokens. Good until the callback
  // returns.
  std::string_view text = {};
  bool drafted = false;  // the token had been drafted and the draft was right
  // The decode step that chose it, of this request's, from 1 (0: the step that ended the prompt),
  // that step's rows of this request, and which of them.
  int64_t round = 0;
  int row = 0;
  int num_rows = 1;
  const TokenLogprobs* logprobs = nullptr;  // if asked for; good until the callback returns
};

struct CompiledConstraint;  // opaque, immutable

struct Request {
  std::vector<int32_t> prompt_token_ids;  // at least one, each in [0, vocab_size)
  int64_t max_tokens = 128;               // at least 1
  std::vector<std::string> stop;          // the first match ends the text before it
  bool ignore_eos = false;
  SamplingOptions
      sampling;  // greedy; EngineInfo::default_sampling is what the model's makers advise
  // False: token ids only, no detokenizer runs (unless there are stop strings to find).
  bool want_text = true;
  ConstraintOptions constraint;
  // The constraint as Engine::CompileConstraint made it, of the same options; null: Submit
  // compiles.
  std::shared_ptr<const CompiledConstraint> compiled_constraint;
  bool logits_digest = false;     // compute Result::logits_sha256
  bool position_digests = false;  // compute Result::position_digests
  SpeculationOptions speculation;
  // The request goes on from the state of the conversation's last one where the prompt repeats the
  // tokens behind that state, and leaves its own. One request of a conversation at a time.
  ConversationId conversation = kNoConversation;
  // Prompt tokens, counted from the start, that the conversation's next prompt will surely repeat;
  // their state is kept beside that of the end. 0: all of them. Templates that rewrite the answer
  // or drop its thinking make the end's state useless.
  int64_t keep_prefix = 0;
  // With a prefix cache: how many tokens of the prompt, counted from its start, other prompts are
  // likely to begin with; ascending, each at least 1 and less than the prompt's size. The state
  // behind the whole prompt and output, and that at the prompt's last page boundary, are kept as
  // well. Changes speed only.
  std::vector<int64_t> cache_points;
  bool use_prefix_cache = true;  // neither looks for kept states nor keeps any if false
  // May be empty. Must not throw; may call Submit and Cancel of its engine, but not Step, Generate
  // or Score.
  std::function<void(const TokenEvent&)> on_token;
};

// Speculation as it went. Position i counts from 0 inside a block.
struct SpeculationStats {
  int64_t rounds = 0;    // decode steps of this request
  int64_t drafted = 0;   // draft tokens proposed
  int64_t tested = 0;    // draft tokens compared with the model's choice
  int64_t accepted = 0;  // draft tokens that were right
  std::array<int64_t, kMaxDraftTokens> drafted_at{};
  std::array<int64_t, kMaxDraftTokens> tested_at{};
  std::array<int64_t, kMaxDraftTokens> accepted_at{};
  std::array<int64_t, kMaxDraftTokens + 1> rounds_with_width{};  // [w - 1]: decode steps of w rows
};

struct Timings {
  double queue_ms = 0;      // from Submit to the first step
  double prompt_ms = 0;     // from the first step of the request to its first token
  double predicted_ms = 0;  // from the first token to the last
};

struct Result {
  int64_t cached_prompt_tokens = 0;  // of the prompt, not computed: a kept state had them
  int64_t preemptions = 0;           // times that the state was dropped for others' room
  std::vector<int32_t> token_ids;    // generated; an end-of-sequence token is included
  // One for each of token_ids, if SamplingOptions::logprobs asks.
  std::vector<TokenLogprobs> logprobs;
  std::string text;  // special tokens and a matched stop string left out
  FinishReason finish_reason = FinishReason::kStop;
  std::optional<std::string> matched_stop;
  Status error;               // kError only
  std::string logits_sha256;  // over the binary32 little-endian logits of every generated position,
                              // in order
  // One for each of token_ids, if asked, chained: h[i] = SHA-256(h[i - 1], the bytes as above of
  // position i), with 32 zero bytes before the first (docs/receipts.md).
  std::vector<std::array<uint8_t, 32>> position_digests;
  SpeculationStats speculation;
  Timings timings;
};

}  // namespace verbatim

#endif  // VERBATIM_REQUEST_H_

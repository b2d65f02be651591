// Engine: a loaded model that generates for several requests at once. The way in for every program.
//
// Whatever the speculation, block width, neighbours, prefill chunk or thread count, a request
// receives the token ids, text and logits of the classic chain, bit for bit (docs/contract.md).
// Thread rule: one thread at a time calls an engine; it uses threads of its own inside. What is
// const but stats() may be called by any thread at any time.
#ifndef VERBATIM_ENGINE_H_
#define VERBATIM_ENGINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbatim/contract.h"
#include "verbatim/request.h"
#include "verbatim/status.h"

namespace verbatim {

// EngineOptions::kv_memory and prefix_cache_memory: what suits the memory that is free once the
// weights are loaded.
inline constexpr int64_t kFitMemory = -1;

enum class KvCacheType { kBF16, kF16, kF32 };
std::string_view KvCacheTypeName(KvCacheType type);  // "bf16", "f16", "f32"

// Where EngineOptions::context is not given: enough for a chat, small enough for the caches of a
// 27B model.
inline constexpr int64_t kDefaultContext = 8192;

struct EngineOptions {
  std::string model = {};  // folder or model id in the Hugging Face cache
  std::string draft_model =
      {};                       // folder or id with the MTP head's weights; empty: the model itself
  bool with_mtp = false;        // load the MTP head; its absence is then an error
  bool mtp_if_present = false;  // load the MTP head if there is one (EngineInfo::has_mtp)
  ContractMode contract = ContractMode::kExact;
  int num_threads = 0;  // 0: one per processor that may be used
  // Tokens per sequence, prompt and output; 0: min(model's limit, kDefaultContext).
  int64_t context = 0;
  int64_t prefill_chunk = 256;  // prompt tokens per step; 0: the whole prompt in one step
  int max_sequences = 1;        // running at once; further requests wait
  int max_conversations = 0;    // open at once; each adds a recurrent state to the caches
  // Rows of one step, of all sequences together; 0: whatever they need. Fewer rows cut blocks and
  // slices of prompts shorter.
  int max_rows = 0;
  // Bytes of KV pages; 0: the whole context of max_sequences. With less, sequences that need more
  // than there is lose their state and compute it again later. At least one context. kFitMemory:
  // the whole contexts, but at most half of what is free.
  int64_t kv_memory = 0;
  // Bytes of states kept for prompts that begin with the same tokens; 0: none are kept. kFitMemory:
  // 1 GiB, but at most an eighth of what is free.
  int64_t prefix_cache_memory = 0;
  std::string chat_template = {};  // file of a Jinja template instead of the model's
  int max_score_width = 0;         // largest width of Score; 0: kMaxDraftTokens + 1
  KvCacheType kv_type = KvCacheType::kBF16;
  std::string target = {};  // instruction set; empty: VERBATIM_TARGET, else the best available
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
};

// What was loaded, for people and for `--json`.
struct EngineInfo {
  std::string model_folder;
  std::string model_type;    // config.json's model_type
  std::string layout;        // "huggingface" or "mlx"
  std::string weight_types;  // e.g. "affine 4-bit g64 (52 tensors), f32 (31)"
  std::string mtp_source;    // where the MTP head came from, or why there is none
  bool has_mtp = false;      // the MTP head is loaded: requests may ask for it
  std::string backend;       // "cpu"
  std::string target;        // instruction set, e.g. "avx512vnni"
  std::string numerics;      // NumericsName
  ContractMode contract = ContractMode::kExact;       // as asked for
  ContractMode contract_held = ContractMode::kExact;  // what is kept: exact, greedy or off
  std::string contract_reason = {};                   // why, in a sentence
  ProbeReport probe = {};                             // of `exact` and `strict`
  int num_threads = 0;
  int64_t context = 0;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t weight_bytes = 0;        // read by one decode step of the target
  int64_t cache_bytes = 0;         // KV pages and recurrent states
  int64_t prefix_cache_bytes = 0;  // most that kept states may take
  int64_t kv_page_bytes = 0;       // of 256 tokens in every layer
  int64_t kept_state_bytes = 0;    // of one state in the prefix cache, without its pages
  double load_ms = 0;
  std::vector<int32_t> eos_token_ids;
  SamplingOptions default_sampling = {};  // generation_config.json's; greedy without that file
  std::vector<std::string> default_sampling_fields = {};  // the file's keys that it comes from
};

// Teacher-forced scoring of a token sequence.
struct ScoreRequest {
  std::vector<int32_t> token_ids = {};  // [T], at least 2
  int width = 16;                       // rows per step; any width gives the same bytes
  bool drafts = false;  // what the MTP head would draft at every position, three deep
  // Called once per position in order with the logits [V] and the hidden row [H]; may be empty.
  std::function<Status(std::span<const float> logits, std::span<const float> hidden)> on_row = {};
};

struct ScoreResult {
  static constexpr int kDraftDepth = 3;
  struct Drafts {
    std::array<int32_t, kDraftDepth> ids;
    std::array<float, kDraftDepth> margins;  // best minus second-best logit
  };
  std::vector<float> logprobs;  // [T - 1], of tokens 2..T
  double perplexity = 0;
  std::vector<Drafts> drafts;  // [T - 1] when asked: at row r from target hiddens 0..r
};

using RequestId = int64_t;

// Counted since the engine was loaded, but for what is "now".
struct EngineStats {
  int64_t running = 0;  // requests, now
  int64_t waiting = 0;  // now, preempted ones included
  int64_t kv_pages = 0;
  int64_t kv_pages_used = 0;  // now, by requests, conversations and kept states
  int64_t steps = 0;
  int64_t decode_rows = 0;  // of all steps
  int64_t prompt_rows = 0;
  int64_t preemptions = 0;
  double step_seconds = 0;  // in all steps
  // The prefix cache. Tokens are of prompts that asked, without each one's last.
  int64_t cache_queried_tokens = 0;
  int64_t cache_hit_tokens = 0;
  int64_t cache_entries = 0;  // now
  int64_t cache_bytes = 0;    // now
  int64_t cache_evictions = 0;
};

struct ChatTemplateInput {
  std::string_view messages_json = {};       // an array
  std::string_view tools_json = {};          // an array of tool definitions; empty: none
  std::string_view kwargs_json = {};         // an object of further variables; empty: none
  std::optional<bool> enable_thinking = {};  // not given: the template's own default
  bool add_generation_prompt = true;
};

class Engine {
 public:
  // Errors: those of loading, each with its reason; kInvalidArgument for options out of range.
  static Expected<std::unique_ptr<Engine>> Load(const EngineOptions& options);
  ~Engine();

  const EngineInfo& info() const;

  // Text to token ids and back. Special tokens in `text` are recognised.
  Expected<std::vector<int32_t>> Tokenize(std::string_view text) const;
  // At least so many tokens a text has, told at once: for limits, before the work.
  int64_t LeastTokens(std::string_view text) const;
  // The text of ids, U+FFFD for what is not UTF-8. kInvalidArgument: an id without a token.
  Expected<std::string> Detokenize(std::span<const int32_t> token_ids,
                                   bool skip_special = true) const;
  // Renders the model's chat template over a JSON array of messages, with the generation prompt.
  Expected<std::string> ApplyChatTemplate(std::string_view messages_json) const;
  Expected<std::string> ApplyChatTemplate(const ChatTemplateInput& input) const;
  // The bytes that a token stands for, which need not be whole characters. kInvalidArgument.
  Expected<std::string_view> TokenBytes(int32_t token_id) const;
  // kInvalidArgument: a schema, expression or grammar that does not compile, with its reason.
  Expected<std::shared_ptr<const CompiledConstraint>> CompileConstraint(
      const ConstraintOptions& options) const;

  // Queues a request. kInvalidArgument: empty prompt, ids or limits out of range, prompt beyond the
  // context, speculation that this engine can't do, a conversation with a request under way.
  // kNotFound: no such conversation.
  Expected<RequestId> Submit(Request request);
  // Ends a request at once; its result says kCancelled. kNotFound: no such request.
  Status Cancel(RequestId id);

  // A conversation keeps its last request's state, so that the next one computes only what is new
  // of its prompt; the output is that of a cold run, bit for bit. An idle conversation counts as
  // one of max_sequences for the caches: when another request needs the room, the longest unused
  // one loses its state and runs cold the next time. Its requests have no part in the prefix cache.
  // kResourceExhausted: max_conversations are open.
  Expected<ConversationId> OpenConversation();
  // Gives the state back, that of a running request when it ends. kNotFound: no such conversation.
  Status CloseConversation(ConversationId id);

  // Runs one step over all running requests. False: nothing was left to do.
  bool Step();
  EngineStats stats() const;
  // The result of an ended request, once. kNotFound: unknown or still running.
  Expected<Result> TakeResult(RequestId id);

  // Submit, Step until done, TakeResult.
  Expected<Result> Generate(Request request);

  // kInvalidArgument: ids out of range, sequence beyond the context; kUnsupported: drafts without
  // an MTP head. No request may be running.
  Expected<ScoreResult> Score(const ScoreRequest& request);

 private:
  struct Impl;
  friend struct InstrumentedEngine;  // src/engine/instrumented_engine.h, for measurements
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_H_

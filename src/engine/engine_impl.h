// Engine::Impl: the parts of a loaded engine. Private to src/engine; loading.cc fills it,
// scheduler.cc, admission.cc, conversations.cc and scoring.cc run it.
#ifndef VERBATIM_ENGINE_ENGINE_IMPL_H_
#define VERBATIM_ENGINE_ENGINE_IMPL_H_

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/observe/tracing_backend.h"
#include "checkpoint/loader.h"
#include "draft/drafter.h"
#include "draft/mtp_drafter.h"
#include "engine/conversation.h"
#include "engine/instrumented_engine.h"
#include "engine/prompt_history.h"
#include "engine/row_plan.h"
#include "engine/running_sequence.h"
#include "engine/width_controller.h"
#include "model/model.h"
#include "state/prefix_cache.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "verbatim/engine.h"

namespace verbatim {

// Slots and rope positions beyond the context. Row i of the MTP head lies in slot i + 1, and drafts
// that Score looks at from the last position reach that many positions further.
inline constexpr int64_t kPositionsBeyondContext = ScoreResult::kDraftDepth;
inline constexpr int64_t kSlotsBeyondContext = 1 + kPositionsBeyondContext;

struct WaitingRequest {
  RequestId id = 0;
  Request request;
  RunningSequence::Clock::time_point submitted;
};

// What steps of so many sequences cost, and the width that this makes best.
struct BatchPace {
  StepCosts costs;
  WidthController width;
};

struct Engine::Impl {
  // loading.cc
  Status Load(const EngineOptions& load_options);
  Status LoadBackend();
  Status LoadModelAndCaches(const Checkpoint& checkpoint);
  Status MakeCaches(const ModelShape& shape);
  void FitMemory(int64_t least_kv, int64_t most_kv);  // settles kFitMemory
  Status LoadText(const std::filesystem::path& folder);
  void Describe(const Checkpoint& checkpoint);
  Status SettleContract(double load_ms);

  // scheduler.cc
  Expected<RequestId> Submit(Request request);
  Status Cancel(RequestId id);
  bool Step();
  bool RunStep();
  Expected<Result> TakeResult(RequestId id);
  Status CheckRequest(const Request& request) const;
  Expected<std::shared_ptr<const CompiledConstraint>> CompileConstraint(
      const ConstraintOptions& constraint) const;
  EngineStats Stats() const;
  void CountStep();
  void RunPlan();
  void ProposeDrafts();
  void ChooseWidths(SpeculationKind kind);  // of `jobs`, where they are automatic
  BatchPace& PaceOf(size_t num_sequences);
  BatchPace& pace() { return PaceOf(plan->planned().size()); }
  static bool MayStopDrafting(const RunningSequence& sequence);
  void RetireEnded();

  // admission.cc
  void Admit();
  bool Start(std::unique_ptr<RunningSequence>& sequence);  // false: no room now
  bool IsBeingComputed(const Request& request);
  Expected<std::unique_ptr<RunningSequence>> MakeSequence(const WaitingRequest& waiting_request);
  static Status OutOfMemory(const Request& request);
  void FailWaiting(const WaitingRequest& request, Status error);
  // Tokens that a sequence needs pages for once it has consumed so many.
  static int64_t NeededTokens(const RunningSequence& sequence, int64_t num_consumed);
  void NotePrompt(RunningSequence& sequence);  // where its states are worth keeping
  void MakeRoom();                             // for the next step's rows and drafts
  void Preempt();                              // the youngest
  // A conversation writes into its pages anew when it goes back, so it shares none.
  bool UsesPrefixCache(const Request& request) const;
  bool IsWorthKeeping(const RunningSequence& sequence) const;  // as it stands behind this step
  void KeepForOthers();
  // These evict kept states and idle conversations, but `owner` and `spared`, if the caches are
  // full.
  Expected<int> AcquireSlot();
  bool FreeSome(const Conversation* owner, const PrefixCache::Entry* entry);
  int64_t FreeablePages(const Conversation* owner, const PrefixCache::Entry* entry);
  Status GrowPages(int64_t num_tokens, const Conversation* owner, std::vector<int32_t>& pages,
                   const PrefixCache::Entry* spared = nullptr);
  Expected<SequenceState> AcquireState(int64_t num_tokens);  // an empty one, with pages
  Expected<SequenceState> WithPages(int64_t num_tokens, SequenceState state);  // or released
  // The state to begin with, with pages for `num_tokens`: a conversation's, a kept one of a prefix
  // of its tokens, or an empty one.
  Expected<SequenceState> StateFor(RunningSequence& sequence, int64_t num_tokens);
  void RestoreKept(RunningSequence& sequence, SequenceState& state);
  void StartDrafting(RunningSequence& sequence);  // or not, where it does not pay
  void ReleaseState(SequenceState& state);

  // conversations.cc
  Expected<ConversationId> OpenConversation();
  Status CloseConversation(ConversationId id);
  Status CheckConversation(const Request& request) const;
  Conversation* FindConversation(ConversationId id);  // nullptr: none, or closed
  bool EvictIdle(const Conversation* except);         // the longest unused; false: there is none
  void DropState(Conversation& conversation);
  void Rewind(Conversation& conversation, const Request& request, SequenceState& state);
  void KeepAfterStep();
  bool KeepsState(const RunningSequence& sequence);
  void EndRequest(RunningSequence& sequence);
  // Keeps a hidden row, with which the head catches up when the next prompt is known.
  void CopyHidden(const float* rows, int32_t row, const Conversation& conversation, bool kept);
  float* ConversationHidden(const Conversation& conversation, bool kept);  // [H], device memory

  // scoring.cc
  Expected<ScoreResult> Score(const ScoreRequest& request);
  Status ScoreRows(const ScoreRequest& request, SequenceState& state, int num_rows,
                   ScoreResult& result);
  Status ScoreDrafts(const ScoreRequest& request, SequenceState& state, int num_rows,
                     ScoreResult& result);

  EngineOptions options;
  EngineInfo info;
  int step_rows = 0;            // most rows of a step of requests
  int max_rows = 0;             // most of any step, of scores and the probe too
  int64_t num_choosable = 0;    // ids from here on are padding columns of the head, never chosen
  int max_logit_rows = 0;       // most rows of one Logits call
  BackendWrapper wrap_backend;  // empty outside of measurements
  std::unique_ptr<ops::Backend> backend;
  TracingBackend* tracing_backend = nullptr;  // the same one
  std::unique_ptr<Model> model;
  std::unique_ptr<KvCache> kv;
  std::unique_ptr<RecurrentCache> recurrent;
  Caches caches;
  std::unique_ptr<PrefixCache> prefix_cache;  // null: no states are kept
  PromptHistory history;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  Status chat_template_error;  // why there is none
  // Made for the first request that asks.
  mutable std::mutex grammar_mutex;
  mutable std::shared_ptr<const GrammarCompiler> grammar_compiler;

  std::unique_ptr<MtpDrafter> mtp_drafter;
  std::array<std::unique_ptr<Drafter>, kNumSpeculationKinds> list_drafters;  // by kind; some null
  std::array<BatchPace, 7> paces;  // of 1, 2, 3 to 4, ..., more than 32 sequences in a step
  std::array<Acceptance, kNumSpeculationKinds> shared_acceptance;  // of all automatic requests

  std::map<ConversationId, Conversation> conversations;
  std::unique_ptr<ops::DeviceBuffer> conversation_hidden;  // [2 * max_conversations, H] f32
  ConversationId next_conversation = 1;
  int64_t uses = 0;  // of conversations: the clock of Conversation::last_use

  std::optional<RowPlan> plan;
  std::vector<ops::BestLogit> best_logits;  // [max_logit_rows]
  std::vector<float> host_logits;           // [max_logit_rows, V]
  std::optional<numerics::SamplerScratch> sampler_scratch;
  std::vector<DraftJob> jobs;  // of one drafter, reserved
  std::vector<RunningSequence*> job_sequences;
  std::vector<WidthCandidate> candidates;
  std::deque<WaitingRequest> waiting;
  std::shared_ptr<const BannedStrings::Table> banned_strings;  // the last request's that had any
  std::deque<std::unique_ptr<RunningSequence>> ready;          // for a state; preempted ones first
  std::vector<std::unique_ptr<RunningSequence>> running;
  std::map<RequestId, Result> finished;
  RequestId next_id = 1;
  EngineStats counts;    // what is "now" in it is filled in by Stats
  bool in_step = false;  // a callback may cancel and submit, but not step
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_ENGINE_IMPL_H_

// From options to a loaded engine: checkpoint, backend, model, caches, text.
#include <fmt/format.h>

#include <algorithm>

#include "backend/create_backend.h"
#include "base/available_memory.h"
#include "base/available_processors.h"
#include "draft/list_drafters.h"
#include "engine/engine_impl.h"
#include "engine/probe.h"
#include "model/load_model.h"
#include "numerics/rotary.h"
#include "verbatim/version.h"

namespace verbatim {
namespace {

Status CheckRange(std::string_view option, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return MakeError(StatusCode::kInvalidArgument, option, fmt::format("{} to {}", low, high),
                   fmt::format("{}", value));
}

// The probe may take 2 % of the load time, and 300 ms of any.
constexpr double kProbeShare = 0.02;
constexpr double kLeastProbeMs = 300;
// Larger steps are cut into the same row tiles.
constexpr int kMostProbedRows = 256;
// Looking a prompt up takes time with every length that is kept.
constexpr int64_t kMostKeptStates = 4096;

ops::KvType ToOpsType(KvCacheType type) {
  switch (type) {
    case KvCacheType::kF16:
      return ops::KvType::kF16;
    case KvCacheType::kF32:
      return ops::KvType::kF32;
    case KvCacheType::kBF16:
      break;
  }
  return ops::KvType::kBF16;
}

// A vendor's products have bits of their own.
std::string BackendNumerics(const ops::Backend& backend, KvCacheType kv_type) {
  if (backend.numerics().empty()) return NumericsName(KvCacheTypeName(kv_type));
  return fmt::format("{}/kv-{}", backend.numerics(), KvCacheTypeName(kv_type));
}

}  // namespace

Status Engine::Impl::Load(const EngineOptions& load_options) {
  const auto start = std::chrono::steady_clock::now();
  options = load_options;
  VERBATIM_RETURN_IF_ERROR(CheckRange("threads", options.num_threads, 0, 1024));
  VERBATIM_RETURN_IF_ERROR(CheckRange("max_sequences", options.max_sequences, 1, 1024));
  VERBATIM_RETURN_IF_ERROR(CheckRange("max_conversations", options.max_conversations, 0, 1024));
  VERBATIM_RETURN_IF_ERROR(CheckRange("prefill_chunk", options.prefill_chunk, 0, INT32_MAX));
  VERBATIM_RETURN_IF_ERROR(CheckRange("max_rows", options.max_rows, 0, 65536));
  VERBATIM_RETURN_IF_ERROR(CheckRange("kv_memory", options.kv_memory, kFitMemory, INT64_MAX));
  VERBATIM_RETURN_IF_ERROR(
      CheckRange("prefix_cache_memory", options.prefix_cache_memory, kFitMemory, INT64_MAX));
  VERBATIM_RETURN_IF_ERROR(CheckRange("max_score_width", options.max_score_width, 0, 65536));
  if (options.num_threads == 0) {
    options.num_threads = AvailableProcessors();
  }
  VERBATIM_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                            LoadCheckpoint({.model = options.model,
                                            .draft_model = options.draft_model,
                                            .want_mtp = options.with_mtp,
                                            .progress = options.progress}));
  options.with_mtp |= options.mtp_if_present && checkpoint.has_mtp;
  const int64_t most_context = std::min(checkpoint.config.max_position_embeddings,
                                        kMaxRotaryPositions - kPositionsBeyondContext);
  if (options.context == 0) options.context = std::min(most_context, kDefaultContext);
  VERBATIM_RETURN_IF_ERROR(CheckRange("context", options.context, 2, most_context));
  if (options.prefill_chunk == 0) options.prefill_chunk = options.context;
  options.prefill_chunk = std::min(options.prefill_chunk, options.context);
  if (options.max_rows > 0) {
    options.prefill_chunk = std::min<int64_t>(options.prefill_chunk, options.max_rows);
  }

  VERBATIM_RETURN_IF_ERROR(LoadText(checkpoint.folder));
  VERBATIM_RETURN_IF_ERROR(LoadBackend());
  VERBATIM_RETURN_IF_ERROR(LoadModelAndCaches(checkpoint));
  Describe(checkpoint);
  const auto since_start = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  VERBATIM_RETURN_IF_ERROR(SettleContract(since_start()));
  info.load_ms = since_start();
  return {};
}

Status Engine::Impl::LoadBackend() {
  VERBATIM_ASSIGN_OR_RETURN(backend, CreateBackend({.contract = options.contract,
                                                    .num_threads = options.num_threads,
                                                    .target = options.target}));
  if (wrap_backend) backend = wrap_backend(std::move(backend));
  auto tracing = std::make_unique<TracingBackend>(std::move(backend));
  tracing_backend = tracing.get();
  backend = std::move(tracing);
  return {};
}

Status Engine::Impl::LoadModelAndCaches(const Checkpoint& checkpoint) {
  constexpr int kMaxBlockRows = kMaxDraftTokens + 1;
  const int block_rows = kMaxBlockRows * options.max_sequences;
  step_rows = options.max_rows > 0 ? options.max_rows
                                   : std::max(static_cast<int>(options.prefill_chunk), block_rows);
  // The probe walks whole blocks whatever the budget.
  max_rows = std::max({step_rows, kMaxBlockRows, options.max_score_width});
  max_logit_rows = std::max(std::min(block_rows, step_rows), kMaxBlockRows);
  VERBATIM_ASSIGN_OR_RETURN(
      model, LoadModel(checkpoint, *backend,
                       {.num_positions = std::max<int64_t>(
                            options.context + kPositionsBeyondContext, kProbePositions),
                        .max_rows = max_rows,
                        .max_logit_rows = max_logit_rows,
                        .max_drafts = kMaxDraftTokens,
                        .kv_type = ToOpsType(options.kv_type),
                        .with_draft_head = options.with_mtp,
                        .progress = options.progress}));
  const ModelShape& shape = model->shape();
  num_choosable = std::min<int64_t>(shape.vocab_size, tokenizer->vocab_size());
  VERBATIM_RETURN_IF_ERROR(MakeCaches(shape));

  if (options.with_mtp) {
    VERBATIM_ASSIGN_OR_RETURN(mtp_drafter,
                              MtpDrafter::Create(*backend, *model, caches,
                                                 {.max_rows = max_rows,
                                                  .max_sequences = options.max_sequences,
                                                  .num_choosable = num_choosable}));
    VERBATIM_ASSIGN_OR_RETURN(
        conversation_hidden,
        backend->Allocate(2 * options.max_conversations * shape.hidden_size * sizeof(float)));
  }
  const auto index = [](SpeculationKind kind) { return static_cast<size_t>(kind); };
  list_drafters[index(SpeculationKind::kNgram)] = std::make_unique<NgramDrafter>();
  list_drafters[index(SpeculationKind::kReplay)] = std::make_unique<ReplayDrafter>();
  list_drafters[index(SpeculationKind::kWrong)] = std::make_unique<WrongDrafter>();
  plan.emplace(step_rows, options.max_sequences, options.prefill_chunk);
  best_logits.resize(max_logit_rows);
  host_logits.resize(shape.vocab_size * max_logit_rows);
  sampler_scratch.emplace(shape.vocab_size);
  jobs.reserve(options.max_sequences);
  job_sequences.reserve(options.max_sequences);
  candidates.reserve(options.max_sequences);
  running.reserve(options.max_sequences);
  return {};
}

void Engine::Impl::FitMemory(int64_t least_kv, int64_t most_kv) {
  constexpr int64_t kUsualPrefixCache = int64_t{1} << 30;
  const int64_t available = AvailableMemoryBytes();
  const bool known = available > 0;
  if (options.kv_memory == kFitMemory) {
    options.kv_memory = known ? std::clamp(available / 2, least_kv, most_kv) : most_kv;
  }
  if (options.prefix_cache_memory == kFitMemory) {
    options.prefix_cache_memory = known ? std::min(available / 8, kUsualPrefixCache) : 0;
  }
}

Status Engine::Impl::MakeCaches(const ModelShape& shape) {
  const int64_t page_bytes = static_cast<int64_t>(shape.kv.page_bytes()) * shape.num_kv_layers;
  const int64_t slots_per_sequence = options.context + kSlotsBeyondContext;
  const int64_t pages_per_sequence = KvCache::PagesOf(slots_per_sequence);
  int64_t num_pages = pages_per_sequence * options.max_sequences;
  const bool fitted = options.prefix_cache_memory == kFitMemory;
  FitMemory(pages_per_sequence * page_bytes, num_pages * page_bytes);
  if (options.kv_memory > 0) {
    num_pages = std::min(num_pages, options.kv_memory / page_bytes);
    if (num_pages < pages_per_sequence) {
      return MakeError(StatusCode::kInvalidArgument, "kv_memory",
                       fmt::format("at least {} bytes, the KV pages of one context of {} tokens",
                                   pages_per_sequence * page_bytes, options.context),
                       fmt::format("{}", options.kv_memory), "more memory or a smaller --context");
    }
  }
  // A kept state has a recurrent state, a hidden row for the head, and at least one page.
  const int64_t hidden_size = options.with_mtp ? shape.hidden_size : 0;
  const int64_t state_bytes =
      static_cast<int64_t>(shape.recurrent.slot_floats() * shape.num_recurrent_layers +
                           hidden_size) *
      static_cast<int64_t>(sizeof(float));
  const int64_t num_kept =
      std::min(kMostKeptStates, options.prefix_cache_memory / (state_bytes + page_bytes));
  if (fitted && num_kept == 0) options.prefix_cache_memory = 0;
  if (options.prefix_cache_memory > 0 && num_kept == 0) {
    return MakeError(
        StatusCode::kInvalidArgument, "prefix_cache_memory",
        fmt::format("0, or at least {} bytes, which one state takes", state_bytes + page_bytes),
        fmt::format("{}", options.prefix_cache_memory));
  }
  if (num_kept > 0)
    num_pages += (options.prefix_cache_memory - num_kept * state_bytes) / page_bytes;
  VERBATIM_RETURN_IF_ERROR(CheckRange("kv_memory in pages", num_pages, 1, INT32_MAX));
  VERBATIM_ASSIGN_OR_RETURN(
      kv, KvCache::Create(*backend, shape.num_kv_layers, shape.kv, static_cast<int>(num_pages)));
  const int64_t num_slots = options.max_sequences + options.max_conversations + num_kept;
  VERBATIM_ASSIGN_OR_RETURN(
      recurrent, RecurrentCache::Create(*backend, shape.num_recurrent_layers, shape.recurrent,
                                        static_cast<int>(num_slots)));
  caches = {.kv = kv.get(), .recurrent = recurrent.get()};
  if (num_kept == 0) return {};
  VERBATIM_ASSIGN_OR_RETURN(prefix_cache,
                            PrefixCache::Create(*backend, *kv, *recurrent,
                                                {.max_bytes = options.prefix_cache_memory,
                                                 .max_entries = static_cast<int>(num_kept),
                                                 .hidden_size = hidden_size}));
  return {};
}

Status Engine::Impl::LoadText(const std::filesystem::path& folder) {
  VERBATIM_ASSIGN_OR_RETURN(tokenizer, Tokenizer::Load(folder));
  auto loaded = ChatTemplate::Load(folder, options.chat_template);
  if (loaded.ok()) {
    chat_template = *std::move(loaded);
  } else {
    if (!options.chat_template.empty()) return loaded.status();
    chat_template_error = loaded.status();  // only a request that needs the template fails
  }
  return {};
}

// What the contract mode comes to on this machine. kDivergence: `strict`, and the probe says no.
Status Engine::Impl::SettleContract(double load_ms) {
  const ContractMode mode = options.contract;
  info.contract_held = mode;
  if (mode == ContractMode::kOff) {
    info.probe.detail = info.contract_reason = "speculation is switched off";
    return {};
  }
  if (mode == ContractMode::kGreedy && !backend->variance().empty()) {
    info.probe.detail = "greedy promises no equal bytes";
    info.contract_reason = backend->variance();
    return {};
  }
  info.probe = RunProbe(*tracing_backend, *model, caches,
                        {.max_block_rows = kMaxDraftTokens + 1,
                         .max_step_rows = std::min(max_rows, kMostProbedRows),
                         .budget_ms = std::max(kLeastProbeMs, kProbeShare * load_ms)});
  info.contract_reason = fmt::format("probe: {}", info.probe.detail);
  if (info.probe.verdict == ProbeVerdict::kEqual) {
    info.contract_held = ContractMode::kExact;
    return {};
  }
  if (mode == ContractMode::kGreedy) return {};
  info.contract_held = ContractMode::kOff;
  if (mode == ContractMode::kExact) return {};  // declines: classic decode
  return MakeError(StatusCode::kDivergence, "--contract strict",
                   "blocks with the bytes of single rows",
                   fmt::format("{}: {}", ProbeVerdictName(info.probe.verdict), info.probe.detail),
                   "--contract exact, which then decodes classically");
}

void Engine::Impl::Describe(const Checkpoint& checkpoint) {
  info.model_folder = checkpoint.folder.string();
  info.model_type = checkpoint.config.model_type;
  info.layout = checkpoint.layout;
  info.weight_types = checkpoint.weight_types;
  info.mtp_source = checkpoint.mtp_source;
  info.has_mtp = mtp_drafter != nullptr;
  info.backend = std::string(backend->name());
  info.target = std::string(backend->target());
  info.numerics = BackendNumerics(*backend, options.kv_type);
  info.contract = options.contract;
  info.num_threads = options.num_threads;
  info.context = options.context;
  info.vocab_size = model->shape().vocab_size;
  info.hidden_size = model->shape().hidden_size;
  info.weight_bytes = model->weight_bytes();
  info.cache_bytes = kv->bytes() + recurrent->bytes();
  info.prefix_cache_bytes = options.prefix_cache_memory;
  info.kv_page_bytes = kv->page_bytes();
  info.kept_state_bytes =
      PrefixCache::StateBytes(*recurrent, options.with_mtp ? info.hidden_size : 0);
  info.eos_token_ids = checkpoint.config.eos_token_ids;
  info.default_sampling = checkpoint.generation_defaults.sampling;
  info.default_sampling_fields = checkpoint.generation_defaults.fields;
  // The configs' list is additional to the tokenizer's end of turn (users_expect.md 2.3).
  if (const auto eos = tokenizer->eos_token_id();
      eos && std::ranges::find(info.eos_token_ids, *eos) == info.eos_token_ids.end()) {
    info.eos_token_ids.push_back(*eos);
  }
}

}  // namespace verbatim

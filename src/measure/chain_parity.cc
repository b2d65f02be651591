// The chain, then one case after the other against what it left.
#include "measure/chain_parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include "backend/create_backend.h"
#include "checkpoint/loader.h"
#include "model/load_model.h"
#include "text/tokenizer.h"
#include "verbatim/request.h"

namespace verbatim {
namespace {

constexpr std::string_view kDefaultPrompt =
    "The lighthouse keeper wrote one line in the log every evening, and this evening it was:";
constexpr int kMaxWidth = kMaxDraftTokens + 1;
constexpr int kMaxTokens = 4096;
// Folding what is accepted instead of leaving it to the next step is the other way that states
// take; every so many rounds.
constexpr int kRoundsPerFold = 4;

TopTwo TopTwoOf(std::span<const float> logits) {
  size_t best = 0;
  for (size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  float second = -INFINITY;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != best) second = std::max(second, logits[i]);
  }
  return {static_cast<int32_t>(best), logits[best] - second};
}

// What the chain left at one position.
struct Link {
  TracedPass pass;
  std::vector<float> logits;  // [V]
  std::vector<float> hidden;  // [H]
  std::vector<float> state;   // recurrent, behind this token
};

class ChainParity {
 public:
  explicit ChainParity(const ChainParityOptions& options) : options_(options) {}

  Expected<ChainParityReport> Run() {
    VERBATIM_RETURN_IF_ERROR(CheckOptions());
    VERBATIM_RETURN_IF_ERROR(Load());
    VERBATIM_RETURN_IF_ERROR(RunChain());
    std::vector<ChainCase> cases;
    for (const int width : widths_) {
      cases.push_back({.width = width, .fate = DraftFate::kAccepted});
      if (width == 1) continue;  // has no drafts
      for (int seed = 1; seed <= options_.num_seeds; ++seed) {
        cases.push_back({.width = width, .fate = DraftFate::kMixed, .seed = seed});
      }
      cases.push_back({.width = width, .fate = DraftFate::kRejected});
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      VERBATIM_RETURN_IF_ERROR(Tell(static_cast<double>(i) / static_cast<double>(cases.size()),
                                    fmt::format("blocks of {}", cases[i].width)));
      VERBATIM_RETURN_IF_ERROR(RunCase(cases[i]));
    }
    report_.cases = std::move(cases);
    return std::move(report_);
  }

 private:
  Status CheckOptions();
  Status Load();
  Status RunChain();
  Status RunCase(ChainCase& one);
  // Compares the rows of a block that began at `at`; true: all equal.
  bool CompareRows(ChainCase& one, const TracedPass& pass, int64_t at, int comparable);
  bool CompareState(ChainCase& one, SequenceState& state, int64_t at);

  Status Tell(double fraction, const std::string& what) const {
    if (options_.progress) options_.progress(fraction, what);
    if (!options_.stop || !options_.stop()) return {};
    return MakeError(StatusCode::kCancelled, "parity chain", "to finish", "a request to stop");
  }
  std::vector<float> Read(const float* device, int64_t count) {
    std::vector<float> host(static_cast<size_t>(count));
    backend_->CopyToHost(host.data(), device, host.size() * sizeof(float));
    return host;
  }

  const ChainParityOptions& options_;
  ChainParityReport report_;
  std::vector<int> widths_;
  std::unique_ptr<TracingBackend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KvCache> kv_;
  std::unique_ptr<RecurrentCache> recurrent_;
  std::unique_ptr<BlockWalk> walk_;
  std::vector<int32_t> prompt_;
  std::vector<int32_t> tokens_;  // behind the prompt, the last one's successor included
  std::vector<Link> chain_;      // one for each of tokens_ but the last
};

Status ChainParity::CheckOptions() {
  const auto refuse = [](std::string_view option, const std::string& expected, int64_t received) {
    return MakeError(StatusCode::kInvalidArgument, option, expected, fmt::format("{}", received));
  };
  if (options_.num_tokens < 1 || options_.num_tokens > kMaxTokens) {
    return refuse("num_tokens", fmt::format("1 to {}", kMaxTokens), options_.num_tokens);
  }
  if (options_.num_seeds < 0 || options_.num_seeds > 1000) {
    return refuse("num_seeds", "0 to 1000", options_.num_seeds);
  }
  widths_ = options_.widths;
  for (int width = 1; options_.widths.empty() && width <= kMaxWidth; ++width) {
    widths_.push_back(width);
  }
  for (const int width : widths_) {
    if (width < 1 || width > kMaxWidth) return refuse("widths", "1 to 16", width);
  }
  return {};
}

Status ChainParity::Load() {
  VERBATIM_ASSIGN_OR_RETURN(const Checkpoint checkpoint, LoadCheckpoint({.model = options_.model}));
  VERBATIM_ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Load(checkpoint.folder));
  VERBATIM_ASSIGN_OR_RETURN(
      prompt_, tokenizer->Encode(options_.prompt.empty() ? kDefaultPrompt : options_.prompt));
  if (prompt_.empty()) {
    return MakeError(StatusCode::kInvalidArgument, "prompt", "at least one token", "none");
  }
  VERBATIM_ASSIGN_OR_RETURN(auto backend, CreateBackend({.contract = options_.contract,
                                                         .num_threads = options_.num_threads,
                                                         .target = options_.target}));
  backend_ = std::make_unique<TracingBackend>(std::move(backend));
  const int64_t positions = static_cast<int64_t>(prompt_.size()) + options_.num_tokens + kMaxWidth;
  if (positions > checkpoint.config.max_position_embeddings) {
    return MakeError(
        StatusCode::kInvalidArgument, "prompt and tokens",
        fmt::format("at most the model's {} positions", checkpoint.config.max_position_embeddings),
        fmt::format("{}", positions));
  }
  const int max_rows = std::max(static_cast<int>(prompt_.size()), kMaxWidth);
  VERBATIM_ASSIGN_OR_RETURN(model_, LoadModel(checkpoint, *backend_,
                                              {.num_positions = positions,
                                               .max_rows = max_rows,
                                               .max_logit_rows = max_rows,
                                               .max_drafts = kMaxDraftTokens,
                                               .kv_type = options_.kv_type,
                                               .progress = options_.progress}));
  const ModelShape& shape = model_->shape();
  const auto pages = static_cast<int>(positions / ops::kPageSlots + 1);
  VERBATIM_ASSIGN_OR_RETURN(kv_, KvCache::Create(*backend_, shape.num_kv_layers, shape.kv, pages));
  VERBATIM_ASSIGN_OR_RETURN(
      recurrent_,
      RecurrentCache::Create(*backend_, shape.num_recurrent_layers, shape.recurrent, 1));
  walk_ = std::make_unique<BlockWalk>(*backend_, *model_,
                                      Caches{.kv = kv_.get(), .recurrent = recurrent_.get()},
                                      /*with_logits=*/true);
  report_.model_folder = checkpoint.folder.string();
  report_.backend = backend_->name();
  report_.target = backend_->target();
  report_.contract = options_.contract;
  report_.num_threads = options_.num_threads;
  report_.prompt_tokens = static_cast<int>(prompt_.size());
  report_.num_tokens = options_.num_tokens;
  report_.vocab_size = shape.vocab_size;
  report_.hidden_size = shape.hidden_size;
  return {};
}

Status ChainParity::RunChain() {
  const int64_t vocab_size = report_.vocab_size;
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk_->Start(static_cast<int64_t>(prompt_.size()) +
                                                              options_.num_tokens + kMaxWidth));
  walk_->Run(state, prompt_, static_cast<int>(prompt_.size()), 0);
  const int64_t last = static_cast<int64_t>(prompt_.size()) - 1;
  tokens_.push_back(TopTwoOf(Read(walk_->logits() + last * vocab_size, vocab_size)).token);
  for (int i = 0; i < options_.num_tokens; ++i) {
    VERBATIM_RETURN_IF_ERROR(
        Tell(static_cast<double>(i) / options_.num_tokens, "chain of single tokens"));
    Link link;
    link.pass = walk_->Run(state, {&tokens_.back(), 1}, 1, 0);
    link.logits = Read(walk_->logits(), vocab_size);
    link.hidden = Read(model_->hidden(), report_.hidden_size);
    link.state = walk_->ReadRecurrent(state);
    tokens_.push_back(TopTwoOf(link.logits).token);
    chain_.push_back(std::move(link));
  }
  walk_->Release(state);
  return {};
}

Status ChainParity::RunCase(ChainCase& one) {
  VERBATIM_ASSIGN_OR_RETURN(SequenceState state, walk_->Start(static_cast<int64_t>(prompt_.size()) +
                                                              options_.num_tokens + kMaxWidth));
  walk_->Run(state, prompt_, static_cast<int>(prompt_.size()), 0);
  std::mt19937 random(static_cast<uint32_t>(1000 * one.width + one.seed));
  const auto vocab_size = static_cast<uint32_t>(report_.vocab_size);
  const int64_t end = options_.num_tokens;
  std::vector<int32_t> block;
  for (int64_t at = 0; at < end && !one.divergence; ++one.rounds) {
    // Near the end a block has fewer right drafts, so that the case ends where the chain does.
    const int most = static_cast<int>(std::min<int64_t>(one.width - 1, end - at - 1));
    int accepted = one.fate == DraftFate::kRejected ? 0 : most;
    if (one.fate == DraftFate::kMixed) {
      accepted = static_cast<int>(random() % static_cast<uint32_t>(most + 1));
    }
    block.assign(tokens_.begin() + at, tokens_.begin() + at + 1 + accepted);
    while (static_cast<int>(block.size()) < one.width) {  // some other token than the chain's
      const size_t next = static_cast<size_t>(at) + block.size();
      const int32_t right = next < tokens_.size() ? tokens_[next] : 0;
      block.push_back(static_cast<int32_t>(
          (static_cast<uint32_t>(right) + 1 + random() % (vocab_size - 1)) % vocab_size));
    }
    const TracedPass pass = walk_->Run(state, block, 1, accepted);
    if (!CompareRows(one, pass, at, 1 + accepted)) break;
    at += 1 + accepted;
    const bool fold = one.rounds % kRoundsPerFold == kRoundsPerFold - 1 || at == end;
    if (fold && !CompareState(one, state, at - 1)) break;
  }
  walk_->Release(state);
  return {};
}

bool ChainParity::CompareRows(ChainCase& one, const TracedPass& pass, int64_t at, int comparable) {
  for (int row = 0; row < comparable; ++row) {
    const Link& link = chain_[static_cast<size_t>(at + row)];
    const auto logits = Read(walk_->logits() + row * report_.vocab_size, report_.vocab_size);
    const auto hidden = Read(model_->hidden() + row * report_.hidden_size, report_.hidden_size);
    ChainDivergence found;
    found.op = FirstDifference(pass, row, link.pass);
    found.logit_bytes = DifferingBytes(logits, link.logits);
    found.hidden_bytes = DifferingBytes(hidden, link.hidden);
    ++one.rows_compared;
    if (!found.op && found.logit_bytes == 0 && found.hidden_bytes == 0) continue;
    found.position = at + row;
    found.round = static_cast<int>(one.rounds);
    found.row = row;
    found.chain = TopTwoOf(link.logits);
    found.block = TopTwoOf(logits);
    for (size_t i = 0; i < logits.size(); ++i) {
      found.largest = std::max(found.largest, std::abs(logits[i] - link.logits[i]));
    }
    one.divergence = std::move(found);
    return false;
  }
  return true;
}

// Behind position `at`. Every row so far was equal, so what differs is what the block left behind.
bool ChainParity::CompareState(ChainCase& one, SequenceState& state, int64_t at) {
  const bool folds = state.num_accepted_drafts > 0;
  const std::vector<float> read = walk_->ReadRecurrent(state);
  const Link& link = chain_[static_cast<size_t>(at)];
  ++one.states_compared;
  const int64_t bytes = DifferingBytes(read, link.state);
  if (bytes == 0) return true;
  ChainDivergence found;
  found.position = at;
  found.round = static_cast<int>(one.rounds);
  found.chain = found.block = TopTwoOf(link.logits);
  found.state_bytes = bytes;
  if (folds) found.op = OpDifference{.op = ops::Op::kFoldRecords, .row = -1};
  one.divergence = std::move(found);
  return false;
}

}  // namespace

std::string_view DraftFateName(DraftFate fate) {
  static constexpr std::array<std::string_view, 3> kNames = {"accepted", "mixed", "rejected"};
  return kNames[static_cast<size_t>(fate)];
}

bool ChainParityReport::Holds() const {
  return std::ranges::none_of(cases,
                              [](const ChainCase& one) { return one.divergence.has_value(); });
}

Expected<ChainParityReport> RunChainParity(const ChainParityOptions& options) {
  return ChainParity(options).Run();
}

}  // namespace verbatim

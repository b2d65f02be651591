// One pass at a time, traced; and the comparison of two passes.
#include "engine/block_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/half.h"

namespace verbatim {
namespace {

// Calls of ops in one pass: a layer has about 15, and no published model more than 200 layers.
constexpr size_t kMaxCalls = 4096;

}  // namespace

std::string OpDifference::Describe() const {
  std::string text(ops::OpName(op));
  if (!weights.empty()) text += " " + weights;
  if (layer >= 0) text += fmt::format(", layer {}", layer);
  if (row >= 0) text += fmt::format(", row {}", row);
  return text + (route ? " (another kernel, order or split)" : "");
}

BlockWalk::BlockWalk(TracingBackend& backend, Model& model, const Caches& caches, bool with_logits)
    : backend_(backend),
      model_(model),
      caches_(caches),
      with_logits_(with_logits),
      log_(kMaxCalls) {}

Expected<SequenceState> BlockWalk::Start(int64_t num_tokens) {
  SequenceState state;
  VERBATIM_RETURN_IF_ERROR(caches_.kv->Grow(num_tokens, state.pages));
  auto slot = caches_.recurrent->Acquire();
  if (!slot.ok()) {
    caches_.kv->Release(state.pages);
    return slot.status();
  }
  state.recurrent_slot = *slot;
  return state;
}

void BlockWalk::Release(SequenceState& state) {
  caches_.kv->Release(state.pages);
  caches_.recurrent->Release(state.recurrent_slot);
}

TracedPass BlockWalk::Run(SequenceState& state, std::span<const int32_t> tokens, int num_certain,
                          int num_accepted) {
  const int num_rows = static_cast<int>(tokens.size());
  const ops::SequenceRows rows = {.num_rows = num_rows,
                                  .num_certain = num_certain,
                                  .first_slot = static_cast<int>(state.num_consumed),
                                  .first_position = static_cast<int>(state.num_consumed),
                                  .pages = state.PagesFor(state.num_consumed + num_rows),
                                  .recurrent_slot = state.recurrent_slot,
                                  .num_accepted_drafts = state.num_accepted_drafts};
  log_.Clear();
  backend_.SetDispatchLog(&log_);
  backend_.StartRecording();
  model_.Forward(tokens, {.sequences = {&rows, 1}, .num_rows = num_rows}, caches_);
  if (with_logits_) {
    std::vector<int32_t> all(tokens.size());
    std::iota(all.begin(), all.end(), 0);
    logits_ = model_.Logits(all);
    std::vector<ops::BestLogit> best(tokens.size());
    const int64_t vocab_size = model_.shape().vocab_size;
    backend_.BestLogits({.logits = logits_,
                         .num_rows = num_rows,
                         .vocab_size = vocab_size,
                         .num_choosable = vocab_size,
                         .best = best.data()});
  }
  TracedPass pass;
  pass.calls = backend_.StopRecording();
  pass.routes.assign(log_.records().begin(), log_.records().end());
  backend_.SetDispatchLog(nullptr);
  VERBATIM_CHECK(pass.routes.size() == pass.calls.size());
  num_recurrent_ = static_cast<int>(std::ranges::count(
      pass.calls, ops::Op::kConvAndGatedDelta, [](const TracedCall& call) { return call.op; }));
  state.num_consumed += num_certain + num_accepted;
  state.num_accepted_drafts = num_accepted;
  return pass;
}

std::vector<float> BlockWalk::ReadRecurrent(SequenceState& state) {
  caches_.recurrent->Fold(state.recurrent_slot, state.num_accepted_drafts);
  state.num_accepted_drafts = 0;
  std::vector<float> all;
  for (int layer = 0; layer < num_recurrent_; ++layer) {
    const std::vector<float> one = caches_.recurrent->Read(layer, state.recurrent_slot);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::optional<OpDifference> FirstDifference(const TracedPass& block, int row,
                                            const TracedPass& single) {
  VERBATIM_CHECK(block.calls.size() == single.calls.size());
  const auto at = [&](size_t i, bool route) {
    const TracedCall& call = block.calls[i];
    return OpDifference{.op = call.op,
                        .layer = LayerOf(block.calls, i),
                        .weights = call.weights == nullptr ? std::string() : *call.weights,
                        .row = row,
                        .route = route};
  };
  for (size_t i = 0; i < block.calls.size(); ++i) {
    VERBATIM_CHECK(block.calls[i].op == single.calls[i].op);
    if (block.calls[i].rows[static_cast<size_t>(row)] != single.calls[i].rows[0]) {
      return at(i, false);
    }
  }
  for (size_t i = 0; i < block.routes.size(); ++i) {
    if (!SameRoute(block.routes[i], single.routes[i])) return at(i, true);
  }
  return std::nullopt;
}

int64_t DifferingBytes(std::span<const float> a, std::span<const float> b) {
  VERBATIM_CHECK(a.size() == b.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const uint32_t different = CanonicalBits(a[i]) ^ CanonicalBits(b[i]);
    for (int shift = 0; shift < 32; shift += 8) bytes += (different >> shift & 0xff) != 0 ? 1 : 0;
  }
  return bytes;
}

}  // namespace verbatim

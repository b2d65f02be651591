// Rows in, logits and state bytes out.
#include "tests/support/model_harness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "backend/cpu/cpu_backend.h"

namespace verbatim::testing {
namespace {

template <typename T>
T Require(Expected<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().message().c_str());
    std::abort();
  }
  return *std::move(value);
}

constexpr int kMaxLogitRows = 64;

}  // namespace

ModelHarness::ModelHarness(const std::filesystem::path& folder, const HarnessOptions& options)
    : checkpoint(Require(LoadCheckpoint({.model = folder.string(), .want_mtp = options.with_mtp}))),
      backend(Require(
          cpu::CreateCpuBackend({.num_threads = options.num_threads, .target = options.target}))) {
  if (options.wrap) backend = options.wrap(std::move(backend));
  model = Require(LoadModel(checkpoint, *backend,
                            {.num_positions = options.context,
                             .max_rows = options.max_rows,
                             .max_logit_rows = kMaxLogitRows,
                             .max_drafts = 15,
                             .kv_type = options.kv_type,
                             .with_draft_head = options.with_mtp}));
  const ModelShape& shape = model->shape();
  const int pages = static_cast<int>(options.context / ops::kPageSlots + 1) * options.max_sequences;
  kv = Require(KvCache::Create(*backend, shape.num_kv_layers, shape.kv, pages));
  recurrent = Require(RecurrentCache::Create(*backend, shape.num_recurrent_layers, shape.recurrent,
                                             options.max_sequences));
  caches = {.kv = kv.get(), .recurrent = recurrent.get()};
}

SequenceState ModelHarness::NewSequence(int64_t num_tokens) {
  SequenceState state;
  if (!kv->Grow(num_tokens + 1, state.pages).ok()) std::abort();
  state.recurrent_slot = Require(recurrent->Acquire());
  return state;
}

void ModelHarness::Release(SequenceState& state) {
  kv->Release(state.pages);
  recurrent->Release(state.recurrent_slot);
}

ModelHarness::Logits ModelHarness::Run(SequenceState& state, std::span<const int32_t> tokens,
                                       int num_certain, int num_accepted_drafts) {
  const int num_rows = static_cast<int>(tokens.size());
  const ops::SequenceRows rows = {.num_rows = num_rows,
                                  .num_certain = num_certain,
                                  .first_slot = static_cast<int>(state.num_consumed),
                                  .first_position = static_cast<int>(state.num_consumed),
                                  .pages = state.pages.data(),
                                  .recurrent_slot = state.recurrent_slot,
                                  .num_accepted_drafts = state.num_accepted_drafts};
  model->Forward(tokens, {.sequences = {&rows, 1}, .num_rows = num_rows}, caches);
  state.num_consumed += num_certain + num_accepted_drafts;
  state.num_accepted_drafts = num_accepted_drafts;
  Logits logits;
  std::vector<int32_t> wanted;
  for (int begin = 0; begin < num_rows; begin += kMaxLogitRows) {
    wanted.resize(std::min(kMaxLogitRows, num_rows - begin));
    std::iota(wanted.begin(), wanted.end(), begin);
    const float* device = model->Logits(wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      std::vector<float> row(model->shape().vocab_size);
      backend->CopyToHost(row.data(), device + i * row.size(), row.size() * sizeof(float));
      logits.push_back(std::move(row));
    }
  }
  return logits;
}

std::vector<std::byte> ModelHarness::ReadKv(const SequenceState& state, int num_layers,
                                            int64_t first_slot, int64_t end_slot) {
  std::vector<std::byte> bytes;
  for (int layer = 0; layer < num_layers; ++layer) {
    const ops::KvCacheView view = kv->View(layer);
    const ops::KvLayout& layout = view.layout;
    const size_t size = layout.element_bytes();
    for (int64_t slot = first_slot; slot < end_slot; ++slot) {
      const std::byte* page =
          view.pages + state.pages[slot / ops::kPageSlots] * layout.page_bytes();
      const int in_page = static_cast<int>(slot % ops::kPageSlots);
      for (int head = 0; head < layout.num_kv_heads; ++head) {
        for (int d = 0; d < layout.head_dim; ++d) {
          const std::byte* k = page + layout.KOffset(head, in_page, d) * size;
          const std::byte* v = page + layout.VOffset(head, in_page, d) * size;
          bytes.insert(bytes.end(), k, k + size);
          bytes.insert(bytes.end(), v, v + size);
        }
      }
    }
  }
  return bytes;
}

std::vector<float> ModelHarness::ReadRecurrent(SequenceState& state) {
  recurrent->Fold(state.recurrent_slot, state.num_accepted_drafts);
  state.num_accepted_drafts = 0;
  std::vector<float> all;
  for (int layer = 0; layer < recurrent->num_layers(); ++layer) {
    const std::vector<float> one = recurrent->Read(layer, state.recurrent_slot);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

}  // namespace verbatim::testing

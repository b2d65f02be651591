// conv_and_gated_delta and fold_records for every target (ops/conv_and_gated_delta.h). Not the
// recurrence inside a tile (gated_delta_tile-inl.h).
//
// Three phases, since every item reads records and convolution rows of the previous block:
//   1. rows x key heads: convolution, L2 norms and gates into scratch;
//   2. sequences x value heads x tiles: fold the accepted records, run the rows, write S and d;
//   3. sequences x key heads: convolution rows and the other records, which nobody reads any more.
// The d records of a tile are read and written by one item of phase 2 alone, in this order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/gated_delta.cc"
// clang-format off
#include "backend/cpu/simd_config.h"
#include "hwy/foreach_target.h"
// clang-format on
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/gated_delta_scratch.h"
#include "backend/cpu/gated_delta_tile-inl.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/norm-inl.h"
#include "backend/cpu/simd_math-inl.h"
#include "backend/cpu/step_rows.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {
namespace {

using ops::kConvTaps;
using ops::kValueTile;
using ops::RecurrentLayout;

constexpr float kMinLogDecay = -44.0f;  // below, e is +0 (numerics.md 6)
constexpr float kL2Eps = 1e-6f;         // numerics.md 8
constexpr int kMaxFoldedTokens = 16;    // in one pass over a tile

// The channels of the mixed row that belong to one key head: q, k and the values of its value
// heads.
struct HeadChannels {
  int64_t q, k, v;
  int64_t key_width, value_width;
  int first_value_head, num_value_heads;

  HeadChannels(const RecurrentLayout& layout, int key_head) {
    key_width = layout.key_head_dim;
    num_value_heads = layout.num_value_heads / layout.num_key_heads;
    first_value_head = key_head * num_value_heads;
    value_width = int64_t{num_value_heads} * layout.value_head_dim;
    q = key_head * key_width;
    k = static_cast<int64_t>(layout.key_dim()) + q;
    v = 2 * static_cast<int64_t>(layout.key_dim()) + key_head * value_width;
  }
};

// out[c] = silu(chain over taps, oldest first) for n channels from `channel` on.
void ConvSilu(const float* const* taps, const float* weight, int64_t conv_dim, int64_t channel,
              int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    F32x16 y = Zero();
    for (int tap = 0; tap < kConvTaps; ++tap) {
      y = Fma(LoadUpTo(taps[tap] + channel + i, n - i),
              LoadUpTo(weight + tap * conv_dim + channel + i, n - i), y);
    }
    StoreUpTo(Silu(y), out + channel + i, n - i);
  }
}

// x[i] *= r, r = 1 / sqrt(sum + 1e-6).
void L2Norm(float* x, int64_t n) {
  const F32x16 r = Set(1.0f / std::sqrt(SumOfSquares(x, n) + kL2Eps));
  for (int64_t i = 0; i < n; i += kLanes) {
    StoreUpTo(Mul(LoadUpTo(x + i, n - i), r), x + i, n - i);
  }
}

void Scale(float* x, int64_t n, float factor) {
  const F32x16 c = Set(factor);
  for (int64_t i = 0; i < n; i += kLanes) {
    StoreUpTo(Mul(LoadUpTo(x + i, n - i), c), x + i, n - i);
  }
}

// beta and e of value heads [first, first + n) of one row.
void Gates(const ops::ConvAndGatedDeltaArgs& args, int64_t row, int first, int n, float* beta,
           float* decay) {
  const int64_t heads = args.state.layout.num_value_heads;
  const float* a = args.a + row * heads;
  const float* b = args.b + row * heads;
  for (int i = 0; i < n; i += kLanes) {
    const int head = first + i;
    const int left = n - i;
    StoreUpTo(Sigmoid(LoadUpTo(b + head, left)), beta + head, left);
    const F32x16 step =
        Softplus(Add(LoadUpTo(a + head, left), LoadUpTo(args.dt_bias + head, left)));
    const F32x16 g = Neg(Mul(LoadUpTo(args.decay_rate + head, left), step));
    StoreUpTo(Select(Lt(g, Set(kMinLogDecay)), Zero(), Exp(g)), decay + head, left);
  }
}

// The four input rows of the convolution for row `index` of the sequence.
void ConvInputs(const ops::ConvAndGatedDeltaArgs& args, const RecurrentSlot& slot,
                const ops::SequenceRows& sequence, int index, const float** taps) {
  const int64_t conv_dim = slot.layout.conv_dim();
  for (int tap = 0; tap < kConvTaps; ++tap) {
    const int input = index - (kConvTaps - 1) + tap;
    taps[tap] = input < 0 ? slot.History(sequence.num_accepted_drafts, input + kConvTaps - 1)
                          : args.mixed + (int64_t{sequence.first_row} + input) * conv_dim;
  }
}

// Phase 1.
int64_t ConvItems(const ops::ConvAndGatedDeltaArgs& args) {
  return int64_t{args.step.num_rows} * args.state.layout.num_key_heads;
}
int64_t ConvItemsPerTask(const ops::ConvAndGatedDeltaArgs& args) {
  // About 1 ns a channel, so 8192 channels are 8 us.
  const RecurrentLayout& layout = args.state.layout;
  const int64_t channels = static_cast<int64_t>(layout.conv_dim()) / layout.num_key_heads;
  return std::max<int64_t>(1, 8192 / channels);
}
void ConvRun(const ops::ConvAndGatedDeltaArgs& args, int64_t begin, int64_t end,
             const Workspace& workspace) {
  const RecurrentLayout& layout = args.state.layout;
  const int64_t conv_dim = layout.conv_dim();
  const GatedDeltaScratch scratch(layout, args.step.num_rows, workspace.shared);
  for (int64_t item = begin; item < end; ++item) {
    // Heads are the slower index, so that the second phase finds a head's rows where it runs.
    const int row = static_cast<int>(item % args.step.num_rows);
    const HeadChannels channels(layout, static_cast<int>(item / args.step.num_rows));
    const ops::SequenceRows& sequence = SequenceOfRow(args.step, row);
    const RecurrentSlot slot(args.state, sequence.recurrent_slot);
    const float* taps[kConvTaps];
    ConvInputs(args, slot, sequence, row - sequence.first_row, taps);
    float* out = scratch.qkv + row * conv_dim;
    ConvSilu(taps, args.conv_weight, conv_dim, channels.q, channels.key_width, out);
    ConvSilu(taps, args.conv_weight, conv_dim, channels.k, channels.key_width, out);
    ConvSilu(taps, args.conv_weight, conv_dim, channels.v, channels.value_width, out);
    L2Norm(out + channels.q, channels.key_width);
    Scale(out + channels.q, channels.key_width, args.query_scale);
    L2Norm(out + channels.k, channels.key_width);
    const int64_t heads = layout.num_value_heads;
    Gates(args, row, channels.first_value_head, channels.num_value_heads,
          scratch.beta + row * heads, scratch.decay + row * heads);
  }
}

void FoldTile(const RecurrentSlot& slot, int num_accepted, int head, int tile, float* state) {
  const RecurrentLayout& layout = slot.layout;
  const int key_head = head / (layout.num_value_heads / layout.num_key_heads);
  const int64_t channel = int64_t{head} * layout.value_head_dim + tile * kValueTile;
  if (num_accepted == 0) return;
  KnownToken tokens[kMaxFoldedTokens];
  for (int first = 0; first < num_accepted; first += kMaxFoldedTokens) {
    const int count = std::min(kMaxFoldedTokens, num_accepted - first);
    for (int i = 0; i < count; ++i) {
      const int draft = first + i;
      tokens[i] = {slot.KeyRecord(draft) + key_head * layout.key_head_dim,
                   Load(slot.DeltaRecord(draft) + channel), slot.DecayRecord(draft)[head]};
    }
    FoldTokens(tokens, count, layout.key_head_dim, state);
  }
}

// Phase 2, one item: a tile of 16 value channels over all rows of a sequence. Certain rows change
// the state in place; drafts start from it in `local`, and what the last one leaves nobody needs.
void RunTile(const ops::ConvAndGatedDeltaArgs& args, const GatedDeltaScratch& scratch,
             const ops::SequenceRows& sequence, int head, int tile, float* local) {
  const RecurrentLayout& layout = args.state.layout;
  const RecurrentSlot slot(args.state, sequence.recurrent_slot);
  const int key_dim = layout.key_head_dim;
  const int key_head = head / (layout.num_value_heads / layout.num_key_heads);
  const int64_t channel = int64_t{head} * layout.value_head_dim + tile * kValueTile;
  float* const state = slot.Tile(head, tile);
  FoldTile(slot, sequence.num_accepted_drafts, head, tile, state);
  for (int index = 0; index < sequence.num_rows; ++index) {
    const int64_t row = int64_t{sequence.first_row} + index;
    const float* qkv = scratch.qkv + row * layout.conv_dim();
    const float* qhat = qkv + int64_t{key_head} * key_dim;
    const int64_t gate = row * layout.num_value_heads + head;
    const int draft = index - sequence.num_certain;
    const float* from = draft <= 0 ? state : local;
    // The next item's tile lies behind this one.
    const float* ahead = from + (index == 0 ? key_dim * kValueTile : 0);
    float* to = draft < 0 ? state : index + 1 < sequence.num_rows ? local : nullptr;
    const TokenResult result =
        RunToken(qhat + layout.key_dim(), qhat, Load(qkv + 2 * layout.key_dim() + channel),
                 scratch.beta[gate], scratch.decay[gate], key_dim, from, to, ahead);
    Store(result.out, args.out + row * layout.value_dim() + channel);
    if (draft >= 0) Store(result.d, slot.DeltaRecord(draft) + channel);
  }
}

int TilesPerHead(const RecurrentLayout& layout) { return layout.value_head_dim / kValueTile; }

int64_t DeltaItems(const ops::ConvAndGatedDeltaArgs& args) {
  return static_cast<int64_t>(args.step.sequences.size()) * args.state.layout.num_value_heads *
         TilesPerHead(args.state.layout);
}
int64_t DeltaItemsPerTask(const ops::ConvAndGatedDeltaArgs& args) {
  // About 0.2 us a row and tile of 128 keys, so 32 of them are 6 us.
  const int64_t sequences = std::max<int64_t>(1, args.step.sequences.size());
  return std::max<int64_t>(1, 32 * sequences / std::max(1, args.step.num_rows));
}
void DeltaRun(const ops::ConvAndGatedDeltaArgs& args, int64_t begin, int64_t end,
              const Workspace& workspace) {
  const RecurrentLayout& layout = args.state.layout;
  const int tiles = TilesPerHead(layout);
  const GatedDeltaScratch scratch(layout, args.step.num_rows, workspace.shared);
  float* const local = reinterpret_cast<float*>(workspace.thread);  // [Dk][16]
  for (int64_t item = begin; item < end; ++item) {
    const int tile = static_cast<int>(item % tiles);
    const int head = static_cast<int>(item / tiles % layout.num_value_heads);
    RunTile(args, scratch, args.step.sequences[item / tiles / layout.num_value_heads], head, tile,
            local);
  }
}

// The convolution rows after `num_new` more inputs, for `n` channels. Reads all before it writes.
void CommitConv(const RecurrentSlot& slot, int num_accepted, const float* new_rows, int num_new,
                int64_t channel, int64_t n) {
  constexpr int kRows = kConvTaps - 1;
  const int64_t conv_dim = slot.layout.conv_dim();
  const float* source[kRows];
  for (int i = 0; i < kRows; ++i) {
    const int input = num_new + i;  // of the history followed by the new rows
    source[i] =
        input < kRows ? slot.History(num_accepted, input) : new_rows + (input - kRows) * conv_dim;
  }
  for (int64_t i = channel; i < channel + n; i += kLanes) {
    const int64_t left = channel + n - i;
    F32x16 rows[kRows];
    for (int r = 0; r < kRows; ++r) rows[r] = LoadUpTo(source[r] + i, left);
    for (int r = 0; r < kRows; ++r) StoreUpTo(rows[r], slot.ConvRow(r) + i, left);
  }
}

// Phase 3, one item: what one key head's channels leave for the next block.
void CommitHead(const ops::ConvAndGatedDeltaArgs& args, const GatedDeltaScratch& scratch,
                const ops::SequenceRows& sequence, int key_head) {
  const RecurrentLayout& layout = args.state.layout;
  const RecurrentSlot slot(args.state, sequence.recurrent_slot);
  const int64_t conv_dim = layout.conv_dim();
  const HeadChannels channels(layout, key_head);
  const int64_t first_channel[] = {channels.q, channels.k, channels.v};
  const int64_t widths[] = {channels.key_width, channels.key_width, channels.value_width};
  const float* mixed = args.mixed + sequence.first_row * conv_dim;
  for (int part = 0; part < 3; ++part) {
    CommitConv(slot, sequence.num_accepted_drafts, mixed, sequence.num_certain, first_channel[part],
               widths[part]);
    for (int row = sequence.num_certain; row < sequence.num_rows; ++row) {
      std::copy_n(mixed + row * conv_dim + first_channel[part], widths[part],
                  slot.ConvRecord(row - sequence.num_certain) + first_channel[part]);
    }
  }
  for (int index = sequence.num_certain; index < sequence.num_rows; ++index) {
    const int64_t row = int64_t{sequence.first_row} + index;
    const int draft = index - sequence.num_certain;
    std::copy_n(scratch.qkv + row * conv_dim + channels.k, channels.key_width,
                slot.KeyRecord(draft) + channels.q);
    std::copy_n(scratch.decay + row * layout.num_value_heads + channels.first_value_head,
                channels.num_value_heads, slot.DecayRecord(draft) + channels.first_value_head);
  }
}

int64_t CommitItems(const ops::ConvAndGatedDeltaArgs& args) {
  return static_cast<int64_t>(args.step.sequences.size()) * args.state.layout.num_key_heads;
}
int64_t CommitItemsPerTask(const ops::ConvAndGatedDeltaArgs&) {
  return 8;  // about 1 us each with some drafts
}
void CommitRun(const ops::ConvAndGatedDeltaArgs& args, int64_t begin, int64_t end,
               const Workspace& workspace) {
  const RecurrentLayout& layout = args.state.layout;
  const GatedDeltaScratch scratch(layout, args.step.num_rows, workspace.shared);
  for (int64_t item = begin; item < end; ++item) {
    CommitHead(args, scratch, args.step.sequences[item / layout.num_key_heads],
               static_cast<int>(item % layout.num_key_heads));
  }
}

// fold_records: tiles, then the convolution rows.
int64_t FoldTileItems(const ops::FoldRecordsArgs& args) {
  return args.num_accepted_drafts == 0
             ? 0
             : int64_t{args.state.layout.num_value_heads} * TilesPerHead(args.state.layout);
}
int64_t FoldTileItemsPerTask(const ops::FoldRecordsArgs&) { return 16; }
void FoldTileRun(const ops::FoldRecordsArgs& args, int64_t begin, int64_t end, const Workspace&) {
  const RecurrentSlot slot(args.state, args.recurrent_slot);
  const int tiles = TilesPerHead(args.state.layout);
  for (int64_t item = begin; item < end; ++item) {
    const int head = static_cast<int>(item / tiles);
    const int tile = static_cast<int>(item % tiles);
    FoldTile(slot, args.num_accepted_drafts, head, tile, slot.Tile(head, tile));
  }
}
int64_t FoldConvItems(const ops::FoldRecordsArgs& args) {
  return args.num_accepted_drafts == 0 ? 0 : 1;
}
int64_t FoldConvItemsPerTask(const ops::FoldRecordsArgs&) { return 1; }
void FoldConvRun(const ops::FoldRecordsArgs& args, int64_t, int64_t, const Workspace&) {
  const RecurrentSlot slot(args.state, args.recurrent_slot);
  CommitConv(slot, args.num_accepted_drafts, nullptr, 0, 0, args.state.layout.conv_dim());
}

size_t GatedDeltaSharedBytes(const ops::WorkspaceNeeds& needs) {
  return GatedDeltaScratch::Floats(needs.recurrent, needs.max_rows) * sizeof(float);
}
size_t GatedDeltaThreadBytes(const ops::WorkspaceNeeds& needs) {
  return size_t(needs.recurrent.key_head_dim) * kValueTile * sizeof(float);
}

}  // namespace

void FillGatedDeltaKernels(KernelTable& table) {
  auto& op = table.conv_and_gated_delta;
  op.phases[0] = {ConvItems, ConvItemsPerTask, ConvRun};
  op.phases[1] = {DeltaItems, DeltaItemsPerTask, DeltaRun};
  op.phases[2] = {CommitItems, CommitItemsPerTask, CommitRun};
  op.shared_bytes = GatedDeltaSharedBytes;
  op.thread_bytes = GatedDeltaThreadBytes;
  table.fold_records.phases[0] = {FoldTileItems, FoldTileItemsPerTask, FoldTileRun};
  table.fold_records.phases[1] = {FoldConvItems, FoldConvItemsPerTask, FoldConvRun};
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
VERBATIM_EXPORT_FILL(FillGatedDeltaKernels)
}  // namespace verbatim::cpu
#endif

// ScoreTile and AddValues: the two inner loops of attention over one page of one KV head, for some
// queries at once. Not the softmax around them (attention.cc).
#if defined(VERBATIM_BACKEND_CPU_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_ATTENTION_TILE_INL_H_
#undef VERBATIM_BACKEND_CPU_ATTENTION_TILE_INL_H_
#else
#define VERBATIM_BACKEND_CPU_ATTENTION_TILE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "backend/cpu/simd-inl.h"
#include "ops/kv_layout.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// Register blocks. A score needs four accumulators per query, a value kValueVectors per query.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int kScoreQueries = 1;
inline constexpr int kValueQueries = 1;
inline constexpr int kValueVectors = 1;
#elif HWY_TARGET <= HWY_AVX3
inline constexpr int kScoreQueries = 6;  // 24 accumulators + 4 of K of 32 registers
inline constexpr int kValueQueries = 6;
inline constexpr int kValueVectors = 4;  // 24 accumulators + 4 of V
#else
// 4 accumulators + 2 of K, of 16 lanes each: 12 of 16 registers on AVX2, 24 of 32 on NEON.
inline constexpr int kScoreQueries = 1;
inline constexpr int kValueQueries = 2;
inline constexpr int kValueVectors = 2;  // 4 accumulators + 2 of V
#endif

template <ops::KvType kType>
struct KvElement {
  using Type = uint16_t;
};
template <>
struct KvElement<ops::KvType::kF32> {
  using Type = float;
};

// Channels d, d + 1 of sixteen slots; `keys` is their tile of KvLayout.
template <ops::KvType kType>
HWY_INLINE void LoadKeyPair(const typename KvElement<kType>::Type* keys, int d, F32x16& even,
                            F32x16& odd) {
  if constexpr (kType == ops::KvType::kF32) {
    even = Load(keys + d * kLanes);
    odd = Load(keys + (d + 1) * kLanes);
  } else if constexpr (kType == ops::KvType::kF16) {
    LoadF16Pairs(keys + d * kLanes, even, odd);
  } else {
    LoadBf16Pairs(keys + d * kLanes, even, odd);
  }
}

template <ops::KvType kType>
HWY_INLINE F32x16 LoadValues(const typename KvElement<kType>::Type* values) {
  if constexpr (kType == ops::KvType::kF32) {
    return Load(values);
  } else if constexpr (kType == ops::KvType::kF16) {
    return LoadF16(values);
  } else {
    return LoadBf16(values);
  }
}

// scores[n][0, 16) = (q[n] . k[slot]) * scale for the sixteen slots of `keys`: four chains over d
// mod 4.
template <ops::KvType kType, int N>
void ScoreTile(const typename KvElement<kType>::Type* keys, int head_dim, float scale,
               const float* const* q, float* const* scores, int slot) {
  F32x16 c[N][4];
  for (int n = 0; n < N; ++n) {
    for (int i = 0; i < 4; ++i) c[n][i] = Zero();
  }
  for (int d = 0; d < head_dim; d += 4) {
    for (int pair = 0; pair < 4; pair += 2) {
      F32x16 even, odd;
      LoadKeyPair<kType>(keys, d + pair, even, odd);
      for (int n = 0; n < N; ++n) {
        c[n][pair] = Fma(Set(q[n][d + pair]), even, c[n][pair]);
        c[n][pair + 1] = Fma(Set(q[n][d + pair + 1]), odd, c[n][pair + 1]);
      }
    }
  }
  for (int n = 0; n < N; ++n) {
    const F32x16 dot = Add(Add(c[n][0], c[n][1]), Add(c[n][2], c[n][3]));
    Store(Mul(dot, Set(scale)), scores[n] + slot);
  }
}

// ScoreTile for `count` queries, in blocks of N, then of smaller ones.
template <ops::KvType kType, int N = kScoreQueries>
void ScoreQueries(const typename KvElement<kType>::Type* keys, int head_dim, float scale,
                  const float* const* q, float* const* scores, int slot, int count) {
  int n = 0;
  for (; n + N <= count; n += N) {
    ScoreTile<kType, N>(keys, head_dim, scale, q + n, scores + n, slot);
  }
  if constexpr (N > 1) {
    ScoreQueries<kType, N / 2>(keys, head_dim, scale, q + n, scores + n, slot, count - n);
  }
}

// out[n][channel ...] += the chain over slots [begin, end) of p[n][slot] * v[slot][channel ...],
// for 16 * C channels.
template <ops::KvType kType, int N, int C>
void AddValuesBlock(const typename KvElement<kType>::Type* values, int head_dim, int channel,
                    int begin, int end, const float* const* p, float* const* out) {
  F32x16 o[N][C];
  for (int n = 0; n < N; ++n) {
    for (int c = 0; c < C; ++c) o[n][c] = Load(out[n] + channel + c * kLanes);
  }
  for (int slot = begin; slot < end; ++slot) {
    F32x16 v[C];
    for (int c = 0; c < C; ++c) {
      v[c] = LoadValues<kType>(values + int64_t{slot} * head_dim + channel + c * kLanes);
    }
    for (int n = 0; n < N; ++n) {
      const F32x16 weight = Set(p[n][slot]);
      for (int c = 0; c < C; ++c) o[n][c] = Fma(weight, v[c], o[n][c]);
    }
  }
  for (int n = 0; n < N; ++n) {
    for (int c = 0; c < C; ++c) Store(o[n][c], out[n] + channel + c * kLanes);
  }
}

template <ops::KvType kType, int C, int N = kValueQueries>
void AddValuesQueries(const typename KvElement<kType>::Type* values, int head_dim, int channel,
                      int begin, int end, const float* const* p, float* const* out, int count) {
  int n = 0;
  for (; n + N <= count; n += N) {
    AddValuesBlock<kType, N, C>(values, head_dim, channel, begin, end, p + n, out + n);
  }
  if constexpr (N > 1) {
    AddValuesQueries<kType, C, N / 2>(values, head_dim, channel, begin, end, p + n, out + n,
                                      count - n);
  }
}

// All channels; a run of kValueVectors keeps its accumulators in registers over all slots.
template <ops::KvType kType>
void AddValues(const typename KvElement<kType>::Type* values, int head_dim, int begin, int end,
               const float* const* p, float* const* out, int count) {
  constexpr int kRun = kValueVectors * static_cast<int>(kLanes);
  int channel = 0;
  for (; channel + kRun <= head_dim; channel += kRun) {
    AddValuesQueries<kType, kValueVectors>(values, head_dim, channel, begin, end, p, out, count);
  }
  if constexpr (kValueVectors > 1) {
    for (; channel < head_dim; channel += kLanes) {
      AddValuesQueries<kType, 1>(values, head_dim, channel, begin, end, p, out, count);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_ATTENTION_TILE_INL_H_

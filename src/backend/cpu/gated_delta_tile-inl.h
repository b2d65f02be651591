// GatedDeltaTile: the gated delta rule on one tile of S, one value channel per lane (numerics.md
// 6). Not the convolution, the gates or the order of the step (gated_delta.cc).
#if defined(VERBATIM_BACKEND_CPU_GATED_DELTA_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_GATED_DELTA_TILE_INL_H_
#undef VERBATIM_BACKEND_CPU_GATED_DELTA_TILE_INL_H_
#else
#define VERBATIM_BACKEND_CPU_GATED_DELTA_TILE_INL_H_
#endif

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

struct F32x16x4 {
  F32x16 c0, c1, c2, c3;
};
HWY_INLINE F32x16 Combine(const F32x16x4& c) { return Add(Add(c.c0, c.c1), Add(c.c2, c.c3)); }

// A token whose d is known.
struct KnownToken {
  const float* khat;  // [Dk]
  F32x16 d;
  float e;
};

// S = fma(khat, d, S * e) for each of `tokens` in turn. tile [Dk][16]; it is read and written once.
inline void FoldTokens(const KnownToken* tokens, int num_tokens, int key_dim, float* tile) {
  for (int k = 0; k < key_dim; ++k) {
    F32x16 s = Load(tile + k * kLanes);
    for (int i = 0; i < num_tokens; ++i) {
      s = Fma(Set(tokens[i].khat[k]), tokens[i].d, Mul(s, Set(tokens[i].e)));
    }
    Store(s, tile + k * kLanes);
  }
}

struct TokenResult {
  F32x16 out, d;
};

// One token: decay, read, write, read. The two passes both form S * e, since a store costs more
// than a product. The new state goes to `next`, which may be `tile`, or nowhere if that is null.
// `ahead` is the tile that will be wanted then. Dk is a multiple of 4.
inline TokenResult RunToken(const float* khat, const float* qhat, F32x16 value, float beta, float e,
                            int key_dim, const float* tile, float* next, const float* ahead) {
  const F32x16 decay = Set(e);
  const auto read = [&](int k, F32x16& chain) HWY_ATTR {
    chain = Fma(Mul(Load(tile + k * kLanes), decay), Set(khat[k]), chain);
  };
  F32x16x4 c = {Zero(), Zero(), Zero(), Zero()};
  for (int k = 0; k < key_dim; k += 4) {
    read(k, c.c0);
    read(k + 1, c.c1);
    read(k + 2, c.c2);
    read(k + 3, c.c3);
  }
  const F32x16 d = Mul(Sub(value, Combine(c)), Set(beta));
  const auto write = [&](int k, F32x16& chain) HWY_ATTR {
    __builtin_prefetch(ahead + k * kLanes, 1);
    const F32x16 updated = Fma(Set(khat[k]), d, Mul(Load(tile + k * kLanes), decay));
    if (next != nullptr) Store(updated, next + k * kLanes);
    chain = Fma(updated, Set(qhat[k]), chain);
  };
  c = {Zero(), Zero(), Zero(), Zero()};
  for (int k = 0; k < key_dim; k += 4) {
    write(k, c.c0);
    write(k + 1, c.c1);
    write(k + 2, c.c2);
    write(k + 3, c.c3);
  }
  return {Combine(c), d};
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_GATED_DELTA_TILE_INL_H_

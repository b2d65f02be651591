// Exact dots of unsigned weight bytes with signed activation bytes over one group. Not the
// unpacking of weights.
//
// A block is [16 outputs][4 values of K] weight bytes; each row brings 4 activation bytes,
// broadcast to all lanes. All policies give the same int32 sums (|sum| < 2^24), in any order of
// additions (numerics.md 2).
//   Clear()            starts a group
//   Block<b>(w, x)     adds block b (0..7 of a chunk); x is [R][4]
//   Sum(r)             the group's sum of row r
#if defined(VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_
#undef VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_
#else
#define VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_
#endif

#include "backend/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

struct U8x64 {
  uint8_t v[64];
};
HWY_INLINE U8x64 LoadBytes(const std::byte* p) {
  U8x64 r;
  std::memcpy(r.v, p, 64);
  return r;
}
// The bits of `kMask` after a shift to the right (left if negative) by kShift, in every byte.
template <int kShift, int kMask>
HWY_INLINE U8x64 ShiftAndMask(U8x64 a) {
  for (uint8_t& x : a.v) {
    x = static_cast<uint8_t>((kShift >= 0 ? x >> (kShift & 7) : x << (-kShift & 7)) & kMask);
  }
  return a;
}
HWY_INLINE U8x64 OrBytes(U8x64 a, U8x64 b) {
  for (size_t i = 0; i < 64; ++i) a.v[i] |= b.v[i];
  return a;
}

template <int kBits, int R>
class PlainDot {
 public:
  HWY_INLINE void Clear() { std::memset(sum_, 0, sizeof(sum_)); }
  template <int kBlock>
  HWY_INLINE void Block(U8x64 w, const int8_t* x) {
    for (int r = 0; r < R; ++r) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 4; ++i) sum_[r].v[lane] += w.v[4 * lane + i] * x[4 * r + i];
      }
    }
  }
  HWY_INLINE I32x16 Sum(int r) const { return sum_[r]; }

 private:
  I32x16 sum_[R];
};

#else  // Highway targets

using D8 = hn::Repartition<uint8_t, DF>;
using D16 = hn::Repartition<uint16_t, DF>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<hn::Repartition<int16_t, DF> >;
inline constexpr size_t kPartBytes = HWY_MAX_BYTES;

struct U8x64 {
  V8 v[kParts];
};
HWY_INLINE U8x64 LoadBytes(const std::byte* p) {
  U8x64 r;
  for (size_t i = 0; i < kParts; ++i) {
    r.v[i] = hn::Load(D8(), reinterpret_cast<const uint8_t*>(p) + i * kPartBytes);
  }
  return r;
}
// The bits of `kMask` after a shift to the right (left if negative) by kShift, in every byte. The
// shift is one of 16 bits: what it carries over from the neighbour is masked away.
template <int kShift, int kMask>
HWY_INLINE U8x64 ShiftAndMask(U8x64 a) {
  for (size_t i = 0; i < kParts; ++i) {
    const auto words = hn::BitCast(D16(), a.v[i]);
    const auto shifted = [&]() HWY_ATTR {
      if constexpr (kShift > 0) return hn::ShiftRight<kShift>(words);
      if constexpr (kShift < 0) return hn::ShiftLeft<-kShift>(words);
      if constexpr (kShift == 0) return words;
    }();
    a.v[i] = hn::And(hn::BitCast(D8(), shifted), hn::Set(D8(), kMask));
  }
  return a;
}
HWY_INLINE U8x64 OrBytes(U8x64 a, U8x64 b) {
  for (size_t i = 0; i < kParts; ++i) a.v[i] = hn::Or(a.v[i], b.v[i]);
  return a;
}

HWY_INLINE V16 MulPairs(V8 weights, V8 activations) {  // vpmaddubsw
#if HWY_TARGET == HWY_AVX2
  return V16{_mm256_maddubs_epi16(weights.raw, activations.raw)};
#else
  return V16{_mm512_maddubs_epi16(weights.raw, activations.raw)};
#endif
}
HWY_INLINE VI AddPairs(V16 a) {  // vpmaddwd with ones
#if HWY_TARGET == HWY_AVX2
  return VI{_mm256_madd_epi16(a.raw, _mm256_set1_epi16(1))};
#else
  return VI{_mm512_madd_epi16(a.raw, _mm512_set1_epi16(1))};
#endif
}

// AVX2 and AVX-512 without VNNI. With |x| <= 127 a pair sum of b-bit weights is at most 2 * 127 *
// (2^b - 1), so s16 holds 8 of them for b <= 4 (30480), 4 for b = 5 (31496), 2 for b = 6 (32004). 8
// bits are two 4-bit digits, sum = low + 16 * high, which never saturates and needs no offset.
template <int kBits, int R>
class WideningDot {
 public:
  static constexpr int kDigits = kBits == 8 ? 2 : 1;
  static constexpr int kDigitBits = kBits / kDigits;
  static constexpr int kMaxPairSums = kDigitBits <= 4 ? 8 : kDigitBits == 5 ? 4 : 2;
  static_assert(kMaxPairSums * 2 * 127 * ((1 << kDigitBits) - 1) <= 32767);

  HWY_INLINE void Clear() {
    for (int r = 0; r < R; ++r) sum_[r] = SetInt(0);
  }
  template <int kBlock>
  HWY_INLINE void Block(U8x64 w, const int8_t* x) {
    constexpr bool kFirst = kBlock % kMaxPairSums == 0;
    constexpr bool kLast = (kBlock + 1) % kMaxPairSums == 0;
    const U8x64 low = kDigits == 1 ? w : ShiftAndMask<0, 0x0f>(w);
    const U8x64 high = ShiftAndMask<4, 0x0f>(w);
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, x + 4 * r, 4);
      const V8 activations = hn::BitCast(D8(), hn::Set(DI(), four));
      for (size_t i = 0; i < kParts; ++i) {
        Add<kFirst, kLast, 0>(low.v[i], activations, r, i);
        if constexpr (kDigits == 2) Add<kFirst, kLast, 1>(high.v[i], activations, r, i);
      }
    }
  }
  HWY_INLINE I32x16 Sum(int r) const { return sum_[r]; }

 private:
  template <bool kFirst, bool kLast, int kDigit>
  HWY_INLINE void Add(V8 weights, V8 activations, int r, size_t i) {
    const V16 pairs = MulPairs(weights, activations);
    pairs_[kDigit][r][i] = kFirst ? pairs : hn::Add(pairs_[kDigit][r][i], pairs);
    if constexpr (kLast) {
      const VI quads = AddPairs(pairs_[kDigit][r][i]);
      sum_[r].v[i] = hn::Add(sum_[r].v[i], kDigit == 0 ? quads : hn::ShiftLeft<4>(quads));
    }
  }

  V16 pairs_[kDigits][R][kParts];
  I32x16 sum_[R];
};

#if HWY_TARGET == HWY_AVX3

using AliasingInt32 __attribute__((may_alias)) = int32_t;

// AVX-512 VNNI by its instruction, as no Highway target is AVX3 plus VNNI alone: Cascade Lake has
// it, too. The EVEX form with an embedded broadcast; never the VEX form of AVX-VNNI.
template <int kBits, int R>
class VnniDot {
 public:
  // vpdpbusd has 4 to 5 cycles of latency and starts once or twice a cycle: few rows need several
  // chains each.
  static constexpr int kChains = R <= 2 ? 4 : R <= 4 ? 2 : 1;

  HWY_INLINE void Clear() {
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < kChains; ++c) sum_[r][c] = hn::Zero(DI());
    }
  }
  template <int kBlock>
  HWY_INLINE void Block(U8x64 w, const int8_t* x) {
    for (int r = 0; r < R; ++r) {
      asm("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(sum_[r][kBlock % kChains].raw)
          : "v"(w.v[0].raw), "m"(*reinterpret_cast<const AliasingInt32*>(x + 4 * r)));
    }
  }
  HWY_INLINE I32x16 Sum(int r) const {
    I32x16 sum = {{sum_[r][0]}};
    for (int c = 1; c < kChains; ++c) sum.v[0] = hn::Add(sum.v[0], sum_[r][c]);
    return sum;
  }

 private:
  VI sum_[R][kChains];
};

#endif  // HWY_AVX3
#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_

// Exact dots of unsigned weight bytes with signed activation bytes over one group. Not the
// unpacking of weights and not NEON's dots (simd_dot_neon-inl.h).
//
// A block is [16 outputs][4 values of K] weight bytes; each row brings 4 activation bytes,
// broadcast to all lanes. A dot covers one part of the outputs, those of one vector (4 on NEON, 8
// on AVX2, else all 16), so that few registers do for 4 rows. All policies give the same int32 sums
// (|sum| < 2^24), in any order of additions (numerics.md 2).
//   Clear()          starts a group
//   Block<b>(w, x)   adds block b (0..7 of a chunk; in order); x is [R][4]
//   Sum(r)           the group's sum of row r, for SetPart
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

inline constexpr size_t kParts = 1;
inline constexpr size_t kPartBytes = 64;

struct Bytes {
  uint8_t v[kPartBytes];
};
HWY_INLINE Bytes LoadBytes(const std::byte* p) {
  Bytes r;
  std::memcpy(r.v, p, 64);
  return r;
}
// The bits of `kMask` after a shift to the right (left if negative) by kShift, in every byte.
template <int kShift, int kMask>
HWY_INLINE Bytes ShiftAndMask(Bytes a) {
  for (uint8_t& x : a.v) {
    x = static_cast<uint8_t>((kShift >= 0 ? x >> (kShift & 7) : x << (-kShift & 7)) & kMask);
  }
  return a;
}
HWY_INLINE Bytes OrBytes(Bytes a, Bytes b) {
  for (size_t i = 0; i < 64; ++i) a.v[i] |= b.v[i];
  return a;
}

template <int kBits, int R>
class PlainDot {
 public:
  HWY_INLINE void Clear() { std::memset(sum_, 0, sizeof(sum_)); }
  template <int kBlock>
  HWY_INLINE void Block(Bytes w, const int8_t* x) {
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
HWY_INLINE void SetPart(I32x16& all, size_t /*part*/, I32x16 sum) { all = sum; }

#else  // Highway targets

using D8 = hn::Repartition<uint8_t, DF>;
using D16 = hn::Repartition<uint16_t, DF>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<hn::Repartition<int16_t, DF> >;
inline constexpr size_t kPartBytes = HWY_MAX_BYTES;

using Bytes = V8;
HWY_INLINE Bytes LoadBytes(const std::byte* p) {
  return hn::Load(D8(), reinterpret_cast<const uint8_t*>(p));
}
// The bits of `kMask` after a shift to the right (left if negative) by kShift, in every byte. The
// shift is one of 16 bits: what it carries over from the neighbour is masked away.
template <int kShift, int kMask>
HWY_INLINE Bytes ShiftAndMask(Bytes a) {
  const auto mask = hn::Set(D8(), kMask);
  const auto words = hn::BitCast(D16(), a);
  if constexpr (kShift > 0) return hn::And(hn::BitCast(D8(), hn::ShiftRight<kShift>(words)), mask);
  if constexpr (kShift < 0) return hn::And(hn::BitCast(D8(), hn::ShiftLeft<-kShift>(words)), mask);
  if constexpr (kShift == 0) return hn::And(a, mask);
}
HWY_INLINE Bytes OrBytes(Bytes a, Bytes b) { return hn::Or(a, b); }
HWY_INLINE void SetPart(I32x16& all, size_t part, VI sum) { all.v[part] = sum; }

#if HWY_ARCH_X86

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
    for (int r = 0; r < R; ++r) sum_[r] = hn::Zero(DI());
  }
  template <int kBlock>
  HWY_INLINE void Block(Bytes w, const int8_t* x) {
    const Bytes low = kDigits == 1 ? w : ShiftAndMask<0, 0x0f>(w);
    const Bytes high = ShiftAndMask<4, 0x0f>(w);
    for (int r = 0; r < R; ++r) {
      int32_t four;
      std::memcpy(&four, x + 4 * r, 4);
      const V8 activations = hn::BitCast(D8(), hn::Set(DI(), four));
      AddDigit<kBlock, 0>(low, activations, r);
      if constexpr (kDigits == 2) AddDigit<kBlock, 1>(high, activations, r);
    }
  }
  HWY_INLINE VI Sum(int r) const { return sum_[r]; }

 private:
  template <int kBlock, int kDigit>
  HWY_INLINE void AddDigit(V8 weights, V8 activations, int r) {
    const V16 pairs = MulPairs(weights, activations);
    V16& sum16 = pairs_[kDigit][r];
    sum16 = kBlock % kMaxPairSums == 0 ? pairs : hn::Add(sum16, pairs);
    // Keeps the additions where they are: g++ would form all products of a chunk first and spill
    // them.
    asm("" : "+v"(sum16.raw));
    if constexpr ((kBlock + 1) % kMaxPairSums == 0) {
      const VI quads = AddPairs(sum16);
      sum_[r] = hn::Add(sum_[r], kDigit == 0 ? quads : hn::ShiftLeft<4>(quads));
    }
  }

  V16 pairs_[kDigits][R];
  VI sum_[R];
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
  HWY_INLINE void Block(Bytes w, const int8_t* x) {
    for (int r = 0; r < R; ++r) {
      asm("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(sum_[r][kBlock % kChains].raw)
          : "v"(w.raw), "m"(*reinterpret_cast<const AliasingInt32*>(x + 4 * r)));
    }
  }
  HWY_INLINE VI Sum(int r) const {
    VI sum = sum_[r][0];
    for (int c = 1; c < kChains; ++c) sum = hn::Add(sum, sum_[r][c]);
    return sum;
  }

 private:
  VI sum_[R][kChains];
};

#endif  // HWY_AVX3
#endif  // HWY_ARCH_X86
#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#endif  // VERBATIM_BACKEND_CPU_SIMD_DOT_INL_H_

// Peak loops for every target, with the linears' own dot policies.
#include "backend/cpu/simd_config.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/peak.cc"
#include "hwy/foreach_target.h"
// The above must come first.
#include "backend/cpu/linear_tile-inl.h"
#include "backend/cpu/peak.h"
#include "backend/cpu/simd-inl.h"
#include "backend/cpu/simd_dot-inl.h"
#include "backend/cpu/simd_dot_neon-inl.h"
#include "backend/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace verbatim::cpu {
namespace HWY_NAMESPACE {

// Two fma units with 4 cycles of latency need 8 chains of one register each; more do not hurt while
// they fit. 16 lanes are one register of 32 on AVX-512, two of 16 on AVX2, four of 32 on NEON. The
// scalar loops call std::fma one by one.
#if HWY_TARGET == HWY_AVX3
inline constexpr int kFmaChains = 12;
#elif HWY_TARGET == HWY_SCALAR
inline constexpr int kFmaChains = 1;
#else
inline constexpr int kFmaChains = 6;
#endif
static_assert(kFmaChains <= PeakKernels::kMaxFmaChains);

void FmaPeak(int64_t rounds, const float* factors, const float* addends, float* sums) {
  const F32x16 factor = Load(factors);
  const F32x16 addend = Load(addends);
  F32x16 sum[kFmaChains];
  for (int c = 0; c < kFmaChains; ++c) sum[c] = Load(sums + c * kLanes);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int c = 0; c < kFmaChains; ++c) sum[c] = Fma(sum[c], factor, addend);
  }
  for (int c = 0; c < kFmaChains; ++c) Store(sum[c], sums + c * kLanes);
}

inline constexpr int kDotRows = kAffineRowTile;
static_assert(kDotRows <= PeakKernels::kMaxDotRows);

template <int kBlock, class Dot>
HWY_INLINE void PeakBlocks(const std::byte* weights, const int8_t* x, Dot& dot) {
  if constexpr (kBlock < PeakKernels::kDotBlocks) {
    dot.template Block<kBlock>(LoadBytes(weights + kBlock * kLanes * 4), x + kBlock * kDotRows * 4);
    PeakBlocks<kBlock + 1>(weights, x, dot);
  }
}

template <int kBits, template <int, int> class Dot>
void DotPeak(int64_t rounds, const std::byte* weights, const int8_t* x, int32_t* sums) {
  I32x16 total[kDotRows];
  for (size_t part = 0; part < kParts; ++part) {
    Dot<kBits, kDotRows> dot;
    dot.Clear();
    for (int64_t i = 0; i < rounds; ++i) {
      asm volatile("" ::: "memory");  // or the products would be formed once, before the loop
      PeakBlocks<0>(weights + part * kPartBytes, x, dot);
    }
    for (int r = 0; r < kDotRows; ++r) SetPart(total[r], part, dot.Sum(r));
  }
  for (int r = 0; r < kDotRows; ++r) {
    StoreInt(Add(LoadInt(sums + r * kLanes), total[r]), sums + r * kLanes);
  }
}

template <template <int, int> class Dot>
void FillDotPeaks(PeakKernels& kernels) {
  kernels.dot[2] = DotPeak<2, Dot>;
  kernels.dot[3] = DotPeak<3, Dot>;
  kernels.dot[4] = DotPeak<4, Dot>;
  kernels.dot[5] = DotPeak<5, Dot>;
  kernels.dot[6] = DotPeak<6, Dot>;
  kernels.dot[8] = DotPeak<8, Dot>;
}

template <int kStreams>
uint64_t ReadStreams(const std::byte* data, size_t stream_bytes) {
  constexpr int kUnroll = 4;  // loads of one stream in a row, each with its own sum
#if HWY_TARGET == HWY_SCALAR
  constexpr size_t kStep = kUnroll * sizeof(uint64_t);
  uint64_t sum[kUnroll] = {};
  for (size_t at = 0; at < stream_bytes; at += kStep) {
    for (int s = 0; s < kStreams; ++s) {
      uint64_t words[kUnroll];
      std::memcpy(words, data + s * stream_bytes + at, kStep);
      for (int u = 0; u < kUnroll; ++u) sum[u] ^= words[u];
    }
  }
  return (sum[0] ^ sum[1]) ^ (sum[2] ^ sum[3]);
#else
  const D8 d;
  V8 sum[kUnroll];
  for (V8& part : sum) part = hn::Zero(d);
  for (size_t at = 0; at < stream_bytes; at += kUnroll * kPartBytes) {
    for (int s = 0; s < kStreams; ++s) {
      const std::byte* p = data + s * stream_bytes + at;
      for (int u = 0; u < kUnroll; ++u) sum[u] = hn::Xor(sum[u], LoadBytes(p + u * kPartBytes));
    }
  }
  alignas(64) uint8_t bytes[kPartBytes];
  hn::Store(hn::Xor(hn::Xor(sum[0], sum[1]), hn::Xor(sum[2], sum[3])), d, bytes);
  uint64_t all = 0;
  for (size_t i = 0; i < kPartBytes; i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes + i, sizeof(word));
    all ^= word;
  }
  return all;
#endif
}

uint64_t ReadPeak(const std::byte* data, size_t stream_bytes, int streams) {
  switch (streams) {
    case 1:
      return ReadStreams<1>(data, stream_bytes);
    case 2:
      return ReadStreams<2>(data, stream_bytes);
    case 4:
      return ReadStreams<4>(data, stream_bytes);
    default:
      return ReadStreams<8>(data, stream_bytes);
  }
}

PeakKernels MakePeakKernels(bool int8_dot) {
  PeakKernels kernels;
  kernels.fma = FmaPeak;
  kernels.fma_chains = kFmaChains;
  kernels.dot_rows = kDotRows;
  kernels.read = ReadPeak;
#if HWY_TARGET == HWY_SCALAR
  (void)int8_dot;
  FillDotPeaks<PlainDot>(kernels);
#elif HWY_TARGET == HWY_AVX3
  int8_dot ? FillDotPeaks<VnniDot>(kernels) : FillDotPeaks<WideningDot>(kernels);
#elif HWY_TARGET == HWY_NEON
  int8_dot ? FillDotPeaks<SdotDot>(kernels) : FillDotPeaks<WideningDot>(kernels);
#else
  (void)int8_dot;
  FillDotPeaks<WideningDot>(kernels);
#endif
  return kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace verbatim::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace verbatim::cpu {
namespace {

PeakKernels MakeFor(Target target) {
  VERBATIM_RETURN_FOR_TARGET(target, MakePeakKernels(false), MakePeakKernels(true))
  VERBATIM_CHECK(!"a target that this processor can have");
  return {};
}

}  // namespace

Expected<PeakKernels> PeakKernelsFor(std::string_view target) {
  VERBATIM_ASSIGN_OR_RETURN(const Target chosen,
                            ChooseTarget(target, {}, TargetsFor(DetectCpuFeatures())));
  return MakeFor(chosen);
}

}  // namespace verbatim::cpu
#endif  // HWY_ONCE

// The constants of the elementary functions (numerics.md 7), shared by the scalar code and the SIMD
// kernels. No code: the order of operations is in elementary.h and docs/numerics.md.
#ifndef VERBATIM_NUMERICS_ELEMENTARY_COEFFICIENTS_H_
#define VERBATIM_NUMERICS_ELEMENTARY_COEFFICIENTS_H_

#include <cstdint>

namespace verbatim::elementary {

// Nearest integer n of x / ln 2: t = fma(x, kLog2E, kExpMagic), n = t - kExpMagic. One unit in the
// last place of t is 1, so t holds n + 127 in its low bits, and bits(t) << 23 are the bits of 2^n.
inline constexpr float kExpMagic = 0x1.8000fep+23f;  // 1.5 * 2^23 + 127
inline constexpr float kLog2E = 0x1.715476p+0f;      // 1 / ln 2 rounded

// ln 2 = kLn2Hi + kLn2Lo to 2^-54. kLn2Hi has all 24 bits: the fma that subtracts n * kLn2Hi from x
// is exact, since its result is a multiple of 2^-25 (n != 0 needs |x| >= 0.25) and below 0.5.
inline constexpr float kLn2Hi = 0x1.62e430p-1f;    // ln 2 rounded
inline constexpr float kLn2Lo = -0x1.05c610p-29f;  // (ln 2 - kLn2Hi) rounded

// exp(x) is +0 below kExpMin and +inf above kExpMax, so that 2^n is a normal number in between.
inline constexpr float kExpMin = -87.0f;
inline constexpr float kExpMax = 88.0f;

// exp(r) = 1 + r + r^2 * q(r) on |r| <= ln(2)/2, q = sum of kExpPoly[i] * r^i, Horner from the
// last. Minimax in relative error (Remez exchange), then rounded to binary32: 2^-27.9.
inline constexpr float kExpPoly[5] = {
    0x1.fffffcp-2f,   // 0.49999994
    0x1.555492p-3f,   // 0.166665211
    0x1.5558f2p-5f,   // 0.041668389
    0x1.1239e2p-7f,   // 0.00836871658
    0x1.6a2434p-10f,  // 0.00138145988
};

// expm1(r) = r + r^2 * q(r) on the same interval; relative error 2^-25.8 as rounded.
inline constexpr float kExpm1Poly[5] = {
    0x1.fffffep-2f,   // 0.49999997
    0x1.5554b0p-3f,   // 0.166665435
    0x1.555674p-5f,   // 0.0416672006
    0x1.122776p-7f,   // 0.00836652052
    0x1.6bec06p-10f,  // 0.00138825213
};

// log(1 + f) = f + f^2 * q(f) on [sqrt(1/2) - 1, sqrt(2) - 1]; relative error 2^-24.8 as rounded.
inline constexpr float kLogPoly[8] = {
    -0x1.fffffap-2f,  // -0.499999911
    0x1.5556f4p-2f,   // 0.333339512
    -0x1.00049ap-2f,  // -0.250017554
    0x1.98d2a6p-3f,   // 0.19962053
    -0x1.535cf6p-3f,  // -0.165704653
    0x1.31860ep-3f,   // 0.14918147
    -0x1.2506cap-3f,  // -0.143079355
    0x1.65c76ep-4f,   // 0.0873483941
};

// Bits of sqrt(1/2): the mantissa m of log lies in [sqrt(1/2), sqrt(2)), so that k = 0 around 1.
inline constexpr uint32_t kSqrtHalfBits = 0x3f3504f3u;
inline constexpr float kMinNormal = 0x1p-126f;
// Denormal arguments of log are scaled into the normal range; k is corrected by the exponent.
inline constexpr float kLogDenormalScale = 0x1p23f;
inline constexpr int32_t kLogDenormalShift = 23;
// From here on 1 + x == x or nearly: log1p takes f from 1 + x itself (2^-k would underflow).
inline constexpr float kLog1pLarge = 0x1p24f;

// gelu_tanh: 2u = x * fma(kGeluCubic, x * x, kGeluLinear).
inline constexpr float kGeluLinear = 0x1.988454p+0f;  // 2 * sqrt(2 / pi) = 1.59576917
inline constexpr float kGeluCubic = 0x1.2444f2p-4f;   // 0.044715 * that = 0.0713548139

}  // namespace verbatim::elementary

#endif  // VERBATIM_NUMERICS_ELEMENTARY_COEFFICIENTS_H_

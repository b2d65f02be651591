// The rope tables; see rotary.h. Only + - * / and fma of binary64, since pow, sin and cos of a libm
// differ in the last bit between machines.
#include "numerics/rotary.h"

#include <bit>
#include <cmath>

#include "base/check.h"

namespace verbatim {
namespace {

// hi + lo with |lo| <= ulp(hi) / 2: about 106 bits. Used for the frequencies alone.
struct DoubleDouble {
  double hi = 0;
  double lo = 0;
};

DoubleDouble Renormalize(double hi, double lo) {
  const double sum = hi + lo;
  return {sum, lo - (sum - hi)};
}
DoubleDouble Add(DoubleDouble a, DoubleDouble b) {
  const double sum = a.hi + b.hi;
  const double t = sum - a.hi;
  const double error = (a.hi - (sum - t)) + (b.hi - t);
  return Renormalize(sum, error + (a.lo + b.lo));
}
DoubleDouble Multiply(DoubleDouble a, DoubleDouble b) {
  const double product = a.hi * b.hi;
  const double error = std::fma(a.hi, b.hi, -product);
  return Renormalize(product, error + (a.hi * b.lo + a.lo * b.hi));
}
DoubleDouble Divide(DoubleDouble a, DoubleDouble b) {
  const double q = a.hi / b.hi;
  const DoubleDouble rest = Add(a, Multiply({-q, 0}, b));
  return Renormalize(q, rest.hi / b.hi);
}
DoubleDouble Scale(DoubleDouble a, double power_of_two) {
  return {a.hi * power_of_two, a.lo * power_of_two};
}

constexpr DoubleDouble kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

// exp(y) for |y| <= 60: reduced by n ln 2 and by 2^-6, Taylor series, six squarings. With
// |r| <= 2^-7.5 the first term left out, r^14 / 14!, is below 2^-141.
DoubleDouble Exp(DoubleDouble y) {
  constexpr int kSquarings = 6;
  constexpr int kTerms = 13;
  const double n = std::rint(y.hi / kLn2.hi);
  const DoubleDouble r = Scale(Add(y, Multiply({-n, 0}, kLn2)), 1.0 / (1 << kSquarings));
  DoubleDouble sum = {1, 0};
  for (int i = kTerms; i >= 1; --i) {
    sum = Add({1, 0}, Multiply(sum, Divide(r, {static_cast<double>(i), 0})));
  }
  for (int i = 0; i < kSquarings; ++i) sum = Multiply(sum, sum);
  return Scale(sum, std::ldexp(1.0, static_cast<int>(n)));
}

// ln(x), x in [1, 2^64]: from exponent * ln 2 + (mantissa - 1), off by at most 0.31, Halley's
// iteration y += 2 (x - exp y) / (x + exp y). An error d becomes d^3 / 12: three steps reach 2^-91,
// the fourth all that the format holds.
DoubleDouble Log(double x) {
  int exponent = 0;
  const double mantissa = 2 * std::frexp(x, &exponent);
  DoubleDouble y = Add(Multiply({exponent - 1.0, 0}, kLn2), {mantissa - 1, 0});
  for (int i = 0; i < 4; ++i) {
    const DoubleDouble e = Exp(y);
    const DoubleDouble step = Divide(Add({x, 0}, Scale(e, -1)), Add({x, 0}, e));
    y = Add(y, Scale(step, 2));
  }
  return y;
}

// pi / 2 in three parts. A quarter turn n below 2^20 times either 33-bit part is exact, and so is
// the first subtraction; the second rounds by 2^-54 at most and not at all where the rest is small.
constexpr double kHalfPi1 = 0x1.921fb544p+0;
constexpr double kHalfPi2 = 0x1.0b4611a6p-34;
constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kRoundMagic = 0x1.8p+52;  // adding it rounds to an integer held in the low bits

// Taylor coefficients, Horner in r^2: on |r| <= pi/4 the first terms left out are below 2^-54.
constexpr double kSin[] = {
    -1.0 / 6,          1.0 / 120,          -1.0 / 5040,           1.0 / 362880,
    -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
constexpr double kCos[] = {
    -1.0 / 2,       1.0 / 24,          -1.0 / 720,           1.0 / 40320,
    -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0};

template <int N>
double Horner(const double (&c)[N], double x) {
  double p = c[N - 1];
  for (int i = N - 2; i >= 0; --i) p = p * x + c[i];
  return p;
}

void SinCos(double angle, float* sin_out, float* cos_out) {
  const double t = angle * kTwoOverPi + kRoundMagic;
  const double n = t - kRoundMagic;
  const double r = ((angle - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  const double r2 = r * r;
  const float s = static_cast<float>(r + r * (r2 * Horner(kSin, r2)));
  const float c = static_cast<float>(1.0 + r2 * Horner(kCos, r2));
  const uint64_t quadrant = std::bit_cast<uint64_t>(t) & 3;
  const float sin_value = quadrant % 2 == 0 ? s : c;
  const float cos_value = quadrant % 2 == 0 ? c : s;
  *sin_out = quadrant >= 2 ? -sin_value : sin_value;
  *cos_out = quadrant == 1 || quadrant == 2 ? -cos_value : cos_value;
}

}  // namespace

std::vector<double> RotaryFrequencies(double theta, int rotary_dim) {
  VERBATIM_CHECK(theta >= 1 && theta <= 0x1p64 && rotary_dim > 0 && rotary_dim % 2 == 0);
  const DoubleDouble log_theta = Log(theta);
  std::vector<double> frequencies;
  for (int i = 0; i < rotary_dim / 2; ++i) {
    const DoubleDouble exponent = Divide({-2.0 * i, 0}, {static_cast<double>(rotary_dim), 0});
    frequencies.push_back(Exp(Multiply(exponent, log_theta)).hi);
  }
  return frequencies;
}

RotaryTables MakeRotaryTables(double theta, int rotary_dim, int64_t positions) {
  VERBATIM_CHECK(positions >= 0 && positions <= kMaxRotaryPositions + 1);
  const std::vector<double> frequencies = RotaryFrequencies(theta, rotary_dim);
  const int64_t half = rotary_dim / 2;
  RotaryTables tables;
  tables.cos.resize(positions * half);
  tables.sin.resize(positions * half);
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      SinCos(angle, &tables.sin[position * half + i], &tables.cos[position * half + i]);
    }
  }
  return tables;
}

}  // namespace verbatim

// Random tensor contents by a counter-based generator: the bytes of a tensor depend on its seed and
// nothing else. Not good randomness, only enough of it that activations look like a model's.
#ifndef VERBATIM_MEASURE_RANDOM_VALUES_H_
#define VERBATIM_MEASURE_RANDOM_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbatim {

// Word `counter` of the stream `seed` (splitmix64's output function).
uint64_t RandomWord(uint64_t seed, uint64_t counter);
// In [low, high), from the same stream.
float RandomFloat(uint64_t seed, uint64_t counter, float low, float high);

// Words first, first + 1, ... little-endian; bytes.size() must be a multiple of 8.
void FillRandomBytes(uint64_t seed, uint64_t first, std::span<std::byte> bytes);

// 16-bit values of either sign whose magnitudes lie in [2^e, 2^(e+2)), uniform within each octave;
// e is chosen so that the root mean square is within a factor of sqrt(2) of 1/sqrt(columns): a
// linear then keeps its input's size. Words first, first + 1, ... of four values each; bytes.size()
// a multiple of 8.
struct RandomHalves {
  RandomHalves(int64_t columns, bool f16);
  void Fill(uint64_t seed, uint64_t first, std::span<std::byte> bytes) const;

  uint64_t keep;  // the bits of a random word that stay: sign, lowest exponent bit, mantissa
  uint64_t base;  // the exponent added to them
};

// The scale of a random group of b-bit q with bias -scale * (2^b - 1) / 2, so that the root mean
// square of its values is about 1/sqrt(columns); before rounding to the stored type.
float RandomAffineScale(uint64_t seed, uint64_t group, int bits, int64_t columns);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_RANDOM_VALUES_H_

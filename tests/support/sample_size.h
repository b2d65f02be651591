// Sampled: how large a sample a test takes. A sanitizer's build runs the same code fewer times,
// because it is ten times slower and finds its faults in the first rounds.
#ifndef VERBATIM_TESTS_SUPPORT_SAMPLE_SIZE_H_
#define VERBATIM_TESTS_SUPPORT_SAMPLE_SIZE_H_

#include <cstdint>

namespace verbatim::testing {

// VERBATIM_SANITIZED comes from verbatim_test (cmake/VerbatimTargets.cmake).
constexpr int64_t Sampled(int64_t usual, int64_t sanitized) {
#ifdef VERBATIM_SANITIZED
  (void)usual;
  return sanitized;
#else
  (void)sanitized;
  return usual;
#endif
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_SAMPLE_SIZE_H_

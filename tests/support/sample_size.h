// Sampled: how large a sample a test takes, for those that would run for minutes under a sanitizer.
// Its build runs the same code fewer times, because it is ten times slower and finds its faults in
// the first rounds; every value of every axis is still met (docs/hardening.md).
#ifndef VERBATIM_TESTS_SUPPORT_SAMPLE_SIZE_H_
#define VERBATIM_TESTS_SUPPORT_SAMPLE_SIZE_H_

namespace verbatim::testing {

// VERBATIM_SANITIZED comes from verbatim_test (cmake/VerbatimTargets.cmake).
template <typename T>
constexpr T Sampled(T usual, T sanitized) {
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

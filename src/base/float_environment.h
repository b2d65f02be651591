// FloatEnvironment: sets the arithmetic of numerics.md section 0 for a scope and restores the
// caller's.
#ifndef VERBATIM_BASE_FLOAT_ENVIRONMENT_H_
#define VERBATIM_BASE_FLOAT_ENVIRONMENT_H_

#include <cstdint>

namespace verbatim {

// Round to nearest even, no flush to zero, no denormals-are-zero, all exceptions masked. A host
// program's libraries may have changed the control word, so every public entry and every worker
// thread holds one.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_FLOAT_ENVIRONMENT_H_

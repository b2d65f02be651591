// MeasureFreeRunning: prompts generated with classic decode and with speculation, and where the
// outputs part. Not teacher-forced (teacher_forced.h), and not the comparison of servers.
#ifndef VERBATIM_MEASURE_FREE_RUNNING_H_
#define VERBATIM_MEASURE_FREE_RUNNING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "measure/flips.h"

namespace verbatim {

// The first index at which two lists differ, the shorter one's end included; nullopt: equal.
template <typename T>
std::optional<int64_t> FirstDifference(std::span<const T> a, std::span<const T> b) {
  const size_t common = a.size() < b.size() ? a.size() : b.size();
  for (size_t i = 0; i < common; ++i) {
    if (a[i] != b[i]) return static_cast<int64_t>(i);
  }
  if (a.size() == b.size()) return std::nullopt;
  return static_cast<int64_t>(common);
}

// Tokens of a prompt that generation starts from.
inline constexpr int64_t kFreeRunningPromptTokens = 64;

// `rounding_limit` is the teacher-forced one; without it no divergence is called a state bug.
// `advance` is called with the number of tokens done; its error ends the work.
Expected<FreeRunning> MeasureFreeRunning(Engine& engine,
                                         std::span<const std::vector<int32_t>> prompts,
                                         const FlipOptions& options,
                                         std::optional<double> rounding_limit,
                                         const std::function<Status(int64_t)>& advance);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FREE_RUNNING_H_

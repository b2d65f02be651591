// Mebibytes: a number of bytes for people. Not for JSON, which gives bytes.
#ifndef VERBATIM_APPS_MEBIBYTES_H_
#define VERBATIM_APPS_MEBIBYTES_H_

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace verbatim::cli {

// "12.5 MiB".
inline std::string Mebibytes(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MEBIBYTES_H_

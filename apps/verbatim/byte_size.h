// ParseByteSize: "512MiB", "1.5 GiB", "4096" to bytes. Not for printing (mebibytes.h).
#ifndef VERBATIM_APPS_BYTE_SIZE_H_
#define VERBATIM_APPS_BYTE_SIZE_H_

#include <cstdint>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim::cli {

// Units KiB, MiB, GiB, TiB (also K, M, G, T: the same) and KB, MB, GB, TB (powers of 1000); none:
// bytes. Not below 0. kInvalidArgument, naming `where`: anything else, a part of a byte, more than
// 2^62.
Expected<int64_t> ParseByteSize(std::string_view where, std::string_view text);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_BYTE_SIZE_H_

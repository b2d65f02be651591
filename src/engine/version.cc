// Version strings.
#include "verbatim/version.h"

#include <fmt/format.h>

#include "numerics/profile.h"

namespace verbatim {

std::string_view Version() { return VERBATIM_VERSION; }

std::string NumericsName(std::string_view kv_type) {
  return fmt::format("{}-{}/kv-{}", kProfileName, kProfileVersion, kv_type);
}

}  // namespace verbatim

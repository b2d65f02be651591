// The name and version of the arithmetic that docs/numerics.md pins. Change any bit of any op and
// the version goes up.
#ifndef VERBATIM_NUMERICS_PROFILE_H_
#define VERBATIM_NUMERICS_PROFILE_H_

#include <string_view>

namespace verbatim {

inline constexpr std::string_view kProfileName = "portable";
inline constexpr int kProfileVersion = 1;
inline constexpr std::string_view kProfileId = "portable-1";  // name and version, for receipts

}  // namespace verbatim

#endif  // VERBATIM_NUMERICS_PROFILE_H_

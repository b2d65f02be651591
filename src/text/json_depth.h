// WithinDepth: whether a JSON value is nested no deeper than is safe to copy and print, which
// nlohmann does recursively. Not needed for parsing and freeing, which it does not.
#ifndef VERBATIM_TEXT_JSON_DEPTH_H_
#define VERBATIM_TEXT_JSON_DEPTH_H_

#include <algorithm>

namespace verbatim {

// What serde_json reads at most is 128 levels; tool schemas nest about 10 deep.
inline constexpr int kMaxJsonDepth = 100;

// Json is nlohmann::json or nlohmann::ordered_json.
template <typename Json>
bool WithinDepth(const Json& value, int levels = kMaxJsonDepth) {
  if (!value.is_structured()) return true;
  return levels > 0 && std::all_of(value.begin(), value.end(), [&](const Json& inner) {
           return WithinDepth(inner, levels - 1);
         });
}

}  // namespace verbatim

#endif  // VERBATIM_TEXT_JSON_DEPTH_H_

// CanonicalJson and ReadableJson: one text per JSON value, for digests, and one for people. Not a
// parser.
#ifndef VERBATIM_MEASURE_CANONICAL_JSON_H_
#define VERBATIM_MEASURE_CANONICAL_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace verbatim {

// One text for one value, however a file spells it: keys sorted by their bytes, no spaces, strings
// in UTF-8 with no escapes but those that JSON demands, numbers with fraction in the shortest
// decimal that reads back as the same binary64, whole numbers below 2^53 without point or exponent.
// Python's json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) writes the
// same for what ReadableJson has written. Strings must be UTF-8.
std::string CanonicalJson(const nlohmann::json& value);

// The same spelling of strings and numbers, members in their order and one a line, arrays on one
// line.
std::string ReadableJson(const nlohmann::ordered_json& value);

// A binary32 as JSON shows it: the binary64 of its shortest decimal. Its way back is exact.
double JsonNumber(float value);
// The binary32 nearest to the shortest decimal of `number`; none if that is beyond its range, above
// or below.
std::optional<float> FloatOfJsonNumber(double number);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_CANONICAL_JSON_H_

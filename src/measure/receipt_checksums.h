// The checksums inside a receipt: which field was edited after it was written. Against accidents
// and careless hands; whoever changes the checksums too is found by the replay.
#ifndef VERBATIM_MEASURE_RECEIPT_CHECKSUMS_H_
#define VERBATIM_MEASURE_RECEIPT_CHECKSUMS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim {

inline constexpr const char* kChecksums = "checksums";
inline constexpr const char* kReceiptSha256 = "receipt_sha256";

// Adds "checksums", which has for each field of each object, by its path ("request.max_tokens"),
// the first 8 hex digits of the SHA-256 of "<path>=<CanonicalJson of the value>", and
// "receipt_sha256", the SHA-256 of the CanonicalJson of everything before it.
void AddChecksums(nlohmann::ordered_json* receipt);

// The paths whose values do not fit, by name; "checksums" for one that belongs to no field;
// "receipt_sha256" alone: the checksums were changed with the field. `receipt` is an object.
std::vector<std::string> EditedFields(const nlohmann::json& receipt);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_RECEIPT_CHECKSUMS_H_

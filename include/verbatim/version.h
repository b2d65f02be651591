// The version of the library and of its arithmetic.
#ifndef VERBATIM_VERSION_H_
#define VERBATIM_VERSION_H_

#include <string>
#include <string_view>

namespace verbatim {

std::string_view Version();  // "0.1.0"

// The name under which bits are comparable: profile, its version and the KV cache's type, e.g.
// "portable-1/kv-bf16". Part of the model's identity in fingerprints and receipts.
std::string NumericsName(std::string_view kv_type);

}  // namespace verbatim

#endif  // VERBATIM_VERSION_H_

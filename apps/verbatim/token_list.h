// ParseTokenIds: token ids as people write them. Not tokenization.
#ifndef VERBATIM_APPS_TOKEN_LIST_H_
#define VERBATIM_APPS_TOKEN_LIST_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim::cli {

// Ids separated by white space and at most one comma, or one JSON array of integers. `where` names
// the option or file; with `show_line` an error adds ":LINE". Errors: kInvalidArgument, also for an
// empty list. Whether an id is in the vocabulary is the engine's to say.
Expected<std::vector<int32_t>> ParseTokenIds(std::string_view text, std::string_view where,
                                             bool show_line);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_TOKEN_LIST_H_

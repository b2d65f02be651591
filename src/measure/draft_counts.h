// How many tokens a server says that it drafted and accepted, in the forms that servers tell it.
// Not the asking.
#ifndef VERBATIM_MEASURE_DRAFT_COUNTS_H_
#define VERBATIM_MEASURE_DRAFT_COUNTS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace verbatim {

struct DraftCounts {
  int64_t drafted = 0;
  int64_t accepted = 0;
};

// Wherever in the answer they are: llama.cpp's timings, vLLM's metrics.speculative_decoding,
// SGLang's meta_info. nullopt: not told.
std::optional<DraftCounts> FindDraftCounts(const nlohmann::json& answer);

// The counters of drafted and accepted tokens in a Prometheus page, summed over labels: vLLM's and
// llama.cpp's names. nullopt: it has none.
std::optional<DraftCounts> ParseDraftMetrics(std::string_view page);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_DRAFT_COUNTS_H_

// Plots of flip rates, top-2 gaps and survival as SVG elements for page_html.cc's style. Not a
// plotting library.
#ifndef VERBATIM_APPS_FLIP_PLOTS_H_
#define VERBATIM_APPS_FLIP_PLOTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/flip_statistics.h"
#include "measure/gap_histogram.h"

namespace verbatim::cli {

struct RateRow {
  std::string label;
  Rate rate;
};
// Each row a dot with its exact interval and, pale, the one by prompt, on a logarithmic axis;
// without events the range below the bound. `percent`: rates are probabilities; else per 1000.
std::string RatePlot(const std::vector<RateRow>& rows, bool percent);

// Shares of each population by octave of the gap; a dashed line at `limit`.
std::string GapPlot(const GapHistogram& all, const GapHistogram& at_flips,
                    std::optional<double> limit);

struct SurvivalSeries {
  std::string label;
  std::vector<SurvivalStep> steps;
  int64_t lives = 0;
};
// Step curves with their bands up to `longest`; without an event the band is the exact bound
// 1 - 0.05^(1/lives) that a prompt parts at all.
std::string SurvivalPlot(const std::vector<SurvivalSeries>& series, int64_t longest);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_FLIP_PLOTS_H_

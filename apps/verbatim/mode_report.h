// What bench --against measured, as text, Markdown or JSON. Not the measuring
// (measure/mode_bench.h).
#ifndef VERBATIM_APPS_MODE_REPORT_H_
#define VERBATIM_APPS_MODE_REPORT_H_

#include <string>
#include <string_view>

#include "measure/mode_bench.h"

namespace verbatim::cli {

// `source` says what was loaded. The report has no difference.
std::string ModeText(const ModeReport& report, std::string_view source);
std::string ModeMarkdown(const ModeReport& report, std::string_view source);
std::string ModeJson(const ModeReport& report, std::string_view source);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MODE_REPORT_H_

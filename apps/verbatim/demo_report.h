// CompareArms and DemoReport: the verdict over two runs that must be equal, and its table. Not the
// runs.
#ifndef VERBATIM_APPS_DEMO_REPORT_H_
#define VERBATIM_APPS_DEMO_REPORT_H_

#include <cstdint>
#include <string>

#include "apps/verbatim/terminal.h"
#include "verbatim/request.h"

namespace verbatim::cli {

// Two runs of one request side by side.
struct ArmComparison {
  int64_t tokens = 0;  // compared: the longer of the two lists
  int64_t tokens_that_differ = 0;
  int64_t first_difference = -1;  // index of the first token that differs; -1: none
  int64_t logits_bytes = 0;       // compared, through their digest
  bool logits_equal = false;      // equal SHA-256 over equally many bytes: no byte differs
  bool text_equal = false;
  bool equal() const { return tokens_that_differ == 0 && logits_equal && text_equal; }
};

ArmComparison CompareArms(const Result& classic, const Result& mtp, int64_t vocab_size);

struct DemoSpeeds {
  double classic = 0;  // tokens/s
  double mtp = 0;
  int repetitions = 0;  // of each arm, of which the speeds are medians; 0: the streamed runs
};

// The table and the verdict, in colour if the terminal wants it. Speeds are left out when the runs
// differ: a speed-up over another text means nothing.
std::string DemoReport(const Result& classic, const Result& mtp, const ArmComparison& comparison,
                       const DemoSpeeds& speeds, const Terminal& terminal);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_DEMO_REPORT_H_

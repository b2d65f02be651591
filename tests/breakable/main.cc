// `verbatim_breakable`: the program, whose backends take a planted break from VERBATIM_BREAK
// (tests/support/breaking_backend.h). Built with the tests, never installed.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "apps/verbatim/verbs.h"
#include "backend/create_backend.h"
#include "tests/support/breaking_backend.h"

int main(int argc, char** argv) {
  if (const char* planted = std::getenv("VERBATIM_BREAK"); planted != nullptr) {
    const auto spec = verbatim::testing::ParseBreak(planted);
    if (!spec.ok()) {
      std::fprintf(stderr, "%s\n", spec.status().message().c_str());
      return verbatim::cli::kExitUsage;
    }
    verbatim::WrapEveryBackend(verbatim::testing::BreakWith(*spec));
  }
  return verbatim::cli::RunProgram(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

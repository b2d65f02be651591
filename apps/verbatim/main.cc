// The entry of the program `verbatim`. Everything is in program.cc.
#include <string>
#include <vector>

#include "apps/verbatim/verbs.h"

int main(int argc, char** argv) {
  return verbatim::cli::RunProgram(
      std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}

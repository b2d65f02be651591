// Help texts and docs/cli.md, generated from the option table. Not written by hand anywhere else.
#ifndef VERBATIM_APPS_HELP_H_
#define VERBATIM_APPS_HELP_H_

#include <string>

#include "apps/verbatim/options.h"

namespace verbatim::cli {

std::string ProgramHelp();
std::string VerbHelp(Verb verb);       // usage, options by section, examples; 80 columns
std::string MarkdownTable(Verb verb);  // the options of one verb, for README
std::string MarkdownManual();          // docs/cli.md

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_HELP_H_

// ManPage: verbatim.1 from the option table and the prose of docs/cli.md. Not help on a terminal.
#ifndef VERBATIM_APPS_MAN_PAGE_H_
#define VERBATIM_APPS_MAN_PAGE_H_

#include <string>
#include <string_view>

namespace verbatim::cli {

// man(7) macros; `date` as YYYY-MM-DD.
std::string ManPage(std::string_view date);

// The Markdown of manual_text.cc as man(7): paragraphs, `code`, **bold**, [text](link) as its text,
// tables of two or more columns as tagged paragraphs, "- " items, lines indented by four as
// examples, "# " and comment lines left out.
std::string RoffFromMarkdown(std::string_view markdown);

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_MAN_PAGE_H_

// What a request line and its headers may say, beyond HTTP's grammar. Not the grammar
// (request_parser.h).
#ifndef VERBATIM_SERVE_HTTP_REQUEST_RULES_H_
#define VERBATIM_SERVE_HTTP_REQUEST_RULES_H_

#include <optional>
#include <string>
#include <string_view>

namespace verbatim::serve {

// Replaces %XX by its byte. Nothing if an escape is not two hex digits.
std::optional<std::string> PercentDecode(std::string_view text);

struct RequestTarget {
  std::string path;   // decoded: UTF-8 without control characters
  std::string query;  // as sent
  std::string error;  // what was expected and received; empty: the target is fine
};
// Origin form (/path?query), absolute form (http://host/path?query), or * with OPTIONS.
RequestTarget ParseTarget(std::string_view method, std::string_view target);

// [A-Za-z0-9._-]{1,128}: may stand in a response's header and in a log.
bool IsHarmlessRequestId(std::string_view id);
// "req_" and 32 hex digits of the system's random source.
std::string NewRequestId();

// An HTTP token: names of methods and headers.
bool IsToken(std::string_view text);
// No control characters but tabs: NUL, CR and LF above all.
bool IsHeaderValue(std::string_view text);
// A Host header: a name or an address, and maybe a port. Nothing that could be a path or a user.
bool IsHost(std::string_view text);
bool IsUtf8(std::string_view text);
// ASCII letters of any case.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_REQUEST_RULES_H_

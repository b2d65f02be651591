// Comparisons of names; an address must be one as a whole.
#include "serve/http/local_host.h"

#include <algorithm>

#include "serve/http/request_rules.h"

namespace verbatim::serve {
namespace {

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// "127." and three numbers up to 255.
bool IsLoopbackV4(std::string_view host) {
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const size_t dot = host.find('.');
    const std::string_view part = host.substr(0, dot);
    more = dot != host.npos;
    if (more) host.remove_prefix(dot + 1);
    if (parts == 0 && part != "127") return false;
    if (!IsDigits(part) || part.size() > 3) return false;
    int value = 0;
    for (const char c : part) value = value * 10 + (c - '0');
    if (value > 255) return false;
  }
  return parts == 4;
}

}  // namespace

bool IsLoopback(std::string_view host) {
  if (host == "::1" || host == "[::1]" || IsLoopbackV4(host)) return true;
  if (host.ends_with('.')) host.remove_suffix(1);  // the root, which resolvers take
  // RFC 6761 6.3: names below localhost are this machine's, too.
  constexpr std::string_view kLocalhost = "localhost";
  if (host.size() < kLocalhost.size()) return false;
  const std::string_view below = host.substr(0, host.size() - kLocalhost.size());
  return EqualsIgnoringCase(host.substr(below.size()), kLocalhost) &&
         (below.empty() || (below.ends_with('.') && below.size() > 1));
}

std::string_view HostName(std::string_view host_header) {
  const size_t bracket = host_header.find(']');
  const size_t colon = host_header.find(':', bracket == host_header.npos ? 0 : bracket);
  // What is behind the colon must be a port: else the whole is no name of ours.
  if (colon == host_header.npos) return host_header;
  const std::string_view port = host_header.substr(colon + 1);
  return port.empty() || IsDigits(port) ? host_header.substr(0, colon) : host_header;
}

bool IsLocalHostHeader(std::string_view host_header, std::string_view configured) {
  if (host_header.empty()) return true;
  const std::string_view name = HostName(host_header);
  if (name == "::1") return false;  // only brackets tell an address from a port
  return IsLoopback(name) || EqualsIgnoringCase(name, configured);
}

}  // namespace verbatim::serve

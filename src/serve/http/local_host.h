// Names of this machine alone: where a server listens, and what a browser called it. No resolver.
#ifndef VERBATIM_SERVE_HTTP_LOCAL_HOST_H_
#define VERBATIM_SERVE_HTTP_LOCAL_HOST_H_

#include <string_view>

namespace verbatim::serve {

// localhost, a name below it, 127.0.0.0/8 in four numbers, or ::1, that in brackets or without.
// "127.0.0.1.example" is a stranger's name.
bool IsLoopback(std::string_view host);

// Of a Host header, "name" or "name:port": the name. An IPv6 address keeps its brackets.
std::string_view HostName(std::string_view host_header);

// Whether a Host header names this machine (IsLoopback) or is `configured`, the address that the
// server was told to listen on. True without a header, as in HTTP/1.0. A page whose own name was
// made to resolve to 127.0.0.1 (DNS rebinding) is of the server's origin to its browser, and no
// CORS stops it; but its name stays in this header.
bool IsLocalHostHeader(std::string_view host_header, std::string_view configured);

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_LOCAL_HOST_H_

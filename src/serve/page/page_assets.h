// The files of the page that the server shows, as parts of the program. Not the routes that serve
// them.
#ifndef VERBATIM_SERVE_PAGE_PAGE_ASSETS_H_
#define VERBATIM_SERVE_PAGE_PAGE_ASSETS_H_

#include <span>
#include <string_view>

namespace verbatim::serve {

struct PageAsset {
  std::string_view path;          // of the URL: "/", "/page/main.js"
  std::string_view content_type;  // with the charset
  std::string_view bytes;
  std::string_view etag;  // with its quotes; of the bytes' SHA-256
};

// To be sent as Content-Security-Policy with each of them: the page needs nothing but its own files
// and its own server, no script or style inside of markup, and is in nobody's frame.
inline constexpr std::string_view kPageContentSecurityPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'";

std::span<const PageAsset> PageAssets();
const PageAsset* FindPageAsset(std::string_view path);  // nullptr: none of that path

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_PAGE_PAGE_ASSETS_H_

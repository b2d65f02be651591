// ApiKeys: who may ask. Reads keys from a file and compares in constant time. Keeps digests, not
// keys.
#ifndef VERBATIM_SERVE_HTTP_API_KEYS_H_
#define VERBATIM_SERVE_HTTP_API_KEYS_H_

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "serve/http/http_server.h"
#include "verbatim/status.h"

namespace verbatim::serve {

class ApiKeys {
 public:
  // One key per line, blanks around it ignored; empty lines and lines that begin with # are none. A
  // key has 8 to 512 printable ASCII characters without blanks. Errors name the file and the line,
  // never the key: kNotFound, kIo (unreadable), kInvalidArgument (a bad key, or no key at all).
  static Expected<ApiKeys> Read(const std::filesystem::path& file);
  // The same of a text; `where` stands in errors.
  static Expected<ApiKeys> Parse(std::string_view text, std::string_view where);

  // `Authorization: Bearer KEY` (the scheme in any case) or `x-api-key: KEY`. The time depends on
  // the lengths of what was sent and on the number of keys, not on how much of a key is right.
  bool Allow(const HttpRequest& request) const;
  bool Contains(std::string_view key) const;
  size_t size() const { return digests_.size(); }

 private:
  std::vector<Sha256Bytes> digests_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_HTTP_API_KEYS_H_

// SHA-256 makes all keys equally long; CRYPTO_memcmp compares without an early exit.
#include "serve/http/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "serve/http/request_rules.h"

namespace verbatim::serve {
namespace {

constexpr size_t kMinKeyLength = 8;  // shorter ones are guessed by trying
constexpr size_t kMaxKeyLength = 512;
constexpr size_t kMaxFileBytes = size_t{1} << 20;  // two thousand of the longest

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Sha256Bytes DigestOf(std::string_view key) {
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(key)));
  return sha.Finish();
}

Status FileFault(const std::string& name, int code) {
  return MakeError(code == ENOENT ? StatusCode::kNotFound : StatusCode::kIo, name,
                   "a readable file with one API key per line",
                   std::generic_category().message(code));
}

}  // namespace

Expected<ApiKeys> ApiKeys::Parse(std::string_view text, std::string_view where) {
  ApiKeys keys;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view key = Trim(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (key.empty() || key.front() == '#') continue;
    const std::string place = fmt::format("{}:{}", where, line);
    if (key.size() < kMinKeyLength || key.size() > kMaxKeyLength) {
      return MakeError(StatusCode::kInvalidArgument, place,
                       fmt::format("a key of {} to {} characters", kMinKeyLength, kMaxKeyLength),
                       fmt::format("one of {}", key.size()), "openssl rand -hex 24");
    }
    if (!std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; })) {
      return MakeError(StatusCode::kInvalidArgument, place,
                       "a key of printable ASCII characters without blanks", "one with others",
                       "openssl rand -hex 24");
    }
    keys.digests_.push_back(DigestOf(key));
  }
  if (keys.digests_.empty()) {
    return MakeError(StatusCode::kInvalidArgument, where, "at least one API key", "none",
                     "a line with the output of openssl rand -hex 24");
  }
  return keys;
}

Expected<ApiKeys> ApiKeys::Read(const std::filesystem::path& file) {
  const std::string name = file.string();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(name.c_str(), "rbe"),
                                                               std::fclose);
  if (!stream) return FileFault(name, errno);
  std::string text;
  std::array<char, 4096> part;
  while (const size_t count = std::fread(part.data(), 1, part.size(), stream.get())) {
    text.append(part.data(), count);
    if (text.size() > kMaxFileBytes) {
      return MakeError(StatusCode::kInvalidArgument, name,
                       fmt::format("a file of API keys of at most {} bytes", kMaxFileBytes),
                       "a longer one");
    }
  }
  if (std::ferror(stream.get()) != 0) return FileFault(name, errno);  // e.g. a folder
  return Parse(text, name);
}

bool ApiKeys::Contains(std::string_view key) const {
  const Sha256Bytes sent = DigestOf(key);
  unsigned equal = 0;
  for (const Sha256Bytes& digest : digests_) {  // all of them, whichever is equal
    equal |= static_cast<unsigned>(CRYPTO_memcmp(sent.data(), digest.data(), sent.size()) == 0);
  }
  return equal != 0;
}

bool ApiKeys::Allow(const HttpRequest& request) const {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view authorization = request.Header("authorization");
  bool allowed = false;
  if (EqualsIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) {
    allowed = Contains(Trim(authorization.substr(kScheme.size())));
  }
  const std::string_view key = request.Header("x-api-key");
  if (!key.empty()) allowed = Contains(key) || allowed;
  return allowed;
}

}  // namespace verbatim::serve

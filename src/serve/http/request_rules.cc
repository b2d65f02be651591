// Rules over characters; no state.
#include "serve/http/request_rules.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/sha256.h"
#include "serve/http/http_server.h"

namespace verbatim::serve {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = Lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool StartsIgnoringCase(std::string_view text, std::string_view prefix) {
  return EqualsIgnoringCase(text.substr(0, prefix.size()), prefix);
}

RequestTarget TargetError(std::string error) {
  RequestTarget target;
  target.error = std::move(error);
  return target;
}

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (EqualsIgnoringCase(header.name, name)) return header.value;
  }
  return {};
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? HexValue(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

RequestTarget ParseTarget(std::string_view method, std::string_view target) {
  if (method == "CONNECT")
    return TargetError("expected a request to this server, received CONNECT");
  RequestTarget parsed;
  if (target == "*" && method == "OPTIONS") {
    parsed.path.push_back('*');
    return parsed;
  }
  bool rootless = false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!StartsIgnoringCase(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::string_view host = target.substr(0, target.find_first_of("/?"));
    if (host.empty() || !IsHost(host)) {
      return TargetError("expected a host in the request's target, received none");
    }
    target.remove_prefix(host.size());
    rootless = target.empty() || target.front() == '?';  // RFC 9112 3.2.1: an empty path is /
    break;
  }
  if (!rootless && !target.starts_with('/')) {
    return TargetError("expected a target that begins with /, received another");
  }
  if (target.find('#') != target.npos) {
    return TargetError("expected a target without #, received one with it");
  }
  const size_t question = target.find('?');
  auto path = PercentDecode(target.substr(0, question));
  if (!path) return TargetError("expected % and two hex digits in the path, received % alone");
  if (std::any_of(path->begin(), path->end(), IsControl)) {
    return TargetError("expected a path without control characters, received one with them");
  }
  if (question != target.npos) parsed.query = target.substr(question + 1);
  if (!IsUtf8(*path) || !IsUtf8(parsed.query)) {
    return TargetError("expected a target in UTF-8, received other bytes");
  }
  parsed.path = *std::move(path);
  if (rootless) parsed.path.push_back('/');
  return parsed;
}

bool IsHarmlessRequestId(std::string_view id) {
  constexpr size_t kMaxLength = 128;  // twice the longest that a common client makes
  return !id.empty() && id.size() <= kMaxLength && std::all_of(id.begin(), id.end(), [](char c) {
    return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-';
  });
}

std::string NewRequestId() {
  std::array<uint8_t, 16> bytes;  // 128 bits: no two alike, and none can be guessed
  VERBATIM_CHECK(getentropy(bytes.data(), bytes.size()) == 0);  // fails on kernels before 3.17 only
  return "req_" + HexOf(bytes);
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos;
  });
}

bool IsHeaderValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return IsControl(c) && c != '\t'; });
}

bool IsHost(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlphanumeric(c) || std::string_view("-._~:[]%").find(c) != std::string::npos;
  });
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80             ? 1
                          : (lead & 0xe0) == 0xc0 ? 2
                          : (lead & 0xf0) == 0xe0 ? 3
                          : (lead & 0xf8) == 0xf0 ? 4
                                                  : 0;
    if (length == 0 || text.size() - i < length) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    // The shortest form only, no surrogates, nothing behind the last code point.
    constexpr std::array<uint32_t, 5> kFirst = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kFirst[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
      return false;
    }
    i += length;
  }
  return true;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace verbatim::serve

// Paths, checksums and their comparison.
#include "measure/receipt_checksums.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <string_view>

#include "base/sha256.h"
#include "measure/canonical_json.h"

namespace verbatim {
namespace {

// 32 bits: one wrong value in four thousand millions goes unnamed, and receipt_sha256 still tells.
constexpr size_t kChecksumDigits = 8;

std::string DigestOf(std::string_view text) {
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(text)));
  return sha.HexDigest();
}

void Collect(const nlohmann::json& object, const std::string& prefix,
             std::map<std::string, std::string>* checksums) {
  for (const auto& [key, value] : object.items()) {
    if (prefix.empty() && (key == kChecksums || key == kReceiptSha256)) continue;
    const std::string path = prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
    if (value.is_object()) {
      Collect(value, path, checksums);
    } else {
      (*checksums)[path] =
          DigestOf(fmt::format("{}={}", path, CanonicalJson(value))).substr(0, kChecksumDigits);
    }
  }
}

std::string WholeDigest(nlohmann::json receipt) {
  receipt.erase(kReceiptSha256);
  return DigestOf(CanonicalJson(receipt));
}

}  // namespace

void AddChecksums(nlohmann::ordered_json* receipt) {
  std::map<std::string, std::string> checksums;
  Collect(nlohmann::json(*receipt), "", &checksums);
  (*receipt)[kChecksums] = checksums;
  (*receipt)[kReceiptSha256] = WholeDigest(nlohmann::json(*receipt));
}

std::vector<std::string> EditedFields(const nlohmann::json& receipt) {
  std::map<std::string, std::string> actual;
  Collect(receipt, "", &actual);
  std::vector<std::string> edited;
  const auto said = receipt.find(kChecksums);
  const auto whole = receipt.find(kReceiptSha256);
  if (said != receipt.end() && said->is_object()) {
    for (const auto& [path, checksum] : actual) {
      const auto found = said->find(path);
      if (found == said->end() || *found != checksum) edited.push_back(path);
    }
    // More checksums than fields; their names are not ours to repeat.
    if (said->size() > actual.size()) edited.emplace_back(kChecksums);
  }
  if (edited.empty() && (whole == receipt.end() || *whole != WholeDigest(receipt))) {
    edited.emplace_back(kReceiptSha256);
  }
  return edited;
}

}  // namespace verbatim

// SHA-256 through OpenSSL's EVP interface.
#include "base/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/half.h"

namespace verbatim {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian bytes");

std::string HexOf(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  VERBATIM_CHECK(impl_->context != nullptr);
  VERBATIM_CHECK(EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  VERBATIM_CHECK(EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size()) == 1);
}

void Sha256::UpdateFloats(std::span<const float> values) {
  std::array<uint32_t, 1024> block;
  while (!values.empty()) {
    const size_t count = std::min(values.size(), block.size());
    std::transform(values.begin(), values.begin() + count, block.begin(), CanonicalBits);
    Update(std::as_bytes(std::span(block.data(), count)));
    values = values.subspan(count);
  }
}

Sha256Bytes Sha256::Finish() {
  Sha256Bytes digest;
  VERBATIM_CHECK(EVP_DigestFinal_ex(impl_->context, digest.data(), nullptr) == 1);
  // Without a type OpenSSL keeps the one that it has looked up.
  VERBATIM_CHECK(EVP_DigestInit_ex(impl_->context, nullptr, nullptr) == 1);
  return digest;
}

std::string Sha256::HexDigest() const {
  EVP_MD_CTX* copy = EVP_MD_CTX_new();
  VERBATIM_CHECK(copy != nullptr && EVP_MD_CTX_copy_ex(copy, impl_->context) == 1);
  Sha256Bytes digest;
  VERBATIM_CHECK(EVP_DigestFinal_ex(copy, digest.data(), nullptr) == 1);
  EVP_MD_CTX_free(copy);
  return HexOf(digest);
}

}  // namespace verbatim

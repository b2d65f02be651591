// Sha256: incremental SHA-256 (OpenSSL). Not a keyed hash.
#ifndef VERBATIM_BASE_SHA256_H_
#define VERBATIM_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace verbatim {

using Sha256Bytes = std::array<uint8_t, 32>;

// Lower-case hex digits, two for each byte.
std::string HexOf(std::span<const uint8_t> bytes);

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const std::byte> bytes);
  // Binary32 values as little-endian bytes, NaNs canonicalised to 0x7fc00000 (contract.md).
  // Allocates nothing.
  void UpdateFloats(std::span<const float> values);
  // The digest so far as 64 lower-case hex digits; updates may go on afterwards.
  std::string HexDigest() const;
  // The digest, and starts anew. Allocates nothing.
  Sha256Bytes Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_SHA256_H_

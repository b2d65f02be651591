// MappedFile: a whole file mapped read-only. Not for writing.
#ifndef VERBATIM_BASE_MAPPED_FILE_H_
#define VERBATIM_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "verbatim/status.h"

namespace verbatim {

// The file must not change while it is mapped: a page that a truncation takes away is a SIGBUS.
class MappedFile {
 public:
  // Errors: kNotFound, kIo (unreadable, not a regular file, not mappable). An empty file maps to an
  // empty span.
  static Expected<MappedFile> Open(const std::filesystem::path& path);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Reads a whole small text file, or a pipe or device up to its end; unlike a mapping, safe against
// a file that is truncated meanwhile. A file over `max_bytes` is an error (kCorrupt), so that a
// hostile file can't fill memory. Errors: kNotFound, kIo, kCorrupt.
Expected<std::string> ReadTextFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace verbatim

#endif  // VERBATIM_BASE_MAPPED_FILE_H_

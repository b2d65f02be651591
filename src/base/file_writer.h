// FileWriter: writes a file under a temporary name and renames it when complete. Leaves nothing
// half-written.
#ifndef VERBATIM_BASE_FILE_WRITER_H_
#define VERBATIM_BASE_FILE_WRITER_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim {

class FileWriter {
 public:
  // Creates `path`.tmp.<pid> beside the target. Errors: kIo.
  static Expected<FileWriter> Create(const std::filesystem::path& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();  // removes the temporary file unless Commit succeeded

  Status Write(std::span<const std::byte> bytes);  // kIo, e.g. a full disk
  Status Write(std::string_view text);
  Status Commit();  // flushes, closes, renames; kIo

 private:
  FileWriter() = default;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_FILE_WRITER_H_

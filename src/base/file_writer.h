// FileWriter: writes a file under a temporary name and renames it when complete. Leaves no file
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
  // Creates `path`.tmp.<pid> beside the target; through a symlink, beside what it names. A
  // character device (/dev/null) or a pipe is opened itself and written in place. Errors: kIo, also
  // for every other kind of file, a symlink to nothing, and the file that standard output goes to.
  static Expected<FileWriter> Create(const std::filesystem::path& path);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();  // removes the temporary file unless Commit succeeded

  Status Write(std::span<const std::byte> bytes);  // kIo, e.g. a full disk
  Status Write(std::string_view text);
  Status Commit();  // flushes, closes, renames; kIo

 private:
  FileWriter() = default;
  std::filesystem::path path_;       // as given, for errors
  std::filesystem::path target_;     // path_ without symlinks
  std::filesystem::path temporary_;  // empty: written in place, or committed
  int fd_ = -1;
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_FILE_WRITER_H_

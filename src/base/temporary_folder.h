// TemporaryFolder: a folder that disappears with its object unless it was renamed into place. Not a
// lock.
#ifndef VERBATIM_BASE_TEMPORARY_FOLDER_H_
#define VERBATIM_BASE_TEMPORARY_FOLDER_H_

#include <filesystem>

#include "verbatim/status.h"

namespace verbatim {

class TemporaryFolder {
 public:
  // Beside `target`, hidden and with the process id in its name, so that RenameTo(target) is one
  // rename. What a process that died with our id left there is removed. Errors: kIo.
  static Expected<TemporaryFolder> CreateBeside(const std::filesystem::path& target);
  // <temporary folder of the system>/<prefix>XXXXXX, a name that nobody has. Errors: kIo.
  static Expected<TemporaryFolder> CreateUnique(std::string_view prefix);

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() { Remove(); }

  const std::filesystem::path& path() const { return path_; }
  // `target` must not exist. The folder is then no longer temporary. Errors: kIo.
  Status RenameTo(const std::filesystem::path& target);
  void Remove();  // now, with everything in it

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  // empty: renamed, removed or moved from
};

}  // namespace verbatim

#endif  // VERBATIM_BASE_TEMPORARY_FOLDER_H_

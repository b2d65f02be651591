// MemoryFolder: a fresh folder for files that are written thousands of times, in memory where the
// system has such a place. Removed at the end of the scope. Not for large files.
#ifndef VERBATIM_TESTS_SUPPORT_MEMORY_FOLDER_H_
#define VERBATIM_TESTS_SUPPORT_MEMORY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace verbatim::testing {

class MemoryFolder {
 public:
  MemoryFolder() {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path shared = "/dev/shm";
    const fs::path base = fs::is_directory(shared, error) ? shared : fs::temp_directory_path();
    std::string pattern = (base / "verbatim-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~MemoryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_MEMORY_FOLDER_H_

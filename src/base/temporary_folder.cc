// Removal in the destructor; an error there has nobody to hear it.
#include "base/temporary_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace verbatim {
namespace {

namespace fs = std::filesystem;

Status Fault(const fs::path& path, std::string_view received) {
  return MakeError(StatusCode::kIo, path.string(), "a writable folder", received);
}

}  // namespace

Expected<TemporaryFolder> TemporaryFolder::CreateBeside(const fs::path& target) {
  const fs::path path =
      target.parent_path() / fmt::format(".{}.tmp.{}", target.filename().string(), ::getpid());
  std::error_code error;
  fs::remove_all(path, error);
  fs::create_directories(path, error);
  if (error) return Fault(path, error.message());
  return TemporaryFolder(path);
}

Expected<TemporaryFolder> TemporaryFolder::CreateUnique(std::string_view prefix) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) return Fault("TMPDIR", error.message());
  std::string name = (parent / fmt::format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) return Fault(parent, std::strerror(errno));
  return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

Status TemporaryFolder::RenameTo(const fs::path& target) {
  std::error_code error;
  fs::rename(path_, target, error);
  if (error) return Fault(target, error.message());
  path_.clear();
  return {};
}

void TemporaryFolder::Remove() {
  if (path_.empty()) return;
  std::error_code error;
  fs::remove_all(std::exchange(path_, {}), error);
}

}  // namespace verbatim

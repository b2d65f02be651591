// Files through mmap, and small ones through read.
#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace verbatim {
namespace {

Status OpenError(const std::filesystem::path& path) {
  const StatusCode code = errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIo;
  return MakeError(code, path.string(), "a readable file", std::strerror(errno));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Expected<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  // O_NONBLOCK: a pipe without a writer must be refused below, not waited for here.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return OpenError(path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return OpenError(path);
  if (!S_ISREG(info.st_mode)) {
    return MakeError(StatusCode::kIo, path.string(), "a regular file", "something else");
  }
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ == 0) return file;
  void* address = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) {
    file.size_ = 0;
    return OpenError(path);
  }
  file.data_ = static_cast<const std::byte*>(address);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Expected<std::string> ReadTextFile(const std::filesystem::path& path, size_t max_bytes) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd.get() < 0) return OpenError(path);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return OpenError(path);
  if (S_ISDIR(info.st_mode)) {
    return MakeError(StatusCode::kIo, path.string(), "a readable file", "a directory");
  }
  std::string text;
  std::array<char, 1 << 16> buffer;  // the usual size of a pipe
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return OpenError(path);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return MakeError(StatusCode::kCorrupt, path.string(),
                       fmt::format("at most {} bytes", max_bytes), "more");
    }
  }
}

}  // namespace verbatim

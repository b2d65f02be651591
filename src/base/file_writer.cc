// Atomic file replacement by rename; devices and pipes are written in place.
#include "base/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace verbatim {
namespace {

Status WriteError(const std::filesystem::path& path) {
  return MakeError(StatusCode::kIo, path.string(), "a writable file", std::strerror(errno));
}

Status KindError(const std::filesystem::path& path, std::string_view received) {
  return MakeError(StatusCode::kIo, path.string(), "a regular file, a character device or a pipe",
                   received, "another name");
}

std::string_view KindName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISBLK(mode)) return "a block device";
  return S_ISSOCK(mode) ? "a socket" : "something else";
}

// Replaced by rename, it would lose whatever the program prints there.
bool IsStandardOutput(const struct stat& file) {
  struct stat output;
  return ::fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

}  // namespace

Expected<FileWriter> FileWriter::Create(const std::filesystem::path& path) {
  FileWriter writer;
  writer.path_ = path;
  mode_t mode = 0644;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) {
      // /dev/null must stay what it is, and a reader waits at this end of the pipe.
      writer.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      if (writer.fd_ < 0) return WriteError(path);
      return writer;
    }
    if (!S_ISREG(info.st_mode)) return KindError(path, KindName(info.st_mode));
    if (IsStandardOutput(info)) return KindError(path, "the file behind standard output");
    // A symlink stays; the file that it names is replaced.
    std::error_code error;
    writer.target_ = std::filesystem::canonical(path, error);
    if (error) {
      errno = error.value();
      return WriteError(path);
    }
    mode = info.st_mode & 0777;  // a private file stays private
  } else if (::lstat(path.c_str(), &info) == 0) {
    return KindError(path, "a symlink to nothing");
  } else {
    writer.target_ = path;
  }
  writer.temporary_ = fmt::format("{}.tmp.{}", writer.target_.string(), ::getpid());
  writer.fd_ = ::open(writer.temporary_.c_str(),
                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
  if (writer.fd_ < 0) {
    const Status status = WriteError(path);
    writer.temporary_.clear();  // not ours to remove
    return status;
  }
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status FileWriter::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(path_);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status FileWriter::Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }

Status FileWriter::Commit() {
  const int fd = std::exchange(fd_, -1);
  // Devices and pipes have nothing to synchronise: fsync refuses them.
  Status status = temporary_.empty() || ::fsync(fd) == 0 ? Status() : WriteError(path_);
  if (::close(fd) != 0 && status.ok()) status = WriteError(path_);
  if (!status.ok() || temporary_.empty()) return status;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return WriteError(path_);
  temporary_.clear();
  return {};
}

}  // namespace verbatim

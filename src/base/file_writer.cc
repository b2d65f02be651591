// Atomic file replacement by rename.
#include "base/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace verbatim {
namespace {

Status WriteError(const std::filesystem::path& path) {
  return MakeError(StatusCode::kIo, path.string(), "a writable file", std::strerror(errno));
}

}  // namespace

Expected<FileWriter> FileWriter::Create(const std::filesystem::path& path) {
  FileWriter writer;
  writer.path_ = path;
  writer.temporary_ = fmt::format("{}.tmp.{}", path.string(), ::getpid());
  writer.fd_ = ::open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (writer.fd_ < 0) return WriteError(path);
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
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
  const bool synced = ::fsync(fd) == 0;
  if (::close(fd) != 0 || !synced) return WriteError(path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return WriteError(path_);
  temporary_.clear();
  return {};
}

}  // namespace verbatim

// A text file, appended to. A line is stored as it is, unless it has line breaks inside: then
// behind a mark, with \n for a line break and \\ for a backslash. Files from before the mark read
// the same.
#include "apps/verbatim/chat_history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_writer.h"
#include "base/mapped_file.h"

namespace verbatim::cli {
namespace {

namespace fs = std::filesystem;

// 2 * kMaxLines lines of a screen's width are 160 KB; a file beyond this is none of ours.
constexpr size_t kMaxBytes = 2 * ChatHistory::kMaxLines * ChatHistory::kMaxLineBytes;

constexpr char kMark = '\x1e';  // the record separator of ASCII, which no key types

std::string Stored(std::string_view line) {
  if (line.find('\n') == std::string_view::npos && !line.starts_with(kMark)) {
    return std::string(line);
  }
  std::string stored(1, kMark);
  for (const char byte : line) {
    if (byte == '\n') {
      stored += "\\n";
    } else if (byte == '\\') {
      stored += "\\\\";
    } else {
      stored += byte;
    }
  }
  return stored;
}

std::string Restored(std::string_view stored) {
  if (!stored.starts_with(kMark)) return std::string(stored);
  std::string line;
  for (size_t i = 1; i < stored.size(); ++i) {
    if (stored[i] == '\\' && i + 1 < stored.size()) {
      ++i;
      line += stored[i] == 'n' ? '\n' : stored[i];
    } else {
      line += stored[i];
    }
  }
  return line;
}

Status IoError(const fs::path& path, std::string_view expected) {
  return MakeError(StatusCode::kIo, path.string(), expected, std::strerror(errno),
                   "another XDG_STATE_HOME");
}

}  // namespace

fs::path HistoryPath(const std::function<std::string(const char*)>& environment) {
  fs::path state = environment("XDG_STATE_HOME");
  if (!state.is_absolute()) {
    const std::string home = environment("HOME");
    if (home.empty()) return {};
    state = fs::path(home) / ".local" / "state";
  }
  return state / "verbatim" / "history";
}

Expected<std::vector<std::string>> ChatHistory::Load() const {
  std::vector<std::string> lines;
  std::error_code error;
  if (path_.empty() || !fs::exists(path_, error)) return lines;
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path_, kMaxBytes));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(Restored(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  const bool cut = lines.size() >= 2 * kMaxLines;
  if (lines.size() > kMaxLines) lines.erase(lines.begin(), lines.end() - kMaxLines);
  if (!cut) return lines;
  VERBATIM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path_));
  for (const std::string& line : lines) VERBATIM_RETURN_IF_ERROR(writer.Write(Stored(line) + "\n"));
  VERBATIM_RETURN_IF_ERROR(writer.Commit());
  ::chmod(path_.c_str(), S_IRUSR | S_IWUSR);
  return lines;
}

Status ChatHistory::Append(std::string_view line) const {
  const std::string entry = Stored(line) + "\n";
  if (path_.empty() || entry.size() > kMaxLineBytes) return {};
  std::error_code error;
  const fs::path folder = path_.parent_path();
  if (!fs::exists(folder, error)) {
    fs::create_directories(folder, error);
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  const int fd =
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return IoError(path_, "to open the history");
  const ssize_t written = ::write(fd, entry.data(), entry.size());
  Status status;
  if (written != static_cast<ssize_t>(entry.size())) status = IoError(path_, "to write");
  ::close(fd);
  return status;
}

}  // namespace verbatim::cli

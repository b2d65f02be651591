// The read side of the Hugging Face cache layout: models--ORG--NAME/{refs,snapshots,.no_exist}.
#include "checkpoint/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCommitDigits = 40;  // SHA-1 in hex
constexpr size_t kMaxNamePart = 96;   // the hub's own limit
constexpr size_t kMaxRefBytes = 4096;

struct ModelId {
  std::string org;
  std::string name;
  std::string revision;
};

bool IsIdPart(std::string_view part) {
  if (part.empty() || part.size() > kMaxNamePart) return false;
  if (part.front() == '.' || part.front() == '-' || part.back() == '.' || part.back() == '-') {
    return false;
  }
  if (part.find("..") != part.npos || part.find("--") != part.npos) return false;
  return std::ranges::all_of(part, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// A branch, tag, refs/pr/N or commit: no path escapes.
bool IsRevision(std::string_view revision) {
  if (revision.empty() || revision.size() > 256 || revision.front() == '/') return false;
  while (!revision.empty()) {
    const size_t slash = std::min(revision.find('/'), revision.size());
    const std::string_view part = revision.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) return false;
    revision.remove_prefix(std::min(slash + 1, revision.size()));
  }
  return true;
}

bool IsCommit(std::string_view text) {
  return text.size() == kCommitDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Expected<ModelId> ParseId(const std::string& model) {
  ModelId id;
  const size_t at = model.find('@');
  const std::string repo = model.substr(0, at);
  id.revision = at == std::string::npos ? "main" : model.substr(at + 1);
  const size_t slash = repo.find('/');
  id.org = repo.substr(0, slash);
  id.name = slash == std::string::npos ? "" : repo.substr(slash + 1);
  if (IsIdPart(id.org) && IsIdPart(id.name) && IsRevision(id.revision)) return id;
  return MakeError(StatusCode::kNotFound, model, "a model folder or an id org/name[@revision]",
                   "no such folder, and no valid id", "checking the path");
}

std::string ListSnapshots(const fs::path& repo) {
  std::vector<std::string> commits;
  std::error_code error;
  for (fs::directory_iterator it(repo / "snapshots", error), end; !error && it != end;
       it.increment(error)) {
    commits.push_back(it->path().filename().string());
  }
  std::ranges::sort(commits);
  std::string list;
  for (const std::string& commit : commits) list += (list.empty() ? "" : ", ") + commit;
  return list.empty() ? "none" : list;
}

}  // namespace

GetEnv ProcessEnvironment() {
  return [](const char* name) -> const char* { return std::getenv(name); };
}

fs::path HubCacheFolder(const GetEnv& getenv) {
  const auto get = [&](const char* name) -> std::string_view {
    const char* value = getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  };
  if (const auto v = get("HF_HUB_CACHE"); !v.empty()) return v;
  if (const auto v = get("HUGGINGFACE_HUB_CACHE"); !v.empty()) return v;
  if (const auto v = get("HF_HOME"); !v.empty()) return fs::path(v) / "hub";
  if (const auto v = get("XDG_CACHE_HOME"); !v.empty()) return fs::path(v) / "huggingface" / "hub";
  if (const auto v = get("HOME"); !v.empty()) return fs::path(v) / ".cache" / "huggingface" / "hub";
  return {};
}

Expected<fs::path> ResolveModel(const std::string& model, const GetEnv& getenv) {
  std::error_code error;
  if (model.empty()) {
    return MakeError(StatusCode::kInvalidArgument, "model", "a model folder or id", "nothing");
  }
  if (fs::is_directory(model, error)) return fs::path(model);
  if (fs::exists(model, error)) {
    return MakeError(StatusCode::kInvalidArgument, model, "a folder with config.json", "a file",
                     "the folder that holds it");
  }
  if (model.find('/') == std::string::npos) {
    return MakeError(StatusCode::kNotFound, model,
                     "a folder (a name without a slash is a path, not a model id)",
                     "no such folder", "the path, or an id of the form org/name");
  }
  VERBATIM_ASSIGN_OR_RETURN(const ModelId id, ParseId(model));
  const fs::path cache = HubCacheFolder(getenv);
  if (cache.empty()) {
    return MakeError(StatusCode::kNotFound, model,
                     fmt::format("folder {} or a Hugging Face cache to look in", model),
                     "neither (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME are not set)",
                     "setting HF_HUB_CACHE");
  }
  const fs::path repo = cache / fmt::format("models--{}--{}", id.org, id.name);
  const std::string advice =
      fmt::format("downloading it first: hf download {}/{}", id.org, id.name);
  const auto missing = [&](std::string_view what) {
    return MakeError(
        StatusCode::kNotFound, model,
        fmt::format("folder {} or, in the Hugging Face cache, {}", model, repo.string()), what,
        advice);
  };
  if (!fs::is_directory(cache, error)) {
    return missing(fmt::format("neither (there is no cache at {})", cache.string()));
  }
  if (!fs::is_directory(repo, error)) return missing("neither");

  std::string commit = id.revision;
  if (!IsCommit(commit)) {
    const fs::path ref = repo / "refs" / id.revision;
    const auto text = ReadTextFile(ref, kMaxRefBytes);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) {
      return missing(fmt::format("no {} (snapshots there: {})", ref.string(), ListSnapshots(repo)));
    }
    if (!text.ok()) return text.status();
    commit = text->substr(0, text->find_first_of(" \t\r\n"));
    if (!IsCommit(commit)) {
      return MakeError(StatusCode::kCorrupt, ref.string(), "a commit of 40 hex digits",
                       fmt::format("{} bytes of something else", text->size()), advice);
    }
  }
  const fs::path snapshot = repo / "snapshots" / commit;
  if (!fs::is_directory(snapshot, error)) {
    return missing(
        fmt::format("no {} (snapshots there: {})", snapshot.string(), ListSnapshots(repo)));
  }
  if (!fs::exists(snapshot / "config.json", error)) {
    const bool known_absent = fs::exists(repo / ".no_exist" / commit / "config.json", error);
    return missing(fmt::format("no {}{}", (snapshot / "config.json").string(),
                               known_absent ? " (the repository has none, as .no_exist records)"
                                            : " (an incomplete download)"));
  }
  return snapshot;
}

}  // namespace verbatim

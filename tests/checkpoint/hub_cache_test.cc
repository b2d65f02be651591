// Look-ups in the Hugging Face cache layout, with an injected environment.
#include "checkpoint/hub_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "checkpoint/expect_error.h"
#include "checkpoint/synthetic.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using testing::ExpectError;
using testing::TempFolder;
using testing::WriteFile;

class HubCache : public ::testing::Test {
 protected:
  HubCache() {
    env_["HF_HUB_CACHE"] = folder_.path().string();
    WriteFile(Repo() / "snapshots" / kCommit / "config.json", "{}");
    WriteFile(Repo() / "refs" / "main", kCommit + "\n");
  }
  fs::path Repo() const { return folder_.path() / "models--Org--Name-1.5B"; }
  GetEnv Environment() const {
    return [this](const char* name) -> const char* {
      const auto found = env_.find(name);
      return found == env_.end() ? nullptr : found->second.c_str();
    };
  }
  Expected<fs::path> Resolve(const std::string& model) const {
    return ResolveModel(model, Environment());
  }

  const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
  TempFolder folder_;
  std::map<std::string, std::string> env_;
};

TEST_F(HubCache, RootPrecedence) {
  env_ = {{"HF_HUB_CACHE", "/a"},
          {"HUGGINGFACE_HUB_CACHE", "/b"},
          {"HF_HOME", "/c"},
          {"XDG_CACHE_HOME", "/d"},
          {"HOME", "/e"}};
  const std::pair<const char*, const char*> order[] = {{"HF_HUB_CACHE", "/a"},
                                                       {"HUGGINGFACE_HUB_CACHE", "/b"},
                                                       {"HF_HOME", "/c/hub"},
                                                       {"XDG_CACHE_HOME", "/d/huggingface/hub"},
                                                       {"HOME", "/e/.cache/huggingface/hub"}};
  for (const auto& [name, folder] : order) {
    EXPECT_EQ(HubCacheFolder(Environment()), fs::path(folder));
    env_.erase(name);
  }
}

TEST_F(HubCache, ResolvesRevisions) {
  const fs::path snapshot = Repo() / "snapshots" / kCommit;
  WriteFile(Repo() / "refs" / "refs" / "pr" / "7", kCommit);
  EXPECT_EQ(*Resolve("Org/Name-1.5B"), snapshot);
  EXPECT_EQ(*Resolve("Org/Name-1.5B@main"), snapshot);
  EXPECT_EQ(*Resolve("Org/Name-1.5B@" + kCommit), snapshot);
  EXPECT_EQ(*Resolve("Org/Name-1.5B@refs/pr/7"), snapshot);
}

TEST_F(HubCache, WithoutAnyVariableThereIsNoCache) {
  env_.clear();
  EXPECT_EQ(HubCacheFolder(Environment()), fs::path());
  ExpectError(Resolve("Org/Name-1.5B"), StatusCode::kNotFound,
              {"[Org/Name-1.5B]", "HOME are not set", "setting HF_HUB_CACHE"});
}

TEST_F(HubCache, AnExistingFolderWins) {
  EXPECT_EQ(*Resolve(folder_.path().string()), folder_.path());
}

TEST_F(HubCache, ABareNameIsAPath) {
  ExpectError(Resolve("Name-1.5B"), StatusCode::kNotFound,
              {"[Name-1.5B]", "without a slash is a path", "org/name"});
  ExpectError(Resolve(""), StatusCode::kInvalidArgument, {"nothing"});
}

TEST_F(HubCache, SaysWhatWasLookedForWhere) {
  ExpectError(Resolve("Org/Other"), StatusCode::kNotFound,
              {"[Org/Other]", (folder_.path() / "models--Org--Other").string(), "neither",
               "hf download Org/Other"});
  ExpectError(Resolve("Org/Name-1.5B@dev"), StatusCode::kNotFound,
              {(Repo() / "refs" / "dev").string(), "snapshots there: " + kCommit});
  const std::string absent(40, 'a');
  ExpectError(Resolve("Org/Name-1.5B@" + absent), StatusCode::kNotFound,
              {(Repo() / "snapshots" / absent).string(), "snapshots there: " + kCommit});
  env_["HF_HUB_CACHE"] = "/nowhere";
  ExpectError(Resolve("Org/Name-1.5B"), StatusCode::kNotFound, {"there is no cache at /nowhere"});
}

TEST_F(HubCache, IncompleteSnapshots) {
  const fs::path config = Repo() / "snapshots" / kCommit / "config.json";
  fs::remove(config);
  ExpectError(Resolve("Org/Name-1.5B"), StatusCode::kNotFound,
              {config.string(), "an incomplete download"});
  WriteFile(Repo() / ".no_exist" / kCommit / "config.json", "");
  ExpectError(Resolve("Org/Name-1.5B"), StatusCode::kNotFound, {config.string(), ".no_exist"});
}

TEST_F(HubCache, DamagedRef) {
  WriteFile(Repo() / "refs" / "main", "../../../etc");
  ExpectError(Resolve("Org/Name-1.5B"), StatusCode::kCorrupt, {"refs/main", "40 hex digits"});
}

TEST_F(HubCache, MalformedIds) {
  for (const char* id : {"a/b/c", "../x", "a/..", "a/b--c", "/nowhere/model", "a/b@../x", "a/b@",
                         "a/ b", "./missing", "a/", "/b", "a/b@x//y"}) {
    ExpectError(Resolve(id), StatusCode::kNotFound, {"a model folder or an id org/name"});
  }
}

}  // namespace
}  // namespace verbatim

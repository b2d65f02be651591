// The page as the program has it: the files of the checkout, whole, and needing nothing from
// elsewhere. Not its behaviour (tests/browser).
#include "serve/page/page_assets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace verbatim::serve {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(VERBATIM_SOURCE_DIR) / "src/serve/page";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> Matches(std::string_view text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::cregex_iterator at(text.data(), text.data() + text.size(), regex), end; at != end;
       ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

std::string_view Bytes(std::string_view path) {
  const PageAsset* asset = FindPageAsset(path);
  return asset == nullptr ? std::string_view() : asset->bytes;
}

TEST(PageAssets, HaveTheFilesOfTheCheckout) {
  std::set<std::string> served;
  for (const PageAsset& asset : PageAssets()) {
    const std::string name = asset.path == "/" ? "index.html" : std::string(asset.path.substr(6));
    EXPECT_EQ(asset.bytes, ReadFile(kFolder / name)) << name;
    EXPECT_FALSE(asset.bytes.empty()) << name;
    served.insert(name);
  }
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string suffix = entry.path().extension().string();
    if (suffix == ".html" || suffix == ".css" || suffix == ".js" || suffix == ".svg") {
      there.insert(entry.path().filename().string());
    }
  }
  EXPECT_EQ(served, there);
}

TEST(PageAssets, AreFoundByPath) {
  ASSERT_NE(FindPageAsset("/"), nullptr);
  EXPECT_EQ(FindPageAsset("/")->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(FindPageAsset("/page/page.css")->content_type, "text/css; charset=utf-8");
  EXPECT_EQ(FindPageAsset("/page/main.js")->content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(FindPageAsset("/page/icon.svg")->content_type, "image/svg+xml");
  EXPECT_EQ(FindPageAsset("/page/"), nullptr);
  EXPECT_EQ(FindPageAsset("/page/../page.css"), nullptr);
}

TEST(PageAssets, HaveTagsOfTheirOwn) {
  std::set<std::string_view> tags;
  for (const PageAsset& asset : PageAssets()) {
    EXPECT_TRUE(std::regex_match(std::string(asset.etag), std::regex("\"[0-9a-f]{32}\"")))
        << asset.etag;
    tags.insert(asset.etag);
  }
  EXPECT_EQ(tags.size(), PageAssets().size());
}

TEST(PageAssets, NameOnlyEachOther) {
  for (const std::string& name : Matches(Bytes("/"), "(?:src|href)=\"([^\"#]+)\"")) {
    EXPECT_NE(FindPageAsset("/" + name), nullptr) << name;
  }
  std::set<std::string> reached = {"main.js"};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const std::string& module : std::set<std::string>(reached)) {
      const auto imported = Matches(Bytes("/page/" + module), "from \"\\./([a-z_]+\\.js)\"");
      reached.insert(imported.begin(), imported.end());
    }
  }
  for (const PageAsset& asset : PageAssets()) {
    if (asset.path.ends_with(".js")) {
      EXPECT_TRUE(reached.contains(std::string(asset.path.substr(6)))) << asset.path;
    }
  }
  for (const std::string& module : reached) EXPECT_NE(Bytes("/page/" + module), "") << module;
}

TEST(PageAssets, NeedNothingFromElsewhereAndHoldNoInlineCode) {
  for (const PageAsset& asset : PageAssets()) {
    // The one address is the name of the format, which nobody asks for.
    EXPECT_TRUE(Matches(asset.bytes, "((?:https?:)?//[a-z0-9.]+\\.[a-z]{2,})") ==
                    std::set<std::string>() ||
                asset.path == "/page/icon.svg")
        << asset.path;
    EXPECT_EQ(asset.bytes.find("innerHTML"), std::string_view::npos) << asset.path;
    EXPECT_EQ(asset.bytes.find("eval("), std::string_view::npos) << asset.path;
  }
  EXPECT_TRUE(Matches(Bytes("/"), "( style=| on[a-z]+=|<style)").empty());
  EXPECT_TRUE(Matches(Bytes("/"), "<script([^>]*)>\\s*[^<\\s]").empty());
}

}  // namespace
}  // namespace verbatim::serve

// Paths, golden files and random numbers that the tests of the text layer share. Not a test.
#ifndef VERBATIM_TESTS_TEXT_TEXT_TEST_SUPPORT_H_
#define VERBATIM_TESTS_TEXT_TEXT_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace verbatim::text_test {

inline std::filesystem::path SourceDir() { return VERBATIM_SOURCE_DIR; }

// The folder of a model's tokenizer: in models/ under one of `names`, else in ../shared/models.
inline std::filesystem::path ModelFolder(const std::vector<std::string>& names) {
  for (const auto& root : {SourceDir() / "models", SourceDir() / ".." / "shared" / "models"}) {
    for (const std::string& name : names) {
      if (std::filesystem::exists(root / name / "tokenizer.json")) return root / name;
    }
  }
  return SourceDir() / "models" / names.front();
}

inline std::filesystem::path NanoFolder() { return ModelFolder({"nano-qwen35"}); }
inline std::filesystem::path TinyFolder() {
  return ModelFolder({"tiny-qwen35-4bit", "tiny-qwen35"});
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline nlohmann::ordered_json ReadGolden(const std::string& name) {
  return nlohmann::ordered_json::parse(ReadFile(SourceDir() / "tests/goldens/text" / name));
}

inline std::shared_ptr<const Tokenizer> LoadTokenizer(const std::filesystem::path& folder) {
  auto loaded = Tokenizer::Load(folder);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? *loaded : nullptr;
}

// "1 2 3", the form of ids in golden files.
inline std::vector<int32_t> ParseIds(const std::string& text) {
  std::istringstream stream(text);
  std::vector<int32_t> ids;
  for (int32_t id = 0; stream >> id;) ids.push_back(id);
  return ids;
}

// SplitMix64 (Steele et al. 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  size_t Below(size_t bound) { return static_cast<size_t>(Next() % bound); }

 private:
  uint64_t state_;
};

}  // namespace verbatim::text_test

#endif  // VERBATIM_TESTS_TEXT_TEXT_TEST_SUPPORT_H_

// Where tests find the small models. Not a loader.
#ifndef VERBATIM_TESTS_SUPPORT_TEST_MODELS_H_
#define VERBATIM_TESTS_SUPPORT_TEST_MODELS_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace verbatim::testing {

inline std::filesystem::path SourceFolder() { return VERBATIM_SOURCE_DIR; }

// Models of the repository: always there.
inline std::filesystem::path NanoModel() { return SourceFolder() / "models" / "nano-qwen35"; }
inline std::filesystem::path TinyQuantizedModel() {
  return SourceFolder() / "models" / "tiny-qwen35-4bit";
}

// The 16-bit tiny model is not in the repository: VERBATIM_MODELS, else ../shared/models.
inline std::optional<std::filesystem::path> Tiny16BitModel() {
  const char* folder = std::getenv("VERBATIM_MODELS");
  const std::filesystem::path models = folder != nullptr
                                           ? std::filesystem::path(folder)
                                           : SourceFolder() / ".." / "shared" / "models";
  const std::filesystem::path model = models / "tiny-qwen35";
  return std::filesystem::exists(model / "model.safetensors") ? std::optional(model) : std::nullopt;
}

inline constexpr char kNoTiny16Bit[] =
    "the 16-bit tiny model is in neither VERBATIM_MODELS nor ../shared/models";

struct Prompt {
  std::string kind;  // "prose" or "chat"
  std::vector<int32_t> ids;
};

// The lines of a model's prompts.jsonl.
inline std::vector<Prompt> LoadPrompts(const std::filesystem::path& model) {
  std::vector<Prompt> prompts;
  std::ifstream file(model / "prompts.jsonl");
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) continue;
    const auto json = nlohmann::json::parse(line);
    prompts.push_back({json.at("kind"), json.at("ids")});
  }
  return prompts;
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_TEST_MODELS_H_

// What the mutation tests share: small models, a folder that is loaded again and again, the check
// of an error. Not a test.
#ifndef VERBATIM_TESTS_CHECKPOINT_MUTATION_SUPPORT_H_
#define VERBATIM_TESTS_CHECKPOINT_MUTATION_SUPPORT_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/synthetic.h"
#include "support/memory_folder.h"

namespace verbatim::testing {

using nlohmann::ordered_json;

inline ModelSpec SmallSpec() {
  ModelSpec spec;
  spec.hidden_size = 32;
  spec.intermediate_size = 32;
  spec.vocab_size = 32;
  spec.layer_types = "llf";  // two of the kind by which the layout is told
  spec.head_dim = 16;
  return spec;
}

struct Model {
  ordered_json config;
  ordered_json generation = {{"eos_token_id", {2, 3}}, {"do_sample", true},
                             {"temperature", 0.6},     {"top_k", 20},
                             {"top_p", 0.95},          {"repetition_penalty", 1.05}};
  TensorMap tensors;
};

inline Model RawModel() {
  return {.config = ConfigJson(SmallSpec()), .tensors = RawTensors(SmallSpec())};
}

inline Model AffineModel() {
  Model model = RawModel();
  model.tensors = ToMlx(model.tensors);
  std::vector<std::string> paths;
  for (const auto& [name, tensor] : model.tensors) {
    if (name.ends_with("_proj.weight")) paths.push_back(name.substr(0, name.size() - 7));
  }
  // The last one stays dense.
  for (size_t i = 0; i + 1 < paths.size(); ++i) {
    QuantizeTensor(&model.tensors, paths[i], 4, 32);
  }
  QuantizeTensor(&model.tensors, "language_model.model.embed_tokens", 8, 32);
  ordered_json quantization = {{"group_size", 32}, {"bits", 4}, {"mode", "affine"}};
  quantization["language_model.model.embed_tokens"] = {{"group_size", 32}, {"bits", 8}};
  for (const auto& [name, tensor] : model.tensors) {
    const std::string path = name.ends_with(".weight") ? name.substr(0, name.size() - 7) : "";
    if (tensor.dtype != "U32" && tensor.shape.size() == 2 && !path.empty()) {
      quantization[path] = false;
    }
  }
  model.config["quantization"] = quantization;
  return model;
}

// One folder whose files are written anew when they differ.
class Folder {
 public:
  Status Load(const std::string& config, const std::string& generation,
              const std::string& weights) {
    ++loads_;
    Update("config.json", config);
    Update("generation_config.json", generation);
    Update("model.safetensors", weights);
    const auto checkpoint = LoadFolder(folder_.path());
    return checkpoint.status();
  }
  int loads() const { return loads_; }

 private:
  void Update(const std::string& name, const std::string& bytes) {
    std::string& written = written_[name];
    if (written == bytes && !bytes.empty()) return;
    WriteFile(folder_.path() / name, bytes);
    written = bytes;
  }
  MemoryFolder folder_;
  std::map<std::string, std::string> written_;
  int loads_ = 0;
};

// How many, for docs/hardening.md.
inline void ReportLoads(const Folder& folder) {
  ::testing::Test::RecordProperty("loads", folder.loads());
  std::printf("%d loads\n", folder.loads());
}

// The house's form on one line, with every part in it.
inline void ExpectFault(const Status& status, const std::vector<std::string>& parts,
                        const std::string& mutation) {
  const std::string& message = status.message();
  EXPECT_TRUE(message.starts_with("[") && message.find("] expected ") != message.npos &&
              message.find(", received ") != message.npos && message.find('\n') == message.npos)
      << mutation << ": " << message;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), message.npos) << mutation << ": " << message;
  }
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_CHECKPOINT_MUTATION_SUPPORT_H_

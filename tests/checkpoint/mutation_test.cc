// A checkpoint with one fault at a time: every field of the configs, every tensor. It never
// crashes, and the error names the fault; what loads all the same is listed, with the reason. The
// weights' file byte by byte is file_mutation_test.cc.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "checkpoint/mutation_support.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_names.h"
#include "support/json_mutations.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;
using testing::AffineModel;
using testing::ExpectFault;
using testing::FileTensor;
using testing::Folder;
using testing::JsonMutation;
using testing::Model;
using testing::RawModel;
using testing::ReportLoads;
using testing::TensorMap;

// Path -> the mutations of it that load, each by design; "*": any.
using Harmless = std::map<std::string, std::set<std::string>>;

// Path -> another name that an error may have instead: what is missed when this is not there.
const std::map<std::string, std::string> kBlamed = {
    {"text_config", "attn_output_gate"},
    {"text_config.rope_parameters", "rope_theta"},
    {"text_config.tie_word_embeddings", "lm_head.weight"},
};

Harmless HarmlessConfig() {
  const std::set<std::string> absent = {"removed", "null"};
  const auto with = [](std::set<std::string> a, const std::set<std::string>& b) {
    a.insert(b.begin(), b.end());
    return a;
  };
  return {
      // text_config's own counts, and without it the one above.
      {"tie_word_embeddings", {"*"}},
      {"text_config.tie_word_embeddings", absent},
      {"text_config.model_type", absent},  // the outer one says it
      // Defaults of the family.
      {"text_config.rope_parameters.rope_type", absent},
      {"text_config.rope_parameters.partial_rotary_factor", with({"0.5", "1"}, absent)},
      // Other numbers, with which the shapes fit.
      {"text_config.rope_parameters.rope_theta",
       {"3", "2147483648", "9223372036854775808", "18446744073709551615", "99999999999999999999999",
        "1e308"}},
      {"text_config.rms_norm_eps", {"0.5"}},
      {"text_config.max_position_embeddings", {"1", "3"}},
      {"text_config.eos_token_id", with({"0", "-0", "1", "3", "[]"}, absent)},
      // The tensors decide about MTP; without it, or with more layers, the text model loads.
      {"text_config.mtp_num_hidden_layers", with({"0", "-0", "3"}, absent)},
  };
}

void SweepJson(const Model& model, const ordered_json& root, const std::string& file,
               const Harmless& harmless) {
  Folder folder;
  const std::string config = model.config.dump();
  const std::string generation = model.generation.dump();
  const std::string weights = testing::SafetensorsBytes(model.tensors);
  ASSERT_TRUE(folder.Load(config, generation, weights).ok())
      << folder.Load(config, generation, weights).message();
  std::map<std::string, std::set<std::string>> loaded;
  testing::ForEachJsonMutation(root, [&](const JsonMutation& mutation) {
    const bool in_config = file == "config.json";
    const Status status = folder.Load(in_config ? mutation.text : config,
                                      in_config ? generation : mutation.text, weights);
    if (status.ok()) {
      loaded[mutation.path].insert(mutation.what);
      return;
    }
    std::vector<std::string> parts = {file};
    // A syntax error has a place in the text instead of a name.
    if (status.message().find("a syntax error at byte") == std::string::npos) {
      const auto blamed = kBlamed.find(mutation.path);
      const bool instead =
          blamed != kBlamed.end() && status.message().find(blamed->second) != std::string::npos;
      parts.push_back(instead ? blamed->second : mutation.key);
    }
    ExpectFault(status, parts, mutation.path + " = " + mutation.what);
  });
  for (const auto& [path, whats] : loaded) {
    const auto listed = harmless.find(path);
    for (const std::string& what : whats) {
      EXPECT_TRUE(listed != harmless.end() &&
                  (listed->second.contains(what) || listed->second.contains("*")))
          << path << " = " << what << " loads";
    }
  }
  for (const auto& [path, whats] : harmless) {
    for (const std::string& what : whats) {
      EXPECT_TRUE(what == "*" ? loaded.contains(path)
                              : loaded.contains(path) && loaded.at(path).contains(what))
          << path << " = " << what << " is listed, but does not load";
    }
  }
  ReportLoads(folder);
}

TEST(MutationTest, ConfigFields) {
  SweepJson(RawModel(), RawModel().config, "config.json", HarmlessConfig());
}

TEST(MutationTest, QuantizationFields) {
  const Model model = AffineModel();
  Harmless harmless = HarmlessConfig();
  // The general group is the same.
  harmless["quantization.language_model.model.embed_tokens.group_size"] = {"removed", "null"};
  harmless["quantization.mode"] = {"removed", "null"};  // older files: affine was the only mode
  for (const auto& [key, value] : model.config["quantization"].items()) {
    // A dense tensor is what it is, whether or not the block says that it would be quantized.
    if (value == false) {
      harmless["quantization." + key] = {"removed", "null", "true", "{}", "{\"a\":1}"};
    }
  }
  SweepJson(model, model.config, "config.json", harmless);
}

TEST(MutationTest, GenerationConfigFields) {
  const std::set<std::string> ids = {"0", "-0", "1", "3", "removed"};
  SweepJson(RawModel(), RawModel().generation, "generation_config.json",
            {{"eos_token_id", {"0", "-0", "1", "3", "[]", "null", "removed"}},
             {"eos_token_id.0", ids},
             {"eos_token_id.1", {"0", "-0", "1", "removed"}},
             {"do_sample", {"false", "null", "removed"}},
             {"temperature", {"0", "-0", "1", "3", "0.5", "1e-300", "null", "removed"}},
             {"top_k", {"0", "-0", "1", "3", "null", "removed"}},
             {"top_p", {"0", "-0", "1", "0.5", "1e-300", "null", "removed"}},
             {"repetition_penalty", {"1", "3", "0.5", "null", "removed"}}});
}

// ---- The weights' file, by tensor: valid files that do not hold what the config says.

std::string Weights(const TensorMap& tensors) { return testing::SafetensorsBytes(tensors); }

// Values of the type's own size, so that the file stays valid.
int64_t Count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return count;
}

void SweepTensors(const Model& model) {
  Folder folder;
  const std::string config = model.config.dump();
  const std::string generation = model.generation.dump();
  const auto load = [&](const TensorMap& tensors) {
    return folder.Load(config, generation, Weights(tensors));
  };
  ASSERT_TRUE(load(model.tensors).ok()) << load(model.tensors).message();
  for (const auto& [name, tensor] : model.tensors) {
    // What an error may call it: the file's name of it, or, when it is gone, the canonical one.
    // Scales and biases that differ are named by either.
    const std::string canonical = CanonicalizePath(name).name;
    const bool paired = name.ends_with(".scales") || name.ends_with(".biases");
    const std::string shown = paired ? name.substr(0, name.rfind('.')) : name;
    const auto expect = [&](const std::string& what, const TensorMap& tensors) {
      const Status status = load(tensors);
      ASSERT_FALSE(status.ok()) << name << " " << what << " loads";
      const bool by_file_name = status.message().find(shown) != std::string::npos;
      ExpectFault(status, {by_file_name ? shown : canonical}, name + " " + what);
    };
    const auto with = [&](const FileTensor& changed) {
      TensorMap tensors = model.tensors;
      tensors[name] = changed;
      return tensors;
    };
    TensorMap tensors = model.tensors;
    tensors.erase(name);
    expect("missing", tensors);
    tensors[name + "x"] = tensor;
    expect("renamed", tensors);
    // A second tensor for the same place, under another prefix. MTP tensors have one place only.
    if (const size_t at = name.find("layers."); at != 0 && !name.starts_with("mtp.")) {
      tensors = model.tensors;
      tensors["model." + canonical] = tensor;
      const Status status = load(tensors);
      EXPECT_FALSE(status.ok()) << name;
      ExpectFault(status, {canonical}, name + " twice");
    }
    for (const auto& [dtype, bytes] : std::map<std::string, int>{{"BOOL", 1},
                                                                 {"U8", 1},
                                                                 {"I8", 1},
                                                                 {"F8_E4M3", 1},
                                                                 {"F8_E5M2", 1},
                                                                 {"I16", 2},
                                                                 {"U16", 2},
                                                                 {"F16", 2},
                                                                 {"BF16", 2},
                                                                 {"I32", 4},
                                                                 {"U32", 4},
                                                                 {"F32", 4},
                                                                 {"I64", 8},
                                                                 {"U64", 8},
                                                                 {"F64", 8},
                                                                 {"C64", 8}}) {
      if (dtype == tensor.dtype) continue;
      FileTensor changed = tensor;
      changed.dtype = dtype;
      changed.bytes.assign(static_cast<size_t>(Count(tensor.shape) * bytes), '\0');
      // Another float type is what a checkpoint may have; zeros are finite.
      const bool is_float = dtype == "F16" || dtype == "BF16" || dtype == "F32";
      if (is_float && tensor.dtype != "U32" && !paired) {
        const Status status = load(with(changed));
        EXPECT_TRUE(status.ok()) << name << " as " << dtype << ": " << status.message();
        continue;
      }
      expect("as " + dtype, with(changed));
    }
    const size_t width = tensor.bytes.size() / static_cast<size_t>(Count(tensor.shape));
    std::vector<std::vector<int64_t>> shapes = {{}, {Count(tensor.shape) + 1}};
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      for (const int64_t dim : {int64_t{0}, int64_t{1}, tensor.shape[d] - 1, tensor.shape[d] + 1,
                                2 * tensor.shape[d]}) {
        shapes.push_back(tensor.shape);
        shapes.back()[d] = dim;
      }
    }
    shapes.push_back(tensor.shape);
    shapes.back().push_back(1);
    shapes.push_back(tensor.shape);
    shapes.back().insert(shapes.back().begin(), 1);
    shapes.emplace_back(tensor.shape.rbegin(), tensor.shape.rend());
    for (const auto& shape : shapes) {
      if (shape == tensor.shape) continue;
      FileTensor changed = tensor;
      changed.shape = shape;
      changed.bytes.resize(static_cast<size_t>(Count(shape)) * width, '\0');
      expect("of shape " + ShapeName(shape), with(changed));
    }
    // Every value NaN. Matrices are not read at load; their NaN is seen in the logits.
    FileTensor nan = tensor;
    nan.bytes.assign(nan.bytes.size(), '\xff');
    if (tensor.dtype == "U32" || (tensor.shape.size() == 2 && name.ends_with(".weight"))) {
      EXPECT_TRUE(load(with(nan)).ok()) << name;
    } else {
      expect("all NaN", with(nan));
    }
  }
  ReportLoads(folder);
}

TEST(MutationTest, RawTensors) { SweepTensors(RawModel()); }
TEST(MutationTest, AffineTensors) { SweepTensors(AffineModel()); }

}  // namespace
}  // namespace verbatim

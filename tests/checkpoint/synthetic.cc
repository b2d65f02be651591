// Builds files byte by byte, without the project's own writer, so that its faults can't hide here.
#include "checkpoint/synthetic.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include "base/half.h"
#include "checkpoint/mlx_affine.h"

namespace verbatim::testing {
namespace {

namespace fs = std::filesystem;

class Builder {
 public:
  explicit Builder(const ModelSpec& spec) : spec_(spec), random_(spec.seed) {}

  void Matrix(const std::string& path, int64_t rows, int64_t cols) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(cols));
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (float& v : values) v = bound * Uniform();
    tensors[path + ".weight"] = MakeTensor(spec_.dtype, {rows, cols}, values);
  }
  void Norm(const std::string& path, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    for (float& v : values) v = std::rint(64.0f * Uniform()) / 128.0f;
    tensors[path + ".weight"] = MakeTensor(spec_.dtype, {size}, values);
  }
  void Vector(const std::string& name, std::vector<int64_t> shape, float offset,
              std::string_view dtype) {
    int64_t size = 1;
    for (const int64_t dim : shape) size *= dim;
    std::vector<float> values(static_cast<size_t>(size));
    for (float& v : values) v = offset + 0.5f * Uniform();
    tensors[name] = MakeTensor(dtype, std::move(shape), values);
  }

  void Layer(const std::string& p, bool linear) {
    const int64_t hidden = spec_.hidden_size;
    Norm(p + "input_layernorm", hidden);
    Norm(p + "post_attention_layernorm", hidden);
    Matrix(p + "mlp.gate_proj", spec_.intermediate_size, hidden);
    Matrix(p + "mlp.up_proj", spec_.intermediate_size, hidden);
    Matrix(p + "mlp.down_proj", hidden, spec_.intermediate_size);
    if (linear) {
      const int64_t heads = spec_.linear_num_value_heads;
      const int64_t value_dim = heads * spec_.linear_value_head_dim;
      const int64_t key_dim = int64_t{spec_.linear_num_key_heads} * spec_.linear_key_head_dim;
      const int64_t conv_dim = 2 * key_dim + value_dim;
      const std::string a = p + "linear_attn.";
      Matrix(a + "in_proj_qkv", conv_dim, hidden);
      Matrix(a + "in_proj_z", value_dim, hidden);
      Matrix(a + "in_proj_b", heads, hidden);
      Matrix(a + "in_proj_a", heads, hidden);
      Matrix(a + "out_proj", hidden, value_dim);
      Vector(a + "conv1d.weight", {conv_dim, 1, 4}, 0.25f, spec_.dtype);
      Vector(a + "A_log", {heads}, 0.5f, "F32");
      Vector(a + "dt_bias", {heads}, 0.0f, spec_.dtype);
      Vector(a + "norm.weight", {spec_.linear_value_head_dim}, 0.75f, spec_.dtype);
    } else {
      const int64_t kv_dim = int64_t{spec_.num_key_value_heads} * spec_.head_dim;
      const int64_t q_dim = int64_t{spec_.num_attention_heads} * spec_.head_dim;
      const std::string a = p + "self_attn.";
      Matrix(a + "q_proj", 2 * q_dim, hidden);
      Matrix(a + "k_proj", kv_dim, hidden);
      Matrix(a + "v_proj", kv_dim, hidden);
      Matrix(a + "o_proj", hidden, q_dim);
      Norm(a + "q_norm", spec_.head_dim);
      Norm(a + "k_norm", spec_.head_dim);
    }
  }

  TensorMap tensors;

 private:
  float Uniform() {  // in [-1, 1), from the generator's own bits: the same on every library
    return static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f;
  }
  const ModelSpec& spec_;
  std::mt19937 random_;
};

bool IsShiftedNorm(const std::string& name) {
  return name.ends_with("norm.weight") && name.find("linear_attn.") == std::string::npos;
}

bool IsMtpNorm(const std::string& name) {
  return name.starts_with("mtp.") &&
         (name.ends_with("norm.weight") || name.find("pre_fc_norm") != std::string::npos);
}

FileTensor PlusOne(const FileTensor& tensor) {
  std::vector<float> values = TensorValues(tensor);
  for (float& v : values) v += 1.0f;
  return MakeTensor(tensor.dtype, tensor.shape, values);
}

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "verbatim-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

FileTensor MakeTensor(std::string_view dtype, std::vector<int64_t> shape,
                      std::span<const float> values) {
  FileTensor tensor{std::string(dtype), std::move(shape), {}};
  for (const float value : values) {
    if (dtype == "F32") {
      tensor.bytes.append(reinterpret_cast<const char*>(&value), 4);
    } else {
      const uint16_t half = dtype == "BF16" ? FloatToBf16(value) : FloatToF16(value);
      tensor.bytes.append(reinterpret_cast<const char*>(&half), 2);
    }
  }
  return tensor;
}

std::vector<float> TensorValues(const FileTensor& tensor) {
  const WeightType type = tensor.dtype == "F32"    ? WeightType::kF32
                          : tensor.dtype == "BF16" ? WeightType::kBF16
                                                   : WeightType::kF16;
  std::vector<float> values(tensor.bytes.size() / (type == WeightType::kF32 ? 4 : 2));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ReadFloat(AsBytes(tensor.bytes), type, i);
  return values;
}

std::string SafetensorsText(std::string_view header, std::string_view data) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return bytes.append(header).append(data);
}

std::string SafetensorsBytes(const TensorMap& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return SafetensorsText(header.dump(), data);
}

nlohmann::json ConfigJson(const ModelSpec& spec) {
  nlohmann::json types = nlohmann::json::array();
  for (const char c : spec.layer_types) {
    types.push_back(c == 'l' ? "linear_attention" : "full_attention");
  }
  return {{"model_type", "qwen3_5"},
          {"tie_word_embeddings", spec.tied},
          {"text_config",
           {{"model_type", "qwen3_5_text"},
            {"hidden_size", spec.hidden_size},
            {"intermediate_size", spec.intermediate_size},
            {"vocab_size", spec.vocab_size},
            {"num_hidden_layers", spec.layer_types.size()},
            {"layer_types", types},
            {"num_attention_heads", spec.num_attention_heads},
            {"num_key_value_heads", spec.num_key_value_heads},
            {"head_dim", spec.head_dim},
            {"attn_output_gate", true},
            {"linear_num_key_heads", spec.linear_num_key_heads},
            {"linear_num_value_heads", spec.linear_num_value_heads},
            {"linear_key_head_dim", spec.linear_key_head_dim},
            {"linear_value_head_dim", spec.linear_value_head_dim},
            {"linear_conv_kernel_dim", 4},
            {"rms_norm_eps", 1e-6},
            {"max_position_embeddings", 4096},
            {"tie_word_embeddings", spec.tied},
            {"mtp_num_hidden_layers", spec.mtp ? 1 : 0},
            {"eos_token_id", 2},
            {"rope_parameters",
             {{"rope_type", "default"},
              {"rope_theta", 10000000.0},
              {"partial_rotary_factor", 0.25}}}}}};
}

TensorMap RawTensors(const ModelSpec& spec) {
  Builder builder(spec);
  const std::string prefix = "model.language_model.";
  builder.Matrix(prefix + "embed_tokens", spec.vocab_size, spec.hidden_size);
  for (size_t i = 0; i < spec.layer_types.size(); ++i) {
    builder.Layer(fmt::format("{}layers.{}.", prefix, i), spec.layer_types[i] == 'l');
  }
  builder.Norm(prefix + "norm", spec.hidden_size);
  if (!spec.tied) builder.Matrix("lm_head", spec.vocab_size, spec.hidden_size);
  if (spec.mtp) {
    builder.Matrix("mtp.fc", spec.hidden_size, 2 * spec.hidden_size);
    builder.Norm("mtp.pre_fc_norm_embedding", spec.hidden_size);
    builder.Norm("mtp.pre_fc_norm_hidden", spec.hidden_size);
    builder.Layer("mtp.layers.0.", /*linear=*/false);
    builder.Norm("mtp.norm", spec.hidden_size);
  }
  return builder.tensors;
}

TensorMap ToMlx(const TensorMap& raw) {
  constexpr std::string_view kPrefix = "model.language_model.";
  TensorMap mlx;
  for (const auto& [name, tensor] : raw) {
    if (name.starts_with("mtp.")) continue;
    const std::string new_name = name.starts_with(kPrefix)
                                     ? "language_model.model." + name.substr(kPrefix.size())
                                     : "language_model." + name;
    FileTensor converted = IsShiftedNorm(name) ? PlusOne(tensor) : tensor;
    if (name.ends_with("conv1d.weight")) std::swap(converted.shape[1], converted.shape[2]);
    mlx[new_name] = std::move(converted);
  }
  return mlx;
}

TensorMap ToDrafter(const TensorMap& raw) {
  TensorMap drafter;
  for (const auto& [name, tensor] : raw) {
    if (!name.starts_with("mtp.")) continue;
    drafter[name.substr(4)] = IsMtpNorm(name) ? PlusOne(tensor) : tensor;
  }
  return drafter;
}

void QuantizeTensor(TensorMap* tensors, const std::string& path, int bits, int group_size) {
  const FileTensor dense = tensors->at(path + ".weight");
  WeightMatrix matrix;
  matrix.name = path;
  matrix.format.type = dense.dtype == "F32"    ? WeightType::kF32
                       : dense.dtype == "BF16" ? WeightType::kBF16
                                               : WeightType::kF16;
  matrix.rows = dense.shape[0];
  matrix.cols = dense.shape[1];
  matrix.data = AsBytes(dense.bytes);
  const auto affine = QuantizeAffine(matrix, {bits, group_size});
  if (!affine.ok()) throw std::runtime_error(affine.status().message());
  const auto text = [](const std::vector<std::byte>& bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const std::vector<int64_t> groups{matrix.rows, matrix.cols / group_size};
  (*tensors)[path + ".weight"] = {
      "U32", {matrix.rows, matrix.cols * bits / 32}, text(affine->data)};
  (*tensors)[path + ".scales"] = {dense.dtype, groups, text(affine->scales)};
  (*tensors)[path + ".biases"] = {dense.dtype, groups, text(affine->biases)};
}

void WriteModel(const fs::path& folder, const nlohmann::json& config, const TensorMap& tensors) {
  WriteFile(folder / "config.json", config.dump(2));
  WriteFile(folder / "model.safetensors", SafetensorsBytes(tensors));
}

Expected<Checkpoint> LoadFolder(const fs::path& folder) {
  LoadOptions options;
  options.model = folder.string();
  return LoadCheckpoint(options);
}

std::string WeightsDifference(const ModelWeights& a, const ModelWeights& b) {
  const auto same = [](std::span<const std::byte> x, std::span<const std::byte> y) {
    return std::ranges::equal(x, y);
  };
  if (a.matrices.size() != b.matrices.size()) return "the number of matrices";
  if (a.vectors.size() != b.vectors.size()) return "the number of vectors";
  for (const auto& [name, x] : a.matrices) {
    const auto found = b.matrices.find(name);
    if (found == b.matrices.end()) return name + " is in one only";
    const WeightMatrix& y = found->second;
    if (x.format != y.format || x.rows != y.rows || x.cols != y.cols) return name + ": the form";
    if (!same(x.data, y.data) || !same(x.scales, y.scales) || !same(x.biases, y.biases)) {
      return name + ": the bytes";
    }
  }
  for (const auto& [name, x] : a.vectors) {
    const auto found = b.vectors.find(name);
    if (found == b.vectors.end()) return name + " is in one only";
    if (x.shape != found->second.shape) return name + ": the shape";
    if (x.values != found->second.values) return name + ": the values";
  }
  return "";
}

}  // namespace verbatim::testing

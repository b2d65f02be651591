// What the layer tests share: synthetic models on disk, the residual stream before and after a
// layer, and small binary64 algebra. Not a reference of the pinned arithmetic (numerics/reference).
#ifndef VERBATIM_TESTS_MODEL_LAYER_SUPPORT_H_
#define VERBATIM_TESTS_MODEL_LAYER_SUPPORT_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/mlx_affine.h"
#include "tests/checkpoint/synthetic.h"
#include "tests/support/model_harness.h"

namespace verbatim::testing {

// A model of the given tensors. The files are gone when this returns; their mappings stay.
inline std::unique_ptr<ModelHarness> MakeHarness(const nlohmann::json& config,
                                                 const TensorMap& tensors,
                                                 const HarnessOptions& options) {
  const TempFolder folder;
  WriteModel(folder.path(), config, tensors);
  return std::make_unique<ModelHarness>(folder.path(), options);
}

inline void SetValues(TensorMap& tensors, const std::string& name, std::span<const float> values) {
  const FileTensor old = tensors.at(name);
  tensors[name] = MakeTensor(old.dtype, old.shape, values);
}

inline void Fill(TensorMap& tensors, const std::string& name, float value) {
  SetValues(tensors, name, std::vector<float>(TensorValues(tensors.at(name)).size(), value));
}

// Rows [first, first + count) of a matrix become zero.
inline void ZeroRows(TensorMap& tensors, const std::string& name, int64_t first, int64_t count) {
  std::vector<float> values = TensorValues(tensors.at(name));
  const int64_t cols = tensors.at(name).shape[1];
  std::fill_n(values.begin() + first * cols, count * cols, 0.0f);
  SetValues(tensors, name, values);
}

inline std::vector<int32_t> SomeTokens(int count, int64_t vocab_size) {
  std::vector<int32_t> tokens(count);
  for (int i = 0; i < count; ++i)
    tokens[i] = static_cast<int32_t>((i * 37 + i * i + 5) % vocab_size);
  return tokens;
}

// The embedding of one token as binary32, the residual stream before layer 0.
inline std::vector<float> EmbeddingRow(const Checkpoint& checkpoint, int32_t token) {
  std::vector<float> row(checkpoint.config.hidden_size);
  DequantizeRow(**checkpoint.weights.Matrix("embed_tokens"), token, row);
  return row;
}

// Runs `tokens` as one block of certain rows; the residual stream [M, H] after `layer`.
inline std::vector<float> ResidualAfter(ModelHarness& harness, int layer,
                                        std::span<const int32_t> tokens) {
  std::vector<float> after;
  harness.model->set_layer_observer([&](int index, const float* residual, int num_rows) {
    if (index != layer) return;
    after.resize(num_rows * harness.model->shape().hidden_size);
    harness.backend->CopyToHost(after.data(), residual, after.size() * sizeof(float));
  });
  SequenceState state = harness.NewSequence(tokens.size());
  harness.Run(state, tokens);
  harness.Release(state);
  harness.model->set_layer_observer({});
  return after;
}

using Vector64 = std::vector<double>;

struct Matrix64 {
  Matrix64(const ModelWeights& weights, const std::string& name) {
    const WeightMatrix& matrix = **weights.Matrix(name);
    rows = matrix.rows;
    cols = matrix.cols;
    std::vector<float> row(cols);
    for (int64_t r = 0; r < rows; ++r) {
      DequantizeRow(matrix, r, row);
      values.insert(values.end(), row.begin(), row.end());
    }
  }

  Vector64 Times(const Vector64& x) const {
    Vector64 y(rows);
    for (int64_t r = 0; r < rows; ++r) {
      y[r] = std::inner_product(x.begin(), x.end(), values.begin() + r * cols, 0.0);
    }
    return y;
  }

  int64_t rows = 0;
  int64_t cols = 0;
  Vector64 values;
};

inline Vector64 NamedVector64(const ModelWeights& weights, const std::string& name) {
  const std::vector<float>& values = (*weights.Vector(name))->values;
  return {values.begin(), values.end()};
}

// x / sqrt(mean(x^2) + eps), times the weight (qwen3_5.md 2.2 with 1 + w already applied).
inline Vector64 RmsNorm64(const Vector64& x, const Vector64& weight, double eps) {
  const double mean = std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / x.size();
  Vector64 y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / std::sqrt(mean + eps) * weight[i];
  return y;
}

inline double Sigmoid64(double x) { return 1 / (1 + std::exp(-x)); }

inline bool SameBytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_MODEL_LAYER_SUPPORT_H_

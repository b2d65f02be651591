// Small weights and activations on the device. Not matrices (ops::PreparedLinear).
#ifndef VERBATIM_MODEL_DEVICE_VECTOR_H_
#define VERBATIM_MODEL_DEVICE_VECTOR_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/weights.h"
#include "ops/backend.h"

namespace verbatim {

// A buffer of floats in device memory.
class DeviceVector {
 public:
  DeviceVector() = default;
  static Expected<DeviceVector> Zeros(ops::Backend& backend, int64_t size);
  static Expected<DeviceVector> From(ops::Backend& backend, std::span<const float> values);

  float* data() const { return buffer_ == nullptr ? nullptr : buffer_->As<float>(); }

 private:
  std::unique_ptr<ops::DeviceBuffer> buffer_;
};

// Uploads the named weight vector. kNotFound, kResourceExhausted; kCorrupt if its size is not
// `size`.
Expected<DeviceVector> UploadVector(const ModelWeights& weights, const std::string& name,
                                    int64_t size, ops::Backend& backend);

using LinearList = std::vector<const ops::PreparedLinear*>;

// Packs the named matrix for the backend. kCorrupt if it is not [rows, cols].
Expected<std::unique_ptr<ops::PreparedLinear>> PrepareMatrix(const ModelWeights& weights,
                                                             const std::string& name, int64_t rows,
                                                             int64_t cols, ops::Backend& backend);

}  // namespace verbatim

#endif  // VERBATIM_MODEL_DEVICE_VECTOR_H_

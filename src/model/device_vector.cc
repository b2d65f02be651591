// Uploads, with the shape checks that keep a wrong checkpoint from reaching a kernel.
#include "model/device_vector.h"

#include <fmt/format.h>

namespace verbatim {

Expected<DeviceVector> DeviceVector::Zeros(ops::Backend& backend, int64_t size) {
  DeviceVector vector;
  VERBATIM_ASSIGN_OR_RETURN(vector.buffer_, backend.Allocate(size * sizeof(float)));
  return vector;
}

Expected<DeviceVector> DeviceVector::From(ops::Backend& backend, std::span<const float> values) {
  VERBATIM_ASSIGN_OR_RETURN(DeviceVector vector, Zeros(backend, values.size()));
  backend.CopyFromHost(vector.data(), values.data(), values.size_bytes());
  return vector;
}

Expected<DeviceVector> UploadVector(const ModelWeights& weights, const std::string& name,
                                    int64_t size, ops::Backend& backend) {
  VERBATIM_ASSIGN_OR_RETURN(const WeightVector* vector, weights.Vector(name));
  if (static_cast<int64_t>(vector->values.size()) != size) {
    return MakeError(StatusCode::kCorrupt, vector->name, fmt::format("{} values", size),
                     fmt::format("{}", vector->values.size()));
  }
  return DeviceVector::From(backend, vector->values);
}

Expected<std::unique_ptr<ops::PreparedLinear>> PrepareMatrix(const ModelWeights& weights,
                                                             const std::string& name, int64_t rows,
                                                             int64_t cols, ops::Backend& backend) {
  VERBATIM_ASSIGN_OR_RETURN(const WeightMatrix* matrix, weights.Matrix(name));
  if (matrix->rows != rows || matrix->cols != cols) {
    return MakeError(StatusCode::kCorrupt, matrix->name, fmt::format("shape [{}, {}]", rows, cols),
                     fmt::format("[{}, {}]", matrix->rows, matrix->cols));
  }
  return backend.PrepareLinear(*matrix);
}

}  // namespace verbatim

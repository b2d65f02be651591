// MLX affine in plain scalar code: it runs at load and in `quantize`, never in a decode step.
#include "checkpoint/mlx_affine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace verbatim {
namespace {

void WriteFloat(float value, WeightType type, size_t i, std::vector<std::byte>* out) {
  if (type == WeightType::kF32) {
    std::memcpy(out->data() + 4 * i, &value, 4);
    return;
  }
  const uint16_t half = type == WeightType::kBF16 ? FloatToBf16(value) : FloatToF16(value);
  std::memcpy(out->data() + 2 * i, &half, 2);
}

}  // namespace

void UnpackAffineRow(std::span<const std::byte> packed, int bits, std::span<uint8_t> q) {
  const uint32_t mask = (1u << bits) - 1;
  uint32_t window = 0;  // holds fewer than bits + 8 <= 16 bits
  int available = 0;
  size_t next = 0;
  for (uint8_t& value : q) {
    if (available < bits) {
      window |= static_cast<uint32_t>(packed[next++]) << available;
      available += 8;
    }
    value = static_cast<uint8_t>(window & mask);
    window >>= bits;
    available -= bits;
  }
}

void PackAffineRow(std::span<const uint8_t> q, int bits, std::span<std::byte> packed) {
  uint32_t window = 0;
  int used = 0;
  size_t next = 0;
  for (const uint8_t value : q) {
    window |= uint32_t{value} << used;
    used += bits;
    while (used >= 8) {
      packed[next++] = static_cast<std::byte>(window & 0xff);
      window >>= 8;
      used -= 8;
    }
  }
}

std::vector<uint8_t> UnpackAffine(const WeightMatrix& matrix) {
  const auto cols = static_cast<size_t>(matrix.cols);
  const size_t row_bytes = cols * matrix.format.bits / 8;
  std::vector<uint8_t> q(static_cast<size_t>(matrix.rows) * cols);
  for (size_t row = 0; row < static_cast<size_t>(matrix.rows); ++row) {
    UnpackAffineRow(matrix.data.subspan(row * row_bytes, row_bytes), matrix.format.bits,
                    std::span(q).subspan(row * cols, cols));
  }
  return q;
}

float ReadFloat(std::span<const std::byte> data, WeightType type, size_t i) {
  if (type == WeightType::kF32) {
    float value;
    std::memcpy(&value, data.data() + 4 * i, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, data.data() + 2 * i, 2);
  return type == WeightType::kBF16 ? Bf16ToFloat(half) : F16ToFloat(half);
}

void DequantizeRow(const WeightMatrix& matrix, int64_t row, std::span<float> out) {
  const WeightFormat& format = matrix.format;
  const auto cols = static_cast<size_t>(matrix.cols);
  const auto r = static_cast<size_t>(row);
  if (format.type != WeightType::kAffine) {
    for (size_t i = 0; i < cols; ++i) out[i] = ReadFloat(matrix.data, format.type, r * cols + i);
    return;
  }
  const size_t row_bytes = cols * format.bits / 8;
  std::vector<uint8_t> q(cols);
  UnpackAffineRow(matrix.data.subspan(r * row_bytes, row_bytes), format.bits, q);
  const auto group_size = static_cast<size_t>(format.group_size);
  const size_t groups = cols / group_size;
  for (size_t group = 0; group < groups; ++group) {
    const float scale = ReadFloat(matrix.scales, format.scale_type, r * groups + group);
    const float bias = ReadFloat(matrix.biases, format.scale_type, r * groups + group);
    for (size_t i = group * group_size; i < (group + 1) * group_size; ++i) {
      out[i] = std::fma(scale, static_cast<float>(q[i]), bias);
    }
  }
}

void QuantizeAffineGroup(std::span<const float> values, int bits, std::span<uint8_t> q,
                         float* scale_out, float* bias_out) {
  constexpr float kMinScale = 1e-7f;  // MLX's
  const float max_q = static_cast<float>((1 << bits) - 1);
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  // The end of larger magnitude is hit exactly: it becomes the bias, the scale points away from it.
  const bool from_min = std::fabs(*min) > std::fabs(*max);
  const float step = std::max((*max - *min) / max_q, kMinScale);
  float scale = from_min ? step : -step;
  const float edge = from_min ? *min : *max;
  const float q0 = std::rint(edge / scale);
  float bias = 0.0f;
  if (q0 != 0.0f) {
    scale = edge / q0;
    bias = edge;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const float steps = std::rint((values[i] - bias) / scale);
    q[i] = static_cast<uint8_t>(std::min(std::max(steps, 0.0f), max_q));
  }
  *scale_out = scale;
  *bias_out = bias;
}

WeightMatrix AffineMatrix::View(std::string name) const {
  WeightMatrix view;
  view.name = std::move(name);
  view.format = format;
  view.rows = rows;
  view.cols = cols;
  view.data = data;
  view.scales = scales;
  view.biases = biases;
  return view;
}

Expected<AffineMatrix> QuantizeAffine(const WeightMatrix& source, AffineParameters parameters) {
  const auto group_size = static_cast<size_t>(parameters.group_size);
  const auto cols = static_cast<size_t>(source.cols);
  const auto rows = static_cast<size_t>(source.rows);
  if (cols % group_size != 0) {
    return MakeError(StatusCode::kInvalidArgument, source.name,
                     fmt::format("columns in whole groups of {}", group_size),
                     fmt::format("{} columns", cols));
  }
  AffineMatrix result;
  result.rows = source.rows;
  result.cols = source.cols;
  result.format.type = WeightType::kAffine;
  result.format.bits = parameters.bits;
  result.format.group_size = parameters.group_size;
  result.format.scale_type =
      source.format.type == WeightType::kAffine ? source.format.scale_type : source.format.type;
  const size_t groups = cols / group_size;
  const size_t row_bytes = cols * parameters.bits / 8;
  const size_t scale_bytes = result.format.scale_type == WeightType::kF32 ? 4 : 2;
  result.data.resize(rows * row_bytes);
  result.scales.resize(rows * groups * scale_bytes);
  result.biases.resize(rows * groups * scale_bytes);

  std::vector<float> values(cols);
  std::vector<uint8_t> q(cols);
  for (size_t row = 0; row < rows; ++row) {
    DequantizeRow(source, static_cast<int64_t>(row), values);
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad != values.end()) {
      return MakeError(StatusCode::kCorrupt, source.name, "finite weights",
                       fmt::format("{} in row {}, column {}", *bad, row, bad - values.begin()));
    }
    for (size_t group = 0; group < groups; ++group) {
      float scale = 0;
      float bias = 0;
      QuantizeAffineGroup(std::span(values).subspan(group * group_size, group_size),
                          parameters.bits, std::span(q).subspan(group * group_size, group_size),
                          &scale, &bias);
      WriteFloat(scale, result.format.scale_type, row * groups + group, &result.scales);
      WriteFloat(bias, result.format.scale_type, row * groups + group, &result.biases);
    }
    PackAffineRow(q, parameters.bits, std::span(result.data).subspan(row * row_bytes, row_bytes));
  }
  return result;
}

}  // namespace verbatim

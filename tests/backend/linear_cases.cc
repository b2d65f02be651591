// Random and adversarial matrices and activations.
#include "tests/backend/linear_cases.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace verbatim::cpu {
namespace {

using Rng = std::mt19937;

size_t Bytes(WeightType type) { return type == WeightType::kF32 ? 4 : 2; }

// Rounds to the stored type, appends it and returns the stored value widened.
float AppendStored(float value, WeightType type, std::vector<std::byte>& bytes) {
  const size_t at = bytes.size();
  bytes.resize(at + Bytes(type));
  if (type == WeightType::kF32) {
    std::memcpy(&bytes[at], &value, 4);
    return value;
  }
  const uint16_t half = type == WeightType::kBF16 ? FloatToBf16(value) : FloatToF16(value);
  std::memcpy(&bytes[at], &half, 2);
  return type == WeightType::kBF16 ? Bf16ToFloat(half) : F16ToFloat(half);
}

float Uniform(Rng& rng, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(rng);
}

float AnyMagnitude(Rng& rng, int min_exponent, int max_exponent) {
  const int exponent = std::uniform_int_distribution<int>(min_exponent, max_exponent)(rng);
  return std::ldexp(Uniform(rng, 1.0f, 2.0f), exponent) * (rng() % 2 == 0 ? 1.0f : -1.0f);
}

float Scale(Rng& rng, int64_t row) {
  switch (row % 5) {
    case 3:
      return AnyMagnitude(rng, -149, 127);
    case 4:
      return rng() % 4 == 0 ? -0.0f : std::numeric_limits<float>::infinity();
    default:
      return Uniform(rng, -0.05f, 0.05f);
  }
}

float DenseWeight(Rng& rng, int64_t row) {
  switch (row % 5) {
    case 3:
      return AnyMagnitude(rng, -149, 127);
    case 4:
      return std::bit_cast<float>(static_cast<uint32_t>(rng()));
    default:
      return Uniform(rng, -1.0f, 1.0f);
  }
}

}  // namespace

LinearCase::LinearCase(const WeightFormat& format, int64_t rows, int64_t cols, uint32_t seed) {
  Rng rng(seed);
  matrix_.name = "case";
  matrix_.format = format;
  matrix_.rows = rows;
  matrix_.cols = cols;
  if (format.type == WeightType::kAffine) {
    const int max = (1 << format.bits) - 1;
    affine_ = {
        .rows = rows, .cols = cols, .group = format.group_size, .q = {}, .scale = {}, .bias = {}};
    data_.resize(static_cast<size_t>(rows * cols * format.bits / 8));
    for (int64_t i = 0; i < rows * cols; ++i) {
      const int64_t row = i / cols;
      const int q = row % 5 == 1 ? 0 : row % 5 == 2 ? max : static_cast<int>(rng() % (max + 1));
      affine_.q.push_back(static_cast<uint8_t>(q));
      for (int b = 0; b < format.bits; ++b) {
        const int64_t bit = i * format.bits + b;
        data_[static_cast<size_t>(bit / 8)] |= static_cast<std::byte>(((q >> b) & 1) << (bit % 8));
      }
    }
    for (int64_t i = 0; i < rows * cols / format.group_size; ++i) {
      const int64_t row = i / (cols / format.group_size);
      affine_.scale.push_back(AppendStored(Scale(rng, row), format.scale_type, scales_));
      affine_.bias.push_back(AppendStored(Scale(rng, row), format.scale_type, biases_));
    }
  } else {
    dense_ = {.rows = rows, .cols = cols, .w = {}};
    for (int64_t i = 0; i < rows * cols; ++i) {
      dense_.w.push_back(AppendStored(DenseWeight(rng, i / cols), format.type, data_));
    }
  }
  matrix_.data = data_;
  matrix_.scales = scales_;
  matrix_.biases = biases_;
}

std::vector<float> LinearCase::Reference(const std::vector<float>& x, int64_t num_rows) const {
  std::vector<float> y(static_cast<size_t>(num_rows * matrix_.rows));
  if (matrix_.format.type == WeightType::kAffine) {
    reference::LinearAffine(affine_, x.data(), num_rows, y.data());
  } else {
    reference::LinearDense(dense_, x.data(), num_rows, y.data());
  }
  return y;
}

void LinearCase::ReferenceEmbed(int64_t row, float* out) const {
  if (matrix_.format.type == WeightType::kAffine) {
    reference::EmbedRow(affine_, row, out);
  } else {
    reference::EmbedRow(dense_, row, out);
  }
}

std::vector<float> AdversarialRows(int64_t num_rows, int64_t cols, uint32_t seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Rng rng(seed);
  std::vector<float> x(static_cast<size_t>(num_rows * cols));
  for (int64_t r = 0; r < num_rows; ++r) {
    float* row = &x[static_cast<size_t>(r * cols)];
    const int64_t special = static_cast<int64_t>(rng() % static_cast<uint32_t>(cols));
    for (int64_t k = 0; k < cols; ++k) {
      switch (r % 10) {
        case 1:
          row[k] = AnyMagnitude(rng, -149, 127);
          break;
        case 2:
          row[k] = AnyMagnitude(rng, -149, -127);
          break;
        case 3:  // groups just below, at and above the limit
          row[k] = k / 32 % 3 == 0   ? std::nextafter(0x1p-100f, 0.0f)
                   : k / 32 % 3 == 1 ? 0x1p-100f
                                     : AnyMagnitude(rng, -103, -99);
          break;
        case 4:
          row[k] = rng() % 8 == 0 ? std::numeric_limits<float>::max() : AnyMagnitude(rng, 120, 127);
          break;
        case 5:
          row[k] = rng() % 2 == 0 ? 0.0f : -0.0f;
          break;
        case 8:
          row[k] = rng() % 2 == 0 ? 127.0f : -127.0f;
          break;
        case 9:  // the group's maximum is 127, so x * inv = x: n + 1/2 is a tie
          row[k] = k % 32 == 0 ? 127.0f : static_cast<float>(rng() % 253) - 126.0f + 0.5f;
          break;
        default:
          row[k] = Uniform(rng, -3.0f, 3.0f);
      }
    }
    if (r % 10 == 6) row[special] = r % 20 == 6 ? kInfinity : -kInfinity;
    if (r % 10 == 7) row[special] = std::numeric_limits<float>::quiet_NaN();
  }
  return x;
}

std::vector<WeightFormat> AllFormats() {
  constexpr WeightType kDense[] = {WeightType::kF32, WeightType::kBF16, WeightType::kF16};
  std::vector<WeightFormat> formats;
  for (const WeightType type : kDense) formats.push_back({.type = type});
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const WeightType scale : kDense) {
        formats.push_back(
            {.type = WeightType::kAffine, .bits = bits, .group_size = group, .scale_type = scale});
      }
    }
  }
  return formats;
}

std::string Describe(const WeightFormat& format) {
  constexpr const char* kNames[] = {"f32", "bf16", "f16"};
  if (format.type != WeightType::kAffine) return kNames[static_cast<int>(format.type)];
  return "affine " + std::to_string(format.bits) + " bits, groups of " +
         std::to_string(format.group_size) + ", scales " +
         kNames[static_cast<int>(format.scale_type)];
}

ops::WorkspaceNeeds Needs(int max_rows, int64_t max_in_features) {
  ops::WorkspaceNeeds needs;
  needs.max_rows = max_rows;
  needs.max_in_features = max_in_features;
  return needs;
}

int64_t FirstDifference(const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (CanonicalBits(a[i]) != CanonicalBits(b[i])) return i;
  }
  return -1;
}

}  // namespace verbatim::cpu

// Packing of matrices into tiles; runs once at load.
#include "backend/cpu/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/half.h"

namespace verbatim::cpu {
namespace {

constexpr int kBlocksPerChunk = kChunk / 4;

int64_t ElementBytes(WeightType type) { return type == WeightType::kF32 ? 4 : 2; }

int64_t TileBytes(const WeightFormat& format, int64_t num_groups) {
  if (format.type == WeightType::kAffine) {
    const int64_t scales = 2 * kTileOutputs * ElementBytes(format.scale_type);
    return num_groups * (scales + int64_t{kTileOutputs} * format.group_size * format.bits / 8);
  }
  return num_groups * kChunk * kTileOutputs * ElementBytes(format.type);
}

// Values [0, 32) of a little-endian bit stream that starts on a byte.
void UnpackChunk(const std::byte* stream, int bits, uint8_t* q) {
  uint8_t bytes[kChunk + 2] = {};  // 4 * bits bytes, then zeros that a 16-bit read may touch
  std::memcpy(bytes, stream, size_t{4} * bits);
  const int mask = (1 << bits) - 1;
  for (int i = 0; i < kChunk; ++i) {
    const int bit = i * bits;
    const int word = bytes[bit / 8] | bytes[bit / 8 + 1] << 8;
    q[i] = static_cast<uint8_t>((word >> (bit % 8)) & mask);
  }
}

// Writes one output's 32 values into its lane of a chunk.
void PackChunkLane(const uint8_t* q, int bits, int lane, std::byte* chunk) {
  uint32_t blocks[kBlocksPerChunk];
  std::memcpy(blocks, q, sizeof(blocks));
  constexpr int kVectorBytes = kTileOutputs * 4;
  for (int low = 0; low < bits;) {  // planes, low bits first
    const int rest = bits - low;
    const int width = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
    const uint32_t mask = 0x01010101u * ((1u << width) - 1);
    for (int j = 0; j < width; ++j) {
      uint32_t word = 0;
      for (int i = 0; j + i * width < kBlocksPerChunk; ++i) {
        word |= ((blocks[j + i * width] >> low) & mask) << (i * width);
      }
      std::memcpy(chunk + (low + j) * kVectorBytes + lane * 4, &word, 4);
    }
    low += width;
  }
}

bool IsNan(const std::byte* value, WeightType type) {
  if (type == WeightType::kF32) {
    uint32_t bits;
    std::memcpy(&bits, value, 4);
    return (bits & 0x7fffffffu) > 0x7f800000u;
  }
  uint16_t bits;
  std::memcpy(&bits, value, 2);
  return (bits & 0x7fffu) > (type == WeightType::kBF16 ? 0x7f80u : 0x7c00u);
}

// False if a scale or bias is NaN.
bool PackAffineTile(const WeightMatrix& matrix, int64_t tile, PackedLinear& packed) {
  const WeightFormat& format = matrix.format;
  const int64_t scale_bytes = ElementBytes(format.scale_type);
  const int64_t row_bytes = matrix.cols * format.bits / 8;
  const int64_t chunk_bytes = int64_t{kTileOutputs} * kChunk * format.bits / 8;
  const int chunks_per_group = format.group_size / kChunk;
  const int64_t group_bytes = packed.tile_bytes() / packed.num_groups();
  const int lanes =
      static_cast<int>(std::min<int64_t>(kTileOutputs, matrix.rows - tile * kTileOutputs));
  bool finite = true;
  for (int lane = 0; lane < lanes; ++lane) {
    const int64_t row = tile * kTileOutputs + lane;
    for (int64_t g = 0; g < packed.num_groups(); ++g) {
      std::byte* group = packed.mutable_tile(tile) + g * group_bytes;
      const int64_t source = (row * packed.num_groups() + g) * scale_bytes;
      const std::byte* scale = matrix.scales.data() + source;
      const std::byte* bias = matrix.biases.data() + source;
      finite = finite && !IsNan(scale, format.scale_type) && !IsNan(bias, format.scale_type);
      std::memcpy(group + lane * scale_bytes, scale, scale_bytes);
      std::memcpy(group + (kTileOutputs + lane) * scale_bytes, bias, scale_bytes);
      for (int c = 0; c < chunks_per_group; ++c) {
        uint8_t q[kChunk];
        const int64_t first_value = g * format.group_size + c * kChunk;
        UnpackChunk(matrix.data.data() + row * row_bytes + first_value * format.bits / 8,
                    format.bits, q);
        PackChunkLane(q, format.bits, lane,
                      group + 2 * kTileOutputs * scale_bytes + c * chunk_bytes);
      }
    }
  }
  return finite;
}

void PackDenseTile(const WeightMatrix& matrix, int64_t tile, PackedLinear& packed) {
  const int64_t element = ElementBytes(matrix.format.type);
  const int64_t pair = matrix.format.type == WeightType::kBF16 ? 2 : 1;  // values of K side by side
  const int lanes =
      static_cast<int>(std::min<int64_t>(kTileOutputs, matrix.rows - tile * kTileOutputs));
  std::byte* out = packed.mutable_tile(tile);
  for (int lane = 0; lane < lanes; ++lane) {
    const std::byte* row =
        matrix.data.data() + (tile * kTileOutputs + lane) * matrix.cols * element;
    for (int64_t k = 0; k < matrix.cols; ++k) {
      const int64_t place = (k / pair * kTileOutputs + lane) * pair + k % pair;
      std::memcpy(out + place * element, row + k * element, element);
    }
  }
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Status CheckMatrix(const WeightMatrix& matrix) {
  const WeightFormat& format = matrix.format;
  if (matrix.rows < 1 || matrix.cols < 1) {
    return MakeError(StatusCode::kCorrupt, matrix.name, "at least one row and one column",
                     fmt::format("[{}, {}]", matrix.rows, matrix.cols));
  }
  if (format.type != WeightType::kAffine) {
    const int64_t expected = matrix.rows * matrix.cols * ElementBytes(format.type);
    if (static_cast<int64_t>(matrix.data.size()) == expected) return {};
    return MakeError(StatusCode::kCorrupt, matrix.name,
                     fmt::format("{} bytes for [{}, {}]", expected, matrix.rows, matrix.cols),
                     fmt::format("{} bytes", matrix.data.size()));
  }
  const int bits = format.bits;
  if (bits < 2 || bits > 8 || bits == 7) {
    return MakeError(StatusCode::kUnsupported, matrix.name, "2, 3, 4, 5, 6 or 8 bits",
                     fmt::format("{} bits", bits));
  }
  const int group = format.group_size;
  if (group != 32 && group != 64 && group != 128) {
    return MakeError(StatusCode::kUnsupported, matrix.name, "groups of 32, 64 or 128",
                     fmt::format("groups of {}", group));
  }
  if (format.scale_type == WeightType::kAffine) {
    return MakeError(StatusCode::kUnsupported, matrix.name, "scales of type F32, BF16 or F16",
                     "quantized scales");
  }
  if (matrix.cols % group != 0) {
    return MakeError(StatusCode::kCorrupt, matrix.name,
                     fmt::format("a multiple of the group ({}) as input width", group),
                     fmt::format("{}", matrix.cols));
  }
  const int64_t data = matrix.rows * matrix.cols * bits / 8;
  const int64_t scales = matrix.rows * (matrix.cols / group) * ElementBytes(format.scale_type);
  if (static_cast<int64_t>(matrix.data.size()) != data ||
      static_cast<int64_t>(matrix.scales.size()) != scales ||
      static_cast<int64_t>(matrix.biases.size()) != scales) {
    return MakeError(
        StatusCode::kCorrupt, matrix.name,
        fmt::format("{} bytes of weights and {} of scales and of biases", data, scales),
        fmt::format("{}, {} and {}", matrix.data.size(), matrix.scales.size(),
                    matrix.biases.size()));
  }
  return {};
}

PackedLinear::PackedLinear(int64_t out_features, int64_t in_features, const WeightFormat& format,
                           HugePageArena& arena)
    : PreparedLinear(out_features, in_features, format),
      group_size_(format.type == WeightType::kAffine ? format.group_size : kChunk),
      num_groups_(CeilDiv(in_features, group_size_)),
      tile_bytes_(TileBytes(format, num_groups_)),
      num_tiles_(CeilDiv(out_features, kTileOutputs)),
      data_(arena.Allocate(static_cast<size_t>(num_tiles_ * tile_bytes_))) {}

Expected<std::unique_ptr<PackedLinear>> PackLinear(const WeightMatrix& matrix, ThreadPool& pool,
                                                   HugePageArena& arena) {
  VERBATIM_RETURN_IF_ERROR(CheckMatrix(matrix));
  std::unique_ptr<PackedLinear> packed;
  try {
    packed = std::make_unique<PackedLinear>(matrix.rows, matrix.cols, matrix.format, arena);
  } catch (const std::bad_alloc&) {
    return MakeError(StatusCode::kResourceExhausted, matrix.name,
                     fmt::format("{} bytes of memory for the packed matrix", matrix.bytes()),
                     "a failed allocation", "a smaller quantization");
  }
  std::atomic<bool> finite{true};
  pool.Run(packed->num_tiles(), [&](int64_t tile, int) {
    if (matrix.format.type != WeightType::kAffine) {
      PackDenseTile(matrix, tile, *packed);
    } else if (!PackAffineTile(matrix, tile, *packed)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  if (!finite.load()) {
    return MakeError(StatusCode::kCorrupt, matrix.name, "scales and biases that are numbers", "NaN",
                     "downloading the checkpoint again");
  }
  return packed;
}

}  // namespace verbatim::cpu

// Reads a safetensors header and believes nothing in it.
#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "checkpoint/json.h"

namespace verbatim {
namespace {

// Header object, tensor object, shape array: 3 levels. A tensor has at most 2 + 2 + rank values,
// and 2^22 of them allow over 400,000 tensors (the largest known checkpoint has under 100,000).
constexpr JsonLimits kHeaderLimits{.max_depth = 3, .max_values = int64_t{1} << 22};
constexpr size_t kLengthBytes = 8;
constexpr size_t kMaxRank = 8;

struct Dtype {
  std::string_view name;
  int bits;
};
constexpr Dtype kDtypes[] = {
    {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16},
    {"U16", 16},    {"F16", 16}, {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32},    {"I64", 64}, {"U64", 64},    {"F64", 64},    {"C64", 64},
};

// Overflow-safe; false if the size does not fit or is not a whole number of bytes.
bool TensorBytes(const std::vector<int64_t>& shape, int bits, uint64_t* bytes) {
  uint64_t total = static_cast<uint64_t>(bits);
  for (const int64_t dim : shape) {
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total)) return false;
  }
  *bytes = total / 8;
  return total % 8 == 0;
}

Expected<std::vector<int64_t>> ParseShape(const nlohmann::json& json, const std::string& where) {
  const auto fault = [&] {
    return MakeError(StatusCode::kCorrupt, where,
                     fmt::format("a shape of at most {} whole dimensions", kMaxRank),
                     JsonForMessage(json));
  };
  if (!json.is_array() || json.size() > kMaxRank) return fault();
  std::vector<int64_t> shape;
  for (const nlohmann::json& dim : json) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      return fault();
    }
    shape.push_back(dim.get<int64_t>());
  }
  return shape;
}

struct Range {
  uint64_t begin;
  uint64_t end;
  const std::string* name;
};

// One entry of the header. `data` is everything after the header.
Expected<std::pair<TensorInfo, Range>> ParseTensor(const std::string& name,
                                                   const nlohmann::json& entry,
                                                   std::span<const std::byte> data,
                                                   const std::string& where) {
  const auto fault = [&](std::string_view expected, std::string_view received) {
    return MakeError(StatusCode::kCorrupt, where, expected, received);
  };
  if (!entry.is_object()) return fault("an object", JsonForMessage(entry));
  for (const std::string_view key : {"dtype", "shape", "data_offsets"}) {
    if (!entry.contains(key)) return fault(fmt::format("a \"{}\"", key), "none");
  }
  if (entry.size() != 3) return fault("dtype, shape and data_offsets only", JsonForMessage(entry));

  TensorInfo info;
  info.name = name;
  if (!entry["dtype"].is_string()) return fault("a dtype name", JsonForMessage(entry["dtype"]));
  info.dtype = entry["dtype"].get<std::string>();
  const int bits = SafetensorsDtypeBits(info.dtype);
  if (bits == 0) return fault("a dtype of the safetensors format", JsonForMessage(entry["dtype"]));
  VERBATIM_ASSIGN_OR_RETURN(info.shape, ParseShape(entry["shape"], where));

  const nlohmann::json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return fault("data_offsets [begin, end]", JsonForMessage(offsets));
  }
  const Range range{offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>(), nullptr};
  if (range.begin > range.end || range.end > data.size()) {
    return fault(fmt::format("data_offsets within the file's {} data bytes", data.size()),
                 fmt::format("[{}, {}]", range.begin, range.end));
  }
  uint64_t bytes = 0;
  if (!TensorBytes(info.shape, bits, &bytes)) {
    return fault("a shape whose size fits 64 bits and whole bytes",
                 fmt::format("{} of {}", ShapeName(info.shape), info.dtype));
  }
  if (bytes != range.end - range.begin) {
    return fault(fmt::format("{} bytes for {} of {}", bytes, ShapeName(info.shape), info.dtype),
                 fmt::format("{}", range.end - range.begin));
  }
  info.data = data.subspan(range.begin, bytes);
  return std::pair{std::move(info), range};
}

// The tensors must cover the data exactly once.
Status CheckCoverage(std::vector<Range> ranges, uint64_t data_bytes, const std::string& where) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin != covered) {
      return MakeError(
          StatusCode::kCorrupt, where + ": " + *range.name,
          fmt::format("data to start at byte {}, where the tensor before ends", covered),
          fmt::format("byte {} ({})", range.begin, range.begin < covered ? "overlap" : "a hole"));
    }
    covered = range.end;
  }
  if (covered != data_bytes) {
    return MakeError(StatusCode::kCorrupt, where,
                     fmt::format("tensors that cover all {} data bytes", data_bytes),
                     fmt::format("{} bytes covered", covered), "downloading the file again");
  }
  return {};
}

}  // namespace

std::string ShapeName(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

int SafetensorsDtypeBits(std::string_view dtype) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  return 0;
}

Expected<SafetensorsFile> SafetensorsFile::Open(const std::filesystem::path& path) {
  VERBATIM_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  VERBATIM_ASSIGN_OR_RETURN(SafetensorsFile file, Parse(mapped.bytes(), path.string()));
  file.file_ = std::move(mapped);
  return file;
}

Expected<SafetensorsFile> SafetensorsFile::Parse(std::span<const std::byte> bytes,
                                                 std::string where) {
  if (bytes.size() < kLengthBytes) {
    return MakeError(StatusCode::kCorrupt, where, "at least 8 bytes",
                     fmt::format("{} bytes", bytes.size()), "downloading the file again");
  }
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    header_bytes |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  if (header_bytes > kMaxSafetensorsHeader) {
    return MakeError(StatusCode::kCorrupt, where,
                     fmt::format("a header of at most {} bytes", kMaxSafetensorsHeader),
                     fmt::format("{}", header_bytes), "checking that this is a safetensors file");
  }
  if (header_bytes > bytes.size() - kLengthBytes) {
    return MakeError(
        StatusCode::kCorrupt, where, fmt::format("a header of {} bytes", header_bytes),
        fmt::format("a file that ends {} bytes after the length", bytes.size() - kLengthBytes),
        "downloading the file again");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes,
                              header_bytes);
  const std::string header_where = where + ": header";
  if (!text.starts_with('{')) {
    return MakeError(StatusCode::kCorrupt, header_where, "a JSON object", "something else",
                     "checking that this is a safetensors file");
  }
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json header,
                            ParseJson(text, header_where, kHeaderLimits));
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + header_bytes);

  SafetensorsFile file;
  file.where_ = std::move(where);
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) {
        return MakeError(StatusCode::kCorrupt, header_where, "__metadata__ to be an object",
                         JsonForMessage(entry));
      }
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) {
          return MakeError(StatusCode::kCorrupt, header_where,
                           fmt::format("__metadata__ \"{}\" to be a string", key.substr(0, 80)),
                           JsonForMessage(value));
        }
        file.metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    VERBATIM_ASSIGN_OR_RETURN(auto parsed,
                              ParseTensor(name, entry, data, file.where_ + ": " + name));
    const auto stored = file.tensors_.emplace(name, std::move(parsed.first)).first;
    parsed.second.name = &stored->first;
    ranges.push_back(parsed.second);
  }
  VERBATIM_RETURN_IF_ERROR(CheckCoverage(std::move(ranges), data.size(), file.where_));
  return file;
}

}  // namespace verbatim

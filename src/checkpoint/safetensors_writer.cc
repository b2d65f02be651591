// Header first, then the data as the tensors produce it.
#include "checkpoint/safetensors_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/file_writer.h"
#include "checkpoint/safetensors.h"

namespace verbatim {

TensorToWrite TensorFromBytes(std::string name, std::string dtype, std::vector<int64_t> shape,
                              std::span<const std::byte> bytes) {
  return {std::move(name), std::move(dtype), std::move(shape),
          [bytes](const ByteSink& sink) { return sink(bytes); }};
}

Status WriteSafetensors(const std::filesystem::path& path,
                        const std::vector<TensorToWrite>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string_view> names;
  std::vector<uint64_t> sizes;
  uint64_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const int bits = SafetensorsDtypeBits(tensor.dtype);
    if (bits == 0 || bits % 8 != 0) {
      return MakeError(StatusCode::kInvalidArgument, tensor.name, "a whole-byte safetensors dtype",
                       tensor.dtype);
    }
    if (!names.insert(tensor.name).second || tensor.name == "__metadata__") {
      return MakeError(StatusCode::kInvalidArgument, tensor.name, "each tensor name once", "two");
    }
    uint64_t size = static_cast<uint64_t>(bits / 8);
    for (const int64_t dim : tensor.shape) size *= static_cast<uint64_t>(dim);
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + size}}};
    offset += size;
    sizes.push_back(size);
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data then starts at a multiple of 8

  VERBATIM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  std::string length(8, '\0');
  for (size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xff);
  }
  VERBATIM_RETURN_IF_ERROR(file.Write(length));
  VERBATIM_RETURN_IF_ERROR(file.Write(text));
  for (size_t i = 0; i < tensors.size(); ++i) {
    uint64_t written = 0;
    VERBATIM_RETURN_IF_ERROR(tensors[i].write([&](std::span<const std::byte> bytes) {
      written += bytes.size();
      return file.Write(bytes);
    }));
    if (written != sizes[i]) {
      return MakeError(StatusCode::kInvalidArgument, tensors[i].name,
                       fmt::format("{} bytes for its shape", sizes[i]), fmt::format("{}", written));
    }
  }
  return file.Commit();
}

}  // namespace verbatim

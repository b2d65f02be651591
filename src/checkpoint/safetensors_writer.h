// WriteSafetensors: writes one .safetensors file, tensor by tensor, complete or not at all. Not a
// reader (safetensors.h).
#ifndef VERBATIM_CHECKPOINT_SAFETENSORS_WRITER_H_
#define VERBATIM_CHECKPOINT_SAFETENSORS_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

using ByteSink = std::function<Status(std::span<const std::byte>)>;

struct TensorToWrite {
  std::string name;
  std::string dtype;           // a dtype of the format, e.g. "F32"
  std::vector<int64_t> shape;  // row-major
  // Called once, in order; passes the tensor's bytes to the sink in one or more pieces.
  std::function<Status(const ByteSink&)> write;
};

// A tensor whose bytes lie in memory; they must outlive the writing.
TensorToWrite TensorFromBytes(std::string name, std::string dtype, std::vector<int64_t> shape,
                              std::span<const std::byte> bytes);

// Tensors lie in the file in the given order, behind a header that depends on nothing else: equal
// input gives equal bytes. For aligned data, give wide types first (the header is padded to 8
// bytes). Errors: kInvalidArgument (an unknown dtype, a repeated name, a tensor that writes more or
// fewer bytes than its shape says), kIo, and whatever `write` returns.
Status WriteSafetensors(const std::filesystem::path& path,
                        const std::vector<TensorToWrite>& tensors,
                        const std::map<std::string, std::string>& metadata);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_SAFETENSORS_WRITER_H_

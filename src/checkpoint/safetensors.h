// SafetensorsFile: the checked header of one .safetensors file and views of its tensors. Not an
// interpreter of tensor names, and not a writer (safetensors_writer.h).
//
// Format: 8 bytes little-endian header length n; n bytes of JSON {name: {dtype, shape,
// data_offsets: [begin, end]}, "__metadata__": {string: string}}; then the data, which the tensors
// cover without holes or overlap. Data has no particular alignment: read it through memcpy.
#ifndef VERBATIM_CHECKPOINT_SAFETENSORS_H_
#define VERBATIM_CHECKPOINT_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "verbatim/status.h"

namespace verbatim {

// The cap of the format's reference implementation; a header of 100 MB describes about 10^6
// tensors.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct TensorInfo {
  std::string name;
  std::string dtype;           // "F32", "BF16", "F16", "U32", ... as in the file
  std::vector<int64_t> shape;  // row-major; empty for a scalar
  std::span<const std::byte> data;
};

// "[2, 3]".
std::string ShapeName(const std::vector<int64_t>& shape);

// Bits of one element; 0 for a dtype that the format does not have.
int SafetensorsDtypeBits(std::string_view dtype);

class SafetensorsFile {
 public:
  // Errors: those of MappedFile::Open and of Parse.
  static Expected<SafetensorsFile> Open(const std::filesystem::path& path);
  // `bytes` is a whole file and must outlive the result; `where` names it in errors. Errors:
  // kCorrupt, naming the tensor at fault.
  static Expected<SafetensorsFile> Parse(std::span<const std::byte> bytes, std::string where);

  const std::string& where() const { return where_; }
  const std::map<std::string, TensorInfo, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  std::string where_;
  MappedFile file_;  // empty when parsed from memory
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_SAFETENSORS_H_

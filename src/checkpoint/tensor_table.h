// TensorTable: the tensors of a set of files under canonical names, and their reading into
// ModelWeights with every check. Not the search for files.
#ifndef VERBATIM_CHECKPOINT_TENSOR_TABLE_H_
#define VERBATIM_CHECKPOINT_TENSOR_TABLE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/quantization_config.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_names.h"
#include "checkpoint/weights.h"
#include "verbatim/status.h"

namespace verbatim {

struct SourceTensor {
  const SafetensorsFile* file = nullptr;  // outlives the table
  const TensorInfo* info = nullptr;
  TensorOrigin origin = TensorOrigin::kUnknown;

  std::string Where() const { return file->where() + ": " + info->name; }
};

class TensorTable {
 public:
  // Adds the file's text and MTP tensors; vision ones are skipped and counted, unknown ones listed.
  // Errors: kCorrupt if two tensors have one canonical name.
  Status Add(const SafetensorsFile& file, FileRole role = FileRole::kModel);

  const SourceTensor* Find(std::string_view name) const;  // canonical; nullptr if absent
  const std::map<std::string, SourceTensor, std::less<>>& tensors() const { return tensors_; }
  const std::vector<std::string>& unknown() const { return unknown_; }  // names as in the files
  int num_vision_tensors() const { return num_vision_tensors_; }
  bool HasMtp() const;

 private:
  std::map<std::string, SourceTensor, std::less<>> tensors_;
  std::vector<std::string> unknown_;
  int num_vision_tensors_ = 0;
};

// Where the expected tensors come from and what to hold them against.
struct ReadContext {
  std::string place;         // the folder, for missing tensors
  std::string config_where;  // the config.json that gave the shapes
  // The block that says how tensors are quantized; null: the tensors alone decide (a side file or
  // drafter without a block of its own).
  const QuantizationConfig* quantization = nullptr;
  std::string quantization_where;
  bool raw_layout = false;  // text norms are stored as w; MTP tensors carry their own origin
};

// Reads one expected tensor into `weights`. Errors: kNotFound (missing), kCorrupt (shape against
// config, scales or words that do not fit, NaN or infinity in scales, biases or vectors),
// kUnsupported (a type that no kernel reads). Names file and tensor.
Status ReadExpected(const TensorTable& table, const ExpectedTensor& expected,
                    const ReadContext& context, ModelWeights* weights);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_TENSOR_TABLE_H_

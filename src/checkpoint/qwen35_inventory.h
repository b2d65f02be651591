// The tensors that a Qwen3.5 config calls for: canonical names and shapes. Not how they are read.
#ifndef VERBATIM_CHECKPOINT_QWEN35_INVENTORY_H_
#define VERBATIM_CHECKPOINT_QWEN35_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/qwen35_config.h"

namespace verbatim {

struct ExpectedTensor {
  enum class Kind {
    kMatrix,  // may be quantized; file name <path>.weight
    kNorm,    // 1 + w in a raw file, w' in a converted one; <path>.weight
    kVector,  // as stored: A_log and dt_bias (no suffix) and linear_attn.norm (<path>.weight)
    kConv,    // [C, 1, 4] raw or [C, 4, 1] converted; <path>.weight; canonical shape [C, 4]
  };

  Kind kind = Kind::kMatrix;
  std::string path;            // canonical, without .weight
  std::string file_suffix;     // ".weight" or ""
  std::vector<int64_t> shape;  // canonical
  std::string derivation;      // "[hidden_size, intermediate_size]": which fields say so
};

std::vector<ExpectedTensor> TextInventory(const Qwen35Config& config);
// The 15 tensors of the MTP head, as mtp.*.
std::vector<ExpectedTensor> MtpInventory(const Qwen35Config& config);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_QWEN35_INVENTORY_H_

// MakeRandomCheckpoint: a checkpoint of a given shape with random weights, so that real sizes can
// be timed without the real files. Not a model: its text is noise.
#ifndef VERBATIM_MEASURE_RANDOM_CHECKPOINT_H_
#define VERBATIM_MEASURE_RANDOM_CHECKPOINT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "measure/checkpoint_shape.h"
#include "verbatim/status.h"

namespace verbatim {

struct RandomCheckpointOptions {
  CheckpointShape shape;
  CheckpointFormat format;
  std::filesystem::path output;  // must not exist yet
  uint64_t seed = 1;
  std::function<void(double fraction, const std::string& what)> progress = {};  // may be empty
  std::function<bool()> stop = {};  // may be empty; true ends the work with kCancelled
};

// Bytes of model.safetensors' tensors: the text model and the MTP head.
int64_t RandomCheckpointBytes(const CheckpointShape& shape, const CheckpointFormat& format);

// Writes model.safetensors (MLX layout, as `quantize` does), config.json and a tokenizer.json with
// one token per id, piece by piece: a few MiB of memory, whatever the shape. Equal options give
// equal bytes. Activations stay finite: matrices keep the size of their input, norms are about 1,
// the gates of the recurrent layers are those of a trained model's range. The folder appears
// complete or not at all. Errors: kInvalidArgument (an existing output), kResourceExhausted (too
// little free space, seen before anything is written), kIo, kCancelled.
Status MakeRandomCheckpoint(const RandomCheckpointOptions& options);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_RANDOM_CHECKPOINT_H_

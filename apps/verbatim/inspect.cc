// The verb inspect: what a checkpoint is, its tensors, and the memory for a context. Loads no
// engine.
#include "checkpoint/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/verbs.h"
#include "checkpoint/safetensors.h"
#include "verbatim/engine.h"

namespace verbatim::cli {
namespace {

std::string LayersOf(const Qwen35Config& config) {
  const auto full = std::ranges::count(config.layer_types, Qwen35Config::LayerType::kFullAttention);
  return fmt::format("{} layers ({} gated-delta, {} full attention)", config.num_hidden_layers,
                     config.num_hidden_layers - full, full);
}

std::string InspectText(const Checkpoint& checkpoint, int64_t context, KvCacheType kv_type) {
  const Qwen35Config& config = checkpoint.config;
  const CheckpointDescription description = DescribeCheckpoint(checkpoint);
  const MemoryEstimate memory =
      EstimateMemory(checkpoint, context, kv_type == KvCacheType::kF32 ? 4 : 2, kMaxDraftTokens);
  std::string out;
  const auto line = [&out](std::string_view label, std::string_view text) {
    out += fmt::format("{:<12} {}\n", label, text);
  };
  line("model", checkpoint.folder.string());
  line("type", fmt::format("{}, {} layout", config.model_type, checkpoint.layout));
  line("shape",
       fmt::format("{}, hidden {}, vocabulary {}{}", LayersOf(config), config.hidden_size,
                   config.vocab_size, config.tie_word_embeddings ? ", tied embeddings" : ""));
  line("attention", fmt::format("{} query and {} key-value heads of {}, rope over {}",
                                config.num_attention_heads, config.num_key_value_heads,
                                config.head_dim, config.rotary_dim));
  line("gated-delta", fmt::format("{} key heads of {}, {} value heads of {}",
                                  config.linear_num_key_heads, config.linear_key_head_dim,
                                  config.linear_num_value_heads, config.linear_value_head_dim));
  line("context", fmt::format("up to {} tokens", config.max_position_embeddings));
  line("weights", checkpoint.weight_types);
  line("mtp", checkpoint.mtp_source);
  line("parameters",
       fmt::format("{} text, {} MTP", description.text_parameters, description.mtp_parameters));
  if (checkpoint.num_vision_tensors > 0) {
    line("vision", fmt::format("{} tensors, skipped", checkpoint.num_vision_tensors));
  }
  for (const std::string& name : checkpoint.unexpected_tensors) line("unexpected", name);

  out += fmt::format("\nmemory for one sequence of {} tokens, KV cache {}:\n", context,
                     KvCacheTypeName(kv_type));
  const auto bytes_line = [&](std::string_view label, int64_t bytes) {
    line(label, fmt::format("{:>14}", Mebibytes(bytes)));
  };
  bytes_line("  weights", memory.weights);
  bytes_line("  kv cache", memory.kv_cache);
  bytes_line("  recurrent", memory.recurrent_state);
  bytes_line("  total", memory.total());
  line("  not counted", kNotCounted);

  size_t widest = 0;
  for (const TensorDescription& tensor : description.tensors) {
    widest = std::max(widest, tensor.name.size());
  }
  out += fmt::format("\n{} tensors:\n", description.tensors.size());
  for (const TensorDescription& tensor : description.tensors) {
    out += fmt::format("  {:<{}}  {:<18} {:>10}  {}\n", tensor.name, widest, tensor.type,
                       tensor.bytes, ShapeName(tensor.shape));
  }
  return out;
}

}  // namespace

Expected<int> RunInspect(const CommandLine& line, Terminal& terminal) {
  LoadOptions options;
  if (line.Given("MODEL") && line.Given("model")) {
    return MakeError(StatusCode::kInvalidArgument, "MODEL", "the model once",
                     fmt::format("{} and --model {}", line.Text("MODEL"), line.Text("model")),
                     "one of them");
  }
  options.model = line.Text(line.Given("model") ? "model" : "MODEL");
  VERBATIM_ASSIGN_OR_RETURN(const Checkpoint checkpoint, LoadCheckpoint(options));
  const int64_t limit = checkpoint.config.max_position_embeddings;
  const int64_t context = line.Given("context") && line.Number("context") != 0
                              ? line.Number("context")
                              : std::min(limit, kDefaultContext);
  if (context > limit) {
    return MakeError(StatusCode::kInvalidArgument, "--context",
                     fmt::format("at most the model's {}", limit), fmt::format("{}", context),
                     fmt::format("--context {}", limit));
  }
  const KvCacheType kv_type = KvTypeOf(line);
  const int element_bytes = kv_type == KvCacheType::kF32 ? 4 : 2;
  VERBATIM_RETURN_IF_ERROR(terminal.Write(
      line.Given("json") ? InspectJson(checkpoint, context, element_bytes, kMaxDraftTokens) + "\n"
                         : InspectText(checkpoint, context, kv_type)));
  return kExitOk;
}

}  // namespace verbatim::cli

// Allocation of the shared row buffers, once at load.
#include "model/qwen35/activations.h"

#include <utility>

namespace verbatim::qwen35 {

Expected<Activations> Activations::Create(ops::Backend& backend, const Qwen35Config& config,
                                          int max_rows) {
  const int64_t query_width = int64_t{config.num_attention_heads} * config.head_dim;
  const int64_t key_width = int64_t{config.num_key_value_heads} * config.head_dim;
  Activations activations;
  const std::pair<DeviceVector*, int64_t> buffers[] = {
      {&activations.residual, config.hidden_size},
      {&activations.normed, config.hidden_size},
      {&activations.query_gate, 2 * query_width},
      {&activations.query, query_width},
      {&activations.key, key_width},
      {&activations.value, key_width},
      {&activations.attended, query_width},
      {&activations.mixed, config.conv_dim()},
      {&activations.z, config.value_dim()},
      {&activations.a, config.linear_num_value_heads},
      {&activations.b, config.linear_num_value_heads},
      {&activations.delta_out, config.value_dim()},
      {&activations.gate, config.intermediate_size},
      {&activations.up, config.intermediate_size},
  };
  for (const auto& [buffer, width] : buffers) {
    VERBATIM_ASSIGN_OR_RETURN(*buffer, DeviceVector::Zeros(backend, width * max_rows));
  }
  return activations;
}

}  // namespace verbatim::qwen35

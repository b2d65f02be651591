// Activations: the row buffers that every layer of a step shares. Not state; nothing survives a
// step.
#ifndef VERBATIM_MODEL_QWEN35_ACTIVATIONS_H_
#define VERBATIM_MODEL_QWEN35_ACTIVATIONS_H_

#include "checkpoint/qwen35_config.h"
#include "model/device_vector.h"

namespace verbatim::qwen35 {

struct Activations {
  static Expected<Activations> Create(ops::Backend& backend, const Qwen35Config& config,
                                      int max_rows);

  DeviceVector residual;    // [M, H]
  DeviceVector normed;      // [M, H]
  DeviceVector query_gate;  // [M, nH * 2 * hd], per head query then gate
  DeviceVector query;       // [M, nH * hd]
  DeviceVector key;         // [M, nKV * hd]
  DeviceVector value;       // [M, nKV * hd]
  DeviceVector attended;    // [M, nH * hd]
  DeviceVector mixed;       // [M, conv_dim]
  DeviceVector z;           // [M, Hv * Dv]
  DeviceVector a;           // [M, Hv]
  DeviceVector b;           // [M, Hv]
  DeviceVector delta_out;   // [M, Hv * Dv]
  DeviceVector gate;        // [M, I]
  DeviceVector up;          // [M, I]
};

}  // namespace verbatim::qwen35

#endif  // VERBATIM_MODEL_QWEN35_ACTIVATIONS_H_

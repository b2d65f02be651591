// TracingBackend: a backend that can keep a digest of every row that every op gives, so that two
// ways of computing the same rows can be compared op by op. Changes no result. Not a profiler.
#ifndef VERBATIM_BACKEND_OBSERVE_TRACING_BACKEND_H_
#define VERBATIM_BACKEND_OBSERVE_TRACING_BACKEND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/observe/forwarding_backend.h"

namespace verbatim {

// One op as it was called; a linear of several matrices leaves one for each.
struct TracedCall {
  ops::Op op = ops::Op::kEmbed;
  const std::string* weights = nullptr;  // the tensor's name, of linears and embeddings; else null
  // [M], 64 bits of each row's outputs, all NaNs one value. kRopeAndCache: with the K and V that it
  // wrote. kBestLogits: the choice.
  std::vector<uint64_t> rows;
};

class TracingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  // While recording, every call of an op is kept, in order; otherwise an op costs one branch more.
  void StartRecording();
  std::vector<TracedCall> StopRecording();

  Expected<std::unique_ptr<ops::PreparedLinear>> PrepareLinear(const WeightMatrix& matrix) override;
  void Embed(const ops::EmbedArgs& args) override;
  void RmsNorm(const ops::RmsNormArgs& args) override;
  void Linear(const ops::LinearArgs& args) override;
  void SiluMul(const ops::SiluMulArgs& args) override;
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override;
  void Attention(const ops::AttentionArgs& args) override;
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override;
  void GatedNorm(const ops::GatedNormArgs& args) override;
  void BestLogits(const ops::BestLogitsArgs& args) override;

 private:
  // `out` [num_rows, width], rows `stride` floats apart, device memory.
  void Keep(ops::Op op, const ops::PreparedLinear* weights, const float* out, int num_rows,
            int64_t width, int64_t stride);
  void AddKeysAndValues(const ops::RopeAndCacheArgs& args, TracedCall& call);

  // Weights live as long as the model, which outlives every trace of it.
  std::unordered_map<const ops::PreparedLinear*, std::string> names_;
  bool recording_ = false;
  std::vector<TracedCall> calls_;
  std::vector<float> host_;
};

// The layer that a call belongs to, or -1 outside of the layers: that of its weights
// ("layers.3.mlp.up_proj"), else of the linear that uses what a norm gave, or whose outputs the op
// takes. `calls` is one pass through a model.
int LayerOf(std::span<const TracedCall> calls, size_t index);

}  // namespace verbatim

#endif  // VERBATIM_BACKEND_OBSERVE_TRACING_BACKEND_H_

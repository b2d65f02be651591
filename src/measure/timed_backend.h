// TimedBackend: a backend that times each op by what it is for and counts the work of the linears.
// Changes no result. Not a profiler of threads or kernels.
#ifndef VERBATIM_MEASURE_TIMED_BACKEND_H_
#define VERBATIM_MEASURE_TIMED_BACKEND_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/observe/forwarding_backend.h"
#include "measure/work.h"

namespace verbatim {

// What an op is for. Linears go by the name of their weights.
enum class Part : uint8_t {
  kEmbed,
  kNorms,          // RMS norms
  kJoin,           // mtp.fc
  kAttentionProj,  // q, k, v and o
  kAttention,      // rope, cache and attention
  kDeltaProj,      // in_proj_* and out_proj
  kDelta,          // convolution, gated delta rule, gated norm
  kMlp,            // gate, up, silu and down
  kHead,           // logits, and the largest of each row
  kCopies,         // gathered rows, copies to and from the host
};
inline constexpr size_t kNumParts = 10;
std::string_view PartName(Part part);

// Part of a linear by its tensor's name in the file, e.g. "mtp.layers.0.mlp.up_proj.weight".
Part PartOfWeights(std::string_view name);

// One run of the target's or the draft head's layers, with its logits: from one embedding to the
// next.
struct Pass {
  bool drafter = false;  // its first linear is mtp.fc
  int rows = 0;
  double wall_s = 0;                           // until the next pass begins
  std::array<double, kNumParts> seconds = {};  // inside ops
  std::array<Work, kNumParts> work = {};       // of linears, and the embedding's rows in bytes

  double OpSeconds() const;
  Work TotalWork() const;
};

class TimedBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  // While recording, passes are collected; otherwise an op costs one branch more than without this.
  void StartRecording();
  // The passes since then; the last one, which no other has ended, ends now.
  std::vector<Pass> StopRecording();

  void CopyToHost(void* host, const void* device, size_t bytes) override;
  void CopyFromHost(void* device, const void* host, size_t bytes) override;
  Expected<std::unique_ptr<ops::PreparedLinear>> PrepareLinear(const WeightMatrix& matrix) override;
  void Embed(const ops::EmbedArgs& args) override;
  void GatherRows(const ops::GatherRowsArgs& args) override;
  void RmsNorm(const ops::RmsNormArgs& args) override;
  void Linear(const ops::LinearArgs& args) override;
  void SiluMul(const ops::SiluMulArgs& args) override;
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override;
  void Attention(const ops::AttentionArgs& args) override;
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override;
  void FoldRecords(const ops::FoldRecordsArgs& args) override;
  void GatedNorm(const ops::GatedNormArgs& args) override;
  void BestLogits(const ops::BestLogitsArgs& args) override;

 private:
  using Clock = std::chrono::steady_clock;

  template <typename Op>
  void Time(Part part, const Op& op);
  void EndPass(Clock::time_point now);
  void Count(Part part, const ops::LinearArgs& args);

  // Weights live as long as the model.
  std::unordered_map<const ops::PreparedLinear*, Part> parts_;
  bool recording_ = false;
  bool has_linear_ = false;  // the open pass has had its first one
  Clock::time_point pass_start_;
  std::vector<Pass> passes_;  // the last one is open
};

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_TIMED_BACKEND_H_

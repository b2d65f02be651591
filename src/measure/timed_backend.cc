// Forwards every op with a clock around it.
#include "measure/timed_backend.h"

#include <utility>

namespace verbatim {

std::string_view PartName(Part part) {
  static constexpr std::array<std::string_view, kNumParts> kNames = {
      "embedding",     "norms",
      "join (mtp.fc)", "attention projections",
      "attention",     "delta projections",
      "gated delta",   "mlp",
      "logits",        "copies"};
  return kNames[static_cast<size_t>(part)];
}

Part PartOfWeights(std::string_view name) {
  const auto has = [&](std::string_view piece) { return name.find(piece) != name.npos; };
  if (has("mtp.fc")) return Part::kJoin;
  if (has(".self_attn.")) return Part::kAttentionProj;
  if (has(".linear_attn.")) return Part::kDeltaProj;
  if (has(".mlp.")) return Part::kMlp;
  return Part::kHead;  // lm_head, or embed_tokens of a tied model
}

double Pass::OpSeconds() const {
  double total = 0;
  for (const double part : seconds) total += part;
  return total;
}

Work Pass::TotalWork() const {
  Work total;
  for (const Work& part : work) total += part;
  return total;
}

void TimedBackend::StartRecording() {
  passes_.clear();
  recording_ = true;
}

std::vector<Pass> TimedBackend::StopRecording() {
  EndPass(Clock::now());
  recording_ = false;
  return std::exchange(passes_, {});
}

void TimedBackend::EndPass(Clock::time_point now) {
  if (!passes_.empty()) {
    passes_.back().wall_s = std::chrono::duration<double>(now - pass_start_).count();
  }
  pass_start_ = now;
  has_linear_ = false;
}

template <typename Op>
void TimedBackend::Time(Part part, const Op& op) {
  if (!recording_ || passes_.empty()) return op();
  const Clock::time_point start = Clock::now();
  op();
  passes_.back().seconds[static_cast<size_t>(part)] +=
      std::chrono::duration<double>(Clock::now() - start).count();
}

void TimedBackend::Count(Part part, const ops::LinearArgs& args) {
  if (!recording_ || passes_.empty()) return;
  if (!std::exchange(has_linear_, true)) passes_.back().drafter = part == Part::kJoin;
  for (const ops::LinearTask& task : args.tasks) {
    const ops::PreparedLinear& weights = *task.weights;
    passes_.back().work[static_cast<size_t>(part)] +=
        LinearWork(weights.format(), weights.out_features(), weights.in_features(), args.num_rows,
                   weights.bytes());
  }
}

Expected<std::unique_ptr<ops::PreparedLinear>> TimedBackend::PrepareLinear(
    const WeightMatrix& matrix) {
  auto prepared = inner().PrepareLinear(matrix);
  if (prepared.ok()) parts_[prepared->get()] = PartOfWeights(matrix.name);
  return prepared;
}

void TimedBackend::Embed(const ops::EmbedArgs& args) {
  if (recording_) {
    EndPass(Clock::now());
    passes_.push_back({.rows = static_cast<int>(args.ids.size())});
    // A row of the table per token.
    const auto rows = static_cast<double>(args.table->out_features());
    passes_.back().work[static_cast<size_t>(Part::kEmbed)].bytes =
        static_cast<double>(args.table->bytes()) / rows * static_cast<double>(args.ids.size());
  }
  Time(Part::kEmbed, [&] { inner().Embed(args); });
}

void TimedBackend::Linear(const ops::LinearArgs& args) {
  const Part part = parts_.at(args.tasks.front().weights);
  Count(part, args);
  Time(part, [&] { inner().Linear(args); });
}

void TimedBackend::CopyToHost(void* host, const void* device, size_t bytes) {
  Time(Part::kCopies, [&] { inner().CopyToHost(host, device, bytes); });
}
void TimedBackend::CopyFromHost(void* device, const void* host, size_t bytes) {
  Time(Part::kCopies, [&] { inner().CopyFromHost(device, host, bytes); });
}
void TimedBackend::GatherRows(const ops::GatherRowsArgs& args) {
  Time(Part::kCopies, [&] { inner().GatherRows(args); });
}
void TimedBackend::RmsNorm(const ops::RmsNormArgs& args) {
  Time(Part::kNorms, [&] { inner().RmsNorm(args); });
}
void TimedBackend::SiluMul(const ops::SiluMulArgs& args) {
  Time(Part::kMlp, [&] { inner().SiluMul(args); });
}
void TimedBackend::RopeAndCache(const ops::RopeAndCacheArgs& args) {
  Time(Part::kAttention, [&] { inner().RopeAndCache(args); });
}
void TimedBackend::Attention(const ops::AttentionArgs& args) {
  Time(Part::kAttention, [&] { inner().Attention(args); });
}
void TimedBackend::ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) {
  Time(Part::kDelta, [&] { inner().ConvAndGatedDelta(args); });
}
void TimedBackend::FoldRecords(const ops::FoldRecordsArgs& args) {
  Time(Part::kDelta, [&] { inner().FoldRecords(args); });
}
void TimedBackend::GatedNorm(const ops::GatedNormArgs& args) {
  Time(Part::kDelta, [&] { inner().GatedNorm(args); });
}

void TimedBackend::BestLogits(const ops::BestLogitsArgs& args) {
  Time(Part::kHead, [&] { inner().BestLogits(args); });
}

}  // namespace verbatim

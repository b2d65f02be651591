// Digests of rows after each op.
#include "backend/observe/tracing_backend.h"

#include <charconv>
#include <utility>

#include "base/half.h"

namespace verbatim {
namespace {

// FNV-1a by words, which never maps two values of one changed word to the same digest: multiplying
// by an odd number is one to one.
constexpr uint64_t kBasis = 14695981039346656037u;
uint64_t AddWord(uint64_t digest, uint32_t word) { return (digest ^ word) * 1099511628211u; }

int LayerOfName(std::string_view name) {
  constexpr std::string_view kPrefix = "layers.";
  const size_t at = name.find(kPrefix);
  if (at == name.npos || name.find("mtp.") != name.npos) return -1;
  int layer = -1;
  std::from_chars(name.data() + at + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

}  // namespace

void TracingBackend::StartRecording() {
  calls_.clear();
  recording_ = true;
}

std::vector<TracedCall> TracingBackend::StopRecording() {
  recording_ = false;
  return std::exchange(calls_, {});
}

Expected<std::unique_ptr<ops::PreparedLinear>> TracingBackend::PrepareLinear(
    const WeightMatrix& matrix) {
  auto prepared = inner().PrepareLinear(matrix);
  if (prepared.ok()) names_[prepared->get()] = matrix.name;
  return prepared;
}

void TracingBackend::Keep(ops::Op op, const ops::PreparedLinear* weights, const float* out,
                          int num_rows, int64_t width, int64_t stride) {
  inner().Synchronize();
  TracedCall call;
  call.op = op;
  if (weights != nullptr) call.weights = &names_.at(weights);
  host_.resize(static_cast<size_t>(width));
  for (int row = 0; row < num_rows; ++row) {
    inner().CopyToHost(host_.data(), out + row * stride, host_.size() * sizeof(float));
    uint64_t digest = kBasis;
    for (const float value : host_) digest = AddWord(digest, CanonicalBits(value));
    call.rows.push_back(digest);
  }
  calls_.push_back(std::move(call));
}

void TracingBackend::Embed(const ops::EmbedArgs& args) {
  inner().Embed(args);
  if (!recording_) return;
  Keep(ops::Op::kEmbed, args.table, args.out, static_cast<int>(args.ids.size()),
       args.table->in_features(), args.out_stride);
}

void TracingBackend::RmsNorm(const ops::RmsNormArgs& args) {
  inner().RmsNorm(args);
  if (!recording_) return;
  Keep(ops::Op::kRmsNorm, nullptr, args.out, args.num_rows, args.width, args.out_stride);
}

void TracingBackend::Linear(const ops::LinearArgs& args) {
  inner().Linear(args);
  if (!recording_) return;
  for (const ops::LinearTask& task : args.tasks) {
    Keep(ops::Op::kLinear, task.weights, task.out, args.num_rows, task.width(), task.out_stride);
  }
}

void TracingBackend::SiluMul(const ops::SiluMulArgs& args) {
  inner().SiluMul(args);
  if (!recording_) return;
  Keep(ops::Op::kSiluMul, nullptr, args.out, args.num_rows, args.width, args.width);
}

void TracingBackend::RopeAndCache(const ops::RopeAndCacheArgs& args) {
  inner().RopeAndCache(args);
  if (!recording_) return;
  const int64_t width = int64_t{args.num_heads} * args.cache.layout.head_dim;
  Keep(ops::Op::kRopeAndCache, nullptr, args.q_out, args.step.num_rows, width, width);
  AddKeysAndValues(args, calls_.back());
}

void TracingBackend::AddKeysAndValues(const ops::RopeAndCacheArgs& args, TracedCall& call) {
  const ops::KvLayout& layout = args.cache.layout;
  const size_t size = layout.element_bytes();
  for (const ops::SequenceRows& rows : args.step.sequences) {
    for (int j = 0; j < rows.num_rows; ++j) {
      const int slot = rows.first_slot + j;
      const int in_page = slot % ops::kPageSlots;
      const auto page_id = static_cast<size_t>(rows.pages[slot / ops::kPageSlots]);
      const std::byte* page = args.cache.pages + page_id * layout.page_bytes();
      const auto row = static_cast<size_t>(rows.first_row) + static_cast<size_t>(j);
      uint64_t& digest = call.rows[row];
      for (int head = 0; head < layout.num_kv_heads; ++head) {
        for (int d = 0; d < layout.head_dim; ++d) {
          for (const size_t offset :
               {layout.KOffset(head, in_page, d), layout.VOffset(head, in_page, d)}) {
            uint32_t word = 0;
            inner().CopyToHost(&word, page + offset * size, size);
            digest = AddWord(digest, word);
          }
        }
      }
    }
  }
}

void TracingBackend::Attention(const ops::AttentionArgs& args) {
  inner().Attention(args);
  if (!recording_) return;
  const int64_t width = int64_t{args.num_heads} * args.cache.layout.head_dim;
  Keep(ops::Op::kAttention, nullptr, args.out, args.step.num_rows, width, width);
}

void TracingBackend::ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) {
  inner().ConvAndGatedDelta(args);
  if (!recording_) return;
  const auto width = static_cast<int64_t>(args.state.layout.value_dim());
  Keep(ops::Op::kConvAndGatedDelta, nullptr, args.out, args.step.num_rows, width, width);
}

void TracingBackend::GatedNorm(const ops::GatedNormArgs& args) {
  inner().GatedNorm(args);
  if (!recording_) return;
  const int64_t width = int64_t{args.num_heads} * args.head_dim;
  Keep(ops::Op::kGatedNorm, nullptr, args.out, args.num_rows, width, width);
}

void TracingBackend::BestLogits(const ops::BestLogitsArgs& args) {
  inner().BestLogits(args);
  if (!recording_) return;
  TracedCall call;
  call.op = ops::Op::kBestLogits;
  for (int row = 0; row < args.num_rows; ++row) {
    const ops::BestLogit& best = args.best[row];
    call.rows.push_back(
        AddWord(AddWord(kBasis, static_cast<uint32_t>(best.id)), best.has_nan ? 1 : 0));
  }
  calls_.push_back(std::move(call));
}

int LayerOf(std::span<const TracedCall> calls, size_t index) {
  if (calls[index].weights != nullptr) return LayerOfName(*calls[index].weights);
  if (calls[index].op == ops::Op::kRmsNorm) {  // the next linear takes its outputs
    for (size_t i = index + 1; i < calls.size(); ++i) {
      if (calls[i].weights != nullptr) return LayerOfName(*calls[i].weights);
    }
    return -1;
  }
  for (size_t i = index; i-- > 0;) {
    if (calls[i].weights != nullptr) return LayerOfName(*calls[i].weights);
  }
  return -1;
}

}  // namespace verbatim

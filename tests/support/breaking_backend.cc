// The other kernel: the backend's own results, moved by the last bit where another order of sums
// could move them.
#include "tests/support/breaking_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace verbatim::testing {
namespace {

constexpr std::array<std::pair<std::string_view, BreakWhere>, 6> kPlaces = {{
    {"blocks", BreakWhere::kBlocks},
    {"ninth-row", BreakWhere::kNinthRow},
    {"odd-groups", BreakWhere::kOddGroups},
    {"rare", BreakWhere::kRare},
    {"sizes", BreakWhere::kSizes},
    {"positions", BreakWhere::kPositions},
}};
constexpr int kNinthRow = 8;
constexpr float kUnusualSize = 1e6f;

uint32_t Mix(uint32_t word) {  // any spreading of bits
  word = (word ^ (word >> 16)) * 0x7feb352du;
  word = (word ^ (word >> 15)) * 0x846ca68bu;
  return word ^ (word >> 16);
}

// Rows of an op's outputs, in host memory.
struct Rows {
  float* out = nullptr;
  int count = 0;
  int64_t width = 0;
  int64_t stride = 0;
  int64_t groups = 0;  // of K, or of 16 outputs
  int64_t first_position = 0;
};

class BreakingBackend : public ForwardingBackend {
 public:
  BreakingBackend(std::unique_ptr<ops::Backend> inner, const BreakSpec& spec)
      : ForwardingBackend(std::move(inner)),
        spec_(spec),
        name_(fmt::format("{} with a broken {}", ForwardingBackend::name(), ops::OpName(spec.op))) {
  }

  std::string_view name() const override { return name_; }
  void SetDispatchLog(ops::DispatchLog* log) override {
    log_ = log;
    inner().SetDispatchLog(log);
  }

  void Embed(const ops::EmbedArgs& args) override {
    const int rows = static_cast<int>(args.ids.size());
    Call(ops::Op::kEmbed, [&] { inner().Embed(args); },
         {{args.out, rows, args.table->in_features(), args.out_stride}});
  }
  void RmsNorm(const ops::RmsNormArgs& args) override {
    Call(ops::Op::kRmsNorm, [&] { inner().RmsNorm(args); },
         {{args.out, args.num_rows, args.width, args.out_stride}});
  }
  void Linear(const ops::LinearArgs& args) override {
    std::vector<Rows> outputs;
    for (const ops::LinearTask& task : args.tasks) {
      const int group = task.weights->format().type == WeightType::kAffine
                            ? task.weights->format().group_size
                            : 32;
      outputs.push_back({task.out, args.num_rows, task.width(), task.out_stride,
                         task.weights->in_features() / group});
    }
    Call(ops::Op::kLinear, [&] { inner().Linear(args); }, outputs);
  }
  void SiluMul(const ops::SiluMulArgs& args) override {
    Call(ops::Op::kSiluMul, [&] { inner().SiluMul(args); },
         {{args.out, args.num_rows, args.width, args.width}});
  }
  void RopeAndCache(const ops::RopeAndCacheArgs& args) override {
    const int64_t width = int64_t{args.num_heads} * args.cache.layout.head_dim;
    Call(ops::Op::kRopeAndCache, [&] { inner().RopeAndCache(args); },
         {{args.q_out, args.step.num_rows, width, width, 0,
           args.step.sequences.front().first_position}});
  }
  void Attention(const ops::AttentionArgs& args) override {
    const int64_t width = int64_t{args.num_heads} * args.cache.layout.head_dim;
    Call(ops::Op::kAttention, [&] { inner().Attention(args); },
         {{args.out, args.step.num_rows, width, width, 0,
           args.step.sequences.front().first_position}});
  }
  void ConvAndGatedDelta(const ops::ConvAndGatedDeltaArgs& args) override {
    const auto width = static_cast<int64_t>(args.state.layout.value_dim());
    Call(ops::Op::kConvAndGatedDelta, [&] { inner().ConvAndGatedDelta(args); },
         {{args.out, args.step.num_rows, width, width, 0,
           args.step.sequences.front().first_position}});
  }
  // Its rows are the folded drafts; what it gives is one state.
  void FoldRecords(const ops::FoldRecordsArgs& args) override {
    const ops::RecurrentLayout& layout = args.state.layout;
    const Rows rows = {nullptr, args.num_accepted_drafts, static_cast<int64_t>(layout.value_dim()),
                       0};
    Call(ops::Op::kFoldRecords, [&] { inner().FoldRecords(args); }, {rows});
    if (spec_.op != ops::Op::kFoldRecords || rows.count < 2 || !TakesOtherKernel(rows)) return;
    float* state =
        args.state.slots + static_cast<size_t>(args.recurrent_slot) * layout.slot_floats();
    MoveRow(state, static_cast<int64_t>(layout.state_floats()));
  }
  void GatedNorm(const ops::GatedNormArgs& args) override {
    const int64_t width = int64_t{args.num_heads} * args.head_dim;
    Call(ops::Op::kGatedNorm, [&] { inner().GatedNorm(args); },
         {{args.out, args.num_rows, width, width}});
  }
  // Chooses the last of equal logits; sizes and positions have no part in that.
  void BestLogits(const ops::BestLogitsArgs& args) override {
    Call(ops::Op::kBestLogits, [&] { inner().BestLogits(args); },
         {{nullptr, args.num_rows, args.vocab_size, args.vocab_size}});
    const bool moves = spec_.where == BreakWhere::kBlocks || spec_.where == BreakWhere::kNinthRow;
    if (spec_.op != ops::Op::kBestLogits || args.num_rows < 2 || !moves) return;
    for (int row = 0; row < args.num_rows; ++row) {
      if (!RowDiffers(row, 0)) continue;
      const float* logits = args.logits + row * args.vocab_size;
      const int32_t best = args.best[row].id;
      for (int64_t id = best + 1; id < args.num_choosable; ++id) {
        if (logits[id] == logits[best]) args.best[row].id = static_cast<int32_t>(id);
      }
    }
  }

 private:
  template <typename Op>
  void Call(ops::Op op, const Op& run, const std::vector<Rows>& outputs) {
    const bool breaks = op == spec_.op && std::ranges::any_of(outputs, [&](const Rows& rows) {
                          return rows.count >= 2 && TakesOtherKernel(rows);
                        });
    if (!breaks) return run();
    if (!spec_.silent) inner().SetDispatchLog(nullptr);
    run();
    inner().Synchronize();
    inner().SetDispatchLog(log_);
    for (const Rows& rows : outputs) {
      if (!spec_.silent && log_ != nullptr) {
        ops::DispatchRecord record;
        record.op = op;
        record.family = record.kernel = "broken";
        record.order = ops::OrderId::kUnknown;
        record.num_rows = rows.count;
        log_->Add(record);
      }
      if (rows.out != nullptr && TakesOtherKernel(rows)) Move(rows);
    }
  }

  bool TakesOtherKernel(const Rows& rows) const {
    if (spec_.where == BreakWhere::kNinthRow) return rows.count > kNinthRow;
    if (spec_.where != BreakWhere::kOddGroups) return true;
    const int64_t groups = rows.groups > 0 ? rows.groups : rows.width / 16;
    return groups % 2 == 1;
  }

  bool RowDiffers(int row, int64_t position) const {
    if (spec_.where == BreakWhere::kNinthRow) return row >= kNinthRow;
    if (spec_.where == BreakWhere::kPositions) return (position + row) % 1000 == 999;
    return true;
  }

  void Move(const Rows& rows) const {
    for (int row = 0; row < rows.count; ++row) {
      if (RowDiffers(row, rows.first_position)) MoveRow(rows.out + row * rows.stride, rows.width);
    }
  }

  void MoveRow(float* out, int64_t width) const {
    const bool unusual =
        std::any_of(out, out + width, [](float x) { return std::abs(x) > kUnusualSize; });
    if (spec_.where == BreakWhere::kSizes && !unusual) return;
    const uint32_t one_in = spec_.where == BreakWhere::kRare ? 1000 : 2;
    for (int64_t i = 0; i < width; ++i) {
      const auto bits = std::bit_cast<uint32_t>(out[i]);
      if (!std::isfinite(out[i]) || out[i] == 0.0f) continue;
      if (Mix(bits ^ static_cast<uint32_t>(i)) % one_in == 0) {
        out[i] = std::bit_cast<float>(bits ^ 1u);
      }
    }
  }

  BreakSpec spec_;
  std::string name_;
  ops::DispatchLog* log_ = nullptr;
};

}  // namespace

Expected<BreakSpec> ParseBreak(std::string_view text) {
  BreakSpec spec;
  const auto next = [&] {
    const size_t colon = text.find(':');
    const std::string_view word = text.substr(0, colon);
    text.remove_prefix(colon == text.npos ? text.size() : colon + 1);
    return word;
  };
  const auto refuse = [](std::string_view expected, std::string_view word) {
    return MakeError(StatusCode::kInvalidArgument, "VERBATIM_BREAK", expected,
                     fmt::format("\"{}\"", word));
  };
  std::string_view word = next();
  std::vector<std::string_view> names;
  for (size_t op = 0; op < ops::kNumOps; ++op) {
    names.push_back(ops::OpName(static_cast<ops::Op>(op)));
  }
  const auto op = std::ranges::find(names, word);
  if (op == names.end()) return refuse(fmt::format("one of {}", fmt::join(names, ", ")), word);
  spec.op = static_cast<ops::Op>(op - names.begin());
  while (!text.empty()) {
    word = next();
    const auto place =
        std::ranges::find(kPlaces, word, [](const auto& entry) { return entry.first; });
    if (word == "silent") {
      spec.silent = true;
    } else if (place != kPlaces.end()) {
      spec.where = place->second;
    } else {
      return refuse("blocks, ninth-row, odd-groups, rare, sizes, positions or silent", word);
    }
  }
  return spec;
}

BackendWrapper BreakWith(const BreakSpec& spec) {
  return [spec](std::unique_ptr<ops::Backend> inner) -> std::unique_ptr<ops::Backend> {
    return std::make_unique<BreakingBackend>(std::move(inner), spec);
  };
}

}  // namespace verbatim::testing

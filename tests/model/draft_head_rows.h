// DraftHeadRows: the rows of a draft head over a token sequence, with inputs that a test chooses,
// right or wrong. Not a drafter (src/draft).
#ifndef VERBATIM_TESTS_MODEL_DRAFT_HEAD_ROWS_H_
#define VERBATIM_TESTS_MODEL_DRAFT_HEAD_ROWS_H_

#include <numeric>
#include <span>
#include <vector>

#include "numerics/argmax.h"
#include "tests/support/model_harness.h"

namespace verbatim::testing {

class DraftHeadRows {
 public:
  // Runs the target over `tokens` as one block; the harness has a draft head.
  DraftHeadRows(ModelHarness& harness, std::vector<int32_t> tokens)
      : harness_(harness), tokens_(std::move(tokens)), width_(harness.model->shape().hidden_size) {
    harness_.model->set_layer_observer([&](int, const float* residual, int num_rows) {
      residual_ = Copy(residual, num_rows);  // the last layer's stays
    });
    state_ = harness_.NewSequence(tokens_.size() + 2);
    target_logits_ = harness_.Run(state_, tokens_);
    harness_.model->set_layer_observer({});
    hidden_ = Copy(harness_.model->hidden(), static_cast<int>(tokens_.size()));
  }
  ~DraftHeadRows() { harness_.Release(state_); }
  DraftHeadRows(const DraftHeadRows&) = delete;
  DraftHeadRows& operator=(const DraftHeadRows&) = delete;

  // Rows of the head: one fewer than tokens.
  int num_rows() const { return static_cast<int>(tokens_.size()) - 1; }
  // The target's greedy choice at a row.
  int32_t Choice(int row) const { return numerics::Argmax(target_logits_[row]); }

  // Row i's right inputs are token i + 1 (TrueTokens) and the target's hidden i after the final
  // norm (TargetHidden); Tokens are the tokens i.
  std::vector<int32_t> Tokens() const { return {tokens_.begin(), tokens_.end() - 1}; }
  std::vector<int32_t> TrueTokens() const { return {tokens_.begin() + 1, tokens_.end()}; }
  std::vector<float> TargetHidden(int first = 0) const { return Rows(hidden_, first); }
  // The residual stream before the final norm.
  std::vector<float> TargetResidual() const { return Rows(residual_, 0); }

  // Runs rows 0 to tokens.size() - 1 of the head as one block; the logits of every row.
  ModelHarness::Logits Logits(std::span<const int32_t> tokens, std::span<const float> hidden) {
    return Forward(tokens, hidden, 0);
  }

  // Runs one row over the rows before it and overwrites its slot.
  std::vector<float> RowLogits(int32_t token, std::span<const float> hidden, int row) {
    return Forward({&token, 1}, hidden, row)[0];
  }

  // The head's own hidden rows of the last run, after its final norm.
  std::vector<float> HeadHidden(int num_rows) const {
    return Copy(harness_.model->draft_head()->hidden(), num_rows);
  }

 private:
  std::vector<float> Copy(const float* device, int num_rows) const {
    std::vector<float> host(num_rows * width_);
    harness_.backend->Synchronize();
    harness_.backend->CopyToHost(host.data(), device, host.size() * sizeof(float));
    return host;
  }

  std::vector<float> Rows(const std::vector<float>& all, int first) const {
    return {all.begin() + first * width_, all.begin() + (first + num_rows()) * width_};
  }

  ModelHarness::Logits Forward(std::span<const int32_t> tokens, std::span<const float> hidden,
                               int first_row) {
    ops::Backend& backend = *harness_.backend;
    DraftHead& head = *harness_.model->draft_head();
    const auto device = *backend.Allocate(hidden.size_bytes());
    backend.CopyFromHost(device->data(), hidden.data(), hidden.size_bytes());
    const int num_rows = static_cast<int>(tokens.size());
    const ops::SequenceRows rows = {.num_rows = num_rows,
                                    .num_certain = num_rows,
                                    .first_slot = first_row + 1,
                                    .first_visible_slot = 1,
                                    .first_position = first_row,
                                    .pages = state_.pages.data()};
    head.Forward(tokens, device->As<float>(), {.sequences = {&rows, 1}, .num_rows = num_rows},
                 harness_.caches);
    constexpr int kLogitRows = 64;  // as many as the harness allows
    ModelHarness::Logits logits;
    for (int begin = 0; begin < num_rows; begin += kLogitRows) {
      std::vector<int32_t> wanted(std::min(kLogitRows, num_rows - begin));
      std::iota(wanted.begin(), wanted.end(), begin);
      const float* some = head.Logits(wanted);
      for (size_t i = 0; i < wanted.size(); ++i) {
        std::vector<float> row(harness_.model->shape().vocab_size);
        backend.CopyToHost(row.data(), some + i * row.size(), row.size() * sizeof(float));
        logits.push_back(std::move(row));
      }
    }
    return logits;
  }

  ModelHarness& harness_;
  std::vector<int32_t> tokens_;
  int64_t width_;
  SequenceState state_;
  ModelHarness::Logits target_logits_;
  std::vector<float> hidden_, residual_;  // [tokens, H]
};

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_MODEL_DRAFT_HEAD_ROWS_H_

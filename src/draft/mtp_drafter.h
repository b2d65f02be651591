// MtpDrafter: drafts with the model's own multi-token-prediction head and keeps its cache in step
// (qwen3_5.md 5.5, 5.6). Not the head itself (model/).
#ifndef VERBATIM_DRAFT_MTP_DRAFTER_H_
#define VERBATIM_DRAFT_MTP_DRAFTER_H_

#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "model/model.h"

namespace verbatim {

struct MtpDrafterLimits {
  int max_rows = 0;  // rows of one step, all sequences together
  int max_sequences = 0;
  int64_t num_choosable = 0;  // ids from here on are padding columns of the head
};

class MtpDrafter : public Drafter {
 public:
  // `model` has a draft head. Errors: kResourceExhausted.
  static Expected<std::unique_ptr<MtpDrafter>> Create(ops::Backend& backend, Model& model,
                                                      const Caches& caches,
                                                      const MtpDrafterLimits& limits);

  void Propose(std::span<DraftJob> jobs, const float* target_hidden) override;

  // Catches up with the row that waited (DraftJob::last_row_waits): `token` follows the last token
  // that the target consumed, whose hidden row [H] (device memory) is `hidden`.
  void AppendRow(SequenceState& state, int32_t token, const float* hidden);

  // As Propose, but also writes the gap between the best and the second logit of each draft.
  void ProposeWithMargins(DraftJob& job, const float* target_hidden, float* margins);

 private:
  MtpDrafter(ops::Backend& backend, Model& model, const Caches& caches, int64_t num_choosable)
      : backend_(backend),
        model_(model),
        caches_(caches),
        num_choosable_(num_choosable),
        sampler_scratch_(model.shape().vocab_size) {}
  void RunTrueRows(std::span<DraftJob> jobs, const float* target_hidden);
  void ForwardRows(const float* hidden);      // tokens_ with the chosen rows of `hidden`
  void TakeDrafts(std::span<DraftJob> jobs);  // from the last forward's rows in draft_rows_
  void RunProvisionalRows(std::span<DraftJob> jobs, int depth);

  ops::Backend& backend_;
  Model& model_;
  Caches caches_;
  int64_t num_choosable_;
  numerics::SamplerScratch sampler_scratch_;
  std::unique_ptr<ops::DeviceBuffer> previous_hidden_;  // [max_rows, H] f32
  std::vector<ops::BestLogit> best_;                    // [max_sequences]
  std::vector<float> logits_;                           // [V], host: a row that more is asked of
  // Of the forward being prepared; reserved once.
  std::vector<int32_t> tokens_;
  std::vector<int32_t> hidden_rows_;
  std::vector<ops::SequenceRows> sequences_;
  std::vector<int32_t> draft_rows_;  // rows whose logits give the next draft, one per drafting job
  float* margins_ = nullptr;         // where ProposeWithMargins wants them
};

}  // namespace verbatim

#endif  // VERBATIM_DRAFT_MTP_DRAFTER_H_

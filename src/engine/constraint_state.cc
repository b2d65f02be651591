// Begins where it is told to, then a mask and a commit for each token.
#include "engine/constraint_state.h"

#include <algorithm>
#include <utility>

namespace verbatim {

ConstraintState::ConstraintState(GrammarMatcher matcher, size_t mask_words,
                                 std::vector<int32_t> begin_after, std::span<const int32_t> eos_ids)
    : matcher_(std::move(matcher)),
      mask_(mask_words),
      begin_after_(std::move(begin_after)),
      eos_ids_(eos_ids),
      begun_(begin_after_.empty()) {}

Expected<ConstraintState> ConstraintState::Start(const CompiledConstraint& compiled,
                                                 std::vector<int32_t> begin_after,
                                                 std::span<const int32_t> eos_ids) {
  VERBATIM_ASSIGN_OR_RETURN(GrammarMatcher matcher, compiled.start.Clone());
  return ConstraintState(std::move(matcher), compiled.mask_words, std::move(begin_after), eos_ids);
}

Expected<std::span<const uint32_t>> ConstraintState::Allowed() {
  if (!begun_) {
    std::ranges::fill(mask_, ~uint32_t{0});
    for (const int32_t id : eos_ids_) {
      mask_[static_cast<size_t>(id) / 32] &= ~(uint32_t{1} << (id % 32));
    }
    return std::span<const uint32_t>(mask_);
  }
  VERBATIM_RETURN_IF_ERROR(matcher_.ComputeMask(mask_));
  return std::span<const uint32_t>(mask_);
}

Status ConstraintState::Push(std::span<const int32_t> output) {
  if (!begun_) {
    begun_ = output.size() >= begin_after_.size() &&
             std::ranges::equal(output.last(begin_after_.size()), begin_after_);
    return {};
  }
  // A text that may end and gets an end-of-sequence token has ended.
  VERBATIM_RETURN_IF_ERROR(matcher_.Commit(output.back()));
  ended_ = std::ranges::find(eos_ids_, output.back()) != eos_ids_.end();
  return {};
}

}  // namespace verbatim

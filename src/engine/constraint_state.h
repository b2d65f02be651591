// ConstraintState: one request's way through its constraint. Not the grammar (text/grammar.h).
#ifndef VERBATIM_ENGINE_CONSTRAINT_STATE_H_
#define VERBATIM_ENGINE_CONSTRAINT_STATE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "text/grammar.h"
#include "verbatim/request.h"

namespace verbatim {

// A grammar before its first token; requests start from copies.
struct CompiledConstraint {
  GrammarMatcher start;
  size_t mask_words = 0;
};

class ConstraintState {
 public:
  // `eos_ids` end a text, as they did for the compiler; they must outlive this. Errors: those of
  // GrammarMatcher::Clone.
  static Expected<ConstraintState> Start(const CompiledConstraint& compiled,
                                         std::vector<int32_t> begin_after,
                                         std::span<const int32_t> eos_ids);

  // Which ids may come next, as a bit each. Before the constraint has begun all but those that end
  // the text, which would then be without what was asked for. Good until the next call.
  // kInvalidArgument: the grammar's limits are exceeded.
  Expected<std::span<const uint32_t>> Allowed();
  // The output (the last token included) grew by a token that was allowed.
  Status Push(std::span<const int32_t> output);
  // Nothing can follow any more: an end-of-sequence token was taken.
  bool ended() const { return ended_; }

 private:
  ConstraintState(GrammarMatcher matcher, size_t mask_words, std::vector<int32_t> begin_after,
                  std::span<const int32_t> eos_ids);

  GrammarMatcher matcher_;
  std::vector<uint32_t> mask_;
  std::vector<int32_t> begin_after_;
  std::span<const int32_t> eos_ids_;
  bool begun_;
  bool ended_ = false;
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_CONSTRAINT_STATE_H_

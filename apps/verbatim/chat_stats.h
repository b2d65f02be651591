// ChatStats: what /stats says, of the last answer and of all. Not the measuring.
#ifndef VERBATIM_APPS_CHAT_STATS_H_
#define VERBATIM_APPS_CHAT_STATS_H_

#include <cstdint>
#include <string>

#include "verbatim/request.h"

namespace verbatim::cli {

class ChatStats {
 public:
  void Add(int64_t prompt_tokens, const Result& result);
  // Several lines. `context` is what the conversation may have of tokens.
  std::string Text(int64_t context, const SpeculationOptions& speculation) const;
  void Reset();  // a new conversation: its tokens are none; the totals stay

 private:
  struct Sums {
    int64_t answers = 0;
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t output_tokens = 0;
    int64_t timed_tokens = 0;
    double prompt_ms = 0;
    double predicted_ms = 0;
    SpeculationStats speculation;
    void Add(int64_t prompt, const Result& result);
    std::string Text() const;
  };
  int64_t conversation_tokens_ = 0;  // prompt and answer of the last turn
  Sums last_;
  Sums all_;
};

}  // namespace verbatim::cli

#endif  // VERBATIM_APPS_CHAT_STATS_H_

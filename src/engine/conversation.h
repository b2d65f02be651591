// Conversation: what an engine keeps between two requests of one dialogue. Not the dialogue's text,
// and not the state of a running request.
#ifndef VERBATIM_ENGINE_CONVERSATION_H_
#define VERBATIM_ENGINE_CONVERSATION_H_

#include <cstdint>
#include <vector>

#include "state/sequence_state.h"

namespace verbatim {

// Two states of one list of tokens: after all of them, and after a prefix that the next prompt
// surely repeats. They share the KV pages, since a prefix is rewound by counting; the recurrent
// state can't be rewound, so the prefix has a slot of its own.
struct Conversation {
  int index = 0;         // its rows of Impl::conversation_hidden
  bool busy = false;     // a request waits or runs, and has taken `state` along
  int64_t last_use = 0;  // the longest unused is evicted first

  std::vector<int32_t> tokens;  // what `state` has consumed
  SequenceState state;          // no pages: none is kept

  int64_t kept_tokens = 0;      // tokens[0, kept_tokens) lead to the kept state; 0: there is none
  int64_t kept_draft_rows = 0;  // of the draft head, that count there
  int kept_slot = -1;           // recurrent slot; -1: not acquired yet

  bool has_state() const { return !state.pages.empty(); }
};

}  // namespace verbatim

#endif  // VERBATIM_ENGINE_CONVERSATION_H_

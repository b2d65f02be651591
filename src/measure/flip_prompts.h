// The prompts that flips are measured over: the project's own and those of a file. Not their
// tokens, and not the texts that a model makes of them (flip_texts.h).
#ifndef VERBATIM_MEASURE_FLIP_PROMPTS_H_
#define VERBATIM_MEASURE_FLIP_PROMPTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "verbatim/status.h"

namespace verbatim {

struct FlipPrompt {
  std::string category = {};       // "prose", ...; "" where the file does not say
  std::string text = {};           // of a chat: the messages' contents, for people
  std::string messages_json = {};  // a chat: a JSON array of messages; else empty
};

// flip_prompts.txt of the source, which is part of the program: prose, code, JSON, mathematics,
// dialogue, lists, multilingual.
const std::vector<FlipPrompt>& DefaultFlipPrompts();

// `text` is either JSON Lines, which begin with a brace, each {"text": "..."} or {"prompt": "..."}
// or {"messages": [...]}, with an optional "category"; or plain text: one prompt, or several below
// lines "---" or "--- category". `where` names the file in errors, which are kInvalidArgument: a
// line that is not such an object, an empty prompt, none at all.
Expected<std::vector<FlipPrompt>> ParseFlipPrompts(std::string_view text, std::string_view where);

}  // namespace verbatim

#endif  // VERBATIM_MEASURE_FLIP_PROMPTS_H_

// What chat.completion and text_completion share: one object around the choices, its chunks, usage
// and the end of a stream. Not the choices (chat_writer.cc, completions_writer.cc).
#ifndef VERBATIM_SERVE_API_OPENAI_WRITER_H_
#define VERBATIM_SERVE_API_OPENAI_WRITER_H_

#include <string>
#include <string_view>
#include <utility>

#include "serve/api/writer_parts.h"

namespace verbatim::serve {

class OpenAiWriter : public WriterBase {
 public:
  std::string EndChoice(const ChoiceEnd& end) final;
  std::string End() final;
  std::string Fail(const ApiError& error) final;

 protected:
  struct Form {
    std::string_view id_prefix;
    std::string_view whole;  // "object" of an answer,
    std::string_view chunk;  // and of its chunks
  };
  OpenAiWriter(const AnswerRequest& request, AnswerHead head, const Form& form)
      : WriterBase(request, std::move(head)), form_(form) {}

  // A chunk's choice that adds nothing.
  virtual Json EmptyChoice(int index) const = 0;
  // Of an answer, without how it ended; takes what has been kept of it.
  virtual Json TakeChoice(int index) = 0;
  virtual Json TakeTokens(int index) = 0;  // of token_details

  std::string Chunk(Json choice) const;

 private:
  Json Body(std::string_view object, Json choices) const;
  Json Whole();
  void AddEnd(const ChoiceEnd& end, Json& choice) const;

  const Form form_;
};

}  // namespace verbatim::serve

#endif  // VERBATIM_SERVE_API_OPENAI_WRITER_H_

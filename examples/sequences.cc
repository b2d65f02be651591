// Several requests in one engine: they share its steps, one is cancelled on the way, one is
// refused. Each gets the tokens that it would get alone.
//   sequences MODEL
#include <array>
#include <iostream>

#include "verbatim/engine.h"

namespace {

using verbatim::Engine;
using verbatim::Request;
using verbatim::RequestId;
using verbatim::Result;
using verbatim::Status;

Status Run(const std::string& model) {
  verbatim::EngineOptions options;
  options.model = model;
  options.max_sequences = 2;  // two run at once, the third waits for its turn
  VERBATIM_ASSIGN_OR_RETURN(const auto engine, Engine::Load(options));

  constexpr std::array kPrompts = {"Once upon a time", "The dog", "It was a dark night"};
  std::array<RequestId, kPrompts.size()> ids{};
  for (size_t i = 0; i < kPrompts.size(); ++i) {
    Request request;
    VERBATIM_ASSIGN_OR_RETURN(request.prompt_token_ids, engine->Tokenize(kPrompts[i]));
    request.max_tokens = 24;
    request.ignore_eos = true;
    VERBATIM_ASSIGN_OR_RETURN(ids[i], engine->Submit(std::move(request)));
  }

  // An error is a value: it says what was wrong, and everything else goes on.
  const auto refused = engine->Submit(Request{});
  std::cout << "refused: " << refused.status().message() << "\n";

  // Step returns false when nothing is left to do. Between steps requests may come and go.
  for (int step = 1; engine->Step(); ++step) {
    if (step == 5) VERBATIM_RETURN_IF_ERROR(engine->Cancel(ids[1]));
  }

  for (size_t i = 0; i < kPrompts.size(); ++i) {
    VERBATIM_ASSIGN_OR_RETURN(const Result result, engine->TakeResult(ids[i]));
    std::cout << kPrompts[i] << " | " << result.text << " ["
              << verbatim::FinishReasonName(result.finish_reason) << "]\n";
  }
  return Status();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sequences MODEL\n";
    return 2;
  }
  const Status status = Run(argv[1]);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

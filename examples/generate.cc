// Streams one answer: load, tokenize, generate with a callback. Not several requests
// (sequences.cc).
//   generate MODEL PROMPT
#include <iostream>

#include "verbatim/engine.h"

namespace {

verbatim::Status Run(const std::string& model, const std::string& prompt) {
  verbatim::EngineOptions options;
  options.model = model;          // a folder, or a model id in the Hugging Face cache
  options.mtp_if_present = true;  // so that requests may speculate
  VERBATIM_ASSIGN_OR_RETURN(const auto engine, verbatim::Engine::Load(options));

  verbatim::Request request;
  VERBATIM_ASSIGN_OR_RETURN(request.prompt_token_ids, engine->Tokenize(prompt));
  request.max_tokens = 48;
  if (engine->info().has_mtp) request.speculation.kind = verbatim::SpeculationKind::kMtp;
  request.on_token = [](const verbatim::TokenEvent& event) {
    std::cout << event.text << std::flush;
  };
  VERBATIM_ASSIGN_OR_RETURN(const verbatim::Result result, engine->Generate(std::move(request)));

  std::cout << "\n";
  std::cerr << result.token_ids.size() << " tokens, "
            << verbatim::FinishReasonName(result.finish_reason) << ", "
            << result.speculation.accepted << " of " << result.speculation.drafted
            << " drafts accepted\n";
  return result.error;  // ok unless finish_reason is kError
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: generate MODEL PROMPT\n";
    return 2;
  }
  const verbatim::Status status = Run(argv[1], argv[2]);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

// The verb score: teacher-forced log-probabilities, logits to a file, drafts at every position.
#include <fmt/format.h>

#include <numeric>

#include "apps/verbatim/json_output.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "checkpoint/safetensors_writer.h"

namespace verbatim::cli {
namespace {

// Scores and streams the logits to `path` as they come; the hidden rows, V/H times smaller, wait in
// memory for their turn in the file.
// A signal ends the work with kCancelled and leaves no file.
Expected<ScoreResult> ScoreToFile(Engine& engine, ScoreRequest request, const std::string& path,
                                  const DeferredSignals& signals) {
  const auto num_tokens = static_cast<int64_t>(request.token_ids.size());
  const EngineInfo& info = engine.info();
  ScoreResult result;
  std::vector<float> hidden_rows;
  hidden_rows.reserve(static_cast<size_t>(num_tokens * info.hidden_size));
  const TensorToWrite logits = {
      .name = "logits",
      .dtype = "F32",
      .shape = {num_tokens, info.vocab_size},
      .write = [&](const ByteSink& sink) -> Status {
        request.on_row = [&](std::span<const float> row, std::span<const float> hidden) -> Status {
          if (signals.exit_code() != 0) {
            return MakeError(StatusCode::kCancelled, path, "to finish", "a signal");
          }
          hidden_rows.insert(hidden_rows.end(), hidden.begin(), hidden.end());
          return sink(std::as_bytes(row));
        };
        VERBATIM_ASSIGN_OR_RETURN(result, engine.Score(request));
        return Status();
      }};
  const TensorToWrite hidden = {.name = "hidden",
                                .dtype = "F32",
                                .shape = {num_tokens, info.hidden_size},
                                .write = [&](const ByteSink& sink) {
                                  return sink(std::as_bytes(std::span<const float>(hidden_rows)));
                                }};
  VERBATIM_RETURN_IF_ERROR(WriteSafetensors(path, {logits, hidden}, {{"numerics", info.numerics}}));
  return result;
}

// How often draft k is the text's token, given that the drafts before it are.
std::string DraftAgreement(const ScoreRequest& request, const ScoreResult& result) {
  std::array<int64_t, ScoreResult::kDraftDepth> tested{};
  std::array<int64_t, ScoreResult::kDraftDepth> right{};
  for (size_t row = 0; row < result.drafts.size(); ++row) {
    for (size_t k = 0; k < tested.size() && row + 2 + k < request.token_ids.size(); ++k) {
      ++tested[k];
      if (result.drafts[row].ids[k] != request.token_ids[row + 2 + k]) break;
      ++right[k];
    }
  }
  std::string text = "drafts that are the text's token:";
  for (size_t k = 0; k < tested.size(); ++k) {
    text += fmt::format(" {}/{}", right[k], tested[k]);
  }
  return text + "\n";
}

std::string ScoreText(const ScoreRequest& request, const ScoreResult& result) {
  const double sum = std::accumulate(result.logprobs.begin(), result.logprobs.end(), 0.0);
  std::string text =
      fmt::format("perplexity {:.4f}, log-probability {:.4f}, {} of {} tokens scored\n",
                  result.perplexity, sum, result.logprobs.size(), request.token_ids.size());
  if (request.drafts) text += DraftAgreement(request, result);
  return text;
}

}  // namespace

Expected<int> RunScore(const CommandLine& line, Terminal& terminal) {
  VERBATIM_ASSIGN_OR_RETURN(EngineOptions options, ReadEngineOptions(line));
  VERBATIM_ASSIGN_OR_RETURN(const PromptInput prompt, ReadPrompt(line));
  ScoreRequest request;
  request.width = static_cast<int>(line.Number("width"));
  request.drafts = line.Given("drafts");
  if (line.Given("draft-model") && !request.drafts) {
    return MakeError(StatusCode::kInvalidArgument, "--draft-model", "--drafts beside it", "none",
                     "--drafts");
  }
  if (request.drafts && line.Text("contract") == "off") {
    return MakeError(StatusCode::kInvalidArgument, "--contract",
                     "exact, strict or greedy beside --drafts", "off", "--contract exact");
  }
  options.with_mtp = request.drafts;
  options.max_score_width = request.width;

  VERBATIM_ASSIGN_OR_RETURN(const auto engine, LoadEngine(options, terminal));
  VERBATIM_ASSIGN_OR_RETURN(request.token_ids, PromptTokenIds(prompt, /*chat=*/false, *engine));
  Expected<ScoreResult> scored = ScoreResult();
  if (line.Given("logits")) {
    const DeferredSignals signals;
    scored = ScoreToFile(*engine, request, line.Text("logits"), signals);
    if (scored.status().code() == StatusCode::kCancelled) return signals.exit_code();
  } else {
    scored = engine->Score(request);
  }
  VERBATIM_ASSIGN_OR_RETURN(const ScoreResult result, std::move(scored));
  VERBATIM_RETURN_IF_ERROR(terminal.Write(line.Given("json")
                                              ? ScoreJson(engine->info(), request, result) + "\n"
                                              : ScoreText(request, result)));
  return kExitOk;
}

}  // namespace verbatim::cli

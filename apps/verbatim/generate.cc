// The verb generate: a prompt continued. Not scoring, and not the comparison of two arms (demo.cc).
#include <unistd.h>

#include <optional>

#include "apps/verbatim/constraint_options.h"
#include "apps/verbatim/generation.h"
#include "apps/verbatim/json_output.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/sampling_options.h"
#include "apps/verbatim/verbs.h"
#include "base/file_writer.h"
#include "measure/receipt.h"

namespace verbatim::cli {
namespace {

// The digests of what was just loaded.
Expected<ModelIdentity> Identify(const EngineInfo& info, Terminal& terminal) {
  auto identity = ReadModelIdentity(info.model_folder, info.num_threads, [&](double fraction) {
    terminal.Progress(fraction, "SHA-256 of the weights");
  });
  terminal.EndProgress();
  return identity;
}

}  // namespace

Expected<int> RunGenerate(const CommandLine& line, Terminal& terminal) {
  // Everything that the command line alone can tell comes before the model is loaded.
  VERBATIM_ASSIGN_OR_RETURN(EngineOptions options, ReadEngineOptions(line));
  if (line.Given("chat") && line.Given("ids")) {
    return MakeError(StatusCode::kInvalidArgument, "--chat", "--prompt or --file beside it",
                     "--ids", "--prompt TEXT");
  }
  if (line.Given("logprobs") && !line.Given("json")) {
    return MakeError(StatusCode::kInvalidArgument, "--logprobs", "--json beside it", "none",
                     "--json");
  }
  VERBATIM_ASSIGN_OR_RETURN(const SamplingArguments arguments, SamplingArguments::Read(line));
  VERBATIM_ASSIGN_OR_RETURN(const SpeculationOptions speculation, ReadSpeculation(line));
  VERBATIM_ASSIGN_OR_RETURN(const ConstraintOptions constraint, ReadConstraint(line));
  VERBATIM_ASSIGN_OR_RETURN(const PromptInput prompt, ReadPrompt(line));
  options.with_mtp = speculation.kind == SpeculationKind::kMtp;

  VERBATIM_ASSIGN_OR_RETURN(const auto engine, LoadEngine(options, terminal));
  Request request;
  VERBATIM_ASSIGN_OR_RETURN(request.prompt_token_ids,
                            PromptTokenIds(prompt, line.Given("chat"), *engine));
  const std::vector<int32_t> prompt_token_ids = request.prompt_token_ids;
  SamplingOptions sampling = arguments.Resolve(engine->info());
  sampling.min_tokens = line.Number("min-tokens");
  if (line.Given("logprobs")) sampling.logprobs = static_cast<int>(line.Number("logprobs"));
  terminal.Note(
      terminal.OnError(Style::kDim, "sampling: " + SamplingSummary(sampling, engine->info())));
  request.sampling = sampling;
  request.max_tokens = line.Number("max-tokens");
  request.stop = line.Texts("stop");
  request.ignore_eos = line.Given("ignore-eos");
  request.constraint = constraint;
  request.logits_digest = line.Given("json");
  request.position_digests = line.Given("receipt");
  request.speculation = speculation;

  ModelIdentity identity;
  if (line.Given("receipt")) {
    VERBATIM_RETURN_IF_ERROR(CheckReceiptRequest(request));
    VERBATIM_ASSIGN_OR_RETURN(identity, Identify(engine->info(), terminal));
  }
  TextSink sink;
  if (!line.Given("json")) {
    sink = [&terminal](std::string_view text, bool) { return terminal.Write(text); };
  }
  const DeferredSignals signals;
  std::optional<FileWriter> receipt_file;  // opened before the work, so that none is in vain
  if (line.Given("receipt")) {
    auto file = FileWriter::Create(line.Text("receipt"));
    if (!file.ok()) return file.status();
    receipt_file.emplace(*std::move(file));
  }
  VERBATIM_ASSIGN_OR_RETURN(const Result result, RunRequest(*engine, request, signals, sink));
  if (line.Given("json")) {
    VERBATIM_RETURN_IF_ERROR(terminal.Write(
        GenerateJson(engine->info(), speculation, sampling, prompt_token_ids, result) + "\n"));
  } else if (isatty(STDOUT_FILENO) == 1) {
    VERBATIM_RETURN_IF_ERROR(terminal.Write("\n"));  // for the shell's next line, not the answer's
  }
  terminal.Note(terminal.OnError(Style::kDim, SpeedSummary(prompt_token_ids.size(), result)));
  if (const std::string drafts = DraftSummary(result); !drafts.empty()) {
    terminal.Note(terminal.OnError(Style::kDim, drafts));
  }
  if (result.finish_reason == FinishReason::kError) return result.error;
  if (receipt_file && signals.exit_code() != 0) {
    terminal.Note("no receipt: the request was interrupted");
  } else if (receipt_file) {
    VERBATIM_ASSIGN_OR_RETURN(const Receipt receipt,
                              MakeReceipt(engine->info(), identity, request, result));
    VERBATIM_RETURN_IF_ERROR(receipt_file->Write(ReceiptJson(receipt)));
    VERBATIM_RETURN_IF_ERROR(receipt_file->Commit());
    terminal.Note(terminal.OnError(Style::kDim, "receipt: " + line.Text("receipt")));
  }
  return signals.exit_code();
}

}  // namespace verbatim::cli

// The verb receipt: verify replays a receipt on this machine. How one is made: generate.cc.
#include <fmt/format.h>

#include <algorithm>

#include "apps/verbatim/model_options.h"
#include "apps/verbatim/receipt_report.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"

namespace verbatim::cli {
namespace {

// This verb has no --context: what the engine says about it is about the receipt.
Status AboutTheReceipt(const Status& status, const std::string& where) {
  if (status.code() != StatusCode::kInvalidArgument || !status.message().starts_with("[context]")) {
    return status;
  }
  return MakeError(StatusCode::kCorrupt, where, "prompt and output within this model's context",
                   status.message());
}

}  // namespace

Expected<int> RunReceipt(const CommandLine& line, Terminal& terminal) {
  const std::string& path = line.Text("FILE");
  if (!line.Given("model")) {
    return MakeError(StatusCode::kInvalidArgument, "--model", "a checkpoint folder or model id",
                     "nothing", "verbatim receipt --help");
  }
  VERBATIM_ASSIGN_OR_RETURN(const Receipt receipt, ReadReceipt(path));
  EngineOptions options = ReplayOptions(receipt, line.Text("model"));
  options.num_threads = static_cast<int>(line.Number("threads"));
  const auto engine = LoadEngine(options, terminal);
  if (!engine.ok()) return AboutTheReceipt(engine.status(), path);
  const EngineInfo& info = (*engine)->info();

  const auto identity = ReadModelIdentity(options.model, info.num_threads, [&](double fraction) {
    terminal.Progress(fraction, "SHA-256 of the weights");
  });
  terminal.EndProgress();
  if (!identity.ok()) return identity.status();
  ReceiptCheck check;
  check.mismatches = CompareIdentity(receipt, *identity, info);
  if (!line.Given("json")) {
    VERBATIM_RETURN_IF_ERROR(terminal.Write(ReceiptIdentityText(receipt, check.mismatches)));
  }

  const DeferredSignals signals;
  const auto num_tokens = static_cast<double>(receipt.token_ids.size());
  auto replay = ReplayReceipt(**engine, receipt, path, [&](int64_t tokens) {
    terminal.Progress(std::min(1.0, static_cast<double>(tokens) / num_tokens), "replay");
    return signals.exit_code() == 0;
  });
  terminal.EndProgress();
  if (!replay.ok()) {
    // With the right model and an untouched file it is an error; else it is the difference.
    if (check.mismatches.empty() && receipt.edited.empty()) return replay.status();
    replay =
        ReplayOutcome{.difference = ReplayDifference{.kind = ReplayDifference::Kind::kReplayFails,
                                                     .replay_says = replay.status().message()}};
  }
  if (replay->cancelled) return signals.exit_code();
  check.replay = *std::move(replay);
  VERBATIM_RETURN_IF_ERROR(terminal.Write(line.Given("json")
                                              ? ReceiptCheckJson(receipt, check, info) + "\n"
                                              : ReceiptReplayText(receipt, check, info)));
  return check.Verified(receipt) ? kExitOk : kExitDivergence;
}

}  // namespace verbatim::cli

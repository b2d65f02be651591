// The verb bench: a model, or random weights of a published shape, timed against the machine's
// limits. The work is in src/measure.
#include "measure/bench.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "apps/verbatim/bench_report.h"
#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/mode_report.h"
#include "apps/verbatim/model_options.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "base/available_memory.h"
#include "base/temporary_folder.h"
#include "measure/mode_bench.h"
#include "measure/random_checkpoint.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kDefaultPrompt = "Once upon a time there was a king who had three sons.";

Status Fault(std::string_view where, std::string_view expected, std::string_view received) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received,
                   "verbatim bench --help");
}

Status CheckOptions(const CommandLine& line) {
  const bool shape = line.Given("shape");
  if (shape == line.Given("model")) {
    return Fault("bench", "either --model or --shape", shape ? "both" : "neither");
  }
  if (!shape && line.Given("format")) {
    return Fault("--format", "--shape beside it", "--model");
  }
  if (!shape && line.Given("write")) return Fault("--write", "--shape beside it", "--model");
  if (shape && line.Given("draft-model")) {
    return Fault("--draft-model", "--model beside it", "--shape, which brings its own MTP head");
  }
  if (line.Given("json") && line.Given("markdown")) {
    return Fault("--markdown", "no --json beside it", "both");
  }
  if (line.Text("draft-tokens") == "auto") {
    return Fault("--draft-tokens", "a number: auto would time a mixture", "auto");
  }
  return {};
}

Expected<RandomCheckpointOptions> ReadShape(const CommandLine& line) {
  RandomCheckpointOptions options;
  VERBATIM_ASSIGN_OR_RETURN(options.shape, FindCheckpointShape(line.Text("shape")));
  VERBATIM_ASSIGN_OR_RETURN(options.format, FindCheckpointFormat(line.Text("format")));
  return options;
}

std::string ShapeName(const RandomCheckpointOptions& options) {
  return fmt::format("random weights of the Qwen3.5 {} shape in {}", options.shape.name,
                     options.format.name);
}

// The engine holds the weights in memory: files that could not be read back from it in any case
// would only fill the disk.
Status CheckMemory(const RandomCheckpointOptions& shape) {
  const int64_t bytes = RandomCheckpointBytes(shape.shape, shape.format);
  const int64_t available = AvailableMemoryBytes();
  if (available == 0 || bytes <= available) return {};
  return MakeError(StatusCode::kResourceExhausted, "--shape",
                   Mebibytes(bytes) + " of memory for the weights",
                   Mebibytes(available) + " available", "a smaller shape or fewer bits");
}

BenchOptions ReadOptions(const CommandLine& line) {
  BenchOptions options;
  options.engine.model = line.Text("model");
  options.engine.draft_model = line.Text("draft-model");
  options.engine.num_threads = static_cast<int>(line.Number("threads"));
  options.engine.kv_type = KvTypeOf(line);
  // Text means something to a trained model only.
  options.prompt = line.Given("prompt")  ? line.Text("prompt")
                   : line.Given("shape") ? std::string()
                                         : std::string(kDefaultPrompt);
  options.prompt_tokens = static_cast<int>(line.Number("prompt-tokens"));
  options.decode_tokens = static_cast<int>(line.Number("decode-tokens"));
  options.draft_tokens = static_cast<int>(line.Number("draft-tokens"));
  options.rounds = static_cast<int>(line.Number("rounds"));
  return options;
}

struct Shown {
  bool json = false;
  bool markdown = false;
};

template <typename Report>
struct Renderings {
  using Render = std::string(const Report& report, std::string_view source);
  Render* text;
  Render* markdown;
  Render* json;
};

// A report of either kind, unless what must be equal is not or a signal came.
template <typename Report>
Expected<int> Show(const Expected<Report>& measured,
                   const std::type_identity_t<Renderings<Report>>& renderings,
                   std::string_view source, const Shown& shown, const DeferredSignals& signals,
                   Terminal& terminal) {
  terminal.EndProgress();
  if (measured.status().code() == StatusCode::kCancelled || signals.exit_code() != 0) {
    return signals.exit_code();
  }
  VERBATIM_ASSIGN_OR_RETURN(const Report report, measured);
  if (report.difference) {
    const Status unequal =
        MakeError(StatusCode::kInternal, "bench", "one output from every arm", *report.difference,
                  "a report of this: it breaks the contract");
    std::fputs((unequal.message() + "\n").c_str(), stderr);
    return kExitDivergence;
  }
  VERBATIM_RETURN_IF_ERROR(terminal.Write(shown.json       ? renderings.json(report, source) + "\n"
                                          : shown.markdown ? renderings.markdown(report, source)
                                                           : renderings.text(report, source)));
  return kExitOk;
}

}  // namespace

Expected<int> RunBench(const CommandLine& line, Terminal& terminal) {
  VERBATIM_RETURN_IF_ERROR(CheckOptions(line));
  const DeferredSignals signals;
  const auto stop = [&signals] { return signals.exit_code() != 0; };
  const auto progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  BenchOptions options = ReadOptions(line);
  options.progress = progress;
  options.stop = stop;
  std::string source = options.engine.model;
  std::optional<TemporaryFolder> folder;
  if (line.Given("shape")) {
    VERBATIM_ASSIGN_OR_RETURN(RandomCheckpointOptions shape, ReadShape(line));
    shape.progress = progress;
    shape.stop = stop;
    source = ShapeName(shape);
    if (line.Given("write")) {
      shape.output = line.Text("write");
    } else {
      VERBATIM_RETURN_IF_ERROR(CheckMemory(shape));
      VERBATIM_ASSIGN_OR_RETURN(TemporaryFolder made,
                                TemporaryFolder::CreateUnique("verbatim-bench-"));
      folder.emplace(std::move(made));
      shape.output = folder->path() / "model";
    }
    const Status written = MakeRandomCheckpoint(shape);
    terminal.EndProgress();
    if (written.code() == StatusCode::kCancelled) return signals.exit_code();
    VERBATIM_RETURN_IF_ERROR(written);
    terminal.Note(fmt::format("written  {}: {}, {}", shape.output.string(), source,
                              Mebibytes(RandomCheckpointBytes(shape.shape, shape.format))));
    if (line.Given("write")) return kExitOk;
    options.engine.model = shape.output.string();
    // A loaded engine needs its files no more: what happens from here on leaves nothing behind.
    options.on_loaded = [&folder] { folder->Remove(); };
  }

  const Shown shown = {.json = line.Given("json"), .markdown = line.Given("markdown")};
  return line.Given("against") ? Show(RunModeBench(options), {ModeText, ModeMarkdown, ModeJson},
                                      source, shown, signals, terminal)
                               : Show(RunBench(options), {BenchText, BenchMarkdown, BenchJson},
                                      source, shown, signals, terminal);
}

}  // namespace verbatim::cli

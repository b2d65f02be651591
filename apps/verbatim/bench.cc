// The verb bench: a random checkpoint of a published shape. The work is in src/measure.
#include <fmt/format.h>

#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/signals.h"
#include "apps/verbatim/verbs.h"
#include "measure/random_checkpoint.h"

namespace verbatim::cli {

Expected<int> RunBench(const CommandLine& line, Terminal& terminal) {
  if (!line.Given("shape") || !line.Given("write")) {
    return MakeError(StatusCode::kInvalidArgument, "bench", "--shape and --write",
                     "one of them missing", "verbatim bench --help");
  }
  RandomCheckpointOptions options;
  VERBATIM_ASSIGN_OR_RETURN(options.shape, FindCheckpointShape(line.Text("shape")));
  VERBATIM_ASSIGN_OR_RETURN(options.format, FindCheckpointFormat(line.Text("format")));
  options.output = line.Text("write");
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  const DeferredSignals signals;
  options.stop = [&signals] { return signals.exit_code() != 0; };
  const Status made = MakeRandomCheckpoint(options);
  if (made.code() == StatusCode::kCancelled) return signals.exit_code();
  VERBATIM_RETURN_IF_ERROR(made);
  terminal.Note(fmt::format("written  {}: random weights of the {} shape in {}, {}",
                            line.Text("write"), options.shape.name, options.format.name,
                            Mebibytes(RandomCheckpointBytes(options.shape, options.format))));
  return kExitOk;
}

}  // namespace verbatim::cli

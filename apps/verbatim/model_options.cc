// Shared options made into engine options, prompts and drafters.
#include "apps/verbatim/model_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "apps/verbatim/json_writer.h"
#include "apps/verbatim/mebibytes.h"
#include "apps/verbatim/token_list.h"
#include "base/check.h"
#include "base/mapped_file.h"

namespace verbatim::cli {
namespace {

// Prompts and token lists: 64 bytes for each token of the largest --context.
constexpr size_t kMaxInputBytes = size_t{64} << 20;

Status UsageError(std::string_view where, std::string_view expected, std::string_view received,
                  std::string_view advice = {}) {
  return MakeError(StatusCode::kInvalidArgument, where, expected, received, advice);
}

Expected<std::string> ReadStandardInput() {
  std::string text;
  std::array<char, 1 << 16> buffer;  // the usual size of a pipe
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return MakeError(StatusCode::kIo, "standard input", "to read", std::strerror(errno));
    }
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMaxInputBytes) {
      return UsageError("standard input", fmt::format("at most {} bytes", kMaxInputBytes), "more");
    }
  }
}

void NoteLoaded(const EngineInfo& info, Terminal& terminal) {
  const auto note = [&](std::string_view label, std::string_view text) {
    terminal.Note(
        fmt::format("{} {}", terminal.OnError(Style::kDim, fmt::format("{:<8}", label)), text));
  };
  note("model", fmt::format("{} ({}, {} layout)", info.model_folder, info.model_type, info.layout));
  note("weights", info.weight_types);
  note("mtp", info.mtp_source);
  note("engine", fmt::format("{} {}, {} thread{}, context {}, {}, loaded in {:.2f} s", info.backend,
                             info.target, info.num_threads, info.num_threads == 1 ? "" : "s",
                             info.context, info.numerics, info.load_ms / 1000));
  // Held exactly is what strict and greedy ask for, and more.
  if (info.contract != ContractMode::kOff && info.contract_held == ContractMode::kOff) {
    terminal.Warn(
        fmt::format("warning: --contract {} can't be kept here, so this is classic decode: {}",
                    ContractModeName(info.contract), info.contract_reason));
  } else if (terminal.verbose()) {
    note("contract",
         fmt::format("{}: {}", ContractModeName(info.contract_held), info.contract_reason));
  }
  if (!terminal.verbose()) return;
  note("memory", fmt::format("{} of weights read per decode step, {} of caches",
                             Mebibytes(info.weight_bytes), Mebibytes(info.cache_bytes)));
}

}  // namespace

KvCacheType KvTypeOf(const CommandLine& line) {
  for (KvCacheType type : {KvCacheType::kBF16, KvCacheType::kF16, KvCacheType::kF32}) {
    if (line.Text("kv-type") == KvCacheTypeName(type)) return type;
  }
  VERBATIM_CHECK(false);  // the option table lists these three
  return KvCacheType::kBF16;
}

Expected<EngineOptions> ReadEngineOptions(const CommandLine& line) {
  if (!line.Given("model")) {
    return UsageError("--model", "a checkpoint folder or model id", "nothing",
                      fmt::format("verbatim {} --help", line.verb().name));
  }
  EngineOptions options;
  options.model = line.Text("model");
  options.draft_model = line.Text("draft-model");
  options.num_threads = static_cast<int>(line.Number("threads"));
  options.context = line.Number("context");
  options.kv_type = KvTypeOf(line);
  if (line.verb().verb == Verb::kDemo) return options;
  const auto mode = ParseContractMode(line.Text("contract"));
  VERBATIM_CHECK(mode.has_value());  // the option table lists the modes
  options.contract = *mode;
  if (line.verb().verb == Verb::kGenerate || line.verb().verb == Verb::kChat) {
    options.prefill_chunk = line.Number("prefill-chunk");
  }
  return options;
}

Expected<std::unique_ptr<Engine>> LoadEngine(EngineOptions options, Terminal& terminal) {
  options.progress = [&terminal](double fraction, const std::string& what) {
    terminal.Progress(fraction, what);
  };
  auto engine = Engine::Load(options);
  terminal.EndProgress();
  if (engine.ok()) NoteLoaded((*engine)->info(), terminal);
  return engine;
}

Expected<PromptInput> ReadPrompt(const CommandLine& line) {
  const int given = static_cast<int>(line.Given("prompt")) + static_cast<int>(line.Given("file")) +
                    static_cast<int>(line.Given("ids"));
  if (given != 1) {
    return UsageError("prompt", "one of --prompt, --file and --ids",
                      given == 0 ? "none" : fmt::format("{} of them", given),
                      fmt::format("verbatim {} --help", line.verb().name));
  }
  PromptInput input;
  if (line.Given("prompt")) {
    input.text = line.Text("prompt");
  } else if (line.Given("ids")) {
    input.is_ids = true;
    VERBATIM_ASSIGN_OR_RETURN(input.ids, ParseTokenIds(line.Text("ids"), "--ids", false));
  } else if (line.Text("file") == "-") {
    VERBATIM_ASSIGN_OR_RETURN(input.text, ReadStandardInput());
  } else {
    VERBATIM_ASSIGN_OR_RETURN(input.text, ReadTextFile(line.Text("file"), kMaxInputBytes));
  }
  return input;
}

Expected<std::vector<int32_t>> PromptTokenIds(const PromptInput& prompt, bool chat,
                                              const Engine& engine) {
  if (prompt.is_ids) return prompt.ids;
  if (!chat) return engine.Tokenize(prompt.text);
  JsonWriter messages;
  messages.BeginArray().BeginObject();
  messages.Key("role").String("user").Key("content").String(prompt.text);
  messages.EndObject().EndArray();
  VERBATIM_ASSIGN_OR_RETURN(const std::string text, engine.ApplyChatTemplate(messages.Take()));
  return engine.Tokenize(text);
}

Expected<SpeculationOptions> ReadSpeculation(const CommandLine& line) {
  SpeculationOptions speculation;
  const OptionValue& spec = line.Value("spec");
  for (SpeculationKind kind :
       {SpeculationKind::kOff, SpeculationKind::kMtp, SpeculationKind::kNgram,
        SpeculationKind::kReplay, SpeculationKind::kWrong}) {
    if (spec.text == SpeculationKindName(kind)) speculation.kind = kind;
  }
  const bool off = speculation.kind == SpeculationKind::kOff;
  if (off && line.Given("draft-tokens")) {
    return UsageError("--draft-tokens", "--spec mtp, ngram, replay:FILE or wrong beside it",
                      "--spec off", "--spec mtp");
  }
  if (speculation.kind != SpeculationKind::kMtp && line.Given("draft-model")) {
    return UsageError("--draft-model", "--spec mtp beside it", fmt::format("--spec {}", spec.text),
                      "--spec mtp");
  }
  if (!off && line.Text("contract") == "off") {
    return UsageError("--contract",
                      fmt::format("exact, strict or greedy beside --spec {}", spec.text), "off",
                      "--contract exact");
  }
  if (speculation.kind != SpeculationKind::kMtp && line.Given("draft-noise")) {
    return UsageError("--draft-noise", "--spec mtp beside it", fmt::format("--spec {}", spec.text),
                      "--spec mtp");
  }
  speculation.draft_noise = line.Text("draft-noise") == "on";
  speculation.automatic = line.Text("draft-tokens") == "auto";
  // The most that auto may choose from.
  speculation.draft_tokens =
      speculation.automatic ? kMaxDraftTokens : static_cast<int>(line.Number("draft-tokens"));
  if (speculation.kind == SpeculationKind::kReplay) {
    VERBATIM_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(spec.path, kMaxInputBytes));
    VERBATIM_ASSIGN_OR_RETURN(speculation.replay, ParseTokenIds(text, spec.path, true));
  }
  return speculation;
}

}  // namespace verbatim::cli

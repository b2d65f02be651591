// The options of the option table. Not the verbs (verb_table.cc), and not how they are parsed or
// shown.
#include "apps/verbatim/options.h"

#include <algorithm>

#include "apps/verbatim/bench_serve_options.h"
#include "apps/verbatim/constraint_options.h"
#include "apps/verbatim/flip_options.h"
#include "apps/verbatim/mode_options.h"
#include "apps/verbatim/parity_options.h"
#include "apps/verbatim/receipt_options.h"
#include "apps/verbatim/sampling_options.h"
#include "apps/verbatim/serve_options.h"
#include "numerics/rotary.h"
#include "verbatim/request.h"

namespace verbatim::cli {
namespace {

constexpr std::string_view kModelSection = "Model";
constexpr std::string_view kPromptSection = "Prompt";
constexpr std::string_view kGenerationSection = "Generation";
constexpr std::string_view kSpeculationSection = "Speculation";
constexpr std::string_view kScoringSection = "Scoring";
constexpr std::string_view kQuantizationSection = "Quantization";
constexpr std::string_view kBenchSection = "Benchmark";
constexpr std::string_view kOutputSection = "Output";

// Beyond any machine; keeps a mistyped number from starting a million threads.
constexpr int64_t kMaxThreads = 1024;
// What the rope tables reach; the model's own limit is checked by the engine.
constexpr int64_t kMaxContext = kMaxRotaryPositions;
// Rows of one step: scratch memory grows with it; 4096 rows already hide every fixed cost.
constexpr int64_t kMaxScoreWidth = 4096;

const std::vector<Verb> kEveryVerb = {
    Verb::kGenerate, Verb::kChat,       Verb::kScore,      Verb::kQuantize, Verb::kInspect,
    Verb::kDemo,     Verb::kBench,      Verb::kParity,     Verb::kFlips,    Verb::kReceipt,
    Verb::kServe,    Verb::kBenchServe, Verb::kCompletion, Verb::kVersion,  Verb::kHelp};
const std::vector<Verb> kModelVerbs = {Verb::kGenerate, Verb::kScore, Verb::kDemo, Verb::kBench};
const std::vector<Verb> kChatAndModelVerbs = {Verb::kGenerate, Verb::kChat,    Verb::kScore,
                                              Verb::kDemo,     Verb::kBench,   Verb::kParity,
                                              Verb::kFlips,    Verb::kReceipt, Verb::kServe};
const std::vector<Verb> kGenerateAndScore = {Verb::kGenerate, Verb::kScore};

std::vector<OptionSpec> ModelOptions() {
  return {
      {.name = "model",
       .letter = 'm',
       .kind = ValueKind::kText,
       .value_name = "DIR|ID",
       .section = kModelSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kInspect, Verb::kDemo,
                 Verb::kBench, Verb::kParity, Verb::kFlips, Verb::kReceipt, Verb::kServe},
       .help =
           "Checkpoint folder, or a model id such as Qwen/Qwen3.5-0.8B that is looked up in the "
           "Hugging Face cache (nothing is downloaded)"},
      {.name = "draft-model",
       .aliases = {"model-draft", "spec-draft-model"},
       .kind = ValueKind::kText,
       .value_name = "DIR|ID",
       .section = kModelSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kQuantize, Verb::kDemo,
                 Verb::kBench, Verb::kFlips, Verb::kServe},
       .help = "Checkpoint with the MTP head, when the model itself has none"},
      {.name = "threads",
       .letter = 't',
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 1,
       .max = kMaxThreads,
       .words = {{"auto", "auto", 0}},
       .default_value = "auto",
       .section = kModelSection,
       .verbs = kChatAndModelVerbs,
       .help = "Worker threads; auto is one per processor that may be used"},
      {.name = "prefill-chunk",
       .aliases = {"ubatch-size"},
       .kind = ValueKind::kInteger,
       .value_name = "N|whole",
       .min = 0,
       .max = kMaxContext,
       .words = {{"whole", "whole", 0}},
       .default_value = "256",
       .section = kModelSection,
       .verbs = {Verb::kGenerate, Verb::kChat},
       .help = "Prompt tokens per step; 0 or whole is the prompt in one step"},
      {.name = "context",
       .letter = 'c',
       .aliases = {"ctx-size"},
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 2,
       .max = kMaxContext,
       .words = {{"auto", "auto", 0}},
       .default_value = "auto",
       .section = kModelSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kInspect, Verb::kDemo,
                 Verb::kServe},
       .help = "Tokens of prompt and output together; auto is the model's limit or 8192, whichever "
               "is smaller"},
      {.name = "kv-type",
       .kind = ValueKind::kWord,
       .value_name = "bf16|f16|f32",
       .words = {{"bf16", "bf16"}, {"f16", "f16"}, {"f32", "f32"}},
       .default_value = "bf16",
       .section = kModelSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kInspect, Verb::kDemo,
                 Verb::kBench, Verb::kFlips, Verb::kServe},
       .help = "Type of the KV cache; part of the numerics profile"},
  };
}

std::vector<OptionSpec> PromptOptions() {
  return {
      {.name = "prompt",
       .letter = 'p',
       .kind = ValueKind::kText,
       .value_name = "TEXT",
       .section = kPromptSection,
       .verbs = kModelVerbs,
       .help = "The text itself"},
      {.name = "file",
       .letter = 'f',
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kPromptSection,
       .verbs = kGenerateAndScore,
       .help = "Read the text from a file, byte for byte; - is standard input"},
      {.name = "ids",
       .kind = ValueKind::kText,
       .value_name = "LIST",
       .section = kPromptSection,
       .verbs = kGenerateAndScore,
       .help = "Token ids instead of text, e.g. 1,2,3"},
      {.name = "system",
       .kind = ValueKind::kText,
       .value_name = "TEXT",
       .section = kPromptSection,
       .verbs = {Verb::kChat},
       .help = "The system message"},
      {.name = "chat",
       .section = kPromptSection,
       .verbs = {Verb::kGenerate},
       .help = "Wrap the text as one user message in the model's chat template"},
  };
}

std::vector<OptionSpec> GenerationAndSpeculationOptions() {
  return {
      {.name = "max-tokens",
       .letter = 'n',
       .aliases = {"n-predict", "predict"},
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = kMaxContext,
       .default_value = "128",
       .section = kGenerationSection,
       .verbs = {Verb::kGenerate, Verb::kDemo},
       .help = "Tokens to generate at most"},
      {.name = "max-tokens",
       .letter = 'n',
       .aliases = {"n-predict", "predict"},
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 1,
       .max = kMaxContext,
       .words = {{"auto", "auto", 0}},
       .default_value = "auto",
       .section = kGenerationSection,
       .verbs = {Verb::kChat},
       .help = "Tokens of one answer at most; auto is what the context leaves"},
      {.name = "stop",
       .kind = ValueKind::kText,
       .value_name = "TEXT",
       .repeated = true,
       .section = kGenerationSection,
       .verbs = {Verb::kGenerate, Verb::kChat},
       .help = "End before this text; may be given several times"},
      {.name = "ignore-eos",
       .section = kGenerationSection,
       .verbs = {Verb::kGenerate},
       .help = "Go on after an end-of-sequence token"},
      {.name = "spec",
       .aliases = {"spec-type"},
       .kind = ValueKind::kWord,
       .value_name = "off|mtp|ngram|replay:FILE|wrong",
       .words = {{"off", "off"},
                 {"mtp", "mtp"},
                 {"ngram", "ngram"},
                 {"replay", "replay", 0, true},
                 {"wrong", "wrong"},
                 {"none", "off"},
                 {"draft-mtp", "mtp"},
                 {"ngram-simple", "ngram"},
                 {"ngram-map-k", "ngram"},
                 {"ngram-map-k4v", "ngram"},
                 {"ngram-mod", "ngram"},
                 {"ngram-cache", "ngram"}},
       .default_value = "off",
       .section = kSpeculationSection,
       .verbs = {Verb::kGenerate, Verb::kChat},
       .help = "Who drafts: nobody, the MTP head, prompt lookup, a list of token ids, or a drafter "
               "that is never right; llama.cpp's names (draft-mtp, ngram-simple, ...) work too"},
      {.name = "draft-tokens",
       .aliases = {"spec-draft-n-max", "draft-max", "draft"},
       .kind = ValueKind::kInteger,
       .value_name = "N|auto",
       .min = 1,
       .max = kMaxDraftTokens,
       .words = {{"auto", "auto", 0}},
       .default_value = "3",
       .section = kSpeculationSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kDemo, Verb::kBench},
       .help = "Drafts per block, 1 to 15 (a block is one row more); auto chooses from measured "
               "acceptance and cost"},
      {.name = "draft-noise",
       .kind = ValueKind::kWord,
       .value_name = "on|off",
       .words = {{"on", "on"}, {"off", "off"}},
       .default_value = "on",
       .section = kSpeculationSection,
       .verbs = {Verb::kGenerate, Verb::kChat},
       .help = "Whether the MTP head draws with the noise of the choice at temperatures above 0; "
               "off drafts its most probable token and is for measuring"},
      {.name = "contract",
       .kind = ValueKind::kWord,
       .value_name = "exact|strict|greedy|off",
       .words = {{"exact", "exact"}, {"strict", "strict"}, {"greedy", "greedy"}, {"off", "off"}},
       .default_value = "exact",
       .section = kSpeculationSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kServe},
       .help = "What to do if speculation could change the output: exact falls back to classic "
               "decode and says so, strict refuses, greedy allows near-ties, off never speculates"},
  };
}

std::vector<OptionSpec> ScoreOptions() {
  return {
      {.name = "width",
       .kind = ValueKind::kInteger,
       .value_name = "W",
       .min = 1,
       .max = kMaxScoreWidth,
       .default_value = "16",
       .section = kScoringSection,
       .verbs = {Verb::kScore},
       .help = "Rows per step; any width gives the same bytes"},
      {.name = "drafts",
       .section = kScoringSection,
       .verbs = {Verb::kScore},
       .help =
           "Also what the MTP head would draft at every position, three deep; shown with --json"},
      {.name = "logits",
       .kind = ValueKind::kText,
       .value_name = "FILE",
       .section = kOutputSection,
       .verbs = {Verb::kScore},
       .help = "Write tensors logits [T, V] and hidden [T, H], f32, to a safetensors file"},
  };
}

std::vector<OptionSpec> QuantizeAndInspectOptions() {
  return {
      {.name = "IN",
       .kind = ValueKind::kText,
       .value_name = "DIR|ID",
       .positional = true,
       .section = kQuantizationSection,
       .verbs = {Verb::kQuantize},
       .help = "Checkpoint folder or model id to read"},
      {.name = "OUT",
       .kind = ValueKind::kText,
       .value_name = "DIR",
       .positional = true,
       .section = kQuantizationSection,
       .verbs = {Verb::kQuantize},
       .help = "Folder to write"},
      {.name = "bits",
       .kind = ValueKind::kInteger,
       .value_name = "2|3|4|5|6|8",
       .min = 2,
       .max = 8,
       .only = {2, 3, 4, 5, 6, 8},
       .default_value = "4",
       .section = kQuantizationSection,
       .verbs = {Verb::kQuantize},
       .help = "Bits per weight"},
      {.name = "group-size",
       .kind = ValueKind::kInteger,
       .value_name = "32|64|128",
       .min = 32,
       .max = 128,
       .only = {32, 64, 128},
       .default_value = "64",
       .section = kQuantizationSection,
       .verbs = {Verb::kQuantize},
       .help = "Weights that share a scale and a bias"},
      {.name = "override",
       .kind = ValueKind::kText,
       .value_name = "PATTERN=BITS[/GROUP]",
       .repeated = true,
       .section = kQuantizationSection,
       .verbs = {Verb::kQuantize},
       .help = "Other bits for the tensors whose name matches (* and ?); PATTERN=none leaves them "
               "in 16 bits; the last match counts"},
      {.name = "MODEL",
       .kind = ValueKind::kText,
       .value_name = "DIR|ID",
       .positional = true,
       .instead = "model",
       .section = kModelSection,
       .verbs = {Verb::kInspect},
       .help = "Checkpoint folder or model id; --model works too"},
      {.name = "VERB",
       .kind = ValueKind::kText,
       .value_name = "VERB",
       .positional = true,
       .section = kOutputSection,
       .verbs = {Verb::kHelp},
       .help = "The verb to explain"},
      {.name = "SHELL",
       .kind = ValueKind::kWord,
       .value_name = "bash|zsh|fish",
       .words = {{"bash", "bash"}, {"zsh", "zsh"}, {"fish", "fish"}},
       .positional = true,
       .section = kOutputSection,
       .verbs = {Verb::kCompletion},
       .help = "The shell that is to complete"},
  };
}

std::vector<OptionSpec> BenchOptions() {
  return {
      {.name = "shape",
       .kind = ValueKind::kWord,
       .value_name = "0.8b|2b|4b|9b|27b",
       .words = {{"0.8b", "0.8b"}, {"2b", "2b"}, {"4b", "4b"}, {"9b", "9b"}, {"27b", "27b"}},
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "A checkpoint of this Qwen3.5 shape with random weights instead of a model"},
      {.name = "format",
       .kind = ValueKind::kWord,
       .value_name = "bf16|f16|q8|q6|q5|q4|q3|q2",
       .words = {{"bf16", "bf16"},
                 {"f16", "f16"},
                 {"q8", "q8"},
                 {"q6", "q6"},
                 {"q5", "q5"},
                 {"q4", "q4"},
                 {"q3", "q3"},
                 {"q2", "q2"}},
       .default_value = "bf16",
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "Weights of the --shape: 16 bits, or MLX affine in groups of 64"},
      {.name = "write",
       .kind = ValueKind::kText,
       .value_name = "DIR",
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "Write the checkpoint of the --shape to this folder and measure nothing"},
      {.name = "rounds",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = 1000,
       .default_value = "5",
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "Times that everything is measured, in turn; medians and quartiles are over them"},
      {.name = "prompt-tokens",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 1,
       .max = kMaxContext,
       .default_value = "512",
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "Tokens of the prefill; the prompt is repeated or cut to as many"},
      {.name = "decode-tokens",
       .kind = ValueKind::kInteger,
       .value_name = "N",
       .min = 17,  // kMinDecodeTokens: a whole block of 16 rows after the first token
       .max = kMaxContext,
       .default_value = "65",
       .section = kBenchSection,
       .verbs = {Verb::kBench},
       .help = "Tokens of every decode"},
      {.name = "markdown",
       .section = kOutputSection,
       .verbs = {Verb::kBench, Verb::kParity, Verb::kFlips, Verb::kBenchServe},
       .help = "Print Markdown tables instead of text"},
  };
}

std::vector<OptionSpec> OutputOptions() {
  return {
      {.name = "json",
       .section = kOutputSection,
       .verbs = {Verb::kGenerate, Verb::kScore, Verb::kInspect, Verb::kVersion, Verb::kBench,
                 Verb::kParity, Verb::kFlips, Verb::kReceipt, Verb::kBenchServe},
       .help = "Print one JSON object instead of text"},
      {.name = "markdown",
       .section = kOutputSection,
       .verbs = {Verb::kHelp},
       .help = "Print Markdown: the whole of docs/cli.md, or one verb's table"},
      {.name = "man",
       .section = kOutputSection,
       .verbs = {Verb::kHelp},
       .help = "Print the man page, e.g. for man -l -"},
      {.name = "quiet",
       .letter = 'q',
       .section = kOutputSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kQuantize, Verb::kDemo,
                 Verb::kBench, Verb::kParity, Verb::kFlips, Verb::kReceipt, Verb::kServe,
                 Verb::kBenchServe},
       .help = "Nothing on standard error but errors"},
      {.name = "verbose",
       .letter = 'v',
       .section = kOutputSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kQuantize, Verb::kDemo,
                 Verb::kBench, Verb::kParity, Verb::kReceipt, Verb::kServe},
       .help = "More on standard error"},
      {.name = "color",
       .aliases = {"log-colors"},
       .kind = ValueKind::kWord,
       .value_name = "auto|always|never",
       .words = {{"auto", "auto"},
                 {"always", "always"},
                 {"never", "never"},
                 {"on", "always"},
                 {"off", "never"}},
       .default_value = "auto",
       .section = kOutputSection,
       .verbs = {Verb::kGenerate, Verb::kChat, Verb::kScore, Verb::kQuantize, Verb::kDemo,
                 Verb::kBench, Verb::kParity, Verb::kFlips, Verb::kReceipt, Verb::kServe,
                 Verb::kBenchServe},
       .help = "Colours; auto asks NO_COLOR, then CLICOLOR_FORCE and FORCE_COLOR, then whether it "
               "is a terminal"},
      {.name = "help",
       .letter = 'h',
       .section = kOutputSection,
       .verbs = kEveryVerb,
       .help = "Show the options and examples of the verb"},
  };
}

std::vector<OptionSpec> MakeOptions() {
  std::vector<OptionSpec> all;
  for (auto part :
       {PromptOptions(), ModelOptions(), GenerationAndSpeculationOptions(), SamplingOptionSpecs(),
        ConstraintOptionSpecs(), ScoreOptions(), QuantizeAndInspectOptions(), BenchOptions(),
        ModeOptionSpecs(), ParityOptionSpecs(), FlipOptionSpecs(), ReceiptOptionSpecs(),
        ServeOptionSpecs(), BenchServeOptionSpecs(), OutputOptions()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const OptionSpec> AllOptions() {
  static const std::vector<OptionSpec> options = MakeOptions();
  return options;
}

std::vector<const OptionSpec*> OptionsOf(Verb verb) {
  std::vector<const OptionSpec*> options;
  for (bool positional : {true, false}) {
    for (const OptionSpec& option : AllOptions()) {
      if (option.positional != positional) continue;
      if (std::ranges::find(option.verbs, verb) != option.verbs.end()) options.push_back(&option);
    }
  }
  return options;
}

}  // namespace verbatim::cli

// The verbs of the option table, with their examples. Not their options (options.cc).
#include "apps/verbatim/options.h"

namespace verbatim::cli {
namespace {

std::vector<VerbSpec> MakeVerbs() {
  return {
      {.verb = Verb::kGenerate,
       .name = "generate",
       .summary = "Continue a prompt; greedy choice, with or without speculation",
       .usage = "-m DIR|ID (-p TEXT | -f FILE | --ids LIST) [options]",
       .examples =
           {
               "generate -m models/tiny-qwen35-4bit -p \"Once upon a time\" -n 64",
               "generate -m models/tiny-qwen35-4bit -p \"Once upon a time\" --spec mtp --json",
               "generate -m Qwen/Qwen3.5-0.8B --chat -f question.txt --spec mtp --draft-tokens "
               "auto",
               "generate -m models/nano-qwen35 --ids 5,6,7 --spec replay:drafts.txt --json",
           }},
      {.verb = Verb::kChat,
       .name = "chat",
       .summary = "Talk with a model: line editing, history, answers as they come",
       .usage = "-m DIR|ID [options]",
       .examples =
           {
               "chat -m Qwen/Qwen3.5-0.8B --spec mtp --draft-tokens auto",
               "chat -m models/tiny-qwen35-4bit --system \"You tell stories.\"",
               "chat -m models/tiny-qwen35-4bit -q < questions.txt > answers.txt",
           }},
      {.verb = Verb::kScore,
       .name = "score",
       .summary = "Log-probabilities and perplexity of a given text, teacher-forced",
       .usage = "-m DIR|ID (-p TEXT | -f FILE | --ids LIST) [options]",
       .examples =
           {
               "score -m models/tiny-qwen35-4bit -f README.md",
               "score -m models/nano-qwen35 --ids 5,6,7,8 --json --drafts",
               "score -m models/nano-qwen35 -f text.txt --logits out.safetensors --kv-type f32",
           }},
      {.verb = Verb::kQuantize,
       .name = "quantize",
       .summary = "Write a checkpoint in MLX affine layout",
       .usage = "IN OUT [options]",
       .examples =
           {
               "quantize Qwen/Qwen3.5-0.8B qwen-4bit --bits 4 --group-size 64",
               "quantize in out --bits 4 --override 'embed_tokens=8' --override 'mtp.*=none'",
           }},
      {.verb = Verb::kInspect,
       .name = "inspect",
       .summary = "What a checkpoint is, its tensors, and the memory that a context needs",
       .usage = "MODEL [options]",
       .examples =
           {
               "inspect models/tiny-qwen35-4bit",
               "inspect Qwen/Qwen3.5-0.8B --context 32768 --kv-type f16 --json",
           }},
      {.verb = Verb::kDemo,
       .name = "demo",
       .summary =
           "The same prompt with classic decode and with MTP: text, speed, bytes that differ",
       .usage = "-m DIR|ID [options]",
       .examples =
           {
               "demo -m models/tiny-qwen35-4bit",
               "demo -m models/tiny-qwen35-4bit -p \"It was a dark night\" -n 200 --draft-tokens 5",
           }},
      {.verb = Verb::kBench,
       .name = "bench",
       .summary =
           "Time a model, or random weights of a published shape, against this machine's limits",
       .usage = "(-m DIR|ID | --shape S [--format F]) [options]",
       .examples = {"bench -m models/tiny-qwen35-4bit",
                    "bench --shape 0.8b --format q4 --rounds 3 --markdown",
                    "bench -m models/tiny-qwen35-4bit --against greedy",
                    "bench --shape 0.8b --format bf16 --write random-0.8b-bf16"}},
      {.verb = Verb::kParity,
       .name = "parity",
       .summary = "Compare blocks of rows with the same rows one by one, bit for bit",
       .usage = "(ops [-m DIR|ID] | chain -m DIR|ID) [options]",
       .examples = {"parity ops", "parity ops --target all --markdown",
                    "parity chain -m models/tiny-qwen35-4bit",
                    "parity chain -m models/nano-qwen35 --widths 2,9,16 --tokens 200 --json",
                    "parity ops -m models/tiny-qwen35-4bit --widths 1-16 --json",
                    "parity ops --contract greedy --ops linear"}},
      {.verb = Verb::kFlips,
       .name = "flips",
       .summary =
           "How often speculation changes a model's choice, with intervals; of two servers too",
       .usage = "(-m DIR|ID | --baseline URL --candidate URL) [options]",
       .examples = {"flips -m models/tiny-qwen35-4bit",
                    "flips -m models/tiny-qwen35-4bit --positions 300000 --html flips.html",
                    "flips -m models/tiny-qwen35-4bit --contract greedy --positions 50000 "
                    "--markdown",
                    "flips --baseline http://127.0.0.1:8080 --candidate http://127.0.0.1:8081"}},
      {.verb = Verb::kReceipt,
       .name = "receipt",
       .summary =
           "Verify a receipt: replay it with classic decode, one token at a time, and compare",
       .usage = "verify FILE -m DIR|ID [options]",
       .examples =
           {
               "generate -m models/tiny-qwen35-4bit -p \"Once upon a time\" --spec mtp --receipt "
               "story.json",
               "receipt verify story.json -m models/tiny-qwen35-4bit",
               "receipt verify story.json -m models/tiny-qwen35-4bit --threads 1 --json",
           }},
      {.verb = Verb::kServe,
       .name = "serve",
       .summary =
           "Serve a model: OpenAI- and Anthropic-compatible API, web page, metrics; every answer "
           "as if alone",
       .usage = "-m DIR|ID [options]",
       .examples =
           {
               "serve -m models/tiny-qwen35-4bit",
               "serve -m Qwen/Qwen3.5-0.8B --port 8000 --parallel 16 --kv-memory 4GiB",
               "serve -m models/tiny-qwen35-4bit --host 0.0.0.0 --api-key-file keys.txt",
               "serve -m models/tiny-qwen35-4bit --config serve.toml --log-format json",
           }},
      {.verb = Verb::kBenchServe,
       .name = "bench-serve",
       .summary = "Drive an OpenAI-compatible server with a trace: latencies, throughput, goodput; "
                  "also spelled bench serve",
       .usage = "URL [options]",
       .examples =
           {
               "bench serve http://127.0.0.1:8080 --concurrency 8",
               "bench serve http://127.0.0.1:8080 --rate 4 --duration 60 --slo ttft:500,tpot:50",
               "bench serve http://127.0.0.1:8080 --concurrency 4 --arm speculation=off",
               "bench serve http://127.0.0.1:8080 --against http://127.0.0.1:8081 --json",
           }},
      {.verb = Verb::kCompletion,
       .name = "completion",
       .summary = "The completion script of a shell; cmake --install puts all three in place",
       .usage = "SHELL",
       .examples = {"completion bash > ~/.local/share/bash-completion/completions/verbatim",
                    "completion fish > ~/.config/fish/completions/verbatim.fish"}},
      {.verb = Verb::kVersion,
       .name = "version",
       .summary = "Version, commit, compiler, instruction sets and numerics profile",
       .usage = "[--json]",
       .examples = {"version", "--version"}},
      {.verb = Verb::kHelp,
       .name = "help",
       .summary = "Help for the program or for one verb",
       .usage = "[VERB] [--markdown | --man]",
       .examples = {"help", "help generate", "help --markdown", "help --man"}},
  };
}

}  // namespace

std::span<const VerbSpec> AllVerbs() {
  static const std::vector<VerbSpec> verbs = MakeVerbs();
  return verbs;
}

const VerbSpec* FindVerb(std::string_view name) {
  for (const VerbSpec& verb : AllVerbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

const VerbSpec& SpecOf(Verb verb) { return AllVerbs()[static_cast<size_t>(verb)]; }

}  // namespace verbatim::cli

// The table of llama.cpp's options that people will type here. Only those whose meaning is certain.
#include "apps/verbatim/foreign_options.h"

#include <algorithm>

namespace verbatim::cli {
namespace {

std::vector<ForeignOption> MakeForeignOptions() {
  constexpr std::string_view kLeaveOut = "leaving it out";
  constexpr std::string_view kCpuOnly = "no such option: this version runs on the CPU";
  constexpr std::string_view kKvType = "--kv-type, one type for keys and values";
  return {
      {{"-hf", "-hfr", "--hf-repo"}, "the model id after -m", "-m ORG/NAME"},
      {{"-mu", "--model-url", "-hff", "--hf-file"},
       "a folder or model id after -m (nothing is downloaded)",
       "-m DIR"},
      {{"-md"}, "--draft-model", "--draft-model DIR|ID"},
      {{"-ngl", "--gpu-layers", "--n-gpu-layers", "-ngld", "--gpu-layers-draft"},
       kCpuOnly,
       kLeaveOut},
      {{"-dev", "--device", "-ts", "--tensor-split", "-sm", "--split-mode", "-mg", "--main-gpu"},
       kCpuOnly,
       kLeaveOut},
      {{"-ctk", "--cache-type-k", "-ctv", "--cache-type-v"}, kKvType, "--kv-type bf16, f16 or f32"},
      {{"-ub", "-b", "--batch-size"}, "--prefill-chunk", "--prefill-chunk N"},
      {{"-tb", "--threads-batch"}, "--threads, one number for prompt and decode", "--threads N"},
      {{"-fa", "--flash-attn"}, "no such option: attention has one order of sums", kLeaveOut},
      {{"--mlock", "--no-mmap", "--mmap"}, "no such option: weights are always mapped", kLeaveOut},
      {{"--typical", "--samplers", "--mirostat", "--dry-multiplier", "--xtc-probability"},
       "--temp, --top-k, --top-p and --min-p, in this order",
       kLeaveOut},
      {{"--repeat-last-n"}, "no such option: penalties look at every token", kLeaveOut},
      {{"--grammar"}, "--grammar-file, in llguidance's Lark dialect", "--grammar-file FILE"},
      {{"-j"}, "--json-schema", "--json-schema JSON"},
      {{"-jf"}, "--json-schema-file", "--json-schema-file FILE"},
      {{"-cnv", "--conversation", "--jinja"},
       "verbatim chat, or --chat, which wraps the prompt as one user message",
       "--chat"},
      {{"-sys", "--system-prompt"}, "--system of verbatim chat", "verbatim chat --system TEXT"},
      {{"-np", "--parallel", "--host", "--port"}, "them of verbatim serve", "verbatim serve"},
  };
}

}  // namespace

std::span<const ForeignOption> AllForeignOptions() {
  static const std::vector<ForeignOption> options = MakeForeignOptions();
  return options;
}

const ForeignOption* FindForeignOption(std::string_view name) {
  for (const ForeignOption& option : AllForeignOptions()) {
    if (std::ranges::find(option.spellings, name) != option.spellings.end()) return &option;
  }
  return nullptr;
}

}  // namespace verbatim::cli

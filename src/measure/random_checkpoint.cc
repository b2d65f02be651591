// One writer per kind of tensor, over the inventory that the loader asks for.
#include "measure/random_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/file_writer.h"
#include "base/float_environment.h"
#include "base/half.h"
#include "base/temporary_folder.h"
#include "checkpoint/qwen35_inventory.h"
#include "checkpoint/safetensors_writer.h"
#include "measure/random_values.h"

namespace verbatim {
namespace {

namespace fs = std::filesystem;
using Kind = ExpectedTensor::Kind;

constexpr int64_t kGroup = 64;
// Bytes handed to the file at a time: large enough that a call costs nothing, small enough for L2.
constexpr int64_t kPiece = int64_t{1} << 20;
// What files and folders take beyond the tensors: the tokenizer (a dozen bytes per token), headers.
constexpr int64_t kOtherBytes = int64_t{16} << 20;

std::string FilePath(const std::string& path) {
  if (path.starts_with("mtp.")) return path;
  return path == "lm_head" ? "language_model.lm_head" : "language_model.model." + path;
}

// fill(first, piece) writes the words first, first + 1, ... of eight bytes.
template <typename Fill>
Status WritePieces(int64_t bytes, const ByteSink& sink, const Fill& fill) {
  std::vector<std::byte> piece(static_cast<size_t>(std::min(bytes, kPiece) + 7) / 8 * 8);
  for (int64_t done = 0; done < bytes; done += kPiece) {
    fill(static_cast<uint64_t>(done / 8), std::span(piece));
    const auto size = static_cast<size_t>(std::min(bytes - done, kPiece));
    VERBATIM_RETURN_IF_ERROR(sink(std::span(piece).first(size)));
  }
  return {};
}

class TensorMaker {
 public:
  TensorMaker(const CheckpointFormat& format, uint64_t seed) : format_(format), seed_(seed) {}

  void Add(const ExpectedTensor& spec) {
    if (spec.kind != Kind::kMatrix) {
      AddVector(spec);
    } else if (format_.bits == 0) {
      AddDense(spec);
    } else {
      AddAffine(spec);
    }
  }
  // 32-bit tensors first, so that all data is aligned.
  std::vector<TensorToWrite> Take() {
    std::vector<TensorToWrite> ordered;
    for (const bool wide : {true, false}) {
      for (const TensorToWrite& tensor : tensors_) {
        if ((tensor.dtype == "U32" || tensor.dtype == "F32") == wide) ordered.push_back(tensor);
      }
    }
    return ordered;
  }

 private:
  // Every tensor has its own stream.
  uint64_t NextSeed() { return RandomWord(seed_, ++num_seeds_); }

  void AddDense(const ExpectedTensor& spec) {
    const int64_t bytes = spec.shape[0] * spec.shape[1] * 2;
    const RandomHalves halves(spec.shape[1], format_.f16);
    tensors_.push_back({FilePath(spec.path) + ".weight", format_.f16 ? "F16" : "BF16", spec.shape,
                        [bytes, halves, seed = NextSeed()](const ByteSink& sink) {
                          return WritePieces(bytes, sink,
                                             [&](uint64_t first, std::span<std::byte> piece) {
                                               halves.Fill(seed, first, piece);
                                             });
                        }});
  }

  void AddAffine(const ExpectedTensor& spec) {
    const int64_t rows = spec.shape[0];
    const int64_t cols = spec.shape[1];
    const int bits = format_.bits;
    VERBATIM_CHECK(cols % kGroup == 0);  // of every published shape
    const std::string name = FilePath(spec.path);
    tensors_.push_back({name + ".weight",
                        "U32",
                        {rows, cols * bits / 32},
                        [rows, cols, bits, seed = NextSeed()](const ByteSink& sink) {
                          return WritePieces(rows * cols * bits / 8, sink,
                                             [&](uint64_t first, std::span<std::byte> piece) {
                                               FillRandomBytes(seed, first, piece);
                                             });
                        }});
    const uint64_t seed = NextSeed();  // scales and biases belong together
    for (const bool is_bias : {false, true}) {
      // Four bfloat16 per word of eight bytes.
      const auto fill = [=](uint64_t first, std::span<std::byte> piece) {
        for (size_t i = 0; i < piece.size() / 2; ++i) {
          const float scale = RandomAffineScale(seed, 4 * first + i, bits, cols);
          const float middle = static_cast<float>((1 << bits) - 1) / 2;
          const uint16_t half = FloatToBf16(is_bias ? -scale * middle : scale);
          std::memcpy(&piece[2 * i], &half, 2);
        }
      };
      tensors_.push_back({name + (is_bias ? ".biases" : ".scales"),
                          "BF16",
                          {rows, cols / kGroup},
                          [rows, cols, fill](const ByteSink& sink) {
                            return WritePieces(rows * cols / kGroup * 2, sink, fill);
                          }});
    }
  }

  // The small tensors are binary32, as the published checkpoints' A_log and linear_attn.norm are.
  void AddVector(const ExpectedTensor& spec) {
    std::vector<int64_t> shape = spec.shape;
    if (spec.kind == Kind::kConv) shape.push_back(1);
    int64_t size = 1;
    for (const int64_t dim : shape) size *= dim;
    const auto value = [path = spec.path, kind = spec.kind, seed = NextSeed()](uint64_t i) {
      if (kind == Kind::kConv) return RandomFloat(seed, i, -0.9f, 0.9f);  // rms 1/2 of four taps
      if (path.ends_with(".A_log")) {
        return static_cast<float>(std::log(RandomFloat(seed, i, 1.0f, 16.0f)));
      }
      if (path.ends_with(".dt_bias")) {  // softplus(dt_bias) from 0.001 to 0.1
        return static_cast<float>(std::log(std::expm1(RandomFloat(seed, i, 0.001f, 0.1f))));
      }
      const float deviation = RandomFloat(seed, i, -0.1f, 0.1f);
      // In this layout a norm is stored as its multiplier, except the MTP head's (qwen3_5.md 5.2).
      return path.starts_with("mtp.") ? deviation : 1.0f + deviation;
    };
    tensors_.push_back({FilePath(spec.path) + spec.file_suffix, "F32", std::move(shape),
                        [size, value](const ByteSink& sink) -> Status {
                          std::vector<float> values(static_cast<size_t>(size));
                          for (size_t i = 0; i < values.size(); ++i) values[i] = value(i);
                          return sink(std::as_bytes(std::span(values)));
                        }});
  }

  const CheckpointFormat format_;
  const uint64_t seed_;
  uint64_t num_seeds_ = 0;
  std::vector<TensorToWrite> tensors_;
};

std::vector<ExpectedTensor> Inventory(const CheckpointShape& shape,
                                      const CheckpointFormat& format) {
  const nlohmann::json json = ConfigJson(shape, format);
  const auto config = ParseQwen35Config(json, nullptr, "config.json");
  VERBATIM_CHECK(config.ok());  // the shapes are ours
  std::vector<ExpectedTensor> all = TextInventory(*config);
  const std::vector<ExpectedTensor> mtp = MtpInventory(*config);
  all.insert(all.end(), mtp.begin(), mtp.end());
  return all;
}

// Byte-level BPE without merges: the 256 bytes in the order of GPT-2's alphabet, then fillers
// <256>, <257>, ...: any text has ids, any id has a text.
std::string TokenizerJson(int64_t vocab_size) {
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  int64_t id = 0;
  const auto add = [&](int code_point) {
    std::string text;
    if (code_point < 0x80) {
      text = static_cast<char>(code_point);
    } else {
      text = {static_cast<char>(0xc0 | (code_point >> 6)),
              static_cast<char>(0x80 | (code_point & 0x3f))};
    }
    vocab[text] = id++;
  };
  for (int byte = 0x21; byte <= 0x7e; ++byte) add(byte);
  for (int byte = 0xa1; byte <= 0xac; ++byte) add(byte);
  for (int byte = 0xae; byte <= 0xff; ++byte) add(byte);
  for (int other = 0x100; other < 0x100 + 68; ++other) add(other);
  const nlohmann::ordered_json byte_level = {{"type", "ByteLevel"},
                                             {"add_prefix_space", false},
                                             {"trim_offsets", false},
                                             {"use_regex", true}};
  const nlohmann::ordered_json tokenizer = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", nlohmann::ordered_json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"vocab", vocab},
        {"merges", nlohmann::ordered_json::array()}}},
  };
  std::string text = tokenizer.dump();
  // An ordered object searches its keys one by one: the fillers are written as text.
  std::string fillers;
  for (; id < vocab_size; ++id) fillers += fmt::format(",\"<{0}>\":{0}", id);
  const size_t end = text.find("},\"merges\"");
  VERBATIM_CHECK(end != text.npos);
  text.insert(end, fillers);
  return text;
}

Status WriteText(const fs::path& path, const std::string& text) {
  VERBATIM_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  VERBATIM_RETURN_IF_ERROR(file.Write(text));
  return file.Commit();
}

Status CheckSpace(const fs::path& folder, int64_t needed) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= static_cast<uintmax_t>(needed)) return {};  // writing will tell
  constexpr double kGib = 1024.0 * 1024 * 1024;
  return MakeError(StatusCode::kResourceExhausted, folder.string(),
                   fmt::format("{:.1f} GiB of free space", static_cast<double>(needed) / kGib),
                   fmt::format("{:.1f} GiB", static_cast<double>(space.available) / kGib),
                   "a folder on another disk (TMPDIR), a smaller shape or fewer bits");
}

}  // namespace

int64_t RandomCheckpointBytes(const CheckpointShape& shape, const CheckpointFormat& format) {
  int64_t total = 0;
  for (const ExpectedTensor& spec : Inventory(shape, format)) {
    int64_t size = 1;
    for (const int64_t dim : spec.shape) size *= dim;
    if (spec.kind != Kind::kMatrix) {
      total += 4 * size;
    } else {
      // Affine: the values, and a scale and a bias of 16 bits per group.
      total += format.bits == 0 ? 2 * size : size * format.bits / 8 + size / kGroup * 4;
    }
  }
  return total;
}

Status MakeRandomCheckpoint(const RandomCheckpointOptions& options) {
  const FloatEnvironment environment;
  fs::path output = options.output.lexically_normal();
  if (output.filename().empty()) output = output.parent_path();
  std::error_code error;
  if (output.filename().empty() || fs::exists(output, error)) {
    return MakeError(StatusCode::kInvalidArgument, options.output.string(),
                     "the name of a folder that does not exist yet",
                     output.filename().empty() ? "no name" : "an existing one",
                     "another name, or removing it first");
  }
  const auto check_stop = [&]() -> Status {
    if (!options.stop || !options.stop()) return {};
    return MakeError(StatusCode::kCancelled, output.string(), "to finish", "a request to stop");
  };
  const int64_t tensor_bytes = RandomCheckpointBytes(options.shape, options.format);
  VERBATIM_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::CreateBeside(output));
  VERBATIM_RETURN_IF_ERROR(CheckSpace(folder.path(), tensor_bytes + kOtherBytes));

  TensorMaker maker(options.format, options.seed);
  for (const ExpectedTensor& spec : Inventory(options.shape, options.format)) maker.Add(spec);
  std::vector<TensorToWrite> tensors = maker.Take();
  int64_t written = 0;
  for (TensorToWrite& tensor : tensors) {
    tensor.write = [&, inner = std::move(tensor.write),
                    name = tensor.name](const ByteSink& sink) -> Status {
      return inner([&](std::span<const std::byte> bytes) -> Status {
        VERBATIM_RETURN_IF_ERROR(check_stop());
        written += static_cast<int64_t>(bytes.size());
        if (options.progress) {
          options.progress(static_cast<double>(written) / static_cast<double>(tensor_bytes), name);
        }
        return sink(bytes);
      });
    };
  }
  VERBATIM_RETURN_IF_ERROR(
      WriteSafetensors(folder.path() / "model.safetensors", tensors, {{"format", "mlx"}}));
  VERBATIM_RETURN_IF_ERROR(WriteText(folder.path() / "config.json",
                                     ConfigJson(options.shape, options.format).dump(2) + "\n"));
  VERBATIM_RETURN_IF_ERROR(
      WriteText(folder.path() / "tokenizer.json", TokenizerJson(options.shape.vocab_size)));
  VERBATIM_RETURN_IF_ERROR(check_stop());
  return folder.RenameTo(output);
}

}  // namespace verbatim

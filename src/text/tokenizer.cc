// Tokenizer over the Rust crate: encoding is the crate's, decoding is ours from a table of bytes.
// Not thread-unsafe anywhere: the crate locks what it must.
#include "text/tokenizer.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "text/ffi_support.h"
#include "text/json_depth.h"
#include "text/token_bytes.h"
#include "text/utf8.h"

namespace verbatim {
namespace {

// The largest published tokenizer.json files have about 35 MB; ten times that is no vocabulary.
constexpr size_t kMaxTokenizerBytes = size_t{350} << 20;
constexpr size_t kMaxConfigBytes = size_t{64} << 20;

// 64 times the largest vocabulary in use (262,144). A larger id is a damaged file, and the table of
// bytes would fill memory.
constexpr uint64_t kMaxVocabulary = uint64_t{1} << 24;

Status BadToken(std::string_view where, std::string_view id, std::string_view received) {
  return MakeError(StatusCode::kCorrupt, std::string(where) + " added_tokens_decoder",
                   "a token with its text under its id",
                   std::string(id) + ": " + std::string(received));
}

uint32_t FlagBits(const nlohmann::json& token) {
  constexpr std::pair<const char*, uint32_t> kFlags[] = {{"special", VTF_ADDED_SPECIAL},
                                                         {"lstrip", VTF_ADDED_LSTRIP},
                                                         {"rstrip", VTF_ADDED_RSTRIP},
                                                         {"single_word", VTF_ADDED_SINGLE_WORD},
                                                         {"normalized", VTF_ADDED_NORMALIZED}};
  uint32_t bits = 0;
  for (const auto& [name, bit] : kFlags) {
    const auto found = token.find(name);
    if (found != token.end() && found->is_boolean() && found->get<bool>()) bits |= bit;
  }
  return bits;
}

}  // namespace

Expected<std::shared_ptr<const Tokenizer>> Tokenizer::Load(const std::filesystem::path& folder) {
  const auto path = folder / "tokenizer.json";
  const auto config_path = folder / "tokenizer_config.json";
  VERBATIM_ASSIGN_OR_RETURN(const std::string json, ReadTextFile(path, kMaxTokenizerBytes));
  std::string config;
  if (std::error_code ignored; std::filesystem::exists(config_path, ignored)) {
    VERBATIM_ASSIGN_OR_RETURN(config, ReadTextFile(config_path, kMaxConfigBytes));
    if (config.empty()) {  // to FromJson there would be none
      return MakeError(StatusCode::kCorrupt, config_path.string(), "a JSON object", "an empty file",
                       "fetching the file again");
    }
  }
  return FromJson(json, config, folder.string());
}

Expected<std::shared_ptr<const Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json,
                                                               std::string_view config_json,
                                                               std::string_view where) {
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer());
  text_ffi::Bytes error;
  const int code = vtf_tokenizer_new(text_ffi::Data(tokenizer_json), tokenizer_json.size(),
                                     &tokenizer->handle_, error.out());
  if (code != VTF_OK) {
    return text_ffi::ToStatus(code, std::string(where) + "/tokenizer.json",
                              "a tokenizer of the Hugging Face format", error,
                              "fetching the file again");
  }
  if (!config_json.empty()) {
    VERBATIM_RETURN_IF_ERROR(tokenizer->AddConfigTokens(config_json, where));
  }
  VERBATIM_RETURN_IF_ERROR(tokenizer->ReadVocabulary(where));
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Tokenizer::~Tokenizer() { vtf_tokenizer_free(handle_); }

// tokenizer_config.json may have tokens that tokenizer.json lacks (qwen3_5.md 7.1), and its flags
// win.
Status Tokenizer::AddConfigTokens(std::string_view config_json, std::string_view where) {
  const std::string file = std::string(where) + "/tokenizer_config.json";
  const auto config = nlohmann::json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object() || !WithinDepth(config)) {
    return MakeError(StatusCode::kCorrupt, file,
                     "a JSON object at most " + std::to_string(kMaxJsonDepth) + " levels deep",
                     "something else", "fetching the file again");
  }
  if (const auto eos = config.find("eos_token"); eos != config.end()) {
    if (eos->is_string()) eos_token_ = eos->get<std::string>();
    if (eos->is_object() && eos->contains("content") && (*eos)["content"].is_string()) {
      eos_token_ = (*eos)["content"].get<std::string>();
    }
  }
  const auto found = config.find("added_tokens_decoder");
  if (found == config.end() || !found->is_object()) return {};

  std::map<uint64_t, const nlohmann::json*> by_id;  // new tokens get the next id: go in order
  for (const auto& [key, token] : found->items()) {
    const bool digits = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
    if (!digits || key.size() > 9 || !token.is_object() || !token.contains("content") ||
        !token["content"].is_string()) {
      return BadToken(file, key, token.dump(-1, ' ', true).substr(0, 200));
    }
    by_id[std::stoull(key)] = &token;
  }
  for (const auto& [id, token] : by_id) {
    const std::string text = (*token)["content"].get<std::string>();
    const uint32_t flags = FlagBits(*token);
    uint32_t got = 0;
    text_ffi::Bytes error;
    const int code =
        vtf_tokenizer_add(handle_, text_ffi::Data(text), text.size(), flags, &got, error.out());
    if (code != VTF_OK) return text_ffi::ToStatus(code, file, "a token to add", error);
    if (got != id) {
      return BadToken(file, std::to_string(id),
                      "'" + text + "', which has id " + std::to_string(got));
    }
  }
  return {};
}

Status Tokenizer::ReadVocabulary(std::string_view where) {
  const std::string file = std::string(where) + "/tokenizer.json";
  text_ffi::Bytes error;
  text_ffi::Bytes decoder;
  if (const int code = vtf_tokenizer_decoder(handle_, decoder.out(), error.out()); code != VTF_OK) {
    return text_ffi::ToStatus(code, file, "a decoder", error);
  }
  VERBATIM_ASSIGN_OR_RETURN(const auto rule, TokenByteRule::FromDecoderJson(decoder.view()));

  uint64_t size = 0;
  if (const int code = vtf_tokenizer_size(handle_, &size, error.out()); code != VTF_OK) {
    return text_ffi::ToStatus(code, file, "a vocabulary", error);
  }
  if (size == 0 || size > kMaxVocabulary) {
    return MakeError(StatusCode::kCorrupt, file, "a largest id below 2^24 and at least one token",
                     size == 0 ? "no token" : "id " + std::to_string(size - 1));
  }
  kinds_.reserve(size);
  offsets_.reserve(size + 1);
  offsets_.push_back(0);
  for (uint32_t id = 0; id < size; ++id) {
    text_ffi::Bytes text;
    text_ffi::Bytes token_error;
    int32_t kind = VTF_ABSENT;
    if (const int code = vtf_tokenizer_token(handle_, id, text.out(), &kind, token_error.out());
        code != VTF_OK) {
      return text_ffi::ToStatus(code, file, "a token", token_error);
    }
    if (kind == VTF_NORMAL) {
      bytes_ += rule.Bytes(text.view());
    } else {
      bytes_ += text.view();
    }
    if (kind == VTF_ADDED || kind == VTF_SPECIAL) {
      added_ids_.emplace(text.view(), static_cast<int32_t>(id));
    }
    kinds_.push_back(kind == VTF_SPECIAL  ? Kind::kSpecial
                     : kind == VTF_ADDED  ? Kind::kAdded
                     : kind == VTF_NORMAL ? Kind::kNormal
                                          : Kind::kAbsent);
    longest_ = std::max<size_t>(longest_, bytes_.size() - offsets_.back());
    offsets_.push_back(bytes_.size());
  }
  return {};
}

Expected<std::vector<int32_t>> Tokenizer::Encode(std::string_view utf8, bool parse_special) const {
  text_ffi::Ids ids;
  text_ffi::Bytes error;
  const int code = vtf_tokenizer_encode(handle_, text_ffi::Data(utf8), utf8.size(), parse_special,
                                        ids.out(), error.out());
  if (code != VTF_OK) return text_ffi::ToStatus(code, "text to encode", "UTF-8", error);
  return std::vector<int32_t>(ids.begin(), ids.end());
}

Expected<std::string_view> Tokenizer::TokenBytes(int32_t id) const {
  if (!HasToken(id)) {
    return MakeError(StatusCode::kInvalidArgument, "token id",
                     "an id of the vocabulary, 0 to " + std::to_string(vocab_size() - 1),
                     std::to_string(id));
  }
  const auto index = static_cast<size_t>(id);
  return std::string_view(bytes_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

Expected<std::string> Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string text;
  Utf8Stream stream;
  for (const int32_t id : ids) {
    VERBATIM_ASSIGN_OR_RETURN(const std::string_view bytes, TokenBytes(id));
    if (!(skip_special && IsSpecial(id))) stream.Append(bytes, text);
  }
  stream.Finish(text);
  return text;
}

std::optional<int32_t> Tokenizer::TokenId(std::string_view added_token) const {
  const auto found = added_ids_.find(std::string(added_token));
  if (found == added_ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace verbatim

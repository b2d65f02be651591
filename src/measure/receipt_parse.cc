// A receipt from JSON that nobody vouches for: every field of its type and in its range, and no
// others. What only a model can tell (ids beyond its vocabulary) is the engine's to refuse.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "checkpoint/json.h"
#include "measure/canonical_json.h"
#include "measure/receipt.h"
#include "measure/receipt_checksums.h"
#include "numerics/rotary.h"

namespace verbatim {
namespace {

constexpr int64_t kMostIds = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostCount = std::numeric_limits<int64_t>::max();
// Prompt, output and digests of the longest context, and the rest.
constexpr JsonLimits kLimits = {.max_depth = 8, .max_values = 4 * kMaxRotaryPositions};
// Of names such as a backend's; anything longer is no name.
constexpr size_t kLongestName = 64;

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// One object of the file. The first fault stays in `status`, and what is read after it is nothing,
// so that a table of fields reads as one.
class ObjectReader {
 public:
  ObjectReader(const JsonFields& fields, const nlohmann::json& object)
      : fields_(fields), object_(&object) {}

  // The member `key` as a reader of its own. An absent or wrong one: a reader with the fault.
  ObjectReader Object(const std::string& key) {
    seen_.insert(key);
    const Expected<JsonFields> inner = fields_.Object(key);
    if (!inner.ok()) {
      Fail(inner.status());
      ObjectReader broken(*this);
      return broken;
    }
    return {*inner, *fields_.Find(key)};
  }

  template <typename T>
  void Integer(const std::string& key, int64_t min, int64_t max, T* value) {
    seen_.insert(key);
    const Expected<int64_t> number = fields_.Integer(key, min, max);
    if (!number.ok()) return Fail(number.status());
    *value = static_cast<T>(*number);
  }
  void Seed(const std::string& key, uint64_t* value) {
    seen_.insert(key);
    const nlohmann::json* number = fields_.Find(key);
    // What is no integer below 0 is unsigned, whatever its size.
    if (number == nullptr || !number->is_number_unsigned()) {
      return Fault(key, "an integer from 0 to 2^64 - 1");
    }
    *value = number->get<uint64_t>();
  }
  void Float(const std::string& key, float* value) {
    seen_.insert(key);
    const Expected<double> number = fields_.Number(key);
    if (!number.ok()) return Fail(number.status());
    const std::optional<float> narrow = FloatOfJsonNumber(*number);
    if (!narrow) return Fault(key, "a number in the range of binary32");
    *value = *narrow;
  }
  void Bool(const std::string& key, bool* value) {
    seen_.insert(key);
    const Expected<bool> flag = fields_.Bool(key);
    if (!flag.ok()) return Fail(flag.status());
    *value = *flag;
  }
  void Text(const std::string& key, std::string* value) {
    seen_.insert(key);
    Expected<std::string> text = fields_.String(key);
    if (!text.ok()) return Fail(text.status());
    *value = *std::move(text);
  }
  // A short printable name.
  void Name(const std::string& key, std::string* value) {
    seen_.insert(key);
    const Expected<std::string> text = fields_.String(key);
    if (!text.ok()) return Fail(text.status());
    const bool printable = std::ranges::all_of(*text, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (text->empty() || text->size() > kLongestName || !printable) {
      return Fault(key, fmt::format("a name of 1 to {} printable characters", kLongestName));
    }
    *value = *text;
  }
  void Hex(const std::string& key, size_t digits, std::string* value) {
    seen_.insert(key);
    const Expected<std::string> text = fields_.String(key);
    if (!text.ok()) return Fail(text.status());
    if (!IsHex(*text, digits)) return Fault(key, fmt::format("{} lower-case hex digits", digits));
    *value = *text;
  }
  void Ids(const std::string& key, std::vector<int32_t>* ids) {
    Elements(key, "a list of token ids from 0 to 2^31 - 1", [&](const nlohmann::json& element) {
      if (!element.is_number_unsigned() || element.get<uint64_t>() > kMostIds) return false;
      ids->push_back(element.get<int32_t>());
      return true;
    });
  }
  void Strings(const std::string& key, std::vector<std::string>* texts) {
    Elements(key, "a list of strings", [&](const nlohmann::json& element) {
      if (element.is_string()) texts->push_back(element.get<std::string>());
      return element.is_string();
    });
  }
  void Digests(const std::string& key, std::vector<std::string>* digests) {
    Elements(key, fmt::format("a list of {} lower-case hex digits each", kPositionDigits),
             [&](const nlohmann::json& element) {
               if (!element.is_string()) return false;
               digests->push_back(element.get<std::string>());
               return IsHex(digests->back(), kPositionDigits);
             });
  }
  void Biases(const std::string& key, std::vector<LogitBias>* biases) {
    Elements(key, R"(a list of {"token_id": ..., "bias": ...})",
             [&](const nlohmann::json& element) {
               if (!element.is_object() || element.size() != 2) return false;
               const auto id = element.find("token_id");
               const auto bias = element.find("bias");
               if (id == element.end() || bias == element.end() || !id->is_number_unsigned() ||
                   id->get<uint64_t>() > kMostIds || !bias->is_number()) {
                 return false;
               }
               const std::optional<float> narrow = FloatOfJsonNumber(bias->get<double>());
               if (!narrow) return false;
               biases->push_back({.token_id = id->get<int32_t>(), .bias = *narrow});
               return true;
             });
  }
  // {"8": 12}: rounds by their width.
  void Widths(const std::string& key, SpeculationStats* stats) {
    ObjectReader widths = Object(key);
    if (!widths.status().ok()) return Fail(widths.status());
    for (size_t i = 0; i < stats->rounds_with_width.size(); ++i) {
      const std::string width = fmt::format("{}", i + 1);
      if (widths.fields_.Has(width)) {
        widths.Integer(width, 1, kMostCount, &stats->rounds_with_width[i]);
      }
    }
    Fail(widths.Finish());
  }

  void Fault(const std::string& key, std::string_view expected) {
    const nlohmann::json* value = fields_.Find(key);
    Fail(MakeError(StatusCode::kCorrupt, fields_.Where(key), expected,
                   value == nullptr ? "no such key" : JsonForMessage(*value)));
  }
  bool Has(const std::string& key) const { return fields_.Has(key); }
  const Status& status() const { return status_; }
  // The first fault, also that of a key which is none of the format's.
  Status Finish() {
    for (const auto& [key, value] : object_->items()) {
      if (!status_.ok()) break;
      if (!seen_.contains(key)) {
        Fail(MakeError(StatusCode::kCorrupt, fields_.Where(JsonForMessage(key)),
                       "no keys but those of the format", "another one"));
      }
    }
    return status_;
  }

 private:
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  template <typename Take>
  void Elements(const std::string& key, std::string_view expected, Take take) {
    seen_.insert(key);
    const nlohmann::json* list = fields_.Find(key);
    if (list == nullptr || !list->is_array()) return Fault(key, expected);
    for (size_t i = 0; i < list->size(); ++i) {
      if (take((*list)[i])) continue;
      return Fail(MakeError(StatusCode::kCorrupt, fmt::format("{}[{}]", fields_.Where(key), i),
                            expected, JsonForMessage((*list)[i])));
    }
  }

  JsonFields fields_;
  const nlohmann::json* object_;
  std::set<std::string> seen_;
  Status status_;
};

Status ReadModel(ObjectReader model, Receipt* receipt) {
  model.Name("type", &receipt->model_type);
  model.Hex("sha256", 64, &receipt->model.model_sha256);
  model.Integer("tensors", 1, kMostCount, &receipt->model.num_tensors);
  model.Integer("bytes", 1, kMostCount, &receipt->model.num_bytes);
  model.Hex("config_sha256", 64, &receipt->model.config_sha256);
  model.Hex("tokenizer_sha256", 64, &receipt->model.tokenizer_sha256);
  return model.Finish();
}

Status ReadNumerics(ObjectReader numerics, Receipt* receipt) {
  std::string kv_type;
  numerics.Name("profile", &receipt->numerics_profile);
  numerics.Integer("version", 1, kMostCount, &receipt->numerics_version);
  numerics.Name("kv_type", &kv_type);
  bool known = false;
  for (const KvCacheType type : {KvCacheType::kBF16, KvCacheType::kF16, KvCacheType::kF32}) {
    if (kv_type != KvCacheTypeName(type)) continue;
    receipt->kv_type = type;
    known = true;
  }
  if (!known) numerics.Fault("kv_type", "bf16, f16 or f32");
  return numerics.Finish();
}

Status ReadSampling(ObjectReader object, SamplingOptions* sampling) {
  object.Float("temperature", &sampling->temperature);
  object.Integer("top_k", 0, kMostCount, &sampling->top_k);
  object.Float("top_p", &sampling->top_p);
  object.Float("min_p", &sampling->min_p);
  object.Seed("seed", &sampling->seed);
  object.Integer("choice", 0, std::numeric_limits<uint32_t>::max(), &sampling->choice);
  object.Float("repetition_penalty", &sampling->repetition_penalty);
  object.Float("presence_penalty", &sampling->presence_penalty);
  object.Float("frequency_penalty", &sampling->frequency_penalty);
  object.Biases("logit_bias", &sampling->logit_bias);
  object.Ids("banned_token_ids", &sampling->banned_token_ids);
  object.Strings("banned_strings", &sampling->banned_strings);
  object.Integer("min_tokens", 0, kMostCount, &sampling->min_tokens);
  return object.Finish();
}

Status ReadConstraint(ObjectReader object, ConstraintOptions* constraint) {
  std::string kind;
  object.Name("kind", &kind);
  object.Text("text", &constraint->text);
  object.Ids("begin_after", &constraint->begin_after);
  for (const ConstraintKind known : {ConstraintKind::kJsonObject, ConstraintKind::kJsonSchema,
                                     ConstraintKind::kRegex, ConstraintKind::kGrammar}) {
    if (kind == ConstraintKindName(known)) constraint->kind = known;
  }
  if (constraint->kind == ConstraintKind::kNone) {
    object.Fault("kind", "json_object, json_schema, regex or grammar");
  }
  return object.Finish();
}

Status ReadRequest(ObjectReader request, Receipt* receipt) {
  request.Ids("prompt_token_ids", &receipt->prompt_token_ids);
  request.Integer("max_tokens", 1, kMostCount, &receipt->max_tokens);
  request.Integer("context", 2, kMaxRotaryPositions, &receipt->context);
  request.Strings("stop", &receipt->stop);
  request.Bool("ignore_eos", &receipt->ignore_eos);
  request.Ids("eos_token_ids", &receipt->eos_token_ids);
  ObjectReader sampling = request.Object("sampling");
  if (request.Has("constraint")) {
    VERBATIM_RETURN_IF_ERROR(ReadConstraint(request.Object("constraint"), &receipt->constraint));
  }
  VERBATIM_RETURN_IF_ERROR(request.Finish());
  return ReadSampling(std::move(sampling), &receipt->sampling);
}

Status ReadOutput(ObjectReader output, Receipt* receipt) {
  std::string finish_reason;
  output.Ids("token_ids", &receipt->token_ids);
  output.Name("finish_reason", &finish_reason);
  output.Digests("position_digests", &receipt->position_digests);
  output.Hex("logits_sha256", 64, &receipt->logits_sha256);
  bool known = false;
  for (const FinishReason reason : {FinishReason::kStop, FinishReason::kLength}) {
    if (finish_reason != FinishReasonName(reason)) continue;
    receipt->finish_reason = reason;
    known = true;
  }
  if (!known) output.Fault("finish_reason", "stop or length");
  VERBATIM_RETURN_IF_ERROR(output.Finish());
  const size_t num_tokens = receipt->token_ids.size();
  if (num_tokens == 0) output.Fault("token_ids", "at least one");
  if (receipt->position_digests.size() != num_tokens) {
    output.Fault("position_digests", fmt::format("one for each of {} tokens", num_tokens));
  }
  return output.status();
}

Status ReadOrigin(ObjectReader made_by, ReceiptOrigin* origin) {
  made_by.Name("verbatim", &origin->verbatim_version);
  made_by.Name("speculation", &origin->speculation);
  made_by.Integer("draft_tokens", 0, kMostCount, &origin->draft_tokens);
  made_by.Bool("automatic", &origin->automatic);
  made_by.Integer("drafted", 0, kMostCount, &origin->stats.drafted);
  made_by.Integer("accepted", 0, kMostCount, &origin->stats.accepted);
  made_by.Widths("widths", &origin->stats);
  made_by.Name("contract", &origin->contract);
  made_by.Name("contract_held", &origin->contract_held);
  made_by.Name("backend", &origin->backend);
  made_by.Name("target", &origin->target);
  made_by.Integer("threads", 1, kMostCount, &origin->threads);
  made_by.Integer("cached_prompt_tokens", 0, kMostCount, &origin->cached_prompt_tokens);
  return made_by.Finish();
}

// Before anything else, so that another version's receipt is called that and not damaged.
Status CheckVersion(const JsonFields& fields) {
  constexpr const char* kVersionKey = "verbatim_receipt";
  VERBATIM_ASSIGN_OR_RETURN(const int64_t version, fields.Integer(kVersionKey, 0, kMostCount));
  if (version == kReceiptVersion) return {};
  return MakeError(StatusCode::kUnsupported, fields.Where(kVersionKey),
                   fmt::format("{}", kReceiptVersion), fmt::format("{}", version),
                   "a Verbatim that knows this version");
}

}  // namespace

Expected<Receipt> ParseReceipt(std::string_view text, const std::string& where) {
  VERBATIM_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, where, kLimits));
  if (!json.is_object()) {
    return MakeError(StatusCode::kCorrupt, where, "a receipt, which is a JSON object",
                     json.type_name());
  }
  const JsonFields fields(json, where);
  VERBATIM_RETURN_IF_ERROR(CheckVersion(fields));
  ObjectReader whole(fields, json);
  int64_t version = 0;
  whole.Integer("verbatim_receipt", kReceiptVersion, kReceiptVersion, &version);
  ObjectReader model = whole.Object("model");
  ObjectReader numerics = whole.Object("numerics");
  ObjectReader request = whole.Object("request");
  ObjectReader output = whole.Object("output");
  ObjectReader made_by = whole.Object("made_by");
  whole.Object(kChecksums);
  std::string digest;
  whole.Hex(kReceiptSha256, 64, &digest);
  VERBATIM_RETURN_IF_ERROR(whole.Finish());
  Receipt receipt;
  VERBATIM_RETURN_IF_ERROR(ReadModel(std::move(model), &receipt));
  VERBATIM_RETURN_IF_ERROR(ReadNumerics(std::move(numerics), &receipt));
  VERBATIM_RETURN_IF_ERROR(ReadRequest(std::move(request), &receipt));
  VERBATIM_RETURN_IF_ERROR(ReadOutput(std::move(output), &receipt));
  VERBATIM_RETURN_IF_ERROR(ReadOrigin(std::move(made_by), &receipt.origin));
  receipt.edited = EditedFields(json);
  return receipt;
}

}  // namespace verbatim

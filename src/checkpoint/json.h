// ParseJson and JsonFields: bounded JSON for files that nobody vouches for. Not for JSON output.
#ifndef VERBATIM_CHECKPOINT_JSON_H_
#define VERBATIM_CHECKPOINT_JSON_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "verbatim/status.h"

namespace verbatim {

struct JsonLimits {
  int max_depth = 16;                     // a config nests about 4 deep
  int64_t max_values = int64_t{1} << 20;  // of every kind; a large MoE's overrides need about 10^5
};

// Config files hold up to about 1 MB (per-tensor overrides of a large model).
inline constexpr size_t kMaxConfigBytes = size_t{16} << 20;

// Errors: kCorrupt for text that is not JSON, repeats a key in an object or exceeds the limits.
Expected<nlohmann::json> ParseJson(std::string_view text, std::string_view where,
                                   const JsonLimits& limits = {});

// Errors: those of ReadTextFile and ParseJson, and kCorrupt unless the file holds an object.
Expected<nlohmann::json> ReadJsonObject(const std::filesystem::path& path,
                                        size_t max_bytes = kMaxConfigBytes);

// Typed access to one object's fields, with errors that name the file and the field. The object
// must outlive it. A null counts as absent.
class JsonFields {
 public:
  // `where` names the file; `prefix` the object inside it ("text_config." or "").
  JsonFields(const nlohmann::json& object, std::string where, std::string prefix = "")
      : object_(&object), where_(std::move(where)), prefix_(std::move(prefix)) {}

  bool Has(std::string_view key) const;
  const nlohmann::json* Find(std::string_view key) const;  // nullptr if absent

  // All fail with kCorrupt if the field is absent or of another type or out of range.
  Expected<int64_t> Integer(std::string_view key, int64_t min, int64_t max) const;
  Expected<double> Number(std::string_view key) const;  // finite
  Expected<bool> Bool(std::string_view key) const;
  Expected<std::string> String(std::string_view key) const;
  Expected<JsonFields> Object(std::string_view key) const;

  std::string Where(std::string_view key) const;  // "config.json: text_config.head_dim"

 private:
  Status Fault(std::string_view key, std::string_view expected) const;

  const nlohmann::json* object_;
  std::string where_;
  std::string prefix_;
};

// A value as error messages show it: one line, at most 80 characters.
std::string JsonForMessage(const nlohmann::json& value);

}  // namespace verbatim

#endif  // VERBATIM_CHECKPOINT_JSON_H_

// ForEachJsonMutation: a JSON file with one value removed, repeated or replaced, for every value in
// it. Not random: the same mutations on every run.
#ifndef VERBATIM_TESTS_SUPPORT_JSON_MUTATIONS_H_
#define VERBATIM_TESTS_SUPPORT_JSON_MUTATIONS_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verbatim::testing {

struct JsonMutation {
  std::string path;  // "text_config.head_dim"
  std::string key;   // "head_dim"; of an element of a list, the list's
  std::string what;  // "removed", "twice", or the text that stands there instead
  std::string text;  // of the whole file
};

// What may stand where another value belongs: every type, zero, negative, huge, and what is no
// JSON.
inline const std::vector<std::string>& MutantValues() {
  static const std::vector<std::string> values = {"null",
                                                  "true",
                                                  "false",
                                                  "\"\"",
                                                  "\"text\"",
                                                  "[]",
                                                  "{}",
                                                  "[[1]]",
                                                  "{\"a\":1}",
                                                  "0",
                                                  "-0",
                                                  "-1",
                                                  "1",
                                                  "3",
                                                  "0.5",
                                                  "1e-300",
                                                  "1e308",
                                                  "2147483648",
                                                  "9223372036854775808",
                                                  "18446744073709551615",
                                                  "-9223372036854775808",
                                                  "99999999999999999999999",
                                                  "NaN",
                                                  "Infinity",
                                                  "1e999"};
  return values;
}

// The place of the mutant in a dumped tree.
inline constexpr const char* kMutantMark = "@mutant@";

inline void ForEachJsonMutation(const nlohmann::ordered_json& root,
                                const std::function<void(const JsonMutation&)>& visit) {
  nlohmann::ordered_json tree = root;
  const std::string mark = nlohmann::json(kMutantMark).dump();
  const auto replaced = [&](const std::string& with) {
    std::string text = tree.dump();
    return text.replace(text.find(mark), mark.size(), with);
  };
  std::function<void(nlohmann::ordered_json&, const std::string&, const std::string&)> walk =
      [&](nlohmann::ordered_json& node, const std::string& path, const std::string& list_key) {
        std::vector<std::string> names;
        if (node.is_object()) {
          for (const auto& [name, value] : node.items()) names.push_back(name);
        }
        // A list's first and last elements stand for all.
        const size_t elements = node.is_array() ? node.size() : 0;
        for (size_t i = 0; i < elements; i += i + 1 < elements ? elements - 1 : 1) {
          names.push_back(std::to_string(i));
        }
        for (const std::string& name : names) {
          nlohmann::ordered_json& slot = node.is_object() ? node[name] : node[std::stoul(name)];
          const std::string key = node.is_object() ? name : list_key;
          const std::string here = path.empty() ? name : path + "." + name;
          const nlohmann::ordered_json before = slot;
          for (const std::string& value : MutantValues()) {
            if (nlohmann::ordered_json::parse(value, nullptr, false) == before) continue;
            slot = kMutantMark;
            const std::string text = replaced(value);
            slot = before;
            visit({here, key, value, text});
          }
          if (node.is_object()) {
            slot = kMutantMark;
            const std::string original = before.dump();
            const std::string twice =
                replaced(original + "," + nlohmann::json(name).dump() + ":" + original);
            slot = before;
            visit({here, key, "twice", twice});
          }
          const nlohmann::ordered_json whole = node;
          if (node.is_object()) {
            node.erase(name);
          } else {
            node.erase(std::stoul(name));
          }
          const std::string without = tree.dump();
          node = whole;
          visit({here, key, "removed", without});
          walk(node.is_object() ? node[name] : node[std::stoul(name)], here, key);
        }
      };
  walk(tree, "", "");
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_SUPPORT_JSON_MUTATIONS_H_

// Three renderings of the same comparison.
#include "apps/verbatim/parity_chain_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "apps/verbatim/json_writer.h"

namespace verbatim::cli {
namespace {

std::string Name(const ChainCase& one) {
  const std::string seed = one.fate == DraftFate::kMixed ? fmt::format(" {}", one.seed) : "";
  return fmt::format("{}{}", DraftFateName(one.fate), seed);
}

std::string Conditions(const ChainParityReport& report) {
  return fmt::format(
      "{}: a chain of {} tokens behind a prompt of {}, one by one and as blocks; contract {}, {} "
      "{}, {} thread{}",
      report.model_folder, report.num_tokens, report.prompt_tokens,
      ContractModeName(report.contract), report.backend, report.target, report.num_threads,
      report.num_threads == 1 ? "" : "s");
}

std::string Conclusion(const ChainParityReport& report) {
  int64_t rows = 0, states = 0, broken = 0;
  for (const ChainCase& one : report.cases) {
    rows += one.rows_compared;
    states += one.states_compared;
    broken += one.divergence ? 1 : 0;
  }
  const std::string compared = fmt::format(
      "{} rows (every op's output, hidden state, logits) and {} recurrent states in {} "
      "cases compared: ",
      rows, states, report.cases.size());
  if (broken == 0) return compared + "all equal, byte for byte";
  return compared + fmt::format("{} cases diverge", broken);
}

struct Line {
  int width;
  std::vector<std::string> equal;
  std::vector<std::string> diverging;  // "rejected at position 3: attention, layer 3, row 0"
};

std::string Where(const ChainDivergence& found) {
  return found.op ? found.op->Describe() : "the recurrent state alone";
}

std::vector<Line> Lines(const ChainParityReport& report) {
  std::vector<Line> lines;
  for (const ChainCase& one : report.cases) {
    if (lines.empty() || lines.back().width != one.width) lines.push_back({one.width, {}, {}});
    if (!one.divergence) {
      lines.back().equal.push_back(Name(one));
    } else {
      lines.back().diverging.push_back(fmt::format(
          "{} at position {}: {}", Name(one), one.divergence->position, Where(*one.divergence)));
    }
  }
  return lines;
}

// Sentences on the divergence that comes first in the order of widths.
std::vector<std::string> Details(const ChainParityReport& report) {
  const auto first = std::ranges::find_if(
      report.cases, [](const ChainCase& one) { return one.divergence.has_value(); });
  if (first == report.cases.end()) return {};
  const ChainDivergence& found = *first->divergence;
  std::vector<std::string> lines = {
      fmt::format("first divergence: blocks of {}, drafts {}, position {} (round {}, row {})",
                  first->width, Name(*first), found.position, found.round, found.row),
      fmt::format("first op that differs: {}", Where(found)),
      fmt::format("token: chain {}, block {}{}; gap to the second logit: chain {}, block {}",
                  found.chain.token, found.block.token,
                  found.chain.token == found.block.token ? " (no flip)" : " (flip)",
                  found.chain.gap, found.block.gap),
      fmt::format("logits: {} of {} bytes differ, by {} at most; hidden state: {} of {} bytes",
                  found.logit_bytes, 4 * report.vocab_size, found.largest, found.hidden_bytes,
                  4 * report.hidden_size)};
  if (found.state_bytes > 0) {
    lines.push_back(fmt::format("recurrent states: {} bytes differ", found.state_bytes));
  }
  return lines;
}

void WriteTopTwo(std::string_view key, const TopTwo& top, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("token").Integer(top.token);
  json.Key("gap").Float(top.gap);
  json.EndObject();
}

void WriteDivergence(const ChainDivergence& found, JsonWriter& json) {
  json.Key("divergence").BeginObject();
  json.Key("position").Integer(found.position);
  json.Key("round").Integer(found.round);
  json.Key("row").Integer(found.row);
  WriteTopTwo("chain", found.chain, json);
  WriteTopTwo("block", found.block, json);
  json.Key("logit_bytes").Integer(found.logit_bytes);
  json.Key("largest_difference").Float(found.largest);
  json.Key("hidden_bytes").Integer(found.hidden_bytes);
  json.Key("state_bytes").Integer(found.state_bytes);
  if (found.op) {
    json.Key("op").BeginObject();
    json.Key("name").String(ops::OpName(found.op->op));
    json.Key("layer").Integer(found.op->layer);
    json.Key("weights").String(found.op->weights);
    json.Key("route_alone").Bool(found.op->route);
    json.EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string ChainParityText(const ChainParityReport& report) {
  std::string text = Conditions(report) + "\n\n";
  for (const Line& line : Lines(report)) {
    text += fmt::format("  {:>2} rows  ", line.width);
    if (line.diverging.empty()) {
      text += fmt::format("equal: {}\n", fmt::join(line.equal, ", "));
      continue;
    }
    text += fmt::format("DIVERGES: {}", fmt::join(line.diverging, "; "));
    if (!line.equal.empty()) text += fmt::format("; equal: {}", fmt::join(line.equal, ", "));
    text += "\n";
  }
  text += "\n";
  for (const std::string& line : Details(report)) text += line + "\n";
  return text + Conclusion(report) + "\n";
}

std::string ChainParityMarkdown(const ChainParityReport& report) {
  std::string text = Conditions(report) + ".\n\n| rows | equal | diverges |\n|---:|---|---|\n";
  for (const Line& line : Lines(report)) {
    text += fmt::format("| {} | {} | {} |\n", line.width, fmt::join(line.equal, ", "),
                        fmt::join(line.diverging, "; "));
  }
  text += "\n";
  for (const std::string& line : Details(report)) text += "- " + line + "\n";
  return text + "\n" + Conclusion(report) + ".\n";
}

std::string ChainParityJson(const ChainParityReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("holds").Bool(report.Holds());
  json.Key("model").String(report.model_folder);
  json.Key("contract").String(ContractModeName(report.contract));
  json.Key("backend").String(report.backend);
  json.Key("target").String(report.target);
  json.Key("threads").Integer(report.num_threads);
  json.Key("prompt_tokens").Integer(report.prompt_tokens);
  json.Key("tokens").Integer(report.num_tokens);
  json.Key("vocab_size").Integer(report.vocab_size);
  json.Key("hidden_size").Integer(report.hidden_size);
  json.Key("cases").BeginArray();
  for (const ChainCase& one : report.cases) {
    json.BeginObject();
    json.Key("width").Integer(one.width);
    json.Key("drafts").String(DraftFateName(one.fate));
    if (one.fate == DraftFate::kMixed) json.Key("seed").Integer(one.seed);
    json.Key("equal").Bool(!one.divergence.has_value());
    json.Key("rounds").Integer(one.rounds);
    json.Key("rows_compared").Integer(one.rows_compared);
    json.Key("states_compared").Integer(one.states_compared);
    if (one.divergence) WriteDivergence(*one.divergence, json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace verbatim::cli

// Every width of every case as JSON.
#include <algorithm>
#include <string_view>
#include <vector>

#include "apps/verbatim/json_writer.h"
#include "apps/verbatim/parity_report.h"
#include "apps/verbatim/parity_tables.h"

namespace verbatim::cli {
namespace {

void WriteArm(std::string_view key, const ParityArm& arm, JsonWriter& json) {
  json.Key(key).BeginObject().Key("sha256").String(arm.sha256).Key("routes").BeginArray();
  for (const ServedBy& route : arm.routes) {
    json.BeginObject();
    json.Key("op").String(ops::OpName(route.op));
    json.Key("family").String(route.family);
    json.Key("kernel").String(route.kernel);
    json.Key("order").String(ops::OrderName(route.order));
    json.Key("split").Integer(route.split);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

void WriteWidth(const WidthParity& width, JsonWriter& json) {
  json.BeginObject();
  json.Key("width").Integer(width.width);
  json.Key("verdict").String(ParityVerdictName(width.verdict()));
  json.Key("comparisons").Integer(width.comparisons);
  json.Key("row_bytes").Integer(width.row_bytes);
  json.Key("differing_row_bytes").Integers(std::span(width.differing_row_bytes));
  json.Key("state_bytes").Integer(width.state_bytes);
  json.Key("differing_state_bytes").Integer(width.differing_state_bytes);
  json.Key("max_ulp");
  if (width.max_ulp == kUlpOfNan) {
    json.String("NaN");
  } else {
    json.Integer(static_cast<int64_t>(width.max_ulp));
  }
  json.Key("same_route").Bool(width.same_route);
  WriteArm("block", width.block, json);
  WriteArm("single", width.single, json);
  if (width.first) {
    json.Key("first").BeginObject();
    json.Key("seed").Integer(width.first->seed);
    json.Key("place").String(width.first->place);
    json.Key("block").String(width.first->block);
    json.Key("single").String(width.first->single).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string OpParityJson(const OpParityReport& report) {
  JsonWriter json;
  json.BeginObject();
  json.Key("contract").String(ContractModeName(report.contract));
  json.Key("threads").Integer(report.num_threads);
  json.Key("seeds").Integer(report.num_seeds);
  json.Key("widths").Integers(std::vector<int32_t>(report.widths.begin(), report.widths.end()));
  json.Key("targets").BeginArray();
  for (const std::string& target : report.targets) json.String(target);
  json.EndArray();
  json.Key("holds").Bool(report.Holds());
  json.Key("comparisons").Integer(report.comparisons());
  json.Key("bytes").Integer(report.bytes());
  json.Key("seconds").Rounded(report.seconds);
  json.Key("cases").BeginArray();
  for (const OpParityCase& one : report.cases) {
    json.BeginObject();
    json.Key("target").String(one.target);
    json.Key("op").String(one.op);
    json.Key("model").String(one.model);
    json.Key("of").String(one.what);
    json.Key("shape").String(one.shape);
    json.Key("format").String(one.format);
    json.Key("asserted").Bool(one.asserted);
    json.Key("equal").Bool(one.equal());
    json.Key("outcome").String(CondensedVerdicts(one));
    json.Key("widths").BeginArray();
    for (const WidthParity& width : one.widths) WriteWidth(width, json);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace verbatim::cli

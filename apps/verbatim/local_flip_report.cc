// The report of one model: chain against blocks, classic decode against speculation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "apps/verbatim/flip_plots.h"
#include "apps/verbatim/flip_report.h"

namespace verbatim::cli {
namespace {

// Greedy mode promises no bytes: a difference there is a figure, not a fault.
bool Promised(const FlipReport& report) { return report.info.contract != ContractMode::kGreedy; }

int64_t Flips(const TeacherForced& forced) {
  int64_t flips = 0;
  for (const WidthFlips& width : forced.widths) flips += width.flips.events;
  return flips;
}

std::string WidthsOf(const TeacherForced& forced) {
  std::string list;
  for (const WidthFlips& width : forced.widths) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", width.width);
  }
  return list;
}

// The width with most flips, which is what a user may meet.
const WidthFlips& Worst(const TeacherForced& forced) {
  return *std::ranges::max_element(forced.widths, {},
                                   [](const WidthFlips& width) { return width.flips.events; });
}

void AddHeadline(const FlipReport& report, Page& page) {
  page.tone = !report.AnyDifference() ? Tone::kGood : Promised(report) ? Tone::kBad : Tone::kPlain;
  if (report.forced) {
    const TeacherForced& forced = *report.forced;
    const WidthFlips& worst = Worst(forced);
    page.headline = fmt::format("{} of {}", Grouped(worst.flips.events), Grouped(forced.positions));
    page.caption =
        worst.flips.events == 0
            ? fmt::format("positions flip, of widths {}: the rate is at most {} (3/n, 95 %)",
                          WidthsOf(forced), Percent(worst.flips.zero_bound.value_or(1)))
            : fmt::format("positions flip at width {}: {}, interval {} (95 %)", worst.width,
                          Percent(worst.flips.rate), PercentInterval(worst.flips));
    return;
  }
  if (!report.running || report.running->arms.empty()) {
    page.tone = Tone::kWarning;
    page.headline.assign(1, '-');
    page.caption.append("nothing was measured");
    return;
  }
  const auto& arms = report.running->arms;
  const FreeRunningArm& worst = *std::ranges::max_element(
      arms, {}, [](const FreeRunningArm& arm) { return arm.divergences.events; });
  page.headline =
      fmt::format("{} of {}", Grouped(worst.divergences.events), Grouped(report.running->prompts));
  page.caption = fmt::format("prompts part at width {}: {} per 1000 tokens (95 %)", worst.width,
                             PerThousandInterval(worst.divergences));
}

void AddForcedFindings(const FlipReport& report, Page& page) {
  const TeacherForced& forced = *report.forced;
  const bool promised = Promised(report);
  int64_t bytes = 0;
  int64_t bugs = 0;
  for (const WidthFlips& width : forced.widths) {
    bytes += width.byte_differences;
    bugs += width.state_bugs;
  }
  const Tone difference = promised ? Tone::kBad : Tone::kPlain;
  page.findings.push_back(
      {bytes == 0 ? Tone::kGood : difference,
       bytes == 0
           ? fmt::format("The logits' bytes are equal in all {} comparisons ({} positions, {} "
                         "widths).",
                         Grouped(forced.comparisons), Grouped(forced.positions),
                         forced.widths.size())
           : fmt::format("The logits' bytes differ in {} of {} comparisons{}.", Grouped(bytes),
                         Grouped(forced.comparisons),
                         promised ? ", which this mode promises not to" : "")});
  if (bugs > 0) {
    page.findings.push_back(
        {Tone::kBad,
         fmt::format("State bug: {} flips at a gap above {:.3g}, which rounding does not explain "
                     "here.",
                     Grouped(bugs), *forced.rounding_limit)});
  } else if (Flips(forced) > 0 && forced.rounding_limit) {
    page.findings.push_back(
        {Tone::kGood,
         fmt::format("Every flip is a near tie: none at a gap above {:.3g}, where rounding ends.",
                     *forced.rounding_limit)});
  } else if (Flips(forced) > 0) {
    page.findings.push_back(
        {Tone::kWarning, "Too few comparisons to tell rounding from a state bug."});
  }
}

void AddRunningFindings(const FreeRunning& running, bool promised, Page& page) {
  if (!running.not_run.empty()) {
    page.findings.push_back({Tone::kWarning, "Free-running was not measured: " + running.not_run});
    return;
  }
  int64_t divergences = 0;
  int64_t bytes = 0;
  int64_t bugs = 0;
  for (const FreeRunningArm& arm : running.arms) {
    divergences += arm.divergences.events;
    bytes += arm.byte_differences;
    bugs += arm.state_bugs;
    if (arm.speculation.drafted == 0) {
      page.findings.push_back(
          {Tone::kWarning, fmt::format("Nothing was drafted at width {}: that arm is classic "
                                       "decode compared with itself.",
                                       arm.width)});
    }
  }
  const Tone difference = promised || bugs > 0 ? Tone::kBad : Tone::kPlain;
  const int64_t runs = running.prompts * static_cast<int64_t>(running.arms.size());
  if (divergences == 0) {
    page.findings.push_back(
        {bytes == 0 ? Tone::kGood : difference,
         fmt::format("None of {} runs with speculation parts from classic decode{}.", Grouped(runs),
                     bytes == 0 ? ", in tokens or in the logits' bytes"
                                : fmt::format(", but {} have other logits", Grouped(bytes)))});
  } else {
    page.findings.push_back(
        {difference, fmt::format("{} of {} runs with speculation part from classic decode{}.",
                                 Grouped(divergences), Grouped(runs),
                                 bugs > 0 ? fmt::format(", {} of them at a gap that is a state bug",
                                                        Grouped(bugs))
                                          : "")});
  }
}

void AddForcedTables(const TeacherForced& forced, std::span<const FlipPrompt> prompts, Page& page) {
  PageTable rates = {.title = "Teacher-forced: blocks against the chain",
                     .header = {"width", "positions", "flips", "rate", "95 % exact",
                                "95 % by prompt", "other bytes", "state bugs"},
                     .rows = {}};
  std::vector<RateRow> plot;
  for (const WidthFlips& width : forced.widths) {
    rates.rows.push_back({fmt::format("{}", width.width),
                          Grouped(static_cast<int64_t>(width.flips.exposure)),
                          Grouped(width.flips.events), Percent(width.flips.rate),
                          PercentInterval(width.flips), ClusteredPercent(width.flips),
                          Grouped(width.byte_differences), Grouped(width.state_bugs)});
    plot.push_back({fmt::format("width {}", width.width), width.flips});
  }
  rates.notes.push_back(fmt::format(
      "Change of the top-2 gap where nothing flips: median {:.3g}, 99th percentile {:.3g}, largest "
      "{:.3g}{}.",
      forced.change_median, forced.change_p99, forced.change_max,
      forced.rounding_limit
          ? fmt::format("; a flip at a gap above {:.3g} is no rounding", *forced.rounding_limit)
          : ""));
  page.tables.push_back(std::move(rates));
  page.plots.push_back(
      {.title = "Flip rate by width",
       .svg = RatePlot(plot, true),
       .caption = fmt::format("Share of {} positions whose choice differs between chain and block; "
                              "line: exact 95 % interval, pale: bootstrap over {} prompts.",
                              Grouped(forced.positions), forced.prompts)});
  page.plots.push_back({.title = "How near the choice was",
                        .svg = GapPlot(forced.gaps, forced.gaps_at_flips, forced.rounding_limit),
                        .caption = fmt::format(
                            "Gap between the chain's two largest logits, by octave: {} positions, "
                            "{} flips of all widths. Flips by rounding lie at the left.",
                            Grouped(forced.gaps.total()), Grouped(forced.gaps_at_flips.total()))});
  if (forced.flips.empty()) return;
  PageTable flips = {.title = "Flips",
                     .header = {"where", "width", "chain", "block", "gap", "what"},
                     .rows = {},
                     .notes = {fmt::format("The first {} of each width.", kMaxFlipsListed)}};
  for (const Flip& flip : forced.flips) {
    flips.rows.push_back({fmt::format("{}, text {}, position {}", PromptName(prompts, flip.prompt),
                                      flip.text + 1, flip.position),
                          fmt::format("{}", flip.width), Quoted(flip.chain_text),
                          Quoted(flip.block_text), fmt::format("{:.3g}", flip.chain_gap),
                          flip.state_bug          ? "state bug"
                          : forced.rounding_limit ? "near tie"
                                                  : "-"});
  }
  page.tables.push_back(std::move(flips));
}

void AddRunningTables(const FreeRunning& running, std::span<const FlipPrompt> prompts, Page& page) {
  if (running.arms.empty()) return;
  PageTable table = {
      .title =
          fmt::format("Free-running: {} against classic decode", SpeculationKindName(running.kind)),
      .header = {"width", "prompts", "tokens", "part", "per 1000 tokens", "95 %", "other bytes",
                 "drafts accepted"},
      .rows = {},
      .notes = {"Tokens are those until an output parts; the interval is exact for independent "
                "tokens."}};
  PageTable flips = {.title = "First divergences",
                     .header = {"where", "width", "classic", "speculative", "gap", "what"},
                     .rows = {}};
  std::vector<SurvivalSeries> series;
  int64_t longest = 0;
  for (const FreeRunningArm& arm : running.arms) {
    table.rows.push_back({fmt::format("{}", arm.width), Grouped(running.prompts),
                          Grouped(static_cast<int64_t>(arm.divergences.exposure)),
                          Grouped(arm.divergences.events), PerThousand(arm.divergences.rate),
                          PerThousandInterval(arm.divergences), Grouped(arm.byte_differences),
                          fmt::format("{} of {}", Grouped(arm.speculation.accepted),
                                      Grouped(arm.speculation.tested))});
    series.push_back({fmt::format("width {}", arm.width), arm.survival, running.prompts});
    longest = std::max(longest, arm.longest);
    for (const Flip& flip : arm.flips) {
      flips.rows.push_back(
          {fmt::format("{}, token {}", PromptName(prompts, flip.prompt), flip.position + 1),
           fmt::format("{}", flip.width), Quoted(flip.chain_text), Quoted(flip.block_text),
           fmt::format("{:.3g}", flip.chain_gap), flip.state_bug ? "state bug" : "-"});
    }
  }
  page.tables.push_back(std::move(table));
  if (!flips.rows.empty()) page.tables.push_back(std::move(flips));
  page.plots.push_back(
      {.title = "Outputs that are still equal",
       .svg = SurvivalPlot(series, longest),
       .caption = fmt::format("Kaplan-Meier estimate over {} prompts, up to {} tokens each, with "
                              "95 % bands; without a divergence the band is the exact bound.",
                              running.prompts, running.tokens)});
}

}  // namespace

Page FlipPage(const FlipReport& report, std::span<const FlipPrompt> prompts) {
  Page page;
  const std::filesystem::path folder = report.info.model_folder;
  page.title = fmt::format("Flips of {} in {} mode",
                           folder.filename().empty() ? folder.parent_path().filename().string()
                                                     : folder.filename().string(),
                           ContractModeName(report.info.contract));
  AddHeadline(report, page);
  page.conditions.push_back(
      fmt::format("{} {}, {} thread{}; {}; {}; seed {}", report.info.backend, report.info.target,
                  report.info.num_threads, report.info.num_threads == 1 ? "" : "s",
                  report.info.numerics, report.info.weight_types, report.seed));
  if (report.forced) {
    const TeacherForced& forced = *report.forced;
    page.conditions.push_back(fmt::format(
        "teacher-forced over {} positions of {} texts from {} prompts{}", Grouped(forced.positions),
        Grouped(forced.texts), forced.prompts,
        forced.sampled_positions == 0
            ? ""
            : fmt::format("; {} of them in continuations that the model wrote at temperature 0.8",
                          Grouped(forced.sampled_positions))));
    AddForcedFindings(report, page);
    AddForcedTables(forced, prompts, page);
  }
  if (report.running) {
    AddRunningFindings(*report.running, Promised(report), page);
    AddRunningTables(*report.running, prompts, page);
  }
  return page;
}

std::string FlipJson(const FlipReport& report, std::span<const FlipPrompt> prompts) {
  JsonWriter json;
  json.BeginObject().Key("kind").String("local");
  json.Key("any_difference").Bool(report.AnyDifference());
  json.Key("model").BeginObject();
  json.Key("folder").String(report.info.model_folder);
  json.Key("weight_types").String(report.info.weight_types);
  json.Key("numerics").String(report.info.numerics).Key("target").String(report.info.target);
  json.Key("backend").String(report.info.backend);
  json.Key("threads").Integer(report.info.num_threads).EndObject();
  json.Key("contract").BeginObject();
  json.Key("mode").String(ContractModeName(report.info.contract));
  json.Key("held").String(ContractModeName(report.info.contract_held)).EndObject();
  json.Key("seed").Integer(static_cast<int64_t>(report.seed));
  json.Key("prompts").Integer(static_cast<int64_t>(prompts.size()));
  const auto write_flips = [&json, prompts](std::span<const Flip> flips) {
    json.Key("flips").BeginArray();
    for (const Flip& flip : flips) {
      json.BeginObject().Key("prompt").Integer(flip.prompt);
      json.Key("category").String(prompts[static_cast<size_t>(flip.prompt)].category);
      json.Key("text").Integer(flip.text).Key("position").Integer(flip.position);
      json.Key("width").Integer(flip.width);
      json.Key("chain_token").Integer(flip.chain_token).Key("chain_text").String(flip.chain_text);
      json.Key("block_token").Integer(flip.block_token).Key("block_text").String(flip.block_text);
      json.Key("chain_gap").Float(flip.chain_gap).Key("state_bug").Bool(flip.state_bug);
      json.EndObject();
    }
    json.EndArray();
  };
  if (report.forced) {
    const TeacherForced& forced = *report.forced;
    json.Key("teacher_forced").BeginObject();
    json.Key("positions").Integer(forced.positions).Key("comparisons").Integer(forced.comparisons);
    json.Key("texts").Integer(forced.texts).Key("prompts").Integer(forced.prompts);
    json.Key("sampled_positions").Integer(forced.sampled_positions);
    json.Key("widths").BeginArray();
    for (const WidthFlips& width : forced.widths) {
      json.BeginObject().Key("width").Integer(width.width);
      WriteRate("flips", width.flips, json);
      json.Key("byte_differences").Integer(width.byte_differences);
      json.Key("state_bugs").Integer(width.state_bugs).EndObject();
    }
    json.EndArray();
    json.Key("gap_change").BeginObject().Key("median").Double(forced.change_median);
    json.Key("p99").Double(forced.change_p99).Key("max").Double(forced.change_max).EndObject();
    json.Key("rounding_limit");
    forced.rounding_limit ? json.Double(*forced.rounding_limit) : json.Null();
    WriteGaps("gaps", forced.gaps, json);
    WriteGaps("gaps_at_flips", forced.gaps_at_flips, json);
    write_flips(forced.flips);
    json.EndObject();
  }
  if (report.running) {
    const FreeRunning& running = *report.running;
    json.Key("free_running").BeginObject();
    json.Key("speculation").String(SpeculationKindName(running.kind));
    json.Key("prompts").Integer(running.prompts).Key("max_tokens").Integer(running.tokens);
    if (!running.not_run.empty()) json.Key("not_run").String(running.not_run);
    json.Key("widths").BeginArray();
    for (const FreeRunningArm& arm : running.arms) {
      json.BeginObject().Key("width").Integer(arm.width);
      WriteRate("divergences_per_token", arm.divergences, json);
      json.Key("byte_differences").Integer(arm.byte_differences);
      json.Key("state_bugs").Integer(arm.state_bugs);
      json.Key("drafted").Integer(arm.speculation.drafted);
      json.Key("tested").Integer(arm.speculation.tested);
      json.Key("accepted").Integer(arm.speculation.accepted);
      WriteSurvival(arm.survival, json);
      write_flips(arm.flips);
      json.EndObject();
    }
    json.EndArray().EndObject();
  }
  return json.EndObject().Take();
}

}  // namespace verbatim::cli

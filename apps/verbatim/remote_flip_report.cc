// The report of two servers.
#include <fmt/format.h>

#include "apps/verbatim/flip_plots.h"
#include "apps/verbatim/flip_report.h"

namespace verbatim::cli {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"baseline", "candidate"};
constexpr std::array<std::string_view, 2> kTitles = {"The baseline", "The candidate"};

std::string Drafts(const ArmReport& arm) {
  switch (arm.verdict) {
    case DraftVerdict::kRan:
      return fmt::format("{} of {} accepted", Grouped(arm.drafts.accepted),
                         Grouped(arm.drafts.drafted));
    case DraftVerdict::kNone:
      return "none";
    case DraftVerdict::kUntold:
      break;
  }
  return "not told";
}

void AddSpeculationFindings(const RemoteReport& report, Page& page) {
  const ArmReport& baseline = report.arms[0];
  const ArmReport& candidate = report.arms[1];
  switch (candidate.verdict) {
    case DraftVerdict::kRan:
      page.findings.push_back(
          {Tone::kGood, fmt::format("The candidate did speculate, drafts: {}{}.", Drafts(candidate),
                                    candidate.drafts_from_metrics
                                        ? ", by its metrics, which also count others' requests"
                                        : "")});
      break;
    case DraftVerdict::kNone:
      page.findings.push_back({Tone::kBad,
                               "The candidate did not speculate: it reports no drafts. This is no "
                               "measurement of speculation."});
      break;
    case DraftVerdict::kUntold:
      page.findings.push_back({Tone::kWarning,
                               "The candidate does not tell whether it speculated, neither in its "
                               "answers nor at /metrics."});
  }
  if (baseline.verdict == DraftVerdict::kRan) {
    page.findings.push_back({Tone::kWarning, fmt::format("The baseline speculates too, drafts: {}.",
                                                         Drafts(baseline))});
  }
  if (report.logprobs_off) {
    page.findings.push_back({Tone::kWarning,
                             "Texts were compared, not tokens: with log-probabilities the "
                             "candidate does not speculate."});
  }
}

void AddArmFindings(const RemoteReport& report, Page& page) {
  for (size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    if (arm.repeats.exposure <= 0) continue;
    const auto twice = static_cast<int64_t>(arm.repeats.exposure);
    if (arm.repeats.events > 0) {
      page.findings.push_back(
          {Tone::kBad,
           fmt::format(
               "{} does not repeat itself: {} of {} prompts asked twice got another answer, "
               "{} divergences per 1000 tokens ({}). Flips of this size are no speculation's.",
               kTitles[i], Grouped(arm.repeats.events), Grouped(twice),
               PerThousand(arm.self_divergences.rate), PerThousandInterval(arm.self_divergences))});
    } else {
      page.findings.push_back(
          {Tone::kGood, fmt::format("{} repeats itself: {} prompts asked twice, no other answer "
                                    "(at most {} of prompts, 95 %).",
                                    kTitles[i], Grouped(twice),
                                    Percent(std::min(1.0, arm.repeats.zero_bound.value_or(1))))});
    }
  }
  for (size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    if (arm.empty > 0) {
      page.findings.push_back(
          {Tone::kWarning, fmt::format("{} gave {} empty answers; they are compared with nothing.",
                                       kTitles[i], Grouped(arm.empty))});
    }
    if (arm.failed > 0) {
      page.findings.push_back(
          {Tone::kBad, fmt::format("{} failed in {} of {} requests; the first time: {}", kTitles[i],
                                   Grouped(arm.failed), Grouped(arm.asked), arm.first_error)});
    }
  }
  if (report.not_asked > 0) {
    page.findings.push_back({Tone::kBad, fmt::format("{} prompts were not asked, as an arm had "
                                                     "failed three times in a row.",
                                                     Grouped(report.not_asked))});
  }
}

void AddGapFindings(const RemoteReport& report, Page& page) {
  if (!report.rounding_limit || report.flips.empty()) return;
  int64_t large = 0;
  for (const RemoteFlip& flip : report.flips) large += flip.large_gap ? 1 : 0;
  if (large > 0) {
    page.findings.push_back(
        {Tone::kBad,
         fmt::format("{} divergences are at a gap above {:.3g}, which rounding does not "
                     "explain here: a state bug, or another model.",
                     Grouped(large), *report.rounding_limit)});
  }
}

}  // namespace

Page RemoteFlipPage(const RemoteReport& report, std::span<const FlipPrompt> prompts) {
  Page page;
  page.title = "Flips between two servers";
  page.headline =
      fmt::format("{} of {}", Grouped(report.prompts_that_differ.events), Grouped(report.compared));
  const Rate& rate = report.divergences;
  page.caption =
      fmt::format("prompts get another answer: {} divergences per 1000 tokens, {} (95 %)",
                  PerThousand(rate.rate), PerThousandInterval(rate));
  page.tone = report.compared == 0                    ? Tone::kWarning
              : report.prompts_that_differ.events > 0 ? Tone::kBad
                                                      : Tone::kGood;
  for (size_t i = 0; i < report.arms.size(); ++i) {
    page.conditions.push_back(
        fmt::format("{}: {}, model {}", kNames[i], report.arms[i].url, report.arms[i].model));
  }
  std::string units;
  for (size_t unit = 0; unit < report.by_unit.size(); ++unit) {
    if (report.by_unit[unit] == 0) continue;
    units += fmt::format("{}{} by {}", units.empty() ? "" : ", ", Grouped(report.by_unit[unit]),
                         AnswerUnitName(static_cast<AnswerUnit>(unit)));
  }
  page.conditions.push_back(fmt::format(
      "{} prompts of up to {} tokens at temperature 0, seed {}; compared {}{}; without data {}",
      Grouped(report.prompts), Grouped(report.max_tokens), report.seed, Grouped(report.compared),
      units.empty() ? "" : " (" + units + ")", Grouped(report.no_data + report.not_asked)));
  AddArmFindings(report, page);
  AddSpeculationFindings(report, page);
  AddGapFindings(report, page);

  PageTable rates = {
      .title = "Divergences",
      .header = {"", "prompts", "tokens", "differ", "per 1000 tokens", "95 %", "of prompts"},
      .rows = {},
      .notes = {
          "Each arm is asked every prompt twice; its own row is the noise below which nothing "
          "can be measured. Tokens are those until two answers part."}};
  const auto row = [&rates](const std::string& name, const Rate& per_token,
                            const Rate& per_prompt) {
    rates.rows.push_back({name, Grouped(static_cast<int64_t>(per_prompt.exposure)),
                          Grouped(static_cast<int64_t>(per_token.exposure)),
                          Grouped(per_token.events), PerThousand(per_token.rate),
                          PerThousandInterval(per_token), PercentInterval(per_prompt)});
  };
  row("baseline and candidate", report.divergences, report.prompts_that_differ);
  row("baseline and itself", report.arms[0].self_divergences, report.arms[0].repeats);
  row("candidate and itself", report.arms[1].self_divergences, report.arms[1].repeats);
  page.tables.push_back(std::move(rates));

  PageTable arms = {
      .title = "Servers", .header = {"", "requests", "failed", "empty", "drafts"}, .rows = {}};
  for (size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    arms.rows.push_back({std::string(kNames[i]), Grouped(arm.asked), Grouped(arm.failed),
                         Grouped(arm.empty), Drafts(arm)});
  }
  page.tables.push_back(std::move(arms));

  if (!report.flips.empty()) {
    PageTable flips = {.title = "First divergences",
                       .header = {"where", "channel", "baseline", "candidate", "gap", "arms"},
                       .rows = {}};
    for (const RemoteFlip& flip : report.flips) {
      if (flips.rows.size() == kMaxFlipsListed) {
        flips.notes.push_back(
            fmt::format("The first {} of {}.", kMaxFlipsListed, report.flips.size()));
        break;
      }
      flips.rows.push_back(
          {fmt::format("{}, at {}", PromptName(prompts, flip.prompt), flip.at.position + 1),
           std::string(ChannelName(flip.at.channel)), Quoted(flip.at.a), Quoted(flip.at.b),
           flip.at.gap ? fmt::format("{:.3g}", *flip.at.gap) : "-",
           flip.arms_repeat ? "repeat" : "do not repeat"});
    }
    page.tables.push_back(std::move(flips));
  }
  if (report.compared == 0) return page;
  page.plots.push_back(
      {.title = "Divergences per 1000 tokens",
       .svg = RatePlot({{"between", report.divergences},
                        {"baseline", report.arms[0].self_divergences},
                        {"candidate", report.arms[1].self_divergences}},
                       false),
       .caption = "Between the arms, and of each arm with itself; line: exact 95 % interval, pale: "
                  "bootstrap by prompt."});
  page.plots.push_back(
      {.title = "Answers that are still equal",
       .svg = SurvivalPlot({{"baseline and candidate", report.survival, report.compared}},
                           report.longest),
       .caption = fmt::format("Kaplan-Meier estimate over {} prompts with its 95 % band.",
                              Grouped(report.compared))});
  if (report.gaps.total() > 0) {
    page.plots.push_back(
        {.title = "How near the choice was",
         .svg = GapPlot(report.gaps, report.gaps_at_flips, report.rounding_limit),
         .caption =
             fmt::format("Gap between the baseline's two most probable tokens: {} tokens, {} "
                         "divergences.",
                         Grouped(report.gaps.total()), Grouped(report.gaps_at_flips.total()))});
  }
  return page;
}

std::string RemoteFlipJson(const RemoteReport& report, std::span<const FlipPrompt> prompts) {
  JsonWriter json;
  json.BeginObject().Key("kind").String("servers");
  json.Key("prompts").Integer(report.prompts).Key("compared").Integer(report.compared);
  json.Key("no_data").Integer(report.no_data).Key("not_asked").Integer(report.not_asked);
  json.Key("max_tokens").Integer(report.max_tokens);
  json.Key("seed").Integer(static_cast<int64_t>(report.seed));
  json.Key("logprobs_turned_drafts_off").Bool(report.logprobs_off);
  json.Key("compared_by").BeginObject();
  for (size_t unit = 0; unit < report.by_unit.size(); ++unit) {
    json.Key(AnswerUnitName(static_cast<AnswerUnit>(unit))).Integer(report.by_unit[unit]);
  }
  json.EndObject();
  WriteRate("divergences_per_token", report.divergences, json);
  WriteRate("prompts_that_differ", report.prompts_that_differ, json);
  json.Key("arms").BeginArray();
  for (size_t i = 0; i < report.arms.size(); ++i) {
    const ArmReport& arm = report.arms[i];
    json.BeginObject().Key("name").String(kNames[i]).Key("url").String(arm.url);
    json.Key("model").String(arm.model).Key("requests").Integer(arm.asked);
    json.Key("failed").Integer(arm.failed).Key("empty").Integer(arm.empty);
    if (!arm.first_error.empty()) json.Key("first_error").String(arm.first_error);
    json.Key("repeats_itself").Bool(arm.repeats.exposure > 0 && arm.repeats.events == 0);
    WriteRate("prompts_not_repeated", arm.repeats, json);
    WriteRate("self_divergences_per_token", arm.self_divergences, json);
    json.Key("speculation").BeginObject();
    json.Key("verdict").String(DraftVerdictName(arm.verdict));
    json.Key("drafted").Integer(arm.drafts.drafted).Key("accepted").Integer(arm.drafts.accepted);
    json.Key("from_metrics").Bool(arm.drafts_from_metrics).EndObject();
    json.EndObject();
  }
  json.EndArray();
  json.Key("gap_change_p99").Double(report.change_p99);
  json.Key("rounding_limit");
  report.rounding_limit ? json.Double(*report.rounding_limit) : json.Null();
  WriteSurvival(report.survival, json);
  WriteGaps("gaps", report.gaps, json);
  WriteGaps("gaps_at_flips", report.gaps_at_flips, json);
  json.Key("flips").BeginArray();
  for (const RemoteFlip& flip : report.flips) {
    json.BeginObject().Key("prompt").Integer(flip.prompt);
    json.Key("category").String(prompts[static_cast<size_t>(flip.prompt)].category);
    json.Key("channel").String(ChannelName(flip.at.channel));
    json.Key("position").Integer(flip.at.position);
    json.Key("baseline").String(flip.at.a).Key("candidate").String(flip.at.b);
    json.Key("gap");
    flip.at.gap ? json.Float(*flip.at.gap) : json.Null();
    json.Key("arms_repeat").Bool(flip.arms_repeat).Key("large_gap").Bool(flip.large_gap);
    json.EndObject();
  }
  return json.EndArray().EndObject().Take();
}

}  // namespace verbatim::cli

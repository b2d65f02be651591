// Receipts: their file, what an edit of any field does, and the replay. The program is
// tests/cli/test_receipt.py.
#include "measure/receipt.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>
#include <random>

#include "base/sha256.h"
#include "measure/canonical_json.h"
#include "measure/receipt_checksums.h"
#include "tests/support/sample_size.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {
namespace {

using nlohmann::json;

Request SampledRequest() {
  Request request;
  request.prompt_token_ids = {5, 6, 7, 8, 9, 300};
  request.max_tokens = 40;
  request.stop = {"never \"said\"\n", "ö\x01"};
  request.sampling = {.repetition_penalty = 1.1F,
                      .frequency_penalty = 0.3F,
                      .presence_penalty = -0.2F,
                      .logit_bias = {{3, 1.25F}, {7, -100}},
                      .banned_token_ids = {11, 12},
                      .banned_strings = {"zebra"},
                      .min_tokens = 40,
                      .temperature = 0.8F,
                      .top_k = 200,
                      .top_p = 0.95F,
                      .min_p = 1e-5F,
                      .seed = std::numeric_limits<uint64_t>::max() - 5,
                      .choice = 2};
  request.position_digests = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 7};
  return request;
}

// An engine with everything that a replay does not have, made once.
Engine& MakersEngine() {
  static const auto engine = Engine::Load({.model = NanoModel().string(),
                                           .with_mtp = true,
                                           .num_threads = 2,
                                           .context = 256,
                                           .max_sequences = 2});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return **engine;
}

const ModelIdentity& NanoIdentity() {
  static const ModelIdentity identity = *ReadModelIdentity(NanoModel().string(), 1);
  return identity;
}

Receipt Make(const Request& request) {
  const auto result = MakersEngine().Generate(request);
  EXPECT_TRUE(result.ok()) << result.status().message();
  auto receipt = MakeReceipt(MakersEngine().info(), NanoIdentity(), request, *result);
  EXPECT_TRUE(receipt.ok()) << receipt.status().message();
  return *receipt;
}

const Receipt& SampledReceipt() {
  static const Receipt receipt = Make(SampledRequest());
  return receipt;
}

Request GreedyRequest() {
  Request request;
  request.prompt_token_ids = {40, 41, 42};
  request.max_tokens = 24;
  request.ignore_eos = true;
  request.position_digests = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 7};
  return request;
}

const Receipt& GreedyReceipt() {
  static const Receipt receipt = Make(GreedyRequest());
  return receipt;
}

Receipt Parsed(const std::string& text) {
  auto receipt = ParseReceipt(text, "r.json");
  EXPECT_TRUE(receipt.ok()) << receipt.status().message();
  return receipt.ok() ? *receipt : Receipt();
}

ReplayOutcome Replay(const Receipt& receipt, const std::string& target = "scalar") {
  EngineOptions options = ReplayOptions(receipt, NanoModel().string());
  options.num_threads = 1;
  options.target = target;
  const auto engine = Engine::Load(options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_TRUE(CompareIdentity(receipt, NanoIdentity(), (*engine)->info()).empty());
  const auto outcome = ReplayReceipt(**engine, receipt, "r.json");
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : ReplayOutcome();
}

ReplayDifference Difference(const Receipt& receipt) {
  const ReplayOutcome outcome = Replay(receipt, "");
  EXPECT_TRUE(outcome.difference.has_value());
  return outcome.difference.value_or(ReplayDifference());
}

// Calls `visit` with a pointer to each field that is no object, "/request/max_tokens".
void VisitFields(const json& object, const json::json_pointer& at,
                 const std::function<void(const json::json_pointer&)>& visit) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      VisitFields(value, at / key, visit);
    } else {
      visit(at / key);
    }
  }
}

std::string DottedPath(const json::json_pointer& pointer) {
  std::string path = pointer.to_string().substr(1);
  std::ranges::replace(path, '/', '.');
  return path;
}

TEST(Receipt, ComesBackFromItsFileWithEveryField) {
  const Receipt& made = SampledReceipt();
  EXPECT_GT(made.origin.stats.accepted, 0);
  const std::string text = ReceiptJson(made);
  const Receipt read = Parsed(text);
  EXPECT_TRUE(read.edited.empty());
  EXPECT_EQ(ReceiptJson(read), text);
  const Request request = SampledRequest();
  EXPECT_EQ(read.prompt_token_ids, request.prompt_token_ids);
  EXPECT_EQ(read.stop, request.stop);
  EXPECT_EQ(read.sampling.seed, request.sampling.seed);
  EXPECT_EQ(read.sampling.temperature, request.sampling.temperature);
  EXPECT_EQ(read.sampling.min_p, request.sampling.min_p);
  EXPECT_EQ(read.sampling.logit_bias[0].bias, 1.25F);
  EXPECT_EQ(read.token_ids.size(), 40U);
  EXPECT_EQ(read.model, NanoIdentity());
  EXPECT_EQ(read.NumericsName(), "portable-1/kv-bf16");
  EXPECT_EQ(read.origin.speculation, "mtp");
  EXPECT_EQ(read.origin.threads, 2);
}

TEST(Receipt, FloatsComeBackBitForBit) {
  std::mt19937 random(1);
  for (int64_t i = 0; i < Sampled(200'000, 20'000); ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const auto back =
        FloatOfJsonNumber(json::parse(CanonicalJson(JsonNumber(value))).get<double>());
    ASSERT_TRUE(back.has_value()) << value;
    ASSERT_TRUE(*back == value) << value;  // -0 becomes 0
  }
  EXPECT_FALSE(FloatOfJsonNumber(1e300).has_value());
  EXPECT_FALSE(FloatOfJsonNumber(1e-300).has_value());
}

TEST(Receipt, AnotherSpellingIsNoEdit) {
  const json parsed = json::parse(ReceiptJson(SampledReceipt()));  // sorts the keys
  for (const int indent : {-1, 4}) EXPECT_TRUE(Parsed(parsed.dump(indent)).edited.empty());
  EXPECT_TRUE(Parsed(parsed.dump(-1, ' ', /*ensure_ascii=*/true)).edited.empty());
  // One of the floats, as a program may spell it.
  std::string text = ReceiptJson(GreedyReceipt());
  const size_t temperature = text.find("\"temperature\": 0");
  ASSERT_NE(temperature, std::string::npos);
  text.replace(temperature, 16, "\"temperature\": 0.0");
  EXPECT_TRUE(Parsed(text).edited.empty());
}

TEST(Receipt, EachEditedFieldIsNamed) {
  const json original = json::parse(ReceiptJson(SampledReceipt()));
  int fields = 0;
  VisitFields(original, json::json_pointer(), [&](const json::json_pointer& pointer) {
    const std::string path = DottedPath(pointer);
    if (path == "verbatim_receipt" || path.starts_with("checksums") || path == "receipt_sha256") {
      return;
    }
    SCOPED_TRACE(path);
    ++fields;
    json edited = original;
    json& value = edited[pointer];
    if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_number_float()) {
      value = value.get<double>() / 2;
    } else if (value.is_number()) {
      // Down, as the seed may be the largest; but nothing below what a field allows.
      value = value.get<uint64_t>() <= 1 ? 7 : value.get<uint64_t>() - 1;
    } else if (value.is_string()) {
      std::string text = value;
      if (path == "numerics.kv_type") {
        text = "f32";
      } else if (path == "output.finish_reason") {
        text = "stop";
      } else {
        text.back() = text.back() == 'a' ? 'b' : 'a';
      }
      value = text;
    } else if (path == "output.position_digests") {
      value[3] = "0123456789abcdef";
    } else if (path == "output.token_ids") {
      value[3] = value[3].get<int>() + 1;
    } else {
      ASSERT_TRUE(value.is_array());
      value = json::array();
    }
    EXPECT_EQ(Parsed(edited.dump()).edited, std::vector<std::string>{path});
    // Whoever changes the checksum with it changed the whole's digest.
    json ordered = edited;
    ordered.erase(kChecksums);
    nlohmann::ordered_json again = ordered;
    again.erase(kReceiptSha256);
    AddChecksums(&again);
    edited[kChecksums] = json(again)[kChecksums];
    EXPECT_EQ(Parsed(edited.dump()).edited, std::vector<std::string>{kReceiptSha256});
    edited[kReceiptSha256] = json(again)[kReceiptSha256];
    EXPECT_TRUE(Parsed(edited.dump()).edited.empty());  // the replay's to find
  });
  EXPECT_GT(fields, 40);
}

TEST(Receipt, EachMissingOrForeignFieldIsAnErrorThatNamesIt) {
  const json original = json::parse(ReceiptJson(SampledReceipt()));
  const auto check = [](const json& damaged, const std::string& name) {
    const auto receipt = ParseReceipt(damaged.dump(), "r.json");
    ASSERT_FALSE(receipt.ok()) << name;
    const std::string& message = receipt.status().message();
    EXPECT_EQ(receipt.status().code(), StatusCode::kCorrupt);
    EXPECT_TRUE(message.starts_with("[r.json")) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  VisitFields(original, json::json_pointer(), [&](const json::json_pointer& pointer) {
    const std::string path = DottedPath(pointer);
    if (path.starts_with("checksums")) return;
    if (path.starts_with("made_by.widths.")) return;  // a width may be absent
    SCOPED_TRACE(path);
    json damaged = original;
    damaged[pointer.parent_pointer()].erase(pointer.back());
    check(damaged, pointer.back());
    for (const json& wrong : {json(nullptr), json::object(), json(-1), json(1e300), json("\x1b[0m"),
                              json::array({-1}), json::array({nullptr}), json::array({1.5})}) {
      if (path.starts_with("request.sampling.") && wrong == -1) continue;  // the engine's to refuse
      damaged = original;
      damaged[pointer] = wrong;
      check(damaged, pointer.back());
    }
  });
  for (const char* section : {"", "/model", "/numerics", "/request", "/request/sampling", "/output",
                              "/made_by", "/made_by/widths"}) {
    json damaged = original;
    damaged[json::json_pointer(section)]["foreign"] = 1;
    check(damaged, "foreign");
    if (*section == 0) continue;
    damaged = original;
    damaged[json::json_pointer(section)] = 5;
    check(damaged, json::json_pointer(section).back());
  }
  json damaged = original;
  damaged["output"]["token_ids"].erase(0);
  check(damaged, "position_digests");
}

TEST(Receipt, AHostileFileIsOneError) {
  const std::string text = ReceiptJson(GreedyReceipt());
  for (size_t size = 0; size + 2 < text.size(); size += 53) {
    const auto cut = ParseReceipt(text.substr(0, size), "r.json");
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.status().code(), StatusCode::kCorrupt);
  }
  for (const std::string& foreign :
       {std::string("[]"), std::string("null"), std::string("{}"), std::string(100'000, '['),
        R"({"verbatim_receipt": 1, "verbatim_receipt": 1})" + std::string(), "\xff" + text}) {
    EXPECT_EQ(ParseReceipt(foreign, "r.json").status().code(), StatusCode::kCorrupt);
  }
  json later = json::parse(text);
  later["verbatim_receipt"] = 2;
  EXPECT_EQ(ParseReceipt(later.dump(), "r.json").status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(ReadReceipt("/nowhere/at/all.json").status().code(), StatusCode::kNotFound);
}

TEST(Receipt, WhatCanNotBeInOneIsRefused) {
  Request request = GreedyRequest();
  auto result = MakersEngine().Generate(request);
  ASSERT_TRUE(result.ok());
  const auto make = [&] {
    return MakeReceipt(MakersEngine().info(), NanoIdentity(), request, *result).status().code();
  };
  result->finish_reason = FinishReason::kCancelled;
  EXPECT_EQ(make(), StatusCode::kInvalidArgument);
  result->finish_reason = FinishReason::kLength;
  result->position_digests.pop_back();
  EXPECT_EQ(make(), StatusCode::kInvalidArgument);
  request.stop = {"\xff"};
  EXPECT_EQ(CheckReceiptRequest(request).code(), StatusCode::kInvalidArgument);
  request.stop = {};
  request.sampling.banned_strings = {"a\xc3"};
  EXPECT_EQ(CheckReceiptRequest(request).code(), StatusCode::kInvalidArgument);
}

TEST(Receipt, ReplayOfSpeculationWithNeighboursAndSamplingIsEqual) {
  // Two requests at once, each in blocks of eight rows, two threads, the best instruction set.
  Engine& engine = MakersEngine();
  std::vector<RequestId> ids;
  std::vector<Request> requests = {SampledRequest(), GreedyRequest()};
  for (const Request& request : requests) ids.push_back(*engine.Submit(request));
  while (engine.Step()) {
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto result = engine.TakeResult(ids[i]);
    ASSERT_TRUE(result.ok());
    EXPECT_GT(result->speculation.accepted, 0);
    const auto receipt = MakeReceipt(engine.info(), NanoIdentity(), requests[i], *result);
    ASSERT_TRUE(receipt.ok());
    const ReplayOutcome outcome = Replay(Parsed(ReceiptJson(*receipt)));
    EXPECT_FALSE(outcome.difference.has_value());
    EXPECT_EQ(outcome.positions_equal, static_cast<int64_t>(result->token_ids.size()));
  }
}

TEST(Receipt, ReplayOfEveryKindOfEndIsEqual) {
  Request request = GreedyRequest();
  request.max_tokens = 1;
  EXPECT_FALSE(Replay(Make(request)).difference.has_value());
  request = GreedyRequest();
  request.max_tokens = 1'000'000;  // ends with the context
  const Receipt full = Make(request);
  EXPECT_EQ(full.token_ids.size(), 253U);
  EXPECT_FALSE(Replay(full, "").difference.has_value());
  // At a stop string: what the third token says.
  const auto text = MakersEngine().Detokenize(std::span(full.token_ids).subspan(2, 1));
  ASSERT_TRUE(text.ok() && !text->empty());
  request.stop = {*text};
  const Receipt stopped = Make(request);
  EXPECT_EQ(stopped.finish_reason, FinishReason::kStop);
  EXPECT_LE(stopped.token_ids.size(), 3U);
  EXPECT_FALSE(Replay(stopped).difference.has_value());
}

TEST(Receipt, ReplayNamesTheFirstDifferingPositionAndHow) {
  using Kind = ReplayDifference::Kind;
  Receipt receipt = GreedyReceipt();
  const int32_t token = receipt.token_ids[9];
  receipt.token_ids[9] = token + 1;
  ReplayDifference difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kToken);
  EXPECT_EQ(difference.position, 9);
  EXPECT_EQ(difference.receipt_token, token + 1);
  EXPECT_EQ(difference.replay_token, token);

  receipt = GreedyReceipt();
  receipt.position_digests[4] = "0000000000000000";
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kLogits);
  EXPECT_EQ(difference.position, 4);
  EXPECT_EQ(difference.replay_says, GreedyReceipt().position_digests[4]);

  receipt = GreedyReceipt();
  receipt.logits_sha256.back() = receipt.logits_sha256.back() == '0' ? '1' : '0';
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kLogits);
  EXPECT_EQ(difference.position, 23);

  receipt = GreedyReceipt();
  receipt.prompt_token_ids[1] = 77;
  difference = Difference(receipt);
  EXPECT_TRUE(difference.kind == Kind::kLogits || difference.kind == Kind::kTokenAndLogits);
  EXPECT_EQ(difference.position, 0);

  receipt = GreedyReceipt();
  receipt.token_ids.resize(20);
  receipt.position_digests.resize(20);
  receipt.logits_sha256 = receipt.position_digests.back() + receipt.logits_sha256.substr(16);
  // The full digest of position 19 is not in the receipt: a cut one shows there already.
  EXPECT_EQ(Difference(receipt).position, 19);

  receipt = GreedyReceipt();
  receipt.finish_reason = FinishReason::kStop;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kFinishReason);
  EXPECT_EQ(difference.receipt_says, "stop");
  EXPECT_EQ(difference.replay_says, "length");

  receipt = GreedyReceipt();
  receipt.max_tokens = 23;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kReplayEnds);
  EXPECT_EQ(difference.position, 23);

  receipt = GreedyReceipt();
  receipt.max_tokens = 25;
  difference = Difference(receipt);
  EXPECT_EQ(difference.kind, Kind::kReplayGoesOn);
  EXPECT_EQ(difference.position, 24);
  EXPECT_FALSE(difference.receipt_token.has_value());

  receipt = GreedyReceipt();
  for (int32_t id = 0; id < 1024; ++id) receipt.sampling.banned_token_ids.push_back(id);
  EXPECT_EQ(Difference(receipt).kind, Kind::kReplayFails);
}

TEST(Receipt, ChangedSamplingParametersLeadToAnotherChoice) {
  const std::vector<std::function<void(SamplingOptions&)>> changes = {
      [](SamplingOptions& sampling) { sampling.seed += 1; },
      [](SamplingOptions& sampling) { sampling.choice += 1; },
      [](SamplingOptions& sampling) { sampling.temperature = 0; },
      [](SamplingOptions& sampling) { sampling.logit_bias = {{3, 100}}; },
      [](SamplingOptions& sampling) {
        sampling.banned_token_ids = {SampledReceipt().token_ids[0]};
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    Receipt receipt = SampledReceipt();
    changes[i](receipt.sampling);
    EXPECT_EQ(Difference(receipt).kind, ReplayDifference::Kind::kToken);
  }
}

TEST(Receipt, ARequestThatTheModelRefusesIsAnError) {
  const auto engine = Engine::Load(ReplayOptions(GreedyReceipt(), NanoModel().string()));
  ASSERT_TRUE(engine.ok());
  Receipt receipt = GreedyReceipt();
  receipt.sampling.top_p = 7;
  const auto outcome = ReplayReceipt(**engine, receipt, "r.json");
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(outcome.status().message().find("[r.json]"), std::string::npos);
  EXPECT_NE(outcome.status().message().find("top_p"), std::string::npos);
  const auto stopped =
      ReplayReceipt(**engine, GreedyReceipt(), "r.json", [](int64_t tokens) { return tokens < 5; });
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->cancelled);
}

TEST(Receipt, MismatchesAreNamed) {
  const EngineInfo& info = MakersEngine().info();
  EXPECT_TRUE(CompareIdentity(GreedyReceipt(), NanoIdentity(), info).empty());
  Receipt receipt = GreedyReceipt();
  receipt.model.model_sha256[0] ^= 1;
  receipt.model.config_sha256[0] ^= 1;
  receipt.model.tokenizer_sha256[0] ^= 1;
  receipt.numerics_version = 2;
  receipt.eos_token_ids = {1};
  std::vector<std::string> names;
  for (const auto& mismatch : CompareIdentity(receipt, NanoIdentity(), info)) {
    names.push_back(mismatch.what);
    EXPECT_NE(mismatch.in_receipt, mismatch.here);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"weights", "config", "tokenizer", "numerics",
                                             "eos_token_ids"}));
}

}  // namespace
}  // namespace verbatim::testing

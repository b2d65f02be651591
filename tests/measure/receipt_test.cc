// Receipts: their file, and what an edit of any field does. Not the replay (receipt_replay_test.cc)
// and not the program (tests/cli/test_receipt.py).
#include "measure/receipt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "measure/canonical_json.h"
#include "measure/receipt_checksums.h"
#include "tests/measure/receipt_test_util.h"
#include "tests/support/sample_size.h"

namespace verbatim::testing {
namespace {

using nlohmann::json;

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
  EXPECT_EQ(read.sampling.repetition_penalty, request.sampling.repetition_penalty);
  EXPECT_EQ(read.sampling.frequency_penalty, request.sampling.frequency_penalty);
  EXPECT_EQ(read.sampling.presence_penalty, request.sampling.presence_penalty);
  EXPECT_EQ(read.sampling.banned_token_ids, request.sampling.banned_token_ids);
  EXPECT_EQ(read.sampling.banned_strings, request.sampling.banned_strings);
  EXPECT_EQ(read.sampling.min_tokens, request.sampling.min_tokens);
  EXPECT_EQ(read.sampling.temperature, request.sampling.temperature);
  EXPECT_EQ(read.sampling.top_k, request.sampling.top_k);
  EXPECT_EQ(read.sampling.top_p, request.sampling.top_p);
  EXPECT_EQ(read.sampling.min_p, request.sampling.min_p);
  EXPECT_EQ(read.sampling.seed, request.sampling.seed);
  EXPECT_EQ(read.sampling.choice, request.sampling.choice);
  ASSERT_EQ(read.sampling.logit_bias.size(), 2U);
  EXPECT_EQ(read.sampling.logit_bias[0].token_id, 3);
  EXPECT_EQ(read.sampling.logit_bias[0].bias, 1.25F);
  EXPECT_EQ(read.max_tokens, request.max_tokens);
  EXPECT_EQ(read.context, 256);
  EXPECT_EQ(read.ignore_eos, request.ignore_eos);
  EXPECT_EQ(read.eos_token_ids, MakersEngine().info().eos_token_ids);
  EXPECT_EQ(read.token_ids, made.token_ids);
  EXPECT_EQ(read.position_digests, made.position_digests);
  EXPECT_EQ(read.finish_reason, made.finish_reason);
  EXPECT_EQ(read.token_ids.size(), 40U);
  EXPECT_EQ(read.model, NanoIdentity());
  EXPECT_EQ(read.NumericsName(), "portable-1/kv-bf16");
  EXPECT_EQ(read.origin.speculation, "mtp");
  EXPECT_EQ(read.origin.threads, 2);
}

TEST(Receipt, AConstraintComesBackAndIsAbsentWhereThereIsNone) {
  const std::string text = ReceiptJson(ConstrainedReceipt());
  const Receipt read = Parsed(text);
  EXPECT_TRUE(read.edited.empty());
  EXPECT_EQ(ReceiptJson(read), text);
  const ConstraintOptions asked = ConstrainedRequest().constraint;
  EXPECT_EQ(read.constraint.kind, asked.kind);
  EXPECT_EQ(read.constraint.text, asked.text);
  EXPECT_EQ(read.constraint.begin_after, asked.begin_after);
  EXPECT_FALSE(json::parse(ReceiptJson(GreedyReceipt()))["request"].contains("constraint"));
  EXPECT_EQ(Parsed(ReceiptJson(GreedyReceipt())).constraint.kind, ConstraintKind::kNone);
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

class ReceiptFields : public ::testing::TestWithParam<const Receipt& (*)()> {};
INSTANTIATE_TEST_SUITE_P(Of, ReceiptFields, ::testing::Values(&SampledReceipt, &ConstrainedReceipt),
                         [](const auto& of) { return of.index == 0 ? "Sampled" : "Constrained"; });

TEST_P(ReceiptFields, EachEditedOneIsNamed) {
  const json original = json::parse(ReceiptJson(GetParam()()));
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
        text = text == "stop" ? "length" : "stop";
      } else if (path == "request.constraint.kind") {
        text = "grammar";
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
      value = value.empty() ? json::array({path.ends_with("ids") ? json(4) : json("a")})
                            : json::array();
      if (path == "request.sampling.logit_bias") {
        value = json::array({{{"token_id", 4}, {"bias", 0.5}}});
      }
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

TEST_P(ReceiptFields, EachMissingOrForeignOneIsAnErrorThatNamesIt) {
  const json original = json::parse(ReceiptJson(GetParam()()));
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
      if (path == "request.constraint.text" && wrong.is_string()) continue;  // so is that
      damaged = original;
      damaged[pointer] = wrong;
      check(damaged, pointer.back());
    }
  });
  for (const char* section : {"", "/model", "/numerics", "/request", "/request/sampling",
                              "/request/constraint", "/output", "/made_by", "/made_by/widths"}) {
    if (!original.contains(json::json_pointer(section))) continue;
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
  request.sampling.banned_strings = {};
  request.constraint = {.kind = ConstraintKind::kGrammar, .text = "start: \"\xff\""};
  EXPECT_EQ(CheckReceiptRequest(request).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace verbatim::testing

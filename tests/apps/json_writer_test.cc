// JSON text: structure, escaping, and floats that read back as the same bits.
#include "apps/verbatim/json_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace verbatim::cli {
namespace {

std::string FloatText(float value) { return JsonWriter().Float(value).Take(); }

TEST(JsonWriterTest, NestsWithCommas) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a").Integer(-1);
  json.Key("b").BeginArray().Bool(true).Null().BeginArray().EndArray().EndArray();
  json.Key("c").BeginObject().EndObject();
  json.Key("d").String("x");
  json.EndObject();
  EXPECT_EQ(json.Take(), R"({"a": -1, "b": [true, null, []], "c": {}, "d": "x"})");
}

TEST(JsonWriterTest, EscapesAndReplaces) {
  EXPECT_EQ(JsonWriter().String("a\"\\\n\x01é").Take(), "\"a\\\"\\\\\\n\\u0001é\"");
  EXPECT_EQ(JsonWriter().String("a\xff").Take(), "\"a\xef\xbf\xbd\"");
}

TEST(JsonWriterTest, ShortestFloats) {
  EXPECT_EQ(FloatText(0.1f), "0.1");
  EXPECT_EQ(FloatText(1.0f), "1.0");
  EXPECT_EQ(FloatText(-0.0f), "-0.0");
  EXPECT_EQ(FloatText(std::numeric_limits<float>::infinity()), "null");
  EXPECT_EQ(FloatText(std::nanf("")), "null");
  EXPECT_EQ(JsonWriter().Double(0.1).Take(), "0.1");
  EXPECT_EQ(JsonWriter().Rounded(1.23456).Take(), "1.235");
  EXPECT_EQ(JsonWriter().Rounded(std::nan("")).Take(), "null");
}

TEST(JsonWriterTest, FloatsRoundTrip) {
  // Every 65,537th bit pattern: all exponents, about 65,000 values.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 65537) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(value)) continue;
    const std::string text = FloatText(value);
    const float back = std::strtof(text.c_str(), nullptr);
    ASSERT_EQ(std::bit_cast<uint32_t>(back), static_cast<uint32_t>(bits)) << text;
    // A reader that parses to binary64 and then narrows gets it too.
    ASSERT_EQ(static_cast<float>(nlohmann::json::parse(text).get<double>()), value) << text;
  }
}

TEST(JsonWriterTest, TakeEmptiesTheWriter) {
  JsonWriter json;
  EXPECT_EQ(json.Integer(1).Take(), "1");
  EXPECT_EQ(json.Integer(2).Take(), "2");
}

TEST(JsonWriterDeathTest, UnbalancedIsABrokenInvariant) {
  EXPECT_DEATH(JsonWriter().BeginObject().Take(), "broken invariant");
  EXPECT_DEATH(JsonWriter().EndArray(), "broken invariant");
}

}  // namespace
}  // namespace verbatim::cli

// One test per fault of a .safetensors file, mutations of every byte of a small one, and the
// writer.
#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/expect_error.h"
#include "checkpoint/json.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/synthetic.h"

namespace verbatim {
namespace {

using testing::ExpectError;
using testing::ReadFile;
using testing::SafetensorsBytes;
using testing::SafetensorsText;
using testing::TempFolder;
using testing::TensorMap;

Expected<SafetensorsFile> Parse(const std::string& bytes) {
  return SafetensorsFile::Parse(std::as_bytes(std::span(bytes)), "a.safetensors");
}

TensorMap TwoTensors() {
  return {{"x", {"F32", {1, 2}, "01234567"}}, {"y", {"BF16", {3}, "abcdef"}}};
}

// A header with one tensor entry per argument.
Expected<SafetensorsFile> ParseHeader(const std::string& header, size_t data_bytes) {
  static std::string bytes;  // the result views it
  bytes = SafetensorsText(header, std::string(data_bytes, 'd'));
  return Parse(bytes);
}

std::string Entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

std::string Header(std::initializer_list<std::string> entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const std::string header =
      Header({R"("__metadata__":{"format":"pt"})", Entry("x", "F32", "[2]", "[0,8]"),
              Entry("empty", "BF16", "[0,4]", "[8,8]"), Entry("scalar", "U8", "[]", "[8,9]")});
  const std::string bytes = SafetensorsText(fmt::format("{}   ", header), "012345678");
  const auto file = Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata().at("format"), "pt");
  const TensorInfo& x = file->tensors().at("x");
  EXPECT_EQ(x.dtype, "F32");
  EXPECT_EQ(x.shape, std::vector<int64_t>{2});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(x.data.data()), x.data.size()), "01234567");
  EXPECT_TRUE(file->tensors().at("empty").data.empty());
  EXPECT_EQ(file->tensors().at("scalar").data.size(), 1u);
}

TEST(Safetensors, EmptyFile) {
  ExpectError(Parse(""), StatusCode::kCorrupt, {"a.safetensors", "at least 8 bytes", "0 bytes"});
}

TEST(Safetensors, AbsurdHeaderLength) {
  ExpectError(Parse(std::string(16, '\xff')), StatusCode::kCorrupt,
              {"a.safetensors", "at most 100000000 bytes", "18446744073709551615"});
}

TEST(Safetensors, HeaderLongerThanFile) {
  std::string bytes(12, '\0');
  bytes[0] = 100;
  ExpectError(Parse(bytes), StatusCode::kCorrupt, {"a header of 100 bytes", "4 bytes after"});
}

TEST(Safetensors, HeaderIsNotJson) {
  ExpectError(ParseHeader("{\"x\":", 0), StatusCode::kCorrupt, {"header", "valid JSON", "byte 6"});
}

TEST(Safetensors, HeaderIsNotAnObject) {
  ExpectError(ParseHeader("[1]", 0), StatusCode::kCorrupt, {"header", "a JSON object"});
}

TEST(Safetensors, HeaderNestsTooDeep) {
  ExpectError(ParseHeader("{\"x\":{\"shape\":[[1]]}}", 0), StatusCode::kCorrupt, {"3 levels deep"});
}

TEST(Safetensors, DuplicateTensorName) {
  ExpectError(
      ParseHeader(Header({Entry("x", "U8", "[1]", "[0,1]"), Entry("x", "U8", "[1]", "[1,2]")}), 2),
      StatusCode::kCorrupt, {"key \"x\" twice"});
}

TEST(Safetensors, TruncatedData) {
  std::string bytes = SafetensorsBytes(TwoTensors());
  bytes.pop_back();
  ExpectError(Parse(bytes), StatusCode::kCorrupt, {"a.safetensors: y", "13 data bytes", "[8, 14]"});
}

TEST(Safetensors, OversizedFile) {
  ExpectError(Parse(SafetensorsBytes(TwoTensors()) + "!"), StatusCode::kCorrupt,
              {"cover all 15 data bytes", "14 bytes covered"});
}

TEST(Safetensors, OverlappingTensors) {
  ExpectError(
      ParseHeader(Header({Entry("x", "U8", "[4]", "[0,4]"), Entry("y", "U8", "[4]", "[2,6]")}), 6),
      StatusCode::kCorrupt, {"a.safetensors: y", "byte 4", "byte 2 (overlap)"});
}

TEST(Safetensors, HoleBetweenTensors) {
  ExpectError(
      ParseHeader(Header({Entry("x", "U8", "[2]", "[0,2]"), Entry("y", "U8", "[2]", "[3,5]")}), 5),
      StatusCode::kCorrupt, {"a.safetensors: y", "byte 3 (a hole)"});
}

TEST(Safetensors, ShapeContradictsOffsets) {
  ExpectError(ParseHeader(Header({Entry("x", "F32", "[3]", "[0,8]")}), 8), StatusCode::kCorrupt,
              {"a.safetensors: x", "12 bytes for [3] of F32", "received 8"});
}

TEST(Safetensors, ShapeOverflows) {
  const std::string big = "9223372036854775807";
  ExpectError(ParseHeader(Header({Entry("x", "F32", fmt::format("[{0},{0}]", big), "[0,8]")}), 8),
              StatusCode::kCorrupt, {"a.safetensors: x", "fits 64 bits"});
}

TEST(Safetensors, OffsetsOutOfOrder) {
  ExpectError(ParseHeader(Header({Entry("x", "U8", "[2]", "[2,0]")}), 2), StatusCode::kCorrupt,
              {"a.safetensors: x", "data_offsets within", "[2, 0]"});
}

TEST(Safetensors, NegativeDimension) {
  ExpectError(ParseHeader(Header({Entry("x", "U8", "[-1]", "[0,1]")}), 1), StatusCode::kCorrupt,
              {"a.safetensors: x", "whole dimensions", "[-1]"});
}

TEST(Safetensors, UnknownDtype) {
  ExpectError(ParseHeader(Header({Entry("x", "Q4", "[2]", "[0,2]")}), 2), StatusCode::kCorrupt,
              {"a.safetensors: x", "a dtype", "Q4"});
}

TEST(Safetensors, MissingField) {
  ExpectError(ParseHeader("{\"x\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1), StatusCode::kCorrupt,
              {"a.safetensors: x", "a \"data_offsets\"", "none"});
}

TEST(Safetensors, MetadataOfWrongType) {
  ExpectError(ParseHeader("{\"__metadata__\":{\"n\":1}}", 0), StatusCode::kCorrupt,
              {"__metadata__", "\"n\"", "a string"});
}

// Whatever is cut off, the file is refused with a named fault.
TEST(SafetensorsMutation, TruncationAtEveryByte) {
  const std::string whole = SafetensorsBytes(TwoTensors());
  ASSERT_TRUE(Parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    ExpectError(Parse(cut), StatusCode::kCorrupt, {"a.safetensors"});
  }
}

// Every byte replaced by others, bit flips included: refused with a named fault, or read as some
// other valid file whose views stay inside it. Never a crash (the sanitizer builds run this too).
TEST(SafetensorsMutation, EveryByteReplaced) {
  const std::string whole = SafetensorsBytes(TwoTensors());
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const int here = static_cast<unsigned char>(whole[i]);
    for (const int value :
         std::initializer_list<int>{0, 1, '0', '9', '"', '{', '}', '[', ',', '-', 0x7f, 0x80, 0xff,
                                    here ^ 1, here ^ 0x20, here ^ 0x80}) {
      std::string mutated = whole;
      mutated[i] = static_cast<char>(value);
      const auto file = Parse(mutated);
      if (!file.ok()) {
        ++refused;
        ExpectError(file, StatusCode::kCorrupt, {"a.safetensors"});
        continue;
      }
      size_t total = 0;
      for (const auto& [name, tensor] : file->tensors()) {
        total += tensor.data.size();
        ASSERT_GE(reinterpret_cast<const char*>(tensor.data.data()), mutated.data());
        ASSERT_LE(reinterpret_cast<const char*>(tensor.data.data()) + tensor.data.size(),
                  mutated.data() + mutated.size());
      }
      EXPECT_EQ(total, 14u);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TempFolder folder;
  const auto path = folder.path() / "out.safetensors";
  const std::string x = "01234567";
  const std::vector<TensorToWrite> tensors = {
      {"b",
       "F32",
       {1, 2},
       [&](const ByteSink& sink) -> Status {  // in two pieces
         VERBATIM_RETURN_IF_ERROR(sink(std::as_bytes(std::span(x).subspan(0, 3))));
         return sink(std::as_bytes(std::span(x).subspan(3)));
       }},
      TensorFromBytes("a", "U8", {8}, std::as_bytes(std::span(x)))};
  ASSERT_TRUE(WriteSafetensors(path, tensors, {{"format", "pt"}}).ok());
  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->tensors().size(), 2u);
  for (const auto& [name, tensor] : file->tensors()) {
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensor.data.data()), 8), x) << name;
  }
  // In the given order, and the data aligned to 8 bytes.
  EXPECT_LT(file->tensors().at("b").data.data(), file->tensors().at("a").data.data());
  const std::string bytes = ReadFile(path);
  EXPECT_EQ(bytes.size() % 8, 0u);
  ASSERT_TRUE(WriteSafetensors(folder.path() / "again", tensors, {{"format", "pt"}}).ok());
  EXPECT_EQ(ReadFile(folder.path() / "again"), bytes);
}

TEST(SafetensorsWriter, RefusesAWrongSizeAndLeavesNoFile) {
  const TempFolder folder;
  const std::string x = "0123";
  const auto bytes = std::as_bytes(std::span(x));
  const auto path = folder.path() / "out.safetensors";
  ExpectError(WriteSafetensors(path, {TensorFromBytes("x", "F32", {2}, bytes)}, {}),
              StatusCode::kInvalidArgument, {"[x]", "8 bytes", "received 4"});
  ExpectError(WriteSafetensors(path, {TensorFromBytes("x", "Q4", {2}, bytes)}, {}),
              StatusCode::kInvalidArgument, {"[x]", "Q4"});
  ExpectError(
      WriteSafetensors(
          path, {TensorFromBytes("x", "U8", {4}, bytes), TensorFromBytes("x", "U8", {4}, bytes)},
          {}),
      StatusCode::kInvalidArgument, {"[x]", "each tensor name once"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Json, LimitsAndTypes) {
  ExpectError(ParseJson("[1,2,3]", "f", {.max_depth = 4, .max_values = 3}), StatusCode::kCorrupt,
              {"[f]", "at most 3 JSON values"});
  ExpectError(ParseJson(std::string(1000, '['), "f"), StatusCode::kCorrupt, {"16 levels deep"});
  const auto json =
      ParseJson(R"({"i":5,"big":18446744073709551615,"f":1.5,"s":"x","n":null})", "f");
  ASSERT_TRUE(json.ok());
  const JsonFields fields(*json, "f");
  EXPECT_EQ(*fields.Integer("i", 0, 5), 5);
  EXPECT_FALSE(fields.Has("n"));
  ExpectError(fields.Integer("i", 0, 4), StatusCode::kCorrupt, {"[f: i]", "0 to 4", "received 5"});
  ExpectError(fields.Integer("big", 0, INT64_MAX), StatusCode::kCorrupt, {"[f: big]"});
  ExpectError(fields.Integer("f", 0, 9), StatusCode::kCorrupt, {"1.5"});
  ExpectError(fields.Integer("none", 0, 9), StatusCode::kCorrupt, {"no such key"});
  ExpectError(fields.Number("s"), StatusCode::kCorrupt, {"a number"});
  ExpectError(fields.Bool("s"), StatusCode::kCorrupt, {"true or false"});
  ExpectError(fields.Object("s"), StatusCode::kCorrupt, {"an object"});
}

}  // namespace
}  // namespace verbatim

// The weights' file with one fault at a time, so that it is no valid file: header fields, header
// bytes, cuts. Never a crash, always an error. Valid files that do not fit are mutation_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "checkpoint/mutation_support.h"
#include "support/json_mutations.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;
using testing::ExpectFault;
using testing::Folder;
using testing::JsonMutation;
using testing::Model;
using testing::ModelSpec;
using testing::ReportLoads;
using testing::SafetensorsText;
using testing::SmallSpec;

struct File {
  std::string header;
  std::string data;
  std::string bytes() const { return SafetensorsText(header, data); }
};

File Split(const std::string& bytes) {
  size_t size = 0;
  for (size_t i = 0; i < 8; ++i) size |= size_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  return {bytes.substr(8, size), bytes.substr(8 + size)};
}

class FileMutationTest : public ::testing::Test {
 protected:
  Status Load(const std::string& bytes) {
    return folder_.Load(model_.config.dump(), model_.generation.dump(), bytes);
  }
  void ExpectRefused(const std::string& bytes, const std::string& what,
                     const std::vector<std::string>& parts = {"model.safetensors"}) {
    const Status status = Load(bytes);
    EXPECT_FALSE(status.ok()) << what << " loads";
    if (!status.ok()) ExpectFault(status, parts, what);
  }
  void TearDown() override { ReportLoads(folder_); }

  static Model TwoLayers() {
    ModelSpec spec = SmallSpec();
    spec.layer_types = "lf";  // a shorter header
    return {.config = testing::ConfigJson(spec), .tensors = testing::RawTensors(spec)};
  }

  const Model model_ = TwoLayers();
  const std::string bytes_ = testing::SafetensorsBytes(model_.tensors);
  const File file_ = Split(bytes_);
  Folder folder_;
};

// dtype, shape, offsets of every tensor, each with every mutant.
TEST_F(FileMutationTest, HeaderFields) {
  testing::ForEachJsonMutation(ordered_json::parse(file_.header), [&](const JsonMutation& m) {
    const std::string bytes = SafetensorsText(m.text, file_.data);
    // The tensor's name, unless the text is no JSON. Of a key that is gone the rest may be named
    // first: the data it covered, and the tensor that it was.
    std::vector<std::string> parts = {"model.safetensors"};
    const std::string name = m.path.substr(0, m.path.find(".weight") + 7);
    const Status status = Load(bytes);
    ASSERT_FALSE(status.ok()) << m.path << " = " << m.what << " loads";
    const bool syntax = status.message().find("a syntax error at byte") != std::string::npos;
    const bool named = model_.tensors.contains(name) && m.path != name && m.what != "twice";
    if (!syntax && named) parts.push_back(name);
    if (m.what == "twice") parts.push_back(m.key);
    ExpectFault(status, parts, m.path + " = " + m.what);
  });
}

TEST_F(FileMutationTest, HeaderLength) {
  const uint64_t size = file_.header.size();
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, size / 2, size - 1, size + 1, size + 8, bytes_.size() - 8,
        uint64_t{bytes_.size()}, bytes_.size() + 8, uint64_t{1} << 31, uint64_t{1} << 32,
        uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::string bytes = bytes_;
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i));
    ExpectRefused(bytes, fmt::format("length {}", length));
  }
}

// Each byte of the header with a bit flipped, or replaced by what has a meaning in JSON.
TEST_F(FileMutationTest, HeaderBytes) {
  for (size_t at = 0; at < file_.header.size(); ++at) {
    const char flipped = static_cast<char>(file_.header[at] ^ (1 << (at / 4 % 8)));
    const char with = std::array{flipped, '"', '0', '}'}[at % 4];
    if (with == file_.header[at]) continue;
    File changed = file_;
    changed.header[at] = with;
    // A changed name may be missed under its canonical name, in the folder.
    ExpectRefused(changed.bytes(), fmt::format("byte {} = {}", at, int{with}), {});
  }
}

TEST_F(FileMutationTest, Truncations) {
  const size_t data_begin = bytes_.size() - file_.data.size();
  std::set<size_t> cuts;
  for (size_t at = 0; at < data_begin; at += 3) cuts.insert(at);
  const ordered_json header = ordered_json::parse(file_.header);
  for (const auto& [name, entry] : header.items()) {
    for (const auto& offset : entry["data_offsets"]) {
      for (const int delta : {-1, 0, 1}) cuts.insert(data_begin + offset.get<size_t>() + delta);
    }
  }
  for (const size_t cut : cuts) {
    if (cut < bytes_.size()) ExpectRefused(bytes_.substr(0, cut), fmt::format("cut at {}", cut));
  }
  ExpectRefused(bytes_ + '\0', "a byte too many");
  ExpectRefused("", "empty");
}

}  // namespace
}  // namespace verbatim

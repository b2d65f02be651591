// ChatTemplate byte for byte against Hugging Face's renderings, its choice of template, and hostile
// templates. Not the templates of any published model.
#include "text/chat_template.h"

#include <unistd.h>

#include <thread>

#include "base/file_writer.h"
#include "tests/text/text_test_support.h"

namespace verbatim {
namespace {

using nlohmann::ordered_json;
using text_test::ReadFile;
using text_test::ReadGolden;

const ordered_json kUser = ordered_json::parse(R"([{"role": "user", "content": "Hi"}])");

class TemplateGoldens : public testing::TestWithParam<const char*> {};

TEST_P(TemplateGoldens, RenderAsTheReference) {
  const std::string name = GetParam();
  const auto golden = ReadGolden("template_" + name + ".json");
  const auto path = text_test::SourceDir() / "tests/goldens/text/templates" / (name + ".jinja");
  const auto loaded = ChatTemplate::FromSource(
      ReadFile(path), {{"eos_token", "<|im_end|>"}, {"pad_token", "<|endoftext|>"}}, name);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::tm now{};
  now.tm_year = golden["now"][0].get<int>() - 1900;
  now.tm_mon = golden["now"][1].get<int>() - 1;
  now.tm_mday = golden["now"][2];
  now.tm_hour = golden["now"][3];
  now.tm_min = golden["now"][4];
  now.tm_sec = golden["now"][5];
  now.tm_isdst = -1;
  std::mktime(&now);  // the day of the week
  int errors = 0;
  for (const auto& item : golden["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    ChatTemplateOptions options;
    options.now = now;
    options.tools = item.value("tools", ordered_json());
    options.kwargs = item.value("kwargs", ordered_json());
    options.add_generation_prompt = item.value("add_generation_prompt", true);
    if (item.contains("enable_thinking")) options.enable_thinking = item["enable_thinking"];
    const auto text = loaded->Render(item["messages"], options);
    if (item.contains("text")) {
      ASSERT_TRUE(text.ok()) << text.status().message();
      EXPECT_EQ(*text, item["text"].get<std::string>());
      continue;
    }
    ++errors;
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
    if (item["raised"]) {  // raise_exception: the template's own sentence
      EXPECT_NE(text.status().message().find(item["error"].get<std::string>()), std::string::npos)
          << text.status().message();
    }
  }
  EXPECT_GE(golden["cases"].size(), 20u);
  EXPECT_GE(errors, 1);
}

INSTANTIATE_TEST_SUITE_P(Templates, TemplateGoldens,
                         testing::Values("qwen35_like", "qwen35_small_like", "semantics"),
                         [](const auto& param) { return std::string(param.param); });

TEST(ChatTemplateTest, ThinkingDefaultIsTheTemplatesOwn) {  // qwen3_5.md pitfalls 44, 51, 52
  const auto prompt = [](const char* name, std::optional<bool> thinking) {
    const auto path = text_test::SourceDir() / "tests/goldens/text/templates" / name;
    const auto loaded = ChatTemplate::FromSource(ReadFile(path), nullptr, name);
    EXPECT_TRUE(loaded.ok());
    ChatTemplateOptions options;
    options.enable_thinking = thinking;
    return *loaded->Render(kUser, options);
  };
  const std::string head = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  const std::string on = head + "<think>\n";
  const std::string off = head + "<think>\n\n</think>\n\n";
  EXPECT_EQ(prompt("qwen35_like.jinja", std::nullopt), on);
  EXPECT_EQ(prompt("qwen35_like.jinja", false), off);
  EXPECT_EQ(prompt("qwen35_small_like.jinja", std::nullopt), off);
  EXPECT_EQ(prompt("qwen35_small_like.jinja", true), on);
}

TEST(ChatTemplateTest, ModelsOfTheRepositoryHaveOne) {
  for (const auto& folder : {text_test::NanoFolder(), text_test::TinyFolder()}) {
    const auto loaded = ChatTemplate::Load(folder);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(*loaded->Render(kUser, {}),
              "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  }
}

class ChatTemplateFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::temp_directory_path() /
        (std::string("verbatim_chat_template_") + info->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const char* name, std::string_view text) {
    auto file = FileWriter::Create(folder_ / name);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write(text).ok());
    ASSERT_TRUE(file->Commit().ok());
  }
  std::string RenderOrError(const ChatTemplateOptions& options = {}) {
    const auto loaded = ChatTemplate::Load(folder_);
    if (!loaded.ok()) return std::string(StatusCodeName(loaded.status().code()));
    const auto text = loaded->Render(kUser, options);
    return text.ok() ? *text : std::string(StatusCodeName(text.status().code()));
  }

  std::filesystem::path folder_;
};

TEST_F(ChatTemplateFolder, NoneIsAnErrorAtUse) {
  EXPECT_EQ(RenderOrError(), "not_found");
  Write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(RenderOrError(), "not_found");
}

TEST_F(ChatTemplateFolder, TheFileBesideWinsOverTheConfig) {
  Write("tokenizer_config.json",
        R"({"chat_template": "config {{ bos_token }}{{ eos_token }}", "bos_token": null,
            "eos_token": {"content": "<end>", "special": true}})");
  EXPECT_EQ(RenderOrError(), "config <end>");
  Write("chat_template.jinja", "file {{ eos_token }}\n");
  EXPECT_EQ(RenderOrError(), "file <end>");
}

TEST_F(ChatTemplateFolder, NamedTemplates) {
  Write("tokenizer_config.json",
        R"({"chat_template": [{"name": "rag", "template": "{% broken"},
                              {"name": "tool_use", "template": "T{{ tools | length }}"},
                              {"name": "default", "template": "D"}]})");
  EXPECT_EQ(RenderOrError(), "D");
  ChatTemplateOptions with_tools;
  with_tools.tools = ordered_json::parse(R"([{"type": "function"}])");
  EXPECT_EQ(RenderOrError(with_tools), "T1");
}

TEST_F(ChatTemplateFolder, DamagedConfigs) {
  for (const char* config :
       {"", "[]", "{", R"({"chat_template": 5})", R"({"chat_template": {}})",
        R"({"chat_template": []})", R"({"chat_template": [{"name": "x", "template": "y"}]})",
        R"({"chat_template": [{"name": "default"}]})", R"({"chat_template": ["default"]})",
        R"({"chat_template": "{% if %}"})"}) {
    Write("tokenizer_config.json", config);
    EXPECT_EQ(RenderOrError(), "corrupt") << config;
  }
  // Printed into an error, it would use up the stack.
  Write("tokenizer_config.json",
        R"({"chat_template": )" + std::string(1000000, '[') + std::string(1000000, ']') + "}");
  EXPECT_EQ(RenderOrError(), "corrupt");
  Write("tokenizer_config.json", "{}");
  Write("chat_template.jinja", "\xFF");
  EXPECT_EQ(RenderOrError(), "corrupt");
}

TEST(ChatTemplateTest, GenerationBlocksAreTransparent) {
  const std::pair<const char*, const char*> cases[] = {
      {"a {%- generation -%}\n b {%- endgeneration %} c", "ab c"},
      {"{%generation%}{% set x = 1 %}{%endgeneration%}[{{ x }}]", "[]"},  // a scope of its own
      {"{% for i in [1, 2] %}{% generation %}{{ i }}{% endgeneration %}{% endfor %}", "12"},
      // Not tags: in a comment, in strings, in a raw block, as a variable.
      {"{# {% generation %} #}x", "x"},
      {"{{ '{% generation %}' }}", "{% generation %}"},
      {"{% set a = '%}{% generation %}' %}{{ a }}", "%}{% generation %}"},
      {"{{ 'it\\'s {% endgeneration %}' }}", "it's {% endgeneration %}"},
      {"{% raw %}{% generation %}{{ '{% endraw %}", "{% generation %}{{ '"},
      {"{%- raw -%} {# {%- endraw -%} #} {% generation %}g{% endgeneration %}", "{##} g"},
      {"{% if generation %}{% else %}none{% endif %}", "none"},
      {"{ \xC3\xA9 {", "{ \xC3\xA9 {"},
  };
  for (const auto& [source, expected] : cases) {
    const auto loaded = ChatTemplate::FromSource(source, nullptr, "test");
    ASSERT_TRUE(loaded.ok()) << source << ": " << loaded.status().message();
    const auto text = loaded->Render(kUser, {});
    ASSERT_TRUE(text.ok()) << source << ": " << text.status().message();
    EXPECT_EQ(*text, expected) << source;
  }
  for (const char* source :
       {"{{", "{%", "{#", "{% raw %}{% x", "{# \xC3\xA9", "{{ '\xC3\xA9", "{% generation %}",
        "{% endgeneration %}", "{% generation", "{{ '\\"}) {
    const auto loaded = ChatTemplate::FromSource(source, nullptr, "test");
    ASSERT_FALSE(loaded.ok()) << source;
    EXPECT_EQ(loaded.status().code(), StatusCode::kCorrupt) << source;
  }
}

TEST(ChatTemplateTest, MessagesAreNormalized) {
  const auto loaded = ChatTemplate::FromSource(
      "{% for m in messages %}{{ m | tojson }}\n{% endfor %}", nullptr, "test");
  ASSERT_TRUE(loaded.ok());
  const auto text =
      loaded->Render(ordered_json::parse(R"([{"role": "a", "content": null, "x": {"y": null}},
                              {"role": "b", "reasoning": "r", "thinking": null},
                              {"thinking": "t", "reasoning_content": "c", "role": "c"}])"),
                     {});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text,
            "{\"role\": \"a\", \"x\": {\"y\": null}}\n"
            "{\"thinking\": \"r\", \"role\": \"b\", \"reasoning\": \"r\", "
            "\"reasoning_content\": \"r\"}\n"
            "{\"thinking\": \"t\", \"reasoning_content\": \"c\", \"role\": \"c\"}\n");
}

TEST(ChatTemplateTest, BadRequestsAreErrors) {
  const auto loaded = ChatTemplate::FromSource("{{ messages | length }}{{ a }}", nullptr, "test");
  ASSERT_TRUE(loaded.ok());
  ChatTemplateOptions options;
  options.kwargs = {{"a", 1}};
  EXPECT_EQ(*loaded->Render(kUser, options), "11");
  const auto code = [&](const ordered_json& messages, const ChatTemplateOptions& o) {
    return loaded->Render(messages, o).status().code();
  };
  EXPECT_EQ(code("text", {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(ordered_json::array({1}), {}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{{"role", "user"}, {"content", "\xFF"}}}, {}), StatusCode::kInvalidArgument);
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  EXPECT_EQ(code(ordered_json::parse(deep), {}), StatusCode::kInvalidArgument);
  options.kwargs = {{"messages", 1}};
  EXPECT_EQ(code(kUser, options), StatusCode::kInvalidArgument);
  options.kwargs = ordered_json::array({1});
  EXPECT_EQ(code(kUser, options), StatusCode::kInvalidArgument);
  options.kwargs = nullptr;
  options.tools = {{"a", 1}};
  EXPECT_EQ(code(kUser, options), StatusCode::kInvalidArgument);
}

// A template runs to an end or into an error, whatever it holds.
TEST(ChatTemplateTest, HostileTemplatesEndWithAnError) {
  const std::string deep =
      "{% set ns = namespace() %}{% for i in range(500) %}{% set ns.x = [ns.x] %}{% endfor %}";
  const std::string doubled =
      "{% set ns = namespace(x='x' * 9999) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] "
      "%}{% "
      "endfor %}";
  const std::string sources[] = {
      "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
      "{% for i in range(999999999) %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{{ nothing.attribute }}",
      "{{ nothing() }}",
      "{{ 'a' + 1 }}",
      "{{ messages[0].content.nothing.more }}",
      deep + "{{ ns }}",
      deep + "{{ ns.x | tojson }}",
      // Small values that are long when they are printed, into a variable too.
      doubled + "{{ ns.x }}",
      doubled + "{{ ns.x | tojson }}",
      doubled + "{{ ns.x | string | length }}",
      "{% set x = 'x' * 99999999 %}{% set y %}{{ x }}{{ x }}{% endset %}{{ y | length }}",
      "{{ 'x' * 999999999999 }}",
      "{{ raise_exception('stop') }}",
  };
  for (const std::string& source : sources) {
    const auto loaded = ChatTemplate::FromSource(source, nullptr, "hostile");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const auto text = loaded->Render(kUser, {});
    ASSERT_FALSE(text.ok()) << source;
    EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument) << text.status().message();
  }
}

// Where nothing counts instructions or output, memory does; the template serves on afterwards.
TEST(ChatTemplateTest, MemoryIsLimited) {
  const auto loaded = ChatTemplate::FromSource(
      "{% set ns = namespace(x='xx') %}{% if messages[0].content == 'double' %}"
      "{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{% endif %}"
      "{% if messages[0].content == 'list' %}{% set ns.x = ([1] * 999999999999) | list %}"
      "{% endif %}{{ ns.x | length }}",
      nullptr, "hostile");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  for (const char* content : {"double", "list"}) {
    const auto text = loaded->Render({{{"role", "user"}, {"content", content}}}, {});
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(text.status().message(),
              "[hostile chat_template] expected messages that the model's template accepts, "
              "received more than 1024 MiB of memory");
    EXPECT_EQ(*loaded->Render(kUser, {}), "2");
  }
}

// About the deepest value that the limit of instructions allows is printed and freed.
TEST(ChatTemplateTest, DeepNestingStaysOnTheStack) {
  const std::string nested = std::string(30, '[') + "ns.x" + std::string(30, ']');
  const auto loaded = ChatTemplate::FromSource(
      "{% set ns = namespace(x=1) %}{% for i in range(40000) %}{% set ns.x = " + nested +
          " %}{% endfor %}{{ (ns.x ~ '') | length }}",
      nullptr, "deep");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto text = loaded->Render(kUser, {});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, std::to_string(2 * 30 * 40000 + 1));
}

TEST(ChatTemplateTest, SyntaxErrorsNameTheLine) {
  const auto loaded = ChatTemplate::FromSource("a\nb\n{% if %}", nullptr, "folder");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(loaded.status().message().find("chat_template:3"), std::string::npos)
      << loaded.status().message();
}

TEST(ChatTemplateTest, RendersFromSeveralThreads) {
  const auto loaded = ChatTemplate::FromSource(
      "{{ messages[0].content }}{{ raise_exception('no') if messages[0].content == 'b' }}", nullptr,
      "test");
  ASSERT_TRUE(loaded.ok());
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string content = t % 2 ? "b" : "a";
      for (int i = 0; i < 20; ++i) {
        const auto text = loaded->Render({{{"role", "user"}, {"content", content}}}, {});
        wrong[t] += t % 2 ? text.ok() : !text.ok() || *text != "a";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(ChatTemplateTest, ClockIsAskedWhenNoTimeIsGiven) {
  const auto loaded =
      ChatTemplate::FromSource("{{ strftime_now('%Y') | int > 2020 }}", nullptr, "t");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(*loaded->Render(kUser, {}), "True");
}

}  // namespace
}  // namespace verbatim

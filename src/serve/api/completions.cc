// The body of POST /v1/completions. Not its answer (completions_writer.cc).
#include <fmt/format.h>

#include "serve/api/constraint_fields.h"
#include "serve/api/request_fields.h"

namespace verbatim::serve {
namespace {

constexpr std::string_view kExpected = "a string, a list of token ids, or a list of those";

class PromptReader {
 public:
  PromptReader(const FieldReader& body, const ApiLimits& limits, AnswerRequest& request)
      : body_(body), limits_(limits), request_(request) {}

  void Read() {
    body_.Missing("prompt", kExpected);
    const Json* prompt = body_.Find("prompt");
    if (prompt == nullptr) return;
    if (prompt->is_array() && !prompt->empty() && !(*prompt)[0].is_number()) {
      if (prompt->size() > static_cast<size_t>(limits_.max_prompts)) {
        return body_.Fault("prompt", fmt::format("at most {} prompts", limits_.max_prompts));
      }
      for (size_t i = 0; i < prompt->size() && body_.ok(); ++i) {
        Add((*prompt)[i], fmt::format("prompt[{}]", i));
      }
      return;
    }
    Add(*prompt, "prompt");
  }

 private:
  void Add(const Json& prompt, const std::string& path) {
    if (prompt.is_string()) {
      if (prompt.get_ref<const std::string&>().empty()) {
        return body_.fault().Set(path, "a prompt of at least one token", "an empty text");
      }
      request_.prompts.emplace_back(prompt.get<std::string>());
      return;
    }
    if (!prompt.is_array()) return body_.fault().Set(path, kExpected, DescribeJson(prompt));
    if (prompt.empty()) {
      return body_.fault().Set(path, "a prompt of at least one token", "an empty list");
    }
    std::vector<int32_t> ids;
    ids.reserve(prompt.size());
    for (size_t i = 0; i < prompt.size(); ++i) {
      if (!IsTokenId(prompt[i], limits_.vocab_size)) {
        return body_.fault().Set(fmt::format("{}[{}]", path, i),
                                 fmt::format("a token id from 0 to {}", limits_.vocab_size - 1),
                                 DescribeJson(prompt[i]));
      }
      ids.push_back(prompt[i].get<int32_t>());
    }
    request_.prompts.emplace_back(std::move(ids));
  }

  const FieldReader& body_;
  const ApiLimits& limits_;
  AnswerRequest& request_;
};

}  // namespace

ParsedRequest ParseCompletions(const Json& body, const ApiLimits& limits) {
  FirstFault fault;
  AnswerRequest request;
  request.api = Api::kCompletions;
  if (!body.is_object()) {
    fault.Set("", "a JSON object", DescribeJson(body));
    return fault.error();
  }
  const FieldReader reader(body, "", fault);
  ReadCommon(reader, limits, request);
  PromptReader(reader, limits, request).Read();
  request.echo = reader.Bool("echo").value_or(false);
  ReadMaxTokens(reader, {"max_tokens", "n_predict"}, limits, request);
  ReadStop(reader, "stop", limits, request);
  ReadChoices(reader, limits, request);
  if (const auto logprobs = reader.Integer("logprobs", 0, limits.max_top_logprobs)) {
    request.sampling.logprobs = static_cast<int>(*logprobs);
    // They would be those of the prompt's tokens, too, which nothing computes here.
    if (request.echo) {
      reader.Unsupported("logprobs", "none beside echo", "`verbatim score` for a given text");
    }
  }
  ReadConstraint(reader, request);
  CheckTogether(reader, request);
  if (fault.any()) return fault.error();
  return request;
}

}  // namespace verbatim::serve

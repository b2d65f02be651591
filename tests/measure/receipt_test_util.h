// What the tests of receipts share: two requests, an engine that makes their receipts, and the way
// from a file's text. Not a test.
#ifndef VERBATIM_TESTS_MEASURE_RECEIPT_TEST_UTIL_H_
#define VERBATIM_TESTS_MEASURE_RECEIPT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <limits>

#include "measure/receipt.h"
#include "tests/support/test_models.h"

namespace verbatim::testing {

inline Request SampledRequest() {
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
inline Engine& MakersEngine() {
  static const auto engine = Engine::Load({.model = NanoModel().string(),
                                           .with_mtp = true,
                                           .num_threads = 2,
                                           .context = 256,
                                           .max_sequences = 2});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return **engine;
}

inline const ModelIdentity& NanoIdentity() {
  static const ModelIdentity identity = *ReadModelIdentity(NanoModel().string(), 1);
  return identity;
}

inline Receipt Make(const Request& request) {
  const auto result = MakersEngine().Generate(request);
  EXPECT_TRUE(result.ok()) << result.status().message();
  auto receipt = MakeReceipt(MakersEngine().info(), NanoIdentity(), request, *result);
  EXPECT_TRUE(receipt.ok()) << receipt.status().message();
  return *receipt;
}

inline const Receipt& SampledReceipt() {
  static const Receipt receipt = Make(SampledRequest());
  return receipt;
}

inline Request GreedyRequest() {
  Request request;
  request.prompt_token_ids = {40, 41, 42};
  request.max_tokens = 24;
  request.ignore_eos = true;
  request.position_digests = true;
  request.speculation = {.kind = SpeculationKind::kMtp, .draft_tokens = 7};
  return request;
}

inline const Receipt& GreedyReceipt() {
  static const Receipt receipt = Make(GreedyRequest());
  return receipt;
}

// Of every field of a constraint; behind an unconstrained token, drafts and all.
inline Request ConstrainedRequest() {
  Request request = GreedyRequest();
  request.constraint = {.kind = ConstraintKind::kRegex,
                        .text = "([a-z \\n]|\"|ö){4,60}",
                        .begin_after = {GreedyReceipt().token_ids[0]}};
  return request;
}

inline const Receipt& ConstrainedReceipt() {
  static const Receipt receipt = Make(ConstrainedRequest());
  return receipt;
}

inline Receipt Parsed(const std::string& text) {
  auto receipt = ParseReceipt(text, "r.json");
  EXPECT_TRUE(receipt.ok()) << receipt.status().message();
  return receipt.ok() ? *receipt : Receipt();
}

}  // namespace verbatim::testing

#endif  // VERBATIM_TESTS_MEASURE_RECEIPT_TEST_UTIL_H_

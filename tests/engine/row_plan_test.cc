// RowPlan: which rows a step holds, for prompts and blocks of several sequences.
#include "engine/row_plan.h"

#include <gtest/gtest.h>

#include "draft/drafter.h"
#include "numerics/argmax.h"

namespace verbatim {
namespace {

constexpr int64_t kVocab = 4;
constexpr float kChooseTwo[kVocab] = {0, 1, 3, 2};  // logits whose argmax is 2

void Accept(RunningSequence& sequence, int num_rows, std::span<const float> logits) {
  std::vector<ops::BestLogit> best;
  for (size_t row = 0; row < logits.size(); row += kVocab) {
    best.push_back({.id = numerics::Argmax(logits.subspan(row, kVocab)),
                    .has_nan = numerics::ContainsNan(logits.subspan(row, kVocab))});
  }
  numerics::SamplerScratch scratch(kVocab);
  sequence.Accept(num_rows, {.best = best, .logits = logits}, scratch);
}

std::unique_ptr<RunningSequence> Sequence(std::vector<int32_t> prompt) {
  Request request;
  request.prompt_token_ids = std::move(prompt);
  request.max_tokens = 10;
  SequenceState state;
  state.pages = {0};
  auto sequence = std::make_unique<RunningSequence>(
      1, std::move(request), RunningSequence::Clock::now(),
      SequenceLimits{.context = 100, .num_choosable = kVocab, .eos_token_ids = {}},
      SequenceParts{});
  sequence->Resume(std::move(state));
  sequence->StartClock();
  return sequence;
}

std::vector<int32_t> Copy(std::span<const int32_t> span) { return {span.begin(), span.end()}; }

TEST(RowPlan, CutsPromptsIntoChunksAndAsksForTheLastRowsLogits) {
  std::vector<std::unique_ptr<RunningSequence>> sequences;
  sequences.push_back(Sequence({0, 1, 2, 3, 1}));
  RowPlan plan(16, 2, 3);
  plan.Build(sequences);
  EXPECT_EQ(Copy(plan.tokens()), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_TRUE(plan.logit_rows().empty());
  EXPECT_FALSE(plan.decode_only());
  Accept(*sequences[0], 3, {});
  plan.Build(sequences);
  EXPECT_EQ(Copy(plan.tokens()), (std::vector<int32_t>{3, 1}));
  EXPECT_EQ(plan.step().sequences[0].first_position, 3);
  EXPECT_EQ(plan.step().sequences[0].num_certain, 2);
  EXPECT_EQ(Copy(plan.logit_rows()), (std::vector<int32_t>{1}));
}

TEST(RowPlan, BlocksHoldTheTokenAndItsDrafts) {
  std::vector<std::unique_ptr<RunningSequence>> sequences;
  sequences.push_back(Sequence({0, 1}));
  Accept(*sequences[0], 2, kChooseTwo);
  sequences[0]->drafts = {3, kImpossibleToken};
  sequences[0]->SetNumDrafts(2);
  RowPlan plan(16, 2, 3);
  plan.Build(sequences);
  EXPECT_EQ(Copy(plan.tokens()),
            (std::vector<int32_t>{2, 3, 0}));  // the impossible one embeds as 0
  EXPECT_EQ(plan.step().sequences[0].num_certain, 1);
  EXPECT_EQ(plan.step().sequences[0].first_slot, 2);
  EXPECT_EQ(Copy(plan.logit_rows()), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_TRUE(plan.decode_only());
}

TEST(RowPlan, DecodingComesFirstAndPromptsFillTheBudget) {
  std::vector<std::unique_ptr<RunningSequence>> sequences;
  sequences.push_back(Sequence({1, 1, 1, 1, 1, 1, 1, 1}));
  sequences.push_back(Sequence({0}));
  Accept(*sequences[1], 1, kChooseTwo);
  RowPlan plan(5, 2, 100);
  plan.Build(sequences);
  ASSERT_EQ(plan.planned().size(), 2u);
  EXPECT_EQ(plan.planned()[0].sequence, sequences[1].get());
  EXPECT_EQ(plan.planned()[0].num_rows, 1);
  EXPECT_EQ(plan.planned()[1].num_rows, 4);  // what the budget of 5 leaves
  EXPECT_EQ(plan.step().sequences[1].first_row, 1);
}

std::vector<std::unique_ptr<RunningSequence>> Decoding(int count, int num_drafts) {
  std::vector<std::unique_ptr<RunningSequence>> sequences;
  for (int i = 0; i < count; ++i) {
    sequences.push_back(Sequence({0, 1}));
    Accept(*sequences.back(), 2, kChooseTwo);
    sequences.back()->SetNumDrafts(num_drafts);
  }
  return sequences;
}

TEST(RowPlan, ASmallBudgetCutsBlocksAndServesAllInTurns) {
  const auto sequences = Decoding(3, 2);
  RowPlan plan(4, 3, 100);
  std::vector<int> served(3);
  for (int step = 0; step < 6; ++step) {
    for (const auto& sequence : sequences) sequence->SetNumDrafts(2);
    plan.Build(sequences);
    EXPECT_EQ(plan.num_rows(), 4);
    ASSERT_EQ(plan.planned().size(), 2u);
    EXPECT_EQ(plan.planned()[0].num_rows, 3);
    EXPECT_EQ(plan.planned()[1].num_rows, 1);
    for (const PlannedRows& planned : plan.planned()) {
      for (int i = 0; i < 3; ++i) served[i] += planned.sequence == sequences[i].get() ? 1 : 0;
    }
  }
  EXPECT_EQ(served, (std::vector<int>{4, 4, 4}));
}

TEST(RowPlan, PromptsKeepRowsBesideAFullHouseOfBlocks) {
  auto sequences = Decoding(4, 3);
  sequences.push_back(Sequence({1, 1, 1, 1, 1, 1, 1, 1}));
  for (const int max_rows : {1, 2, 3, 4, 8, 16}) {
    RowPlan plan(max_rows, 5, 100);
    int prompt_rows = 0, block_rows = 0;
    for (int step = 0; step < 2; ++step) {
      plan.Build(sequences);
      EXPECT_LE(plan.num_rows(), max_rows);
      for (const PlannedRows& planned : plan.planned()) {
        (planned.sequence->in_prompt() ? prompt_rows : block_rows) += planned.num_rows;
      }
    }
    EXPECT_GT(prompt_rows, 0) << max_rows;
    EXPECT_GT(block_rows, 0) << max_rows;
  }
}

TEST(RowPlan, EveryoneGetsRowsOfTheSmallestBudgets) {
  auto sequences = Decoding(2, 0);
  for (int i = 0; i < 2; ++i) sequences.push_back(Sequence(std::vector<int32_t>(50, 1)));
  for (const int max_rows : {1, 2, 3}) {
    RowPlan plan(max_rows, 4, 100);
    std::vector<int> served(4);
    for (int step = 0; step < 16; ++step) {
      plan.Build(sequences);
      for (const PlannedRows& planned : plan.planned()) {
        for (int i = 0; i < 4; ++i) served[i] += planned.sequence == sequences[i].get() ? 1 : 0;
      }
    }
    for (const int steps : served) EXPECT_GE(steps, 2) << max_rows;
  }
}

TEST(RowPlan, PromptsShareTheRowsThatShortOnesLeave) {
  std::vector<std::unique_ptr<RunningSequence>> sequences;
  sequences.push_back(Sequence(std::vector<int32_t>(90, 1)));
  sequences.push_back(Sequence({1, 1}));
  sequences.push_back(Sequence(std::vector<int32_t>(90, 1)));
  RowPlan plan(30, 3, 100);
  plan.Build(sequences);
  ASSERT_EQ(plan.planned().size(), 3u);
  EXPECT_EQ(plan.planned()[0].num_rows, 10);
  EXPECT_EQ(plan.planned()[1].num_rows, 2);
  EXPECT_EQ(plan.planned()[2].num_rows, 18);
}

TEST(RowPlan, LongPromptsLeaveDecodingStepsShort) {
  auto sequences = Decoding(1, 1);
  sequences.push_back(Sequence(std::vector<int32_t>(90, 1)));
  RowPlan plan(64, 2, 16);
  plan.Build(sequences);
  EXPECT_EQ(plan.num_rows(), 2 + 16);
}

TEST(RunningSequence, AfterPreemptionConsumesWhatIsKnownAndChoosesNothingTwice) {
  auto sequence = Sequence({0, 1});
  Accept(*sequence, 2, kChooseTwo);
  sequence->drafts = {2, 1};
  sequence->SetNumDrafts(2);
  std::vector<float> logits;
  for (int row = 0; row < 3; ++row) logits.insert(logits.end(), kChooseTwo, kChooseTwo + kVocab);
  Accept(*sequence, 3, logits);
  const std::vector<int32_t> tokens = Copy(sequence->tokens());
  ASSERT_EQ(tokens.size(), 5u);
  sequence->Preempt();
  SequenceState state;
  state.pages = {0};
  sequence->Resume(std::move(state));
  ASSERT_TRUE(sequence->in_prompt());
  EXPECT_EQ(sequence->NumNextRows(100), 4);  // all but the pending token
  EXPECT_EQ(sequence->NumLogitRows(4), 0);
  EXPECT_EQ(sequence->RowToken(3), tokens[3]);
  Accept(*sequence, 4, {});
  EXPECT_FALSE(sequence->in_prompt());
  EXPECT_EQ(sequence->NumNextRows(100), 1);
  EXPECT_EQ(sequence->RowToken(0), tokens[4]);
  EXPECT_EQ(Copy(sequence->tokens()), tokens);
}

TEST(RunningSequence, StepsOfThePromptEndAtCachePoints) {
  auto sequence = Sequence({0, 1, 2, 3, 0, 1});
  sequence->AddCachePoint(4);
  sequence->AddCachePoint(1);
  sequence->AddCachePoint(4);
  std::vector<int> rows;
  while (sequence->in_prompt()) {
    rows.push_back(sequence->NumNextRows(100));
    Accept(*sequence, rows.back(),
           sequence->NumLogitRows(rows.back()) > 0 ? std::span<const float>(kChooseTwo)
                                                   : std::span<const float>());
    EXPECT_EQ(sequence->AtCachePoint(), sequence->in_prompt());
  }
  EXPECT_EQ(rows, (std::vector<int>{1, 3, 2}));
}

TEST(RunningSequence, WalksTheBlockWhileDraftsAreRight) {
  auto sequence = Sequence({0, 1});
  Accept(*sequence, 2, kChooseTwo);
  sequence->drafts = {2, 2, 1};
  sequence->SetNumDrafts(3);
  std::vector<float> logits;
  for (int row = 0; row < 4; ++row) logits.insert(logits.end(), kChooseTwo, kChooseTwo + kVocab);
  Accept(*sequence, 4, logits);
  // 2 drafts right, the third wrong: two drafts and the choice in place of the third are emitted.
  EXPECT_EQ(Copy(sequence->tokens()), (std::vector<int32_t>{0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(sequence->num_accepted_rows(), 3);
  EXPECT_EQ(sequence->state.num_consumed, 5);
  EXPECT_EQ(sequence->state.num_accepted_drafts, 2);
}

TEST(RunningSequence, TheLastTokenIsNotConsumedEvenIfDrafted) {
  auto sequence = Sequence({0, 1});
  Accept(*sequence, 2, kChooseTwo);  // 1 of 10 tokens
  sequence->drafts = {2, 2, 2, 2, 2, 2, 2, 2, 2};
  sequence->SetNumDrafts(9);  // one more than could be used: the end falls on a right draft
  std::vector<float> logits;
  for (int row = 0; row < 10; ++row) logits.insert(logits.end(), kChooseTwo, kChooseTwo + kVocab);
  Accept(*sequence, 10, logits);
  ASSERT_TRUE(sequence->ended());
  EXPECT_EQ(sequence->state.num_consumed,
            2 + 9);  // 10 tokens emitted, the last is pending for ever
  EXPECT_EQ(sequence->TakeResult().token_ids.size(), 10u);
}

TEST(RunningSequence, ANanLogitFailsTheRequest) {
  auto sequence = Sequence({0, 1});
  std::vector<float> logits(kChooseTwo, kChooseTwo + kVocab);
  logits[0] = std::numeric_limits<float>::quiet_NaN();
  Accept(*sequence, 2, logits);
  ASSERT_TRUE(sequence->ended());
  const Result result = sequence->TakeResult();
  EXPECT_EQ(result.finish_reason, FinishReason::kError);
  EXPECT_NE(result.error.message().find("NaN"), std::string::npos);
  EXPECT_TRUE(result.token_ids.empty());
}

}  // namespace
}  // namespace verbatim

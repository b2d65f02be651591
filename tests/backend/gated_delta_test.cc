// conv_and_gated_delta and fold_records equal the token-by-token reference bit for bit on every
// target: for any split of a prompt, any drafts and acceptance, and any moment of folding.
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/backend/gated_delta_test_util.h"
#include "tests/backend/state_op_test_util.h"

namespace verbatim::cpu {
namespace {

//                                     Hk Hv  Dk   Dv  max_drafts
constexpr ops::RecurrentLayout kNano = {2, 4, 64, 32, 15};
constexpr ops::RecurrentLayout k27B = {2, 6, 128, 128, 3};  // some of its heads
constexpr ops::RecurrentLayout kOdd = {3, 3, 20, 16, 4};    // neither a vector nor 64 lanes of keys

// What one sequence gives to a step.
struct Block {
  int slot = 0;
  std::vector<Row> rows;
  int num_certain = 0;
  int num_accepted = 0;  // of its previous block
};

// State slots and a kernel table; runs steps and returns out.
class Engine {
 public:
  Engine(Target target, const RunPlan& plan, const ops::RecurrentLayout& layout,
         const LayerWeights& weights, int num_slots)
      : table_(StateOpTable(target)),
        plan_(plan),
        layout_(layout),
        weights_(weights),
        slots_(layout.slot_floats() * num_slots) {
    // Records of blocks that never were must not matter.
    for (int slot = 0; slot < num_slots; ++slot) {
      float* base = slots_.data() + slot * layout.slot_floats();
      std::memset(base + layout.key_records_offset(), 0xff,
                  (layout.slot_floats() - layout.key_records_offset()) * sizeof(float));
    }
  }

  float* Slot(int slot) { return slots_.data() + slot * layout_.slot_floats(); }

  std::vector<float> Run(const std::vector<Block>& blocks) {
    std::vector<ops::SequenceRows> sequences;
    std::vector<float> mixed, a, b;
    int num_rows = 0;
    for (const Block& block : blocks) {
      ops::SequenceRows sequence;
      sequence.first_row = num_rows;
      sequence.num_rows = static_cast<int>(block.rows.size());
      sequence.num_certain = block.num_certain;
      sequence.recurrent_slot = block.slot;
      sequence.num_accepted_drafts = block.num_accepted;
      sequences.push_back(sequence);
      num_rows += sequence.num_rows;
      for (const Row& row : block.rows) {
        mixed.insert(mixed.end(), row.mixed.begin(), row.mixed.end());
        a.insert(a.end(), row.a.begin(), row.a.end());
        b.insert(b.end(), row.b.begin(), row.b.end());
      }
    }
    std::vector<float> out(num_rows * layout_.value_dim());
    ops::ConvAndGatedDeltaArgs args;
    args.step = {sequences, num_rows};
    args.state = {layout_, slots_.data()};
    args.mixed = mixed.data();
    args.a = a.data();
    args.b = b.data();
    args.conv_weight = weights_.conv.data();
    args.decay_rate = weights_.decay_rate.data();
    args.dt_bias = weights_.dt_bias.data();
    args.query_scale = weights_.query_scale;
    args.out = out.data();
    RunOp(table_.conv_and_gated_delta, args, Needs(num_rows), plan_);
    return out;
  }

  void Fold(int slot, int num_accepted) {
    RunOp(table_.fold_records, {{layout_, slots_.data()}, slot, num_accepted}, Needs(1), plan_);
  }

 private:
  ops::WorkspaceNeeds Needs(int num_rows) const {
    ops::WorkspaceNeeds needs;
    needs.max_rows = num_rows;
    needs.recurrent = layout_;
    return needs;
  }

  KernelTable table_;
  RunPlan plan_;
  ops::RecurrentLayout layout_;
  const LayerWeights& weights_;
  AlignedBuffer<float> slots_;
};

void Append(std::vector<float>& to, const std::vector<float>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// One prompt in the given pieces, all rows certain.
void TestSplit(const ops::RecurrentLayout& layout, const std::vector<int>& pieces, Inputs inputs,
               std::span<const RunPlan> plans = kRunPlans) {
  Random random(static_cast<uint32_t>(pieces.size() + layout.key_head_dim));
  const LayerWeights weights(layout, random);
  std::vector<Row> rows;
  ReferenceSequence reference(layout, weights);
  std::vector<float> expected;
  for (int i = std::accumulate(pieces.begin(), pieces.end(), 0); i > 0; --i) {
    rows.push_back(RandomRow(layout, random, inputs));
    Append(expected, reference.Run(rows.back()));
  }
  for (const Target target : TestTargets()) {
    for (const RunPlan& plan : plans) {
      Engine engine(target, plan, layout, weights, 1);
      std::vector<float> out;
      auto row = rows.begin();
      for (const int piece : pieces) {
        Append(out, engine.Run({{0, {row, row + piece}, piece, 0}}));
        row += piece;
      }
      ASSERT_TRUE(SameBits(expected, out)) << TargetName(target) << " rows " << rows.size();
      ASSERT_TRUE(reference.SameState(engine.Slot(0))) << TargetName(target);
    }
  }
}

TEST(GatedDelta, EqualsReferenceAtEveryRowCount) {
  for (const int rows : AllRowCounts()) {
    TestSplit(rows > 64 ? kOdd : kNano, {rows}, Inputs::kOrdinary,
              std::span(kRunPlans).subspan(rows % 4, 1));
  }
}

TEST(GatedDelta, AnySplitOfAPromptGivesTheSameBits) {
  TestSplit(kNano, {1, 1, 1, 1, 1, 1, 1}, Inputs::kOrdinary);
  TestSplit(kNano, {2, 1, 3, 1}, Inputs::kOrdinary);
  TestSplit(kNano, {5, 7, 2, 20, 1, 1}, Inputs::kOrdinary);
  TestSplit(kOdd, {1, 4, 2, 9}, Inputs::kOrdinary);
  TestSplit(k27B, {3, 1, 4}, Inputs::kOrdinary);
}

TEST(GatedDelta, EqualsReferenceOnHostileInputs) {
  for (const Inputs inputs : kAllInputs) TestSplit(kNano, {1, 9, 4}, inputs);
}

// Verify blocks with every count of drafts and of accepted drafts, one sequence.
void TestBlocks(const ops::RecurrentLayout& layout, bool fold_early,
                std::span<const RunPlan> plans) {
  struct Round {
    std::vector<Row> rows;
    int num_certain, num_accepted;  // accepted of this round's drafts
  };
  Random random(layout.value_head_dim);
  const LayerWeights weights(layout, random);
  ReferenceSequence reference(layout, weights);
  std::vector<Round> rounds;
  std::vector<float> expected;
  for (int drafts = 0; drafts <= layout.max_drafts; drafts = drafts < 4 ? drafts + 1 : drafts + 5) {
    for (int accepted = 0; accepted <= drafts;
         accepted = accepted < 4 ? accepted + 1 : drafts + 1) {
      Round round;
      round.num_certain = random.Int(0, 2) == 0 ? random.Int(2, 5) : 1;
      round.num_accepted = random.Int(0, 1) == 0 ? accepted : drafts - accepted;
      for (int i = 0; i < round.num_certain + drafts; ++i) {
        round.rows.push_back(RandomRow(layout, random, Inputs::kOrdinary));
      }
      rounds.push_back(std::move(round));
    }
  }
  for (const Round& round : rounds) {
    const int committed = round.num_certain + round.num_accepted;
    for (int i = 0; i < committed; ++i) Append(expected, reference.Run(round.rows[i]));
    ReferenceSequence rejected = reference;
    for (size_t i = committed; i < round.rows.size(); ++i) {
      Append(expected, rejected.Run(round.rows[i]));
    }
  }
  for (const Target target : TestTargets()) {
    for (const RunPlan& plan : plans) {
      Engine engine(target, plan, layout, weights, 2);
      std::vector<float> out;
      int pending = 0;
      for (const Round& round : rounds) {
        Append(out, engine.Run({{1, round.rows, round.num_certain, pending}}));
        pending = round.num_accepted;
        if (fold_early) {
          engine.Fold(1, pending);
          pending = 0;
        }
      }
      engine.Fold(1, pending);
      ASSERT_TRUE(SameBits(expected, out)) << TargetName(target);
      ASSERT_TRUE(reference.SameState(engine.Slot(1))) << TargetName(target);
    }
  }
}

TEST(GatedDelta, BlocksWithDraftsEqualTokenByToken) {
  TestBlocks(kNano, /*fold_early=*/false, kRunPlans);
  TestBlocks(kOdd, /*fold_early=*/false, kRunPlans);
  TestBlocks(k27B, /*fold_early=*/false, std::span(kRunPlans).last(1));
}

TEST(GatedDelta, FoldingEarlyEqualsFoldingLate) {
  TestBlocks(kNano, /*fold_early=*/true, kRunPlans);
  TestBlocks(kOdd, /*fold_early=*/true, kRunPlans);
}

// A block of drafts leaves S and the convolution rows as its certain rows made them.
TEST(GatedDelta, RejectedDraftsLeaveNoTrace) {
  Random random(5);
  const LayerWeights weights(kNano, random);
  std::vector<Row> rows;
  for (int i = 0; i < 12; ++i) rows.push_back(RandomRow(kNano, random, Inputs::kOrdinary));
  for (Row& row : std::span(rows).last(9)) row.mixed[3] = std::nanf("");
  ReferenceSequence reference(kNano, weights);
  for (int i = 0; i < 3; ++i) reference.Run(rows[i]);
  for (const Target target : TestTargets()) {
    Engine engine(target, {}, kNano, weights, 1);
    engine.Run({{0, rows, 3, 0}});
    ASSERT_TRUE(reference.SameState(engine.Slot(0))) << TargetName(target);
    engine.Fold(0, 0);
    ASSERT_TRUE(reference.SameState(engine.Slot(0))) << TargetName(target);
  }
}

// Several sequences that join and leave steps, each with blocks of its own.
TEST(GatedDelta, SequencesOfOneStepDoNotMeet) {
  constexpr int kSequences = 4;
  constexpr int kSteps = 14;
  const ops::RecurrentLayout layout = kNano;
  Random random(11);
  const LayerWeights weights(layout, random);
  std::vector<ReferenceSequence> references(kSequences, ReferenceSequence(layout, weights));
  std::vector<int> pending(kSequences, 0);
  std::vector<std::vector<Block>> steps;
  std::vector<std::vector<float>> expected;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Block> blocks;
    std::vector<float> out;
    for (int s = kSequences - 1; s >= 0; --s) {
      if (step != 0 && random.Int(0, 2) == 0) continue;
      const int drafts = random.Int(0, 5);
      const int accepted = random.Int(0, drafts);
      Block block = {s, {}, random.Int(1, 4), pending[s]};
      for (int i = 0; i < block.num_certain + drafts; ++i) {
        block.rows.push_back(RandomRow(layout, random, Inputs::kOrdinary));
      }
      const int committed = block.num_certain + accepted;
      for (int i = 0; i < committed; ++i) Append(out, references[s].Run(block.rows[i]));
      ReferenceSequence rejected = references[s];
      for (size_t i = committed; i < block.rows.size(); ++i) {
        Append(out, rejected.Run(block.rows[i]));
      }
      pending[s] = accepted;
      blocks.push_back(std::move(block));
    }
    if (blocks.empty()) continue;
    steps.push_back(std::move(blocks));
    expected.push_back(std::move(out));
  }
  for (const Target target : TestTargets()) {
    for (const RunPlan& plan : kRunPlans) {
      Engine engine(target, plan, layout, weights, kSequences);
      for (size_t step = 0; step < steps.size(); ++step) {
        ASSERT_TRUE(SameBits(expected[step], engine.Run(steps[step])))
            << TargetName(target) << " step " << step;
      }
      for (int s = 0; s < kSequences; ++s) {
        engine.Fold(s, pending[s]);
        ASSERT_TRUE(references[s].SameState(engine.Slot(s))) << TargetName(target);
      }
    }
  }
}

// e is +0 where g < -44, so that a forgotten state is zero and never denormal.
TEST(GatedDelta, StrongDecayForgetsTheState) {
  Random random(13);
  LayerWeights weights(kNano, random);
  std::fill(weights.decay_rate.begin(), weights.decay_rate.end(), 1.0f);
  std::fill(weights.dt_bias.begin(), weights.dt_bias.end(), 0.0f);
  const std::vector<Row> rows = {RandomRow(kNano, random, Inputs::kOrdinary),
                                 RandomRow(kNano, random, Inputs::kOrdinary)};
  for (const float a : {43.9f, 44.1f, 1000.0f}) {
    std::vector<Row> block = rows;
    std::fill(block[1].a.begin(), block[1].a.end(), a);
    std::fill(block[1].b.begin(), block[1].b.end(), -200.0f);  // beta = 0: nothing is written
    for (const Target target : TestTargets()) {
      Engine engine(target, {}, kNano, weights, 1);
      engine.Run({{0, block, 2, 0}});
      bool any = false;
      for (size_t i = 0; i < kNano.state_floats(); ++i) any |= engine.Slot(0)[i] != 0.0f;
      EXPECT_EQ(any, a < 44.0f) << TargetName(target) << " a " << a;
    }
  }
}

}  // namespace
}  // namespace verbatim::cpu

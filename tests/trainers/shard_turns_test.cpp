// Shards that meet for sums while their programs run.
#include "trainers/shard_turns.h"

#include <gtest/gtest.h>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "tests/support/thread_carrier.h"

namespace thtrain::shard_turns_test {

using Texts = std::vector<std::string>;

// cost = sum(x_s * (S + S^2)) of the shard's x, S the sum over all: two meetings, and two for the derivative.
struct Program {
  Expr x = tensor("x", {3}, DType::kFloat64);
  Expr all = minibatch_sum(x, "all");
  Expr squares = minibatch_sum(all * x, "squares");
  Expr cost = sum(x * all + squares);
  Function function;

  explicit Program(Mode mode = Mode::kNative)
      : function(thtrain::function({x}, {Out(cost), Out(grad(cost, x))}, {}, {.mode = mode})) {}
};

Tensor x_of(int64_t shard) {
  const auto s = static_cast<double>(shard);
  return Tensor::vector({1 + s, 0.5 - s, 0.25 * s});
}

// x_s S + S^2 summed over elements, and its derivative by x_s of the sum over the shards.
void expect_right(const std::vector<Tensor>& found, int64_t shard, int64_t shards) {
  double cost = 0;
  for (int64_t i = 0; i < 3; ++i) {
    double all = 0;
    for (int64_t s = 0; s < shards; ++s) all += x_of(s).as_double(i);
    cost += x_of(shard).as_double(i) * all + all * all;
    // sum_s (x_s S + S^2) = S^2 + shards S^2
    EXPECT_NEAR(found[1].as_double(i), 2 * all * static_cast<double>(1 + shards), 1e-12) << i;
  }
  EXPECT_NEAR(found[0].as_double(), cost, 1e-12);
}

TEST(ShardTurns, SumsAndTheirDerivativesAreThoseOfAllShardsOfAllProcesses) {
  constexpr int64_t kShards = 4;
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug})
    for (int size : {1, 2, 4}) {
      const Program program(mode);
      const Texts errors = run_ranks(size, [&](Ranks& ranks) {
        const int64_t each = kShards / size, first = ranks.rank() * each;
        ShardTurns turns(each, ranks);
        for (int round = 0; round < 2; ++round) {
          std::vector<Function> copies(static_cast<size_t>(each), program.function);
          std::vector<std::vector<Tensor>> found(static_cast<size_t>(each));
          std::vector<std::function<void()>> calls;
          for (size_t k = 0; k < copies.size(); ++k)
            calls.emplace_back([&, k] { found[k] = copies[k]({x_of(first + static_cast<int64_t>(k))}); });
          turns.run(calls);
          for (size_t k = 0; k < copies.size(); ++k) expect_right(found[k], first + static_cast<int64_t>(k), kShards);
          // One of them again, by itself.
          std::vector<Tensor> again;
          turns.repeat([&] { again = copies.back()({x_of(first + each - 1)}); });
          expect_right(again, first + each - 1, kShards);
        }
      });
      EXPECT_EQ(errors, Texts(static_cast<size_t>(size))) << size;
    }
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(ShardTurns, TheErrorOfOneShardEndsAll) {
  Ranks alone;
  ShardTurns turns(3, alone);
  Program program;
  std::vector<Function> copies(3, program.function);
  EXPECT_EQ(error_of([&] {
              turns.run({[&] { copies[0]({x_of(0)}); }, [] { throw std::runtime_error("no examples"); },
                         [&] { copies[2]({x_of(2)}); }});
            }),
            "no examples");
  int done = 0;  // and the next run is as any other
  turns.run({[&] { ++done; }, [&] { ++done; }, [&] { ++done; }});
  EXPECT_EQ(done, 3);
}

TEST(ShardTurns, ShardsThatDoNotMeetAreNamed) {
  Ranks alone;
  ShardTurns turns(2, alone);
  Program program;
  EXPECT_NE(error_of([&] {
              turns.run({[&] { program.function({x_of(0)}); }, [] {}});
            }).find("shard 1 has ended, and those before it ask for the sum all"),
            std::string::npos);
}

TEST(ShardTurns, ASumOutsideOfAStepIsAnError) {
  Program program;
  EXPECT_NE(error_of([&] { program.function({x_of(0)}); }).find("a sum over shards outside of a step in shards"),
            std::string::npos);
  EXPECT_TRUE(needs_minibatch_sum({program.cost}));
  EXPECT_FALSE(needs_minibatch_sum({program.x}));
}

}  // namespace thtrain::shard_turns_test

// Random typed programs in every mode. The debug mode holds each rewrite, each pass, each native step and the results
// against the references within bounds that follow from magnitudes; here it must find nothing, native code must give
// the bits of the debug mode's, and reference mode must agree with both. THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES make
// a longer run of it.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/bounded.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/runtime/debug_rewrites.h"
#include "tests/fuzz/judged_programs.h"

namespace thtrain {
namespace {

void keep_quiet(const std::string&) {}

// Whether the rewrites keep its values.
std::optional<std::string> wrong_rewrite(const ProgramPlan& plan, bool) {
  const BuiltProgram built = build(plan);
  try {
    for (const std::vector<Tensor>& inputs : plan.calls) {
      const ProgramCase c = case_of(built, inputs);
      check_rewrites({c.canonical.graph, c.leaves, c.lengths, {}, keep_quiet});
    }
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(RandomPrograms, RewritesKeepValuesWithinBounds) {
  fuzz_programs(fuzz_settings(1, 900), wrong_rewrite);
}

// Several tests of 300 programs, which may run side by side. All but a few tenths of their time is the host compiler's.
constexpr int64_t kParts = 6;
class RandomProgramsInParts : public testing::TestWithParam<int64_t> {};

TEST_P(RandomProgramsInParts, GiveTheSameInEveryMode) {
  const FuzzSettings all = fuzz_settings(1, 300);
  const int64_t begin = all.cases * GetParam() / kParts, end = all.cases * (GetParam() + 1) / kParts;
  if (begin < end) fuzz_programs({all.seed + static_cast<uint64_t>(begin), end - begin}, wrong_in_some_mode);
}

INSTANTIATE_TEST_SUITE_P(All, RandomProgramsInParts, testing::Range(int64_t{0}, kParts));

// ---- bounds that say nothing would pass all that -----------------------------------------------------------------

Graph with_wrong_factor(const Graph& graph, const PassContext&) {
  Graph out = graph;
  for (Expr& output : out.outputs)
    if (is_float(output.dtype())) output = output * 1.01;
  return out;
}

// Has an output a floating element that a factor changes?
bool has_finite_number(const ProgramCase& c) {
  for (const Expr& output : c.canonical.graph.outputs) {
    if (!is_float(output.dtype())) continue;
    const Tensor value = evaluate_with(std::vector{output}, c.leaves, c.lengths)[0].cast(DType::kFloat64);
    for (int64_t i = 0; i < value.size(); ++i)
      if (std::isnormal(value.data<double>()[i])) return true;
  }
  return false;
}

TEST(RandomPrograms, AWrongFactorIsNamed) {
  int64_t planted = 0, named = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const ProgramPlan plan = random_plan(seed);
    const BuiltProgram built = build(plan);
    try {
      const ProgramCase c = case_of(built, plan.calls[0]);
      if (!has_finite_number(c)) continue;
      ++planted;
      check_rewrites(
          {c.canonical.graph, c.leaves, c.lengths, {.extra = {{"plant", "", with_wrong_factor}}}, keep_quiet});
    } catch (const UserError&) {
    } catch (const InternalError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("error: debug: the pass plant changes ")) << error.what();
      ++named;
    }
  }
  EXPECT_GE(planted, 100);
  EXPECT_GE(named, planted * 9 / 10) << "of " << planted;
}

TEST(RandomPrograms, TheSameSeedGivesTheSameText) {
  EXPECT_EQ(as_cpp(random_plan(7)), as_cpp(random_plan(7)));
  EXPECT_NE(as_cpp(random_plan(7)), as_cpp(random_plan(8)));
}

}  // namespace
}  // namespace thtrain

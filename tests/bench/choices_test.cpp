// Random computations of which the choice without tuning is judged.
#include "bench/choices.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/ops/candidates.h"

namespace thtrain {
namespace {

TEST(Choices, ASeedDrawsAsManyDifferentKeysOfEachKind) {
  const std::vector<kernel::ChoiceKey> keys = drawn_keys({.seed = 3});
  EXPECT_EQ(keys.size(), 200u);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), 200u);
  EXPECT_EQ(drawn_keys({.seed = 3}), keys);
  EXPECT_NE(drawn_keys({.seed = 4}), keys);
  std::map<std::string, int> count;
  for (const kernel::ChoiceKey& key : keys) {
    ++count[key.computation.starts_with("conv") ? "conv" : key.computation];
    const Computation* computation = find_computation(key.computation);
    ASSERT_TRUE(computation) << key.text();
    EXPECT_TRUE(computation->example(key.properties)) << key.text();
  }
  EXPECT_EQ(count, (std::map<std::string, int>{{"conv", 100}, {"matrix_product", 60}, {"pool", 40}}));
}

TEST(Choices, DtypesAreThoseAskedFor) {
  for (const kernel::ChoiceKey& key : drawn_keys({.seed = 1, .dtypes = {DType::kFloat64}}))
    EXPECT_NE(key.text().find("float64"), std::string::npos) << key.text();
}

TEST(Choices, TheTableHasMeansAndTheWorst) {
  auto choice = [](const char* computation, double chosen, double fastest) {
    return TimedChoice{{computation, "of " + std::to_string(static_cast<int>(chosen))}, "a", "b", chosen, fastest};
  };
  EXPECT_EQ(choices_table({choice("pool", 2e-6, 1e-6), choice("pool", 8e-6, 1e-6), choice("conv", 3e-6, 3e-6)}),
            "| computation | keys | mean of rule / fastest | nine in ten at most | worst |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| conv | 1 | 1.000 | 1.00 | 1.00 |\n"
            "| pool | 2 | 4.000 | 8.00 | 8.00 |\n"
            "| all | 3 | 2.520 | 8.00 | 8.00 |\n"
            "\n"
            "| rule / fastest | key | rule | fastest | microseconds |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| 8.00 | pool of 0 | a | b | 1.0 |\n"
            "| 2.00 | pool of 0 | a | b | 1.0 |\n"
            "| 1.00 | conv of 0 | a | b | 3.0 |\n");
}

TEST(Choices, AJsonLineHasTheTimesOfAllCandidates) {
  const TimedChoice choice{{"pool", "of 2"}, "a", "b", 2e-6, 1e-6, {{"a", "", 3e-6}, {"b", "", 1e-6}}};
  EXPECT_EQ(json_line(choice),
            R"({"bench": "choices", "key": "pool of 2", "chosen": "a", "fastest": "b", "chosen_seconds": 2e-06, )"
            R"("fastest_seconds": 1e-06, "seconds": {"a": 3e-06, "b": 1e-06}})");
}

}  // namespace
}  // namespace thtrain

// Lists of candidates: patterns, what is left, and what is said of names that there are not.
#include "compiler/tuning/candidate_lists.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

kernel::Target avx512() {
  kernel::Target target;
  target.isa = "avx512";
  target.vector_bytes = 64;
  return target;
}

const ChoiceKey kProduct{"matrix_product", "float32 3x5x7 NN"};

std::vector<std::string> names(const CandidateLists& lists, const ChoiceKey& key = kProduct) {
  std::vector<std::string> out;
  for (const Candidate& candidate : listed_candidates(lists, key, avx512())) out.push_back(candidate.name);
  return out;
}

TEST(CandidateLists, AStarStandsForAnyCharacters) {
  for (const auto& [pattern, text] : {std::pair("", ""),
                                      {"*", ""},
                                      {"*", "rows 6x4"},
                                      {"rows *", "rows 6x4"},
                                      {"*4", "rows 6x4"},
                                      {"r*x*", "rows 6x4"},
                                      {"*6*6*", "a6b6"},
                                      {"**a", "aaa"},
                                      {"a*a", "aa"}})
    EXPECT_TRUE(matches_pattern(pattern, text)) << pattern << " " << text;
  for (const auto& [pattern, text] : {std::pair("", "a"),
                                      {"rows", "rows 6x4"},
                                      {"* 6", "rows 6x4"},
                                      {"a*a", "a"},
                                      {"*6*6*", "a6b"},
                                      {"a?", "ab"},
                                      {"b*", "ab"}})
    EXPECT_FALSE(matches_pattern(pattern, text)) << pattern << " " << text;
}

TEST(CandidateLists, OnlyLeavesWhatItNamesWhereItApplies) {
  const std::vector<std::string> all = names({});
  ASSERT_GT(all.size(), 2u);
  EXPECT_EQ(names({.only = {"library"}}), (std::vector<std::string>{"library"}));
  EXPECT_EQ(names({.only = {"matrix_*:lib*"}}), (std::vector<std::string>{"library"}));
  EXPECT_EQ(names({.only = {"conv:*"}}), all) << "of another computation";
  EXPECT_EQ(names({.only = {"no such"}}), all) << "it applies nowhere";
  EXPECT_EQ(names({.only = {"loops"}}), (std::vector<std::string>{"loops"})) << "not worth a trial, but named";
}

TEST(CandidateLists, IncludeAddsAndExcludeTakesAway) {
  std::vector<std::string> all = names({});
  std::vector<std::string> more = all;
  more.push_back("loops");
  EXPECT_EQ(names({.include = {"loops"}}), more);
  EXPECT_EQ(names({.include = {"conv:loops"}}), all);
  std::erase(all, "library");
  EXPECT_EQ(names({.exclude = {"library"}}), all);
  EXPECT_EQ(names({.exclude = {"*"}}), (std::vector<std::string>{}));
}

TEST(CandidateLists, WorkspacesHaveALimit) {
  const ChoiceKey key{"conv", "float32 b2 i8x12x12 k16x3x3 p1:1x1:1"};
  int64_t largest = 0;
  for (const Candidate& c : listed_candidates({}, key, avx512())) largest = std::max(largest, c.workspace_bytes);
  ASSERT_GT(largest, 1) << "images with zeros around them are copied";
  EXPECT_EQ(names({.workspace_limit = largest}, key), names({}, key));
  for (const Candidate& c : listed_candidates({.workspace_limit = largest - 1}, key, avx512()))
    EXPECT_LT(c.workspace_bytes, largest) << c.name;
  EXPECT_EQ(names({.include = {"loops"}, .workspace_limit = 1}, key), (std::vector<std::string>{"loops"}));
}

TEST(CandidateLists, NamesThatThereAreNotAreErrors) {
  EXPECT_NO_THROW(check_lists({.only = {"lib*"}, .include = {"loops"}, .exclude = {"library"}}, {kProduct}, avx512()));
  EXPECT_NO_THROW(check_lists({.only = {"nothing"}}, {}, avx512())) << "nothing is chosen";
  const std::string there = "  expected: matrix_product: " + join(names({}), ", ") + "\n";
  EXPECT_EQ(
      text_without_node([] { check_lists({.exclude = {"libary"}}, {kProduct}, avx512()); }),
      "error: exclude_candidates: there is no candidate libary here\n" + there +
          "  got:      libary\n  hint:     `*` stands for any characters; COMPUTATION:NAME is of one computation");
}

Function product_function(const FunctionOptions& options) {
  Expr x = tensor("x", {3, 7}, DType::kFloat32), y = tensor("y", {7, 5}, DType::kFloat32);
  return function({x, y}, {dot(x, y)}, {}, options);
}

TEST(CandidateLists, AFunctionTakesWhatTheyAllow) {
  const FunctionOptions never{.tune = Tune::kNever};
  FunctionOptions listed = never;
  listed.candidate_lists = {.only = {"library"}};
  EXPECT_EQ(product_function(listed).info().choices.at(0).candidate, "library");
  listed.candidate_lists = {.include = {"loops"}, .exclude = {"library", "oneDNN", "tile *", "rows *"}};
  EXPECT_EQ(product_function(listed).info().choices.at(0).candidate, "loops");
  listed.candidate_lists = {.exclude = {"*"}};
  const std::string text = text_without_node([&] { product_function(listed); });
  EXPECT_TRUE(
      text.starts_with("error: the lists of candidates leave none for matrix_product float32 3x7x5 NN\n"
                       "  expected: one of library"))
      << text;
  EXPECT_TRUE(text.ends_with("\n  got:      only: ; exclude: *")) << text;
}

}  // namespace
}  // namespace thtrain

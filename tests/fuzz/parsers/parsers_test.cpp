// The parsers of files that others may have written, over their seeds and over changed ones: the same functions that
// libFuzzer runs in the preset `fuzz`. THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES set the first changed input and how
// many there are for each parser.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/parsers/mutate.h"
#include "tests/fuzz/parsers/parser.h"

namespace thtrain::fuzz {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// As a string of C++.
std::string escaped(const std::string& bytes) {
  std::string out;
  char text[8];
  for (char c : bytes) {
    bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';
    std::snprintf(text, sizeof text, plain ? "%c" : "\\%03o", static_cast<unsigned char>(c));
    out += text;
  }
  return out;
}

class Parsers : public testing::TestWithParam<const Parser*> {
 protected:
  /// "" or what is wrong with the parser.
  static std::string fault(const std::string& bytes) {
    try {
      GetParam()->parse(bytes);
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }
};

TEST_P(Parsers, AcceptTheirSeeds) {
  std::vector<std::string> seeds = GetParam()->seeds();
  EXPECT_GE(seeds.size(), 2u);
  for (const std::string& seed : seeds) {
    EXPECT_LE(seed.size(), 4096u);
    EXPECT_TRUE(GetParam()->parse(seed)) << '"' << escaped(seed) << '"';
  }
}

TEST_P(Parsers, RefuseEveryBeginningOfTheirSeedsWithoutAFault) {
  for (const std::string& seed : GetParam()->seeds())
    for (size_t length = 0; length < seed.size(); ++length)
      ASSERT_EQ(fault(seed.substr(0, length)), "") << '"' << escaped(seed.substr(0, length)) << '"';
}

TEST_P(Parsers, TakeChangedInputsWithoutAFault) {
  uint64_t first = setting("THTRAIN_FUZZ_SEED", 1), cases = setting("THTRAIN_FUZZ_CASES", 3000);
  std::vector<std::string> seeds = GetParam()->seeds();
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::string bytes = mutated(seeds, seed);
    ASSERT_EQ(fault(bytes), "") << GetParam()->name << ", THTRAIN_FUZZ_SEED=" << seed << ": \"" << escaped(bytes)
                                << '"';
  }
}

constexpr const Parser* kAll[] = {&kToml,   &kNpy,          &kNpz,         &kIdx,        &kCsv,
                                  &kLibsvm, &kMatrixMarket, &kSparseNpz,   &kCacheEntry, &kProgramImage,
                                  &kTuning, &kTuningImport, &kFunctionFile};

INSTANTIATE_TEST_SUITE_P(All, Parsers, testing::ValuesIn(kAll),
                         [](const auto& info) { return std::string(info.param->name); });

// What libFuzzer found.
TEST(FormerFindings, AreNoFaultsAnyMore) {
  // toml++ took letters such as this one, outside of quotes, for unreachable.
  EXPECT_FALSE(kToml.parse("a = \xc3\xa9\n"));
  EXPECT_FALSE(
      kToml.parse("seed\xef\xbb\xbf"
                  "1\n"));
  // The last tab before a quote that is not closed has nothing behind it.
  EXPECT_FALSE(kCsv.parse("1\t\"2,3\n"));
}

}  // namespace
}  // namespace thtrain::fuzz

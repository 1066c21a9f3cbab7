#include "trainers/fingerprint.h"

#include <gtest/gtest.h>

#include <map>

namespace thtrain {
namespace {

TEST(Fingerprint, DifferencesAreNamed) {
  EXPECT_TRUE(differences({{"a", "1"}, {"b", "2"}}, {{"b", "2"}, {"a", "1"}}).empty());
  std::vector<std::string> expected = {"threads: 2 then, 4 now", "new: not known then, x now",
                                       "old: y then, not known now"};
  EXPECT_EQ(differences({{"threads", "2"}, {"old", "y"}}, {{"threads", "4"}, {"new", "x"}}), expected);
}

TEST(Fingerprint, OfTheChoicesThoseThatDiffer) {
  const std::string then = "conv float32 b50: rows 12x2 (4), pool max p0:0x0:0: taps (1), scan a: loop (1)",
                    now = "conv float32 b50: rows 4x5 (4), pool max p0:0x0:0: taps (1), scan b: loop (1)";
  std::vector<std::string> expected = {"choices: conv float32 b50: rows 12x2 (4) then, rows 4x5 (4) now",
                                       "choices: scan a: loop (1) then, none now",
                                       "choices: scan b: none then, loop (1) now"};
  EXPECT_EQ(differences({{"choices", then}}, {{"choices", now}}), expected);
  EXPECT_TRUE(differences({{"choices", then}}, {{"choices", then}}).empty());
}

TEST(Fingerprint, TextReadsBack) {
  Fingerprint fingerprint = {{"compiler", "g++ = 12"}, {"blas", ""}};
  EXPECT_EQ(fingerprint_of(fingerprint_text(fingerprint)), fingerprint);
  EXPECT_EQ(fingerprint_of(fingerprint_text({{"a", "two\nlines"}})), (Fingerprint{{"a", "two lines"}}));
}

TEST(Fingerprint, OfThisMachine) {
  Fingerprint fingerprint = machine_fingerprint(3);
  std::map<std::string, std::string> by_name(fingerprint.begin(), fingerprint.end());
  EXPECT_EQ(by_name.at("threads"), "3");
  for (const char* name : {"thtrain", "processor", "vector_bytes", "blas", "compiler"})
    EXPECT_NE(by_name.at(name), "") << name;
  EXPECT_TRUE(differences(fingerprint, machine_fingerprint(3)).empty());
}

}  // namespace
}  // namespace thtrain

// Lines of long texts.
#include "compiler/base/wrap.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

using Lines = std::vector<std::string>;

TEST(Wrap, BreaksAtTheLastSpaceThatFits) {
  EXPECT_EQ(wrapped("one two three", 20, 20), Lines({"one two three"}));
  EXPECT_EQ(wrapped("one two three", 8, 8), Lines({"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 7, 7), Lines({"one two", "three"}));
  EXPECT_EQ(wrapped("one two three four", 4, 10), Lines({"one", "two three", "four"}));
  EXPECT_EQ(wrapped("", 4, 4), Lines({""}));
}

TEST(Wrap, AWordThatIsTooLongStandsAlone) {
  EXPECT_EQ(wrapped("unbreakable text", 4, 4), Lines({"unbreakable", "text"}));
  EXPECT_EQ(wrapped("a unbreakable", 4, 4), Lines({"a", "unbreakable"}));
  EXPECT_EQ(wrapped("unbreakable", 4, 4), Lines({"unbreakable"}));
}

}  // namespace
}  // namespace thtrain

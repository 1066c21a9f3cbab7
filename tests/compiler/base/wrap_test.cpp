// Lines of long texts.
#include "compiler/base/wrap.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

using Wrapped = std::vector<std::string>;

TEST(Wrap, BreaksAtTheLastSpaceThatFits) {
  EXPECT_EQ(wrapped("one two three", 20, 20), Wrapped({"one two three"}));
  EXPECT_EQ(wrapped("one two three", 8, 8), Wrapped({"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 7, 7), Wrapped({"one two", "three"}));
  EXPECT_EQ(wrapped("one two three four", 4, 10), Wrapped({"one", "two three", "four"}));
  EXPECT_EQ(wrapped("", 4, 4), Wrapped({""}));
}

TEST(Wrap, AWordThatIsTooLongHasItsOwnLine) {
  EXPECT_EQ(wrapped("unbreakable text", 4, 4), Wrapped({"unbreakable", "text"}));
  EXPECT_EQ(wrapped("a unbreakable", 4, 4), Wrapped({"a", "unbreakable"}));
  EXPECT_EQ(wrapped("unbreakable", 4, 4), Wrapped({"unbreakable"}));
}

}  // namespace
}  // namespace thtrain

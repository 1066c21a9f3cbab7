#include "trainers/pins.h"

#include <gtest/gtest.h>

#include <map>

namespace thtrain {
namespace {

TEST(Pins, DifferencesAreNamed) {
  EXPECT_TRUE(differences({{"a", "1"}, {"b", "2"}}, {{"b", "2"}, {"a", "1"}}).empty());
  std::vector<std::string> expected = {"threads: 2 then, 4 now", "new: not known then, x now",
                                       "old: y then, not known now"};
  EXPECT_EQ(differences({{"threads", "2"}, {"old", "y"}}, {{"threads", "4"}, {"new", "x"}}), expected);
}

TEST(Pins, TextReadsBack) {
  Pins pins = {{"compiler", "g++ = 12"}, {"blas", ""}};
  EXPECT_EQ(pins_of(pins_text(pins)), pins);
  EXPECT_EQ(pins_of(pins_text({{"a", "two\nlines"}})), (Pins{{"a", "two lines"}}));
}

TEST(Pins, OfThisMachine) {
  Pins pins = machine_pins(3);
  std::map<std::string, std::string> by_name(pins.begin(), pins.end());
  EXPECT_EQ(by_name.at("threads"), "3");
  for (const char* name : {"thtrain", "processor", "vector_bytes", "blas", "compiler"})
    EXPECT_NE(by_name.at(name), "") << name;
  EXPECT_TRUE(differences(pins, machine_pins(3)).empty());
}

}  // namespace
}  // namespace thtrain

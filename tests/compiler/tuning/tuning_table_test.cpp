// The text that remembers what was measured.
#include "compiler/tuning/tuning_table.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

TEST(TuningTable, TheFastestIsFirst) {
  TuningTable table;
  table.add("a key", {"slow", "1", 4e-5});
  table.add("a key", {"fast", "2 OpenBLAS 0.3.21 Haswell", 3.5e-5});
  EXPECT_EQ(table.text("a machine"),
            "# a machine\na key = fast [2 OpenBLAS 0.3.21 Haswell] 3.500e-05; slow [1] 4.000e-05\n");
  EXPECT_EQ(TuningTable::parse(table.text("a machine")), table);
  EXPECT_TRUE(table.of("another key").empty());
}

// A busy machine is remembered; lines without a load are those of before, or of a machine that was not busy.
TEST(TuningTable, TheLoadFollowsTheTime) {
  TuningTable table;
  table.add("a key", {"busy", "1", 4e-5, 13.84});
  table.add("a key", {"calm", "1", 3e-5});
  EXPECT_EQ(table.text("m"), "# m\na key = calm [1] 3.000e-05; busy [1] 4.000e-05 load 13.8\n");
  EXPECT_EQ(TuningTable::parse(table.text("m")), table);
  EXPECT_EQ(table.of("a key").at(1).load, 13.8);
  for (const char* end : {" load", " load ", " load x", " load -1", " load 0", " load 1 x", " load 1e999", "load 1"}) {
    const std::string line = std::string("a key = one [1] 1e-05") + end + "\n";
    EXPECT_TRUE(TuningTable::parse(line).of("a key").empty()) << line;
    EXPECT_EQ(TuningTable::parse(line).text("m"), "# m\n" + line);
  }
}

TEST(TuningTable, ANewTimeReplacesTheOld) {
  TuningTable table = TuningTable::parse("a key = one [1] 1e-05; two [1] 2e-05\nb key = one [1] 1e-05\n");
  TuningTable newer;
  newer.add("a key", {"one", "2", 3e-5});
  table.merge(newer);
  EXPECT_EQ(table.text("m"), "# m\na key = two [1] 2.000e-05; one [2] 3.000e-05\nb key = one [1] 1.000e-05\n")
      << "two, and the other key, were not measured again";
}

// A candidate that must not be taken has no time, until it gets one.
TEST(TuningTable, RefusalsAreRemembered) {
  TuningTable table;
  table.add("a key", {"mine", "1", 4e-5});
  table.refuse("a key", {"mine", "2 of my.so 0123456789ab", "it wrote behind its result; up to\n4 bytes"});
  table.add("a key", {"other", "1", 4e-5});
  EXPECT_EQ(table.text("m"),
            "# m\na key = other [1] 4.000e-05\n"
            "refused a key = mine [2 of my.so 0123456789ab] it wrote behind its result; up to\\n4 bytes\n");
  EXPECT_EQ(TuningTable::parse(table.text("m")), table);
  EXPECT_EQ(table.refused_of("a key").at(0).version, "2 of my.so 0123456789ab");
  EXPECT_TRUE(table.refused_of("another key").empty());
  TuningTable newer;
  newer.add("a key", {"mine", "3", 1e-5});
  newer.refuse("a key", {"other", "1", "it crashed"});
  table.merge(newer);
  EXPECT_EQ(table.text("m"), "# m\na key = mine [3] 1.000e-05\nrefused a key = other [1] it crashed\n");
  for (const char* line : {"refused a key = mine", "refused a key = mine [1]", "refused a key = mine [1] ",
                           "refused  = mine [1] why", "refused a key = [1] why"})
    EXPECT_EQ(TuningTable::parse(std::string(line) + "\n").text("m"), std::string("# m\n") + line + "\n");
}

// Another version of thtrain may have written them.
TEST(TuningTable, LinesThatItDoesNotKnowAreKept) {
  const std::string unknown =
      "float32 2x2x2 NN = library\n"           // no version, no time
      "a key = one [1] fast\n"                 // no number
      "a key = one [1] -1e-05\n"               // no time
      "a key = one [1] 1e-05; two\n"           // half a list
      "convolution of the future: winograd\n"  // another form
      " = one [1] 1e-05\n";                    // no key
  TuningTable table = TuningTable::parse("# head\n\n" + unknown + "key of a user's = mine [7] 1e-03\n");
  EXPECT_EQ(table.of("key of a user's"), (std::vector<Measured>{{"mine", "7", 1e-3}}));
  EXPECT_TRUE(table.of("a key").empty());
  TuningTable newer;
  newer.add("a key", {"one", "1", 1e-5});
  table.merge(newer);
  EXPECT_EQ(table.text("m"), "# m\na key = one [1] 1.000e-05\nkey of a user's = mine [7] 1.000e-03\n" + unknown);
}

}  // namespace
}  // namespace thtrain

// Files of times: what goes out, and that nothing else than times comes in.
#include "compiler/tuning/exchanged_times.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/str.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

constexpr const char* kKey = "matrix_product float32 60x784x500 NN";

std::string head(int threads = 3) {
  return str("# ", tuned_machine_text(threads, machine()), "\n");
}
std::string refusal_of(const std::string& text) {
  try {
    imported_times(text, "t.times", 3);
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n";
  }
  return "none\n";
}

TEST(ExchangedTimes, OwnTimesGoOutAndComeIn) {
  TuningTable table;
  table.add(kKey, {"library", "1 OpenBLAS", 4e-5});
  table.add(kKey, {"tile 6x4x392", "3", 3.5e-5, 7.5});
  table.add(kKey, {"of a user", "1 of my.so", 1e-5});
  table.add("unknown_computation x", {"library", "1", 1e-5});
  table.refuse(kKey, {"another", "1", "it crashed"});
  remember(table, 3);
  const std::string text = exported_times(3);
  EXPECT_NE(text.find(str(kKey, " = tile 6x4x392 [3] 3.500e-05 load 7.5; library [1 OpenBLAS] 4.000e-05\n")),
            std::string::npos)
      << text;
  for (const char* left_out : {"of a user", "unknown_computation", "crashed"})
    EXPECT_EQ(text.find(left_out), std::string::npos) << text;
  const TuningTable again = imported_times(text, "t.times", 3);
  EXPECT_EQ(again.of(kKey).at(0).seconds, 3.5e-5);
}

TEST(ExchangedTimes, NothingElseComesIn) {
  const std::string other = head(4);
  EXPECT_EQ(refusal_of(other), str("error: t.times: these times are of another machine\n  expected: ", head().substr(2),
                                   "  got:      ", other.substr(2, other.size() - 3),
                                   "\n  hint:     times are exchanged between machines with one kind of processor, for "
                                   "equal OMP_NUM_THREADS\n"));
  EXPECT_EQ(refusal_of("x\n"),
            "error: t.times: this is no file of times\n"
            "  expected: a file that `thtrain tune --export` wrote\n"
            "  got:      x\n");
  EXPECT_EQ(refusal_of(""),
            "error: t.times: this is no file of times\n  expected: a file that `thtrain tune --export` wrote\n");
  const std::string good = str(head(), kKey, " = library [1] 1e-05\n"), whole = str(good, "# the end of 1 choices\n");
  EXPECT_EQ(refusal_of(whole), "none\n");
  for (size_t bytes = head().size(); bytes < whole.size(); ++bytes)
    EXPECT_NE(refusal_of(whole.substr(0, bytes)), "none\n");
  EXPECT_EQ(refusal_of(good),
            "error: t.times: the end of the file is missing\n"
            "  expected: a last line that says how many choices there are\n"
            "  hint:     it was cut: copy it again\n");
  const auto with = [&](const std::string& line) { return refusal_of(str(good, line, "\n")); };
  EXPECT_EQ(with(str(kKey, " = mine [1] 1e-05")), str("error: t.times:3: this is no line of times\n"
                                                      "  expected: candidates that this thtrain has, and not mine\n"
                                                      "  got:      ",
                                                      kKey, " = mine [1] 1e-05\n"));
  EXPECT_EQ(with("new_thing 1 = library [1] 1e-05"),
            "error: t.times:3: this is no line of times\n"
            "  expected: a computation that this thtrain has\n"
            "  got:      new_thing 1 = library [1] 1e-05\n");
  const std::vector<std::string> lines = {str("refused ", kKey, " = library [1] no"),
                                          str(kKey, " = library [1] -1"),
                                          str(kKey, " = library [1] nan"),
                                          str(kKey, " = library 1e-05"),
                                          "x",
                                          str(kKey, " = library [1] 1e-05; "),
                                          "# a comment",
                                          str(kKey, " = \x1b[2J [1] 1")};
  for (const std::string& line : lines)
    EXPECT_NE(with(line).find("error: t.times:3: this is no line of times\n"), std::string::npos) << line;
  EXPECT_NE(refusal_of(std::string(17 << 20, 'x')).find("this is no file of times: it has 17825792 bytes\n"),
            std::string::npos);
}

}  // namespace
}  // namespace thtrain

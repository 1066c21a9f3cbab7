// The lists on the command line of `thtrain sweep`: what they are split into, and what is wrong with them.
#include "cli/sweep/points.h"

#include <gtest/gtest.h>

#include "config/config_node.h"

namespace thtrain {
namespace {

using Strings = std::vector<std::string>;

Strings values_of(const std::string& list) {
  const SweepPoints points({"k=" + list});
  Strings out;
  for (const SweptValue& value : points.keys().at(0).values) out.push_back(value.text);
  return out;
}

std::string points_error(const Strings& words) {
  try {
    const SweepPoints points(words);
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n";
  }
  return "no error\n";
}

TEST(SweepPoints, CommasSeparateValues) {
  EXPECT_EQ(values_of("0.1,0.03,0.01"), (Strings{"0.1", "0.03", "0.01"}));
  EXPECT_EQ(values_of(" 0.1 , 0.03"), (Strings{"0.1", "0.03"}));
  EXPECT_EQ(values_of("tanh,relu"), (Strings{"tanh", "relu"}));
  EXPECT_EQ(values_of("\"a,b\",'c,d'"), (Strings{"\"a,b\"", "'c,d'"}));
  EXPECT_EQ(values_of(R"("a\",b",c)"), (Strings{R"("a\",b")", "c"}));
  EXPECT_EQ(values_of(R"('a\',c)"), (Strings{R"('a\')", "c"}));  // TOML's literal strings have no escapes
  EXPECT_EQ(values_of("[1,2],[3, 4]"), (Strings{"[1,2]", "[3, 4]"}));
  EXPECT_EQ(values_of("[[1,2],[3]],[]"), (Strings{"[[1,2],[3]]", "[]"}));
  EXPECT_EQ(values_of("{a = 1, b = \"]\"},{a = 2}"), (Strings{"{a = 1, b = \"]\"}", "{a = 2}"}));
  EXPECT_EQ(values_of("a=1,b=2"), (Strings{"a=1", "b=2"}));
}

// A quote opens a string where a value may begin; inside a word it is a letter.
TEST(SweepPoints, QuotesInsideWordsAreLetters) {
  EXPECT_EQ(values_of("don't.csv,other.csv"), (Strings{"don't.csv", "other.csv"}));
  EXPECT_EQ(values_of("5\"disk,3\"disk"), (Strings{"5\"disk", "3\"disk"}));
  EXPECT_EQ(values_of("a'b,c'd"), (Strings{"a'b", "c'd"}));
  EXPECT_EQ(values_of("don't, 'a,b' ,\"it's, isn't it\",x"), (Strings{"don't", "'a,b'", "\"it's, isn't it\"", "x"}));
  EXPECT_EQ(values_of("'',b,\"\""), (Strings{"''", "b", "\"\""}));
  EXPECT_EQ(values_of("'''a',b''',c"), (Strings{"'''a',b'''", "c"}));
  EXPECT_EQ(values_of(R"("""a",\""",b"""",c)"), (Strings{R"("""a",\""",b"""")", "c"}));
  EXPECT_EQ(values_of("['a]', \"b[\"],c"), (Strings{"['a]', \"b[\"]", "c"}));
  EXPECT_EQ(values_of("{a='x}',\"b ]\" = 'y{'},{a=1}"), (Strings{"{a='x}',\"b ]\" = 'y{'}", "{a=1}"}));
  EXPECT_EQ(values_of("x,'tis,b"), (Strings{"x", "'tis,b"}));  // reading it says that it is not closed
}

TEST(SweepPoints, RangesAreIntegers) {
  EXPECT_EQ(values_of("1..3"), (Strings{"1", "2", "3"}));
  EXPECT_EQ(values_of("5..5"), (Strings{"5"}));
  EXPECT_EQ(values_of("5..5..-1"), (Strings{"5"}));
  EXPECT_EQ(values_of("10..35..10"), (Strings{"10", "20", "30"}));
  EXPECT_EQ(values_of("-2..+1"), (Strings{"-2", "-1", "0", "1"}));
  EXPECT_EQ(values_of("6..1..-2"), (Strings{"6", "4", "2"}));
  EXPECT_EQ(values_of("1..3,10,20..21"), (Strings{"1", "2", "3", "10", "20", "21"}));
  EXPECT_EQ(values_of("9223372036854775806..9223372036854775807"),
            (Strings{"9223372036854775806", "9223372036854775807"}));
  EXPECT_EQ(values_of("-9223372036854775808..9223372036854775807..9223372036854775807"),
            (Strings{"-9223372036854775808", "-1", "9223372036854775806"}));
  for (const char* one : {"../x.csv", "1...3", "1..", "..3", "a..b", "1..2..3..4", "\"1..3\"", "[1, 2]", "0.1"})
    EXPECT_EQ(SweepPoints({str("k=", one), "seed=1,2"}).keys().size(), 1u) << one;
}

TEST(SweepPoints, TheLastKeyTakesItsNextValueFirst) {
  const SweepPoints points({"trainer.learning_rate=0.1,0.03", "trainer.epochs=5", "seed = 1..3"});
  ASSERT_EQ(points.count(), 6);
  EXPECT_EQ(points.overrides(0), (Strings{"trainer.learning_rate=0.1", "trainer.epochs=5", "seed =1"}));
  EXPECT_EQ(points.overrides(4), (Strings{"trainer.learning_rate=0.03", "trainer.epochs=5", "seed =2"}));
  EXPECT_EQ(points.values(5), (Strings{"0.03", "3"}));
  EXPECT_EQ(points.name(4), "learning_rate=0.03,seed=2");
  EXPECT_EQ(points.keys()[1].key, "seed");
  EXPECT_EQ(points.point_of(0, 1), 3);
  EXPECT_EQ(points.point_of(1, 2), 2);
}

TEST(SweepPoints, NamesAreReadableOrNumbers) {
  EXPECT_EQ(SweepPoints({"model.layers.0.units=10,20"}).name(1), "units=20");
  const SweepPoints two({"model.layers.0.units=10,20", "model.layers.1.units=1,2", "seed=1,2"});
  EXPECT_EQ(two.name(0), "0.units=10,1.units=1,seed=1");
  const SweepPoints phases({"phase.0.trainer.epochs=1,2", "phase.1.trainer.epochs=3,4", "trainer.epochs=5,6"});
  EXPECT_EQ(phases.name(7), "0.trainer.epochs=2,1.trainer.epochs=4,trainer.epochs=6");
  EXPECT_EQ(SweepPoints({"trainer.optimizer=\"adam\",sgd"}).name(0), "optimizer=adam");
  EXPECT_EQ(SweepPoints({"data.train=a/b.csv,c.csv"}).name(1), "run-2");
  EXPECT_EQ(SweepPoints({"a.b=\"1\",1"}).name(0), "run-1");  // one name for two runs
  EXPECT_EQ(SweepPoints({"k=[1],[2]", "seed=1..5"}).name(8), "run-09");
  EXPECT_EQ(SweepPoints({"k=\"\",b"}).name(1), "run-2");
  EXPECT_EQ(SweepPoints({str("k=a,", std::string(200, 'x'))}).name(0), "run-1");
  EXPECT_EQ(SweepPoints({"k=a,\x1b"}).name(0), "run-1");
}

TEST(SweepPoints, MistakesAreAtTheirPosition) {
  const char* form = "  hint:     write several values as key=0.1,0.03 or key=1..5\n";
  EXPECT_EQ(points_error({"seed=1", "trainer.learning_rate=0.1,,0.3,"}),
            str("error: trainer.learning_rate has an empty value between its commas\n"
                "  config:   command line:2:27\n"
                "      2 | trainer.learning_rate=0.1,,0.3,\n"
                "        |                           ^\n",
                form,
                "error: trainer.learning_rate has an empty value between its commas\n"
                "  config:   command line:2:32\n"
                "      2 | trainer.learning_rate=0.1,,0.3,\n"
                "        |                                ^\n",
                form));
  EXPECT_EQ(points_error({"seed=5..1"}),
            "error: the range 5..1 has no numbers\n"
            "  expected: a..b with a at most b, or steps that lead from a to b, as in 5..1..-1\n"
            "  got:      steps of 1 from 5 to 1\n"
            "  config:   command line:1:6\n"
            "      1 | seed=5..1\n"
            "        |      ^^^^\n");
  EXPECT_EQ(points_error({"seed=1..5..0", "seed=1..5..-1"}),
            "error: the range 1..5..0 has no numbers\n"
            "  expected: a..b with a at most b, or steps that lead from a to b, as in 5..1..-1\n"
            "  got:      steps of 0 from 1 to 5\n"
            "  config:   command line:1:6\n"
            "      1 | seed=1..5..0\n"
            "        |      ^^^^^^^\n"
            "error: seed is given twice\n"
            "  config:   command line:2:1\n"
            "      2 | seed=1..5..-1\n"
            "        | ^^^^\n"
            "  hint:     it is first given as seed=1..5..0: write all of its values as one list\n"
            "error: the range 1..5..-1 has no numbers\n"
            "  expected: a..b with a at most b, or steps that lead from a to b, as in 5..1..-1\n"
            "  got:      steps of -1 from 1 to 5\n"
            "  config:   command line:2:6\n"
            "      2 | seed=1..5..-1\n"
            "        |      ^^^^^^^^\n");
  EXPECT_EQ(points_error({"seed=1..3,2"}),
            "error: seed has the value 2 twice\n"
            "  expected: each value once\n"
            "  config:   command line:1:11\n"
            "      1 | seed=1..3,2\n"
            "        |           ^\n");
  EXPECT_EQ(points_error({"seed=1,01"}),
            "error: seed has the value 1 twice, the second time as 01\n"
            "  expected: each value once\n"
            "  config:   command line:1:8\n"
            "      1 | seed=1,01\n"
            "        |        ^^\n");
  EXPECT_EQ(points_error({"trainer.learning_rate=0.1,1e-1"}),
            "error: trainer.learning_rate has the value 0.1 twice, the second time as 1e-1\n"
            "  expected: each value once\n"
            "  config:   command line:1:27\n"
            "      1 | trainer.learning_rate=0.1,1e-1\n"
            "        |                           ^^^^\n");
  const std::string of_integers =
      "  expected: integers of 64 bits, as in 1..5 or 10..35..10\n"
      "  config:   command line:1:23\n";
  const char* as_list = "  hint:     write other numbers as a list, as in 0.1,0.3,0.5\n";
  EXPECT_EQ(points_error({"trainer.learning_rate=0.1..0.5"}),
            str("error: the range 0.1..0.5 is not one of integers\n", of_integers,
                "      1 | trainer.learning_rate=0.1..0.5\n"
                "        |                       ^^^^^^^^\n",
                as_list));
  EXPECT_EQ(points_error({"trainer.learning_rate=1..5..0.5,7"}),
            str("error: the range 1..5..0.5 is not one of integers\n", of_integers,
                "      1 | trainer.learning_rate=1..5..0.5,7\n"
                "        |                       ^^^^^^^^^\n",
                as_list));
  EXPECT_TRUE(points_error({"seed=1..99999999999999999999"})
                  .starts_with("error: the range 1..99999999999999999999 is not one of integers\n"));
  EXPECT_EQ(points_error({"trainer.epochs=5"}),
            "error: thtrain sweep: no key has several values\n"
            "  expected: at least one list, as in trainer.learning_rate=0.1,0.03 or seed=1..3\n"
            "  hint:     `thtrain train` does a single run\n");
  const char* most =
      "error: the sweep has more than 10,000 runs\n"
      "  expected: a product of the lengths of the lists of at most 10,000\n";
  EXPECT_EQ(points_error({"seed=1..200", "a=1..51"}), str(most,
                                                          "  config:   command line:2:1\n"
                                                          "      2 | a=1..51\n"
                                                          "        | ^^^^^^^\n"));
  EXPECT_EQ(points_error({"seed=-9223372036854775808..9223372036854775807"}),
            str(most,
                "  config:   command line:1:1\n"
                "      1 | seed=-9223372036854775808..9223372036854775807\n"
                "        | ",
                std::string(46, '^'), "\n"));
  EXPECT_EQ(SweepPoints({"seed=1..10000"}).count(), 10'000);
}

// What the experiment says of a run's override is told of the word that was typed.
TEST(SweepPoints, PositionsOfARunAreThoseOfItsList) {
  const SweepPoints points({"a=1", "trainer.learning_rate=0.1, \"x\",3", "seed=1..3"});
  auto located = [&](int line, int column, int length) {
    ConfigPosition position;
    position.file = kCommandLine;
    position.line = line;
    position.column = column;
    position.length = length;
    position.source_line = points.overrides(4)[static_cast<size_t>(line) - 1];
    return points.located(UserError(Message{.what = "w", .config = position}), 4).at(0).text();
  };
  EXPECT_EQ(located(1, 3, 1), "error: w\n  config:   command line:1:3\n      1 | a=1\n        |   ^");
  const std::string word = "      2 | trainer.learning_rate=0.1, \"x\",3\n";
  EXPECT_EQ(located(2, 23, 3),
            str("error: w\n  config:   command line:2:28\n", word, "        |                            ^^^"));
  EXPECT_EQ(located(2, 9, 13),
            str("error: w\n  config:   command line:2:9\n", word, "        |         ^^^^^^^^^^^^^"));
  EXPECT_EQ(located(3, 6, 1), "error: w\n  config:   command line:3:6\n      3 | seed=1..3\n        |      ^^^^");
}

}  // namespace
}  // namespace thtrain

// `thtrain sweep --random` and `--halving`, and `--until-epoch` of `train` and `resume`.
#include "cli/sweep/points.h"
#include "tests/cli/sweep_workshop.h"

namespace thtrain {
namespace {

using Strings = std::vector<std::string>;

// ---- what is drawn

Strings drawn(const Strings& words, int64_t count, int64_t seed = 1) {
  const SweepPoints points(words, {.random = count, .random_seed = seed});
  Strings out;
  for (int64_t i = 0; i < points.count(); ++i) out.push_back(points.name(i));
  return out;
}
std::vector<double> numbers_of(const std::string& interval, int64_t count) {
  const SweepPoints points({"k=" + interval}, {.random = count});
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::stod(points.values(i)[0]));
  std::ranges::sort(out);
  return out;
}

TEST(SweepDraws, ValuesFillTheirIntervals) {
  const std::vector<double> uniform = numbers_of("uniform:-1.0..3", 1000), log = numbers_of("log:0.001..10", 1000);
  EXPECT_GE(uniform.front(), -1);
  EXPECT_LE(uniform.back(), 3);
  EXPECT_NEAR(uniform[500], 1, 0.25);
  EXPECT_NEAR(uniform[100], -0.6, 0.15);
  EXPECT_GE(log.front(), 0.001);
  EXPECT_LE(log.back(), 10);
  EXPECT_NEAR(std::log10(log[500]), -1, 0.25);
  EXPECT_NEAR(std::log10(log[100]), -2.6, 0.15);
}

// One in four of four integers; of 1..1023 by logarithms, half are below 32.
TEST(SweepDraws, IntegersAreDrawnWhereBothEndsAreIntegers) {
  std::vector<int> counts(4);
  for (int64_t seed = 0; seed < 1000; ++seed) {
    const std::string value = SweepPoints({"k=uniform:-1..2"}, {.random = 1, .random_seed = seed}).values(0)[0];
    ASSERT_TRUE(value == "-1" || value == "0" || value == "1" || value == "2") << value;
    ++counts[static_cast<size_t>(std::stoi(value) + 1)];
  }
  for (int count : counts) EXPECT_NEAR(count, 250, 45);
  int64_t below = 0;
  for (int64_t seed = 0; seed < 1000; ++seed) {
    const int value = std::stoi(SweepPoints({"k=log:1..1023"}, {.random = 1, .random_seed = seed}).values(0)[0]);
    ASSERT_TRUE(1 <= value && value <= 1023);
    below += value < 32;
  }
  EXPECT_NEAR(static_cast<double>(below), 500, 60);
  EXPECT_EQ(drawn({"k=uniform:1.0..2"}, 1)[0].find('.'), std::string("k=1.").size() - 1);
}

TEST(SweepDraws, ValuesOfNarrowIntervalsStayInThem) {
  for (double value : numbers_of("uniform:0.99999..1", 200)) EXPECT_TRUE(0.99999 <= value && value <= 1) << value;
  for (double value : numbers_of("log:1e-300..1e300", 200)) EXPECT_TRUE(1e-300 <= value && value <= 1e300) << value;
}

TEST(SweepDraws, PointsDependOnTheirNumberAndTheSeedAlone) {
  const Strings words = {"trainer.learning_rate=log:0.001..1", "model.layers.0.units=8,16,32", "trainer.epochs=3"};
  Strings few = drawn(words, 3);
  const Strings many = drawn(words, 20);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(drawn(words, 3, 2), few);
  std::set<std::string> units;
  for (const std::string& name : many) units.insert(name.substr(name.find("units=")));
  EXPECT_EQ(units, (std::set<std::string>{"units=16", "units=32", "units=8"}));
}

TEST(SweepDraws, EachPointIsRunWithAllSeeds) {
  const Strings names = drawn({"k=uniform:0.0..1", "seed=5,7"}, 2);
  ASSERT_EQ(names.size(), 4u);
  for (size_t i : {0u, 2u}) {
    EXPECT_TRUE(names[i].ends_with(",seed=5"));
    EXPECT_EQ(replaced(names[i], "seed=5", "seed=7"), names[i + 1]);
  }
}

// All 6 combinations of these lists, once each.
TEST(SweepDraws, PointsDiffer) {
  Strings all = drawn({"a=1,2,3", "b=x,y"}, 6);
  std::ranges::sort(all);
  EXPECT_EQ(all, (Strings{"a=1,b=x", "a=1,b=y", "a=2,b=x", "a=2,b=y", "a=3,b=x", "a=3,b=y"}));
}

TEST(SweepDraws, Mistakes) {
  auto error = [](const Strings& words, int64_t count) {
    try {
      drawn(words, count);
    } catch (const UserError& failed) {
      return std::string(failed.what()) + "\n";
    }
    return std::string("none\n");
  };
  EXPECT_EQ(
      error({"a=1,2,3", "b=x,y"}, 7),
      "error: there are too few different points for --random 7\n"
      "  expected: larger intervals, longer lists, or fewer points\n"
      "  got:      6 points\n"
      "  hint:     a sweep without --random takes all combinations of lists; each point is run with all values of "
      "a list of seed\n");
  EXPECT_EQ(error({"k=uniform:0.0..1", "seed=1..3"}, 4000),
            "error: the sweep has more than 10,000 runs\n"
            "  expected: at most 10,000, of all points with all seeds\n"
            "  got:      --random 4000\n");
  for (const char* bad : {"log:0..1", "log:-1..1", "uniform:2..1", "uniform:1..1", "log:1..2..3", "log:a..b",
                          "uniform:0..inf", "uniform:..1", "uniform:nan..1"})
    EXPECT_EQ(error({str("k=", bad)}, 2), str("error: ", bad,
                                              " is no interval\n"
                                              "  expected: uniform:a..b or log:a..b with two numbers, a below b, of "
                                              "log: above 0\n"
                                              "  config:   command line:1:3\n"
                                              "      1 | k=",
                                              bad, "\n        |   ", std::string(std::string(bad).size(), '^'), '\n'));
}

// ---- runs that pause

TEST_F(CliSweep, ARunThatPausesEndsWithTheBitsOfOneThatDoesNot) {
  const Strings train = {"train", "tiny.toml", "trainer.epochs=6", "--quiet", "--run-dir"};
  auto with = [](Strings words, const Strings& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  ASSERT_EQ(workshop.run(with(train, {"whole"})).code, 0);
  const Ended paused = workshop.run(with(train, {"parts", "--until-epoch", "2"}));
  ASSERT_EQ(paused.code, 0) << paused.err;
  EXPECT_NE(paused.out.find("paused after epoch 2, "), std::string::npos) << paused.out;
  EXPECT_NE(paused.out.find("`thtrain resume parts` continues the run\n"), std::string::npos) << paused.out;
  EXPECT_EQ(read_run(workshop.path("parts")).end, RunEnd::kPaused);
  EXPECT_EQ(read_run(workshop.path("parts")).epochs, 2);
  const auto values = one_json_line(workshop.run({"resume", "parts", "--until-epoch", "5", "--json", "--quiet"}).out);
  EXPECT_EQ(values.at("paused"), "true");
  EXPECT_EQ(values.at("epochs"), "5");
  // It has them already.
  EXPECT_EQ(workshop.run({"resume", "parts", "--until-epoch", "3", "--quiet"}).code, 0);
  EXPECT_EQ(read_run(workshop.path("parts")).epochs, 5);
  EXPECT_EQ(workshop.run({"resume", "parts", "--quiet"}).code, 0);
  EXPECT_EQ(read_run(workshop.path("parts")).end, RunEnd::kFinished);
  EXPECT_EQ(workshop.read("parts/best.npz"), workshop.read("whole/best.npz"));
  EXPECT_EQ(without_seconds(workshop.read("parts/metrics.jsonl")),
            without_seconds(workshop.read("whole/metrics.jsonl")));
}

// ---- rounds

Strings halved(const std::string& folder) {
  return {"sweep",
          "tiny.toml",
          "--run-dir",
          folder,
          "trainer.learning_rate=1e-6,0.3,1e-5,1e-4,0.1,1e-3",
          "--halving",
          "2",
          "--jobs",
          "2",
          "--threads",
          "1",
          "trainer.epochs=20"};
}
std::string table_of(const std::string& out) {
  const size_t begin = out.find("  learning_rate  ");
  return without_times(out.substr(begin, out.find("\nsweep folder") - begin));
}

TEST_F(CliSweep, TheBetterHalfGoesOnToTwiceAsManyEpochs) {
  const Ended ended = workshop.run(halved("s"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  // Six runs of 2 epochs, three of 4, two of 8, one of 20.
  std::vector<std::pair<int64_t, std::string>> epochs;
  for (const char* rate : {"1e-6", "0.3", "1e-5", "1e-4", "0.1", "1e-3"})
    epochs.emplace_back(read_run(workshop.path(str("s/learning_rate=", rate))).epochs, rate);
  std::ranges::sort(epochs);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(epochs[i].first, (std::vector<int64_t>{2, 2, 2, 4, 8, 20})[i]);
  for (const char* line :
       {"\ndropped 3 runs, the others go on to 4 epochs\n", "\ndropped 1 run, the others go on to 8 epochs\n",
        "\ndropped 1 run, the others go on to the end\n", "\n1 of 6 runs finished, 5 dropped\n"})
    EXPECT_NE(ended.out.find(line), std::string::npos) << line << ended.out;
  EXPECT_NE(workshop.read("s/sweep.csv").find(",dropped,\n"), std::string::npos);
  // A run of its own has the same bits.
  const std::string best = epochs.back().second;
  ASSERT_EQ(workshop
                .run({"train", "tiny.toml", "--run-dir", "alone", "trainer.epochs=20", "--quiet",
                      str("trainer.learning_rate=", best)})
                .code,
            0);
  EXPECT_EQ(workshop.read(str("s/learning_rate=", best, "/best.npz")), workshop.read("alone/best.npz"));
  // Nothing is left to do.
  const Ended again = workshop.run({"sweep", "--resume", "s", "--dry-run"});
  EXPECT_TRUE(again.out.ends_with("\nnothing to do: 6\n")) << again.out;
}

TEST_F(CliSweep, ASweepInRoundsThatIsKilledEndsWithTheSameTable) {
  const Ended whole = workshop.run(halved("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  for (const int signal : {SIGINT, SIGKILL}) {
    const std::string folder = str("stopped-", signal);
    const pid_t process = workshop.start(halved(folder));
    ASSERT_TRUE(waits_for([&] { return workshop.read("log").find("dropped 3 runs") != std::string::npos; }));
    ::kill(process, signal);
    Workshop::wait(process);
    const Ended resumed = workshop.run({"sweep", "--resume", folder});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(table_of(resumed.out), table_of(whole.out));
    EXPECT_EQ(without_seconds_column(workshop.read(folder + "/sweep.csv")),
              without_seconds_column(workshop.read("whole/sweep.csv")));
  }
}

// Edited meanwhile: `thtrain resume` refuses, and the run has failed.
TEST_F(CliSweep, ARunThatRefusesToGoOnIsNotStartedAgain) {
  std::vector<std::string> command = halved("s");
  command.back() = "trainer.epochs=2000";
  const pid_t process = workshop.start(command);
  ASSERT_TRUE(waits_for([&] { return workshop.read("log").find("dropped 3 runs") != std::string::npos; }));
  ::kill(process, SIGINT);
  EXPECT_EQ(Workshop::wait(process), 130);
  for (const char* rate : {"1e-6", "0.3", "1e-5", "1e-4", "0.1", "1e-3"}) {
    const std::string config = str("s/learning_rate=", rate, "/config.toml");
    workshop.write(config, replaced(workshop.read(config), "epochs = 2000", "epochs = 1999"));
  }
  const Ended resumed = workshop.run({"sweep", "--resume", "s"});
  EXPECT_EQ(resumed.code, 2) << resumed.out;
  EXPECT_NE(resumed.out.find("  failed: "), std::string::npos) << resumed.out;
}

TEST_F(CliSweep, RoundsWithoutAValueAreRefused) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "trainer.learning_rate=0.01,0.1",
                                    "data.n_valid=0", "trainer.epochs=4", "--halving", "2", "--jobs", "1"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(
      ended.err.substr(ended.err.find("error: ")),
      "error: thtrain sweep: --halving has nothing to go by: s/learning_rate=0.01 has no validation value after 2 "
      "epochs\n"
      "  expected: a validation in the first round\n"
      "  hint:     give it validation examples, a smaller trainer.validation_frequency, or longer rounds\n");
}

// What was drawn is drawn again by whoever reads the folder.
TEST_F(CliSweep, ARandomSweepIsResumedAndReported) {
  const Strings command = {"sweep",    "tiny.toml", "--run-dir",        "s",      "trainer.learning_rate=log:0.01..0.5",
                           "--random", "3",         "trainer.epochs=2", "--jobs", "1"};
  ASSERT_EQ(workshop.run(command).code, 0);
  const std::string csv = workshop.read("s/sweep.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  const std::string first = SweepPoints({"trainer.learning_rate=log:0.01..0.5"}, {.random = 3}).name(0);
  EXPECT_EQ(read_run(workshop.path("s/" + first)).epochs, 2);
  EXPECT_TRUE(workshop.run({"sweep", "--resume", "s", "--dry-run"}).out.ends_with("\nnothing to do: 3\n"));
  Strings other = command;
  other[6] = "4";
  EXPECT_NE(workshop.run(other).err.find(" trainer.epochs=2 --random 4 --random-seed 1\n"), std::string::npos);
  const Ended report = workshop.run({"report", "s"});
  EXPECT_EQ(report.code, 0) << report.err;
}

// A run whose loss is not finite is the worst of its round.
TEST_F(CliSweep, RunsThatFailAreDroppedFirst) {
  const Ended ended = workshop.run({"sweep", "tiny.toml", "--run-dir", "s", "trainer.learning_rate=1e30,1e-3,0.1",
                                    "--halving", "1", "--jobs", "1", "trainer.epochs=3"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(read_run(workshop.path("s/learning_rate=1e30")).end, RunEnd::kNonFinite);
  EXPECT_EQ(read_run(workshop.path("s/learning_rate=1e-3")).epochs, 2);
  EXPECT_EQ(read_run(workshop.path("s/learning_rate=0.1")).epochs, 3);
  EXPECT_NE(ended.out.find("\n1 of 3 runs finished, 1 failed, 1 dropped\n"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace thtrain

// In what runs of different models differ, as `thtrain compare` tells it.
#include "cli/config_differences.h"

#include <filesystem>
#include <sstream>

#include "cli/differences_table.h"
#include "cli/load_experiment.h"
#include "tests/support/cli_support.h"

namespace thtrain {
namespace {

class CliCompare : public testing::Test {
 protected:
  CliCompare() { workshop.write("tiny.toml", tiny_experiment()); }

  // Each word list is an experiment: tiny.toml with these overrides. A line for each row, its cells with | between
  // them.
  std::string differences(const std::vector<std::vector<std::string>>& experiments) {
    std::vector<ComparedConfig> configs;
    for (const std::vector<std::string>& overrides : experiments)
      configs.push_back(compared_config(load_experiment(workshop.path("tiny.toml"), overrides).experiment));
    std::string out;
    for (const std::vector<std::string>& row : short_differences(configs)) out += join(row, " | ") + "\n";
    return out;
  }
  Workshop workshop;
};

TEST_F(CliCompare, DefaultsOfATableThatOthersDoNotHaveAreLeftOut) {
  EXPECT_EQ(differences({{}, {}}), "");
  EXPECT_EQ(differences({{"trainer.optimizer=sgd", "trainer.learning_rate=0.1"},
                         {"trainer.optimizer=adam", "trainer.learning_rate=0.1"}}),
            "trainer.momentum | 0.5 | -\n"
            "trainer.optimizer | \"sgd\" | \"adam\"\n");
  EXPECT_EQ(differences({{"trainer.momentum=0", "trainer.learning_rate=0.1"},
                         {"trainer.optimizer=adam", "trainer.learning_rate=0.1", "trainer.beta1=0.8"}}),
            "trainer.beta1 | - | 0.8\n"
            "trainer.optimizer | \"sgd\" | \"adam\"\n");
  // Two of them have the key, with two values.
  EXPECT_EQ(differences({{"trainer.momentum=0.0"}, {"trainer.momentum=0.9"}, {"trainer.optimizer=adam"}}),
            "trainer.learning_rate | 0.1 | 0.1 | 0.001\n"
            "trainer.momentum | 0.0 | 0.9 | -\n"
            "trainer.optimizer | \"sgd\" | \"sgd\" | \"adam\"\n");
}

TEST_F(CliCompare, ALayerThatOneDoesNotHaveIsARow) {
  const std::string two = "model.layers=[{type='dense',units=5,activation='tanh'},{type='softmax'}]",
                    three =
                        "model.layers=[{type='dense',units=6,activation='tanh'},{type='dropout',rate=0.2},"
                        "{type='softmax'}]";
  EXPECT_EQ(differences({{two}, {three}}),
            "model.layers.0.units | 5 | 6\n"
            "model.layers.1 | {type = \"softmax\"} | {type = \"dropout\", rate = 0.2}\n"
            "model.layers.2 | - | {type = \"softmax\"}\n");
  // A name that the file gives, and one that only looks like another layer's.
  EXPECT_EQ(differences({{"model.layers=[{type='softmax',name='dense1'}]"},
                         {"model.layers=[{type='dense',units=3},{type='softmax',name='out'}]"}}),
            "model.layers.0 | {type = \"softmax\", name = \"dense1\"} | {type = \"dense\", units = 3}\n"
            "model.layers.1 | - | {type = \"softmax\", name = \"out\"}\n");
  // The tenth layer is behind the second.
  std::string many = "model.layers=[{type='softmax'}]";
  for (int i = 0; i < 10; ++i) many.insert(many.find('[') + 1, "{type='dense',units=3},");
  const std::string rows = differences({{two}, {many}});
  EXPECT_LT(rows.find("\nmodel.layers.2 | - | "), rows.find("\nmodel.layers.10 | - | ")) << rows;
}

TEST_F(CliCompare, PhasesHaveRowsOfTheirOwn) {
  workshop.write("phases.toml", tiny_experiment() + "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"b\"\n");
  auto of = [&](const std::string& epochs) {
    return compared_config(
        load_experiment(workshop.path("phases.toml"), {"phase.1.trainer.epochs=" + epochs}).experiment);
  };
  EXPECT_EQ(short_differences({of("3"), of("4")}),
            (std::vector<std::vector<std::string>>{{"phase.1.trainer.epochs", "3", "4"}}));
}

// What all phases have in common comes once, with the values of an experiment without phases.
TEST_F(CliCompare, PhasesAreComparedWithExperimentsThatHaveNone) {
  workshop.write("phases.toml", tiny_experiment() + "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"b\"\n");
  auto of = [&](const std::string& file, const std::vector<std::string>& overrides) {
    return compared_config(load_experiment(workshop.path(file), overrides).experiment);
  };
  auto text = [](const std::vector<ComparedConfig>& configs) {
    std::string out;
    for (const std::vector<std::string>& row : short_differences(configs)) out += join(row, " | ") + "\n";
    return out;
  };
  EXPECT_EQ(text({of("tiny.toml", {}), of("phases.toml", {})}),
            "phase.0.name | - | \"a\"\n"
            "phase.1.name | - | \"b\"\n");
  // A value that differs between phases is told of each, also where it is the default of one; so is a whole layer.
  EXPECT_EQ(text({of("tiny.toml", {"trainer.momentum=0.5"}),
                  of("phases.toml", {"phase.0.trainer.momentum=0.0", "phase.1.trainer.batch_size=25"}),
                  of("phases.toml", {"trainer.momentum=0.0"})}),
            "phase.0.name | - | \"a\" | \"a\"\n"
            "phase.0.trainer.batch_size | - | 20 | 20\n"
            "phase.0.trainer.momentum | - | 0.0 | 0.0\n"
            "phase.1.name | - | \"b\" | \"b\"\n"
            "phase.1.trainer.batch_size | - | 25 | 20\n"
            "phase.1.trainer.momentum | - | 0.5 | 0.0\n"
            "trainer.batch_size | 20 | - | -\n"
            "trainer.momentum | 0.5 | - | -\n");
}

// Of a short line a column is a run; of a longer one a row is.
TEST(DifferencesTable, FitsItsWidth) {
  const std::vector<std::vector<std::string>> rows = {{"seed", "1", "2", "3"},
                                                      {"trainer.learning_rate", "0.1", "0.03", "-"},
                                                      {"trainer.optimizer", "\"sgd\"", "a\tb", "-"}};
  const std::vector<std::string> names = {"first", "second", "third"};
  const std::string as_columns =
      "key                    first  second  third\n"
      "seed                       1       2      3\n"
      "trainer.learning_rate    0.1    0.03  -\n"
      "trainer.optimizer      \"sgd\"  a\\tb    -\n";
  EXPECT_EQ(differences_text(names, rows, 100), as_columns);
  EXPECT_EQ(differences_text(names, rows, 43), as_columns);
  EXPECT_EQ(differences_text(names, rows, 42),
            "run     seed  trainer.learning_rate\n"
            "first      1                    0.1\n"
            "second     2                   0.03\n"
            "third      3  -\n"
            "\n"
            "run     trainer.optimizer\n"
            "first   \"sgd\"\n"
            "second  a\\tb\n"
            "third   -\n");
  EXPECT_EQ(differences_text(names, {}, 100), "the experiments do not differ\n");
}

TEST(DifferencesTable, OfFiftyRunsHasARowForEach) {
  std::vector<std::vector<std::string>> rows = {{"seed"}, {"trainer.learning_rate"}, {"model.layers.0"}};
  std::vector<std::string> names;
  for (int i = 1; i <= 50; ++i) {
    names.push_back(str("learning_rate=0.", i, ",momentum=0.5,units=", std::string(20, '7'), ",seed=", i));
    rows[0].push_back(std::to_string(i));
    rows[1].push_back(str("0.", i));
    rows[2].push_back("{type = \"conv\", " + std::string(static_cast<size_t>(2 * i), 'x') + " = 1}");
  }
  const std::string text = differences_text(names, rows, 100);
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(count, 51 + 1 + 51);
  const std::string second = text.substr(text.find("\n\n") + 2);
  EXPECT_TRUE(
      text.starts_with("run                                       seed  trainer.learning_rate\n"
                       "learning_rate=0.1,m...77777777777,seed=1     1                    0.1\n"))
      << text;
  EXPECT_TRUE(
      second.starts_with("run                                       model.layers.0\n"
                         "learning_rate=0.1,m...77777777777,seed=1  {type = \"conv\", xx = 1}\n"))
      << second;
  // The value that is too long for any line is cut in its middle.
  EXPECT_TRUE(second.ends_with(
      "learning_rate=0.50,...7777777777,seed=50  {type = \"conv\", xxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxx = 1}\n"))
      << second;
  // Names that would be one are left whole.
  const std::string long_name(50, 'n'), others = str(std::string(25, 'n'), "m", std::string(24, 'n'));
  EXPECT_EQ(differences_text({long_name, others}, {{"seed", "1", "2"}}, 70),
            str("run", std::string(47, ' '), "  seed\n", long_name, "     1\n", others, "     2\n"));
}

TEST_F(CliCompare, APictureThatIsThereStaysUnlessItIsNamed) {
  for (const char* seed : {"1", "2"})
    ASSERT_EQ(workshop
                  .run({"train", "tiny.toml", "--quiet", "compiler.mode=reference", "trainer.epochs=1", "--run-dir",
                        str("run", seed), str("seed=", seed)})
                  .code,
              0);
  const Ended first = workshop.run({"compare", "run1", "run2"});
  ASSERT_EQ(first.code, 0);
  // Its own it overwrites.
  const Ended again = workshop.run({"compare", "run2", "run1"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(workshop.run({"compare", "run1", "run2"}).out, first.out);
  // Where another one is there, the tables come first.
  for (const char* name : {"compare.svg", "compare.png"}) {
    const std::string own = workshop.exists(name) ? workshop.read(name) : "";
    workshop.write(name, "mine");
    const std::vector<std::string> before = workshop.list();
    Ended ended = workshop.run({"compare", "run1", "run2"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, first.out.substr(0, first.out.find("curves ")));
    EXPECT_EQ(ended.err, str("error: ", name,
                             ": there is a file of this name already\n"
                             "  expected: no file, or one that `thtrain compare` wrote\n"
                             "  hint:     --output compare.png overwrites it, --output NAME.png writes another one\n"));
    ended = workshop.run({"compare", "run1", "run2", "--json"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(one_json_line(ended.out).at("runs.1.run"), "run2");
    EXPECT_EQ(workshop.read(name), "mine");
    EXPECT_EQ(workshop.list(), before);
    if (own.empty())
      std::filesystem::remove(workshop.path(name));
    else
      workshop.write(name, own);
  }
  workshop.write("compare.svg", "mine");
  Ended ended;
  ended = workshop.run({"compare", "run1", "run2", "--output", "compare.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(workshop.read("compare.svg"), "mine");
  // No name may be that of a file of the runs.
  ended = workshop.run({"compare", "run1", "run2", "--output", "run2/plots/learning_curves.png"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: run2/plots/learning_curves.png: the output would overwrite a file of the run\n"
            "  expected: --output with another name\n");
}

// output.plot_scale of a run, the same key in `show`, and --plot-scale of `compare`.
TEST_F(CliCompare, ThePlotScaleIsThatOfTheKeyAndOfTheOption) {
  const auto train = [&](const std::string& folder, const std::string& scale) {
    std::vector<std::string> words = {
        "train", "tiny.toml", "--quiet", "compiler.mode=reference", "trainer.epochs=2", "--run-dir", folder};
    if (!scale.empty()) words.push_back("output.plot_scale=" + scale);
    EXPECT_EQ(workshop.run(words).code, 0);
    return workshop.read(folder + "/plots/learning_curves.svg");
  };
  const std::string log = train("a/run", "log"), standard = train("b/run", ""), linear = train("c/run", "linear");
  EXPECT_NE(log, standard);
  EXPECT_EQ(linear, standard);  // values of one power of ten
  ASSERT_EQ(workshop.run({"show", "b/run", "output.plot_scale=log", "--output", "d"}).code, 0);
  EXPECT_EQ(workshop.read("d/learning_curves.svg"), log);
  const auto compare = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"compare", "a/run", "b/run", "--output", "c.png"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(workshop.run(words).code, 0);
    return workshop.read("c.svg");
  };
  const std::string compared = compare({});
  EXPECT_EQ(compare({"--plot-scale", "auto"}), compared);
  EXPECT_EQ(compare({"--plot-scale", "linear"}), compared);
  EXPECT_NE(compare({"--plot-scale", "log"}), compared);
}

TEST_F(CliCompare, TheTableOfRunsOfTwoModels) {
  const std::vector<std::string> train = {
      "train", "tiny.toml", "--quiet", "compiler.mode=reference", "trainer.epochs=1", "output.plots=false"};
  auto run = [&](const std::string& folder, const std::string& layers) {
    std::vector<std::string> words = train;
    words.insert(words.end(), {"--run-dir", folder, layers});
    EXPECT_EQ(workshop.run(words).code, 0);
  };
  run("a", "model.layers=[{type='softmax'}]");
  run("b", "model.layers=[{type='dense',units=5},{type='softmax',name='out'}]");
  const Ended ended = workshop.run({"compare", "a", "b"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out.substr(0, ended.out.find("\n\n") + 1),
            "key             a                   b\n"
            "model.layers.0  {type = \"softmax\"}  {type = \"dense\", units = 5}\n"
            "model.layers.1  -                   {type = \"softmax\", name = \"out\"}\n");
  // JSON has every key.
  const auto all = one_json_line(workshop.run({"compare", "a", "b", "--json", "--output", "all.png"}).out);
  EXPECT_EQ(all.at("differences.model.layers.0.units.b"), "5");
  EXPECT_EQ(all.at("differences.model.layers.1.bias.b"), "true");
  EXPECT_FALSE(all.contains("differences.model.layers.1.bias.a"));
}

}  // namespace
}  // namespace thtrain

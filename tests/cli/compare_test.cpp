// In what runs of different models differ, as `thtrain compare` tells it.
#include "cli/config_differences.h"
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
            "model.layers.1 | {type = \"softmax\", name = \"softmax\"} | "
            "{type = \"dropout\", name = \"dropout1\", rate = 0.2}\n"
            "model.layers.2 | - | {type = \"softmax\", name = \"softmax\"}\n");
  // The tenth layer stands behind the second.
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
  EXPECT_EQ(
      ended.out.substr(0, ended.out.find("\n\n") + 1),
      "key             a                                     b\n"
      "model.layers.0  {type = \"softmax\", name = \"softmax\"}  {type = \"dense\", name = \"dense1\", units = 5}\n"
      "model.layers.1  -                                     {type = \"softmax\", name = \"out\"}\n");
  // JSON has every key.
  const auto all = one_json_line(workshop.run({"compare", "a", "b", "--json"}).out);
  EXPECT_EQ(all.at("differences.model.layers.0.units.b"), "5");
  EXPECT_EQ(all.at("differences.model.layers.1.bias.b"), "true");
  EXPECT_FALSE(all.contains("differences.model.layers.1.bias.a"));
}

}  // namespace
}  // namespace thtrain

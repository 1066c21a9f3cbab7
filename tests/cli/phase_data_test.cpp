// The files of later phases, and what earlier phases left, while a run is between them.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/cli_support.h"
#include "tests/support/phases_support.h"

namespace thtrain {
namespace {

/// Two phases with a table each, of 40 examples.
struct TwoTables {
  TemporaryFolder folder;
  Experiment experiment;
  TwoTables() {
    write("a.csv", 2, 1);
    write("b.csv", 2, 2);
    experiment = experiment_in(
        str("[data]\nsource = \"csv\"\ntrain = \"", folder.path("a.csv"),
            "\"\nn_valid = 10\n[[model.layers]]\nname = \"h\"\ntype = \"dense\"\nunits = 3\n[[model.layers]]\n"
            "type = \"softmax\"\n[trainer]\nlearning_rate = 0.1\nbatch_size = 10\nepochs = 3\ncheckpoint_epochs = 1\n"
            "[compiler]\nmode = \"reference\"\nthreads = 1\n[output]\nplots = false\n"
            "[[phase]]\nname = \"a\"\n[[phase]]\nname = \"b\"\n[phase.data]\ntrain = \"",
            folder.path("b.csv"), "\"\n"));
  }
  void write(const std::string& name, int numbers, int seed) const {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < numbers; ++j) text += str((i * 7 + j * 3 + seed) % 11, ',');
      text += str(i % 2, '\n');
    }
    folder.write(name, text);
  }
  std::string run() const { return folder.path("run"); }
  /// Ends in the second epoch of phase a.
  void train_part() const {
    std::atomic<int> stop{0};
    TrainHooks hooks{.on_epoch = [&](const EpochReport& report) { stop = report.epoch == 2; }};
    EXPECT_TRUE(train_in(run(), experiment, hooks, {.stop = &stop}).interrupted);
  }
};

/// Without the values of hashes.
std::string without_hashes(std::string text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = std::min(text.find_first_not_of("0123456789abcdef", i), text.size());
    if (end - i == 32) {
      out += "HASH";
      i = end - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(PhaseData, OfALaterPhaseIsComparedAtResume) {
  TwoTables tables;
  tables.train_part();
  tables.write("b.csv", 2, 5);
  const std::string b = tables.folder.path("b.csv");
  EXPECT_EQ(without_hashes(error_text([&] { resume_in(tables.run(), tables.experiment); })),
            str("error: ", tables.run(), ": the run would go on with other bits than it would have had\n",
                "  expected: what the run began with\n",
                "  got:      training data of phase b: 30 examples HASH then, 30 examples HASH now (", b, ")\n",
                "            validation data of phase b: 10 examples HASH then, 10 examples HASH now (", b, ")\n",
                "  hint:     --allow-different-bits goes on all the same"));
  EXPECT_FALSE(resume_in(tables.run(), tables.experiment, {}, {.allow_different_bits = true}).interrupted);
}

// Checkpoints of before know nothing of it.
TEST(PhaseData, ACheckpointWithoutItGoesOn) {
  TwoTables tables;
  tables.train_part();
  const std::string path = tables.run() + "/checkpoint.npz";
  Checkpoint checkpoint = read_checkpoint(path);
  EXPECT_EQ(
      std::erase_if(checkpoint.fingerprint, [](const auto& entry) { return entry.first.ends_with(" of phase b"); }), 3);
  write_checkpoint(path, checkpoint);
  EXPECT_EQ(resume_in(tables.run(), tables.experiment).phase, "b");
}

TEST(PhaseData, IsWhatItWasWhenItBegins) {
  TwoTables same, other;
  auto failure = [](const TwoTables& tables, int numbers) {
    TrainHooks hooks{.on_phase_end = [&](const TrainSummary&) { tables.write("b.csv", numbers, 5); }};
    return without_hashes(error_text([&] { train_in(tables.run(), tables.experiment, hooks); }));
  };
  auto expected = [](const TwoTables& tables, const std::string& then, const std::string& now) {
    return str(
        "error: phase b: ", tables.folder.path("b.csv"),
        ": the data is not what it was when the run was begun or resumed\n", "  expected: training data: ", then,
        "\n  got:      training data: ", now, "\n  config:   e.toml:26:9\n     26 | train = \"",
        tables.folder.path("b.csv"), "\"\n        |         ", std::string(tables.folder.path("b.csv").size() + 2, '^'),
        "\n  hint:     put the data back as it was;\n            the phases before it are kept: `thtrain resume ",
        tables.run(), "` goes on after them");
  };
  EXPECT_EQ(failure(same, 2), expected(same, "30 examples HASH", "30 examples HASH"));
  EXPECT_EQ(failure(other, 3), expected(other, "30 examples [2]", "30 examples [3]"));
  other.write("b.csv", 2, 2);
  EXPECT_EQ(resume_in(other.run(), other.experiment).phase, "b");
}

TEST(PhaseData, LostWeightsOfAPhaseAreNamed) {
  TwoTables tables;
  const std::string best = tables.run() + "/best_a.npz";
  std::vector<std::string> messages;
  std::atomic<int> stop{0};
  bool is_in_b = false;
  TrainHooks hooks{.on_phase_end = [&](const TrainSummary&) { is_in_b = true; },
                   .on_epoch = [&](const EpochReport&) { stop = is_in_b; },
                   .on_message = [&](const std::string& message) { messages.push_back(message); }};
  EXPECT_TRUE(train_in(tables.run(), tables.experiment, hooks, {.stop = &stop}).interrupted);
  EXPECT_EQ(messages, std::vector<std::string>());
  TemporaryFolder copies;
  std::filesystem::copy(tables.run(), copies.path("whole"), std::filesystem::copy_options::recursive);
  is_in_b = false;
  stop = 0;
  const std::string lost = "warning: the best weights of phase a, which is over, are lost: ";
  // At resumption, and once.
  std::filesystem::remove(best);
  resume_in(tables.run(), tables.experiment, hooks);
  EXPECT_EQ(messages, std::vector<std::string>({str(lost, best, ": no such file")}));
  // At the end.
  messages.clear();
  const std::string whole = copies.path("whole");
  hooks.on_epoch = [&](const EpochReport&) { copies.write("whole/best_a.npz", "garbage"); };
  resume_in(whole, tables.experiment, hooks);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_TRUE(messages[0].starts_with(str(lost, whole, "/best_a.npz: "))) << messages[0];
}

}  // namespace
}  // namespace thtrain

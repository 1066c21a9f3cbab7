// Runs of several phases, compared with runs that know nothing of phases.
#include <filesystem>

#include "datasets/npz.h"
#include "tests/support/cli_support.h"
#include "tests/support/phases_support.h"

namespace thtrain {
namespace {

const std::string kTwo =
    kSmallTop +
    "[[phase]]\nname = \"head\"\ntrained = [\"softmax\"]\n"
    "[[phase]]\nname = \"all\"\n[phase.trainer]\noptimizer = \"adam\"\nlearning_rate = 0.02\nepochs = 2\n";

/// The arrays of two files that both have.
void expect_same_arrays(const std::string& a, const std::string& b) {
  const std::map<std::string, Tensor> left = read_npz(a), right = read_npz(b);
  ASSERT_EQ(left.size(), right.size());
  for (const auto& [name, value] : left) EXPECT_TRUE(same_bits(value, right.at(name))) << name;
}

NamedArrays weights_of(const std::string& folder) {
  return read_checkpoint(folder + "/checkpoint.npz").weights;
}

// ---- weights, generators, optimizers ----

// Without shuffling a phase has nothing of the one before it but its weights: so has a run with model.weights.
TEST(Phases, AreRunsThatAreJoinedByTheirWeights) {
  TemporaryFolder temporary;
  for (const char* pass_on : {"last", "best"}) {
    SCOPED_TRACE(pass_on);
    const std::string root = temporary.path(pass_on), from = pass_on == std::string("best") ? "best" : "checkpoint";
    const std::vector<std::string> common = {"trainer.shuffle=false", "trainer.learning_rate=1.5"};
    auto with = [&](std::vector<std::string> more) {
      more.insert(more.end(), common.begin(), common.end());
      return more;
    };
    train_in(root + "1", experiment_in(kTwo, with({str("phase.0.pass_on=", pass_on)})));
    Experiment first = experiment_in(kSmallTop, with({"model.layers.0.trained=false"}));
    train_in(root + "2", first);
    train_in(root + "3", experiment_in(kSmallTop, {str("model.weights=", root, "2/", from, ".npz"), "trainer.epochs=2",
                                                   "trainer.shuffle=false", "trainer.momentum=0"}));
    std::string adam = kSmallTop;
    const std::string sgd = "learning_rate = 0.05\nmomentum = 0.9";
    adam.replace(adam.find(sgd), sgd.size(), "optimizer = \"adam\"\nlearning_rate = 0.02");
    Experiment second = experiment_in(
        adam, {str("model.weights=", root, "2/", from, ".npz"), "trainer.epochs=2", "trainer.shuffle=false"});
    train_in(root + "4", second);
    expect_same_arrays(root + "1/best_head.npz", root + "2/best.npz");
    expect_same_arrays(root + "1/best.npz", root + "4/best.npz");
    expect_same(weights_of(root + "1"), weights_of(root + "4"));
    expect_same(read_checkpoint(root + "1/checkpoint.npz").optimizer,
                read_checkpoint(root + "4/checkpoint.npz").optimizer);
    EXPECT_FALSE(same_bits(weights_of(root + "3")[0].second, weights_of(root + "4")[0].second));  // it can differ
  }
}

// Plain SGD remembers nothing: two phases of the same settings are one run, if the generator goes on.
TEST(Phases, TheGeneratorGoesOn) {
  TemporaryFolder temporary;
  const std::vector<std::string> plain = {"trainer.momentum=0"};
  train_in(temporary.path("phases"),
           experiment_in(kSmallTop + "[[phase]]\n[phase.trainer]\nepochs = 2\n[[phase]]\n", plain));
  train_in(temporary.path("one"), experiment_in(kSmallTop, {"trainer.momentum=0", "trainer.epochs=5"}));
  expect_same(weights_of(temporary.path("phases")), weights_of(temporary.path("one")));
  EXPECT_EQ(read_checkpoint(temporary.path("phases/checkpoint.npz")).state.random.state(),
            read_checkpoint(temporary.path("one/checkpoint.npz")).state.random.state());
}

TEST(Phases, OnePhaseIsTheRunWithoutPhases) {
  TemporaryFolder temporary;
  train_in(temporary.path("a"), experiment_in(kSmallTop + "[[phase]]\nname = \"only\"\n"));
  train_in(temporary.path("b"), experiment_in(kSmallTop));
  expect_same(weights_of(temporary.path("a")), weights_of(temporary.path("b")));
  expect_same_arrays(temporary.path("a/best.npz"), temporary.path("b/best.npz"));
  EXPECT_EQ(read_checkpoint(temporary.path("b/checkpoint.npz")).phase, std::nullopt);
}

TEST(Phases, OnlyTheTrainedLayersChange) {
  TemporaryFolder temporary;
  train_in(temporary.path("run"), experiment_in(kTwo, {"phase.1.trained=[\"hidden\"]"}));
  const std::map<std::string, Tensor> head = read_npz(temporary.path("run/best_head.npz"));
  std::map<std::string, Tensor> all;
  for (const auto& [name, value] : weights_of(temporary.path("run"))) all[name] = value;
  train_in(temporary.path("untrained"), experiment_in(kSmallTop, {"trainer.learning_rate=1e-30"}));
  std::map<std::string, Tensor> start;
  for (const auto& [name, value] : weights_of(temporary.path("untrained"))) start[name] = value;
  EXPECT_TRUE(same_bits(head.at("hidden/W"), start.at("hidden/W")));
  EXPECT_FALSE(same_bits(head.at("softmax/W"), start.at("softmax/W")));
  EXPECT_FALSE(same_bits(all.at("hidden/W"), start.at("hidden/W")));
  train_in(temporary.path("last"), experiment_in(kTwo, {"phase.1.trainer.epochs=1", "phase.1.trained=[\"hidden\"]"}));
  for (const auto& [name, value] : weights_of(temporary.path("last"))) {
    if (!name.starts_with("softmax")) continue;
    EXPECT_TRUE(same_bits(value, all.at(name))) << name;
  }
}

// Another layer on the hidden one: this goes on, the old one goes, and the softmax is new.
TEST(Phases, ANewLayerBeginsAsInARunOfItsOwn) {
  TemporaryFolder temporary;
  const std::string toml = kSmallTop +
                           "[[phase]]\nname = \"first\"\n"
                           "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 8\n"
                           "[[phase.model.layers]]\ntype = \"softmax\"\nname = \"other\"\n"
                           "[[phase]]\nname = \"second\"\n";
  // The first checkpoint of a phase has what it begins with.
  auto first_weights = [](const std::string& folder) {
    return read_checkpoint(folder + "/checkpoints/" + (folder.ends_with("run") ? "2_second_step_0.npz" : "step_0.npz"))
        .weights;
  };
  const std::vector<std::string> normal = {"model.layers.1.init=he_normal", "trainer.keep_checkpoints=2"};
  train_in(temporary.path("run"), experiment_in(toml, normal));
  train_in(temporary.path("own"), experiment_in(kSmallTop, normal));
  const NamedArrays run = first_weights(temporary.path("run")), own = first_weights(temporary.path("own"));
  ASSERT_EQ(run.size(), 4u);
  for (size_t i = 0; i < run.size(); ++i)
    EXPECT_EQ(same_bits(run[i].second, own[i].second), run[i].first.starts_with("softmax")) << run[i].first;
}

// ---- what the run shows ----

TEST(Phases, FilesAndLinesNameThePhase) {
  Workshop workshop;
  workshop.write("e.toml", kTwo);
  Ended ended = workshop.run({"train", "e.toml", "--run-dir", "run", "output.plots=true"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("phase 1 of 2, head: negative_log_likelihood by sgd, at most 3 epochs, of softmax\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("phase 2 of 2, all: negative_log_likelihood by adam, at most 2 epochs, of all layers; "
                           "begins with the last weights of head\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("\ndone after epoch 3 of head, 30 steps, "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\ndone after epoch 2 of all, 20 steps, "), std::string::npos) << ended.out;
  EXPECT_EQ(workshop.shell("ls run run/plots").out,
            "run:\nbest.npz\nbest_head.npz\ncheckpoint.npz\nconfig.toml\nmetrics.jsonl\nplots\nrun.json\n\n"
            "run/plots:\nlearning_curves.png\nlearning_curves.svg\n");
  const std::string metrics = workshop.read("run/metrics.jsonl");
  EXPECT_EQ(workshop.shell("cut -c1-36 run/metrics.jsonl").out,
            "{\"phase\": \"head\", \"epoch\": 1, \"train\n{\"phase\": \"head\", \"epoch\": 2, \"train\n"
            "{\"phase\": \"head\", \"epoch\": 3, \"train\n{\"phase\": \"all\", \"epoch\": 1, \"train_\n"
            "{\"phase\": \"all\", \"epoch\": 2, \"train_\n")
      << metrics;
  auto summary = one_json_line(workshop.run({"train", "e.toml", "--run-dir", "json", "--json", "--quiet"}).out);
  EXPECT_EQ(summary.at("phase"), "all");
  EXPECT_EQ(summary.at("steps"), "20");
}

TEST(Phases, TheFoldersConfigurationIsTheExperiment) {
  TemporaryFolder temporary;
  const Experiment e = experiment_in(kTwo);
  const std::string text = resolved_toml(e);
  EXPECT_EQ(resolved_toml(experiment_in(text)), text);
  EXPECT_EQ(text.find("\n[trainer]"), std::string::npos);
  EXPECT_NE(text.find("\n[phase.trainer]\noptimizer = \"adam\"\nlearning_rate = 0.02\n"), std::string::npos) << text;
  EXPECT_EQ(resolved_toml(experiment_in(kSmallTop)).find("phase"), std::string::npos);
}

TEST(Phases, EvalExplainAndCheckTakeAPhase) {
  Workshop workshop;
  workshop.write("e.toml", kTwo);
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "run"}).code, 0);
  auto weights = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"eval", "run", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return one_json_line(workshop.run(words).out).at("weights");
  };
  EXPECT_EQ(weights({}), "run/best.npz");
  EXPECT_EQ(weights({"--phase", "all"}), "run/best.npz");
  EXPECT_EQ(weights({"--phase", "head"}), "run/best_head.npz");
  const std::string head = workshop.run({"explain", "e.toml", "--phase", "head"}).out,
                    all = workshop.run({"explain", "e.toml", "--phase", "all"}).out;
  EXPECT_EQ(head.find("hidden/W <-"), std::string::npos);
  EXPECT_NE(head, all);
  EXPECT_EQ(all, workshop.run({"explain", "e.toml"}).out);
  Ended checked = workshop.run({"check", "e.toml"});
  EXPECT_EQ(checked.code, 0);
  EXPECT_TRUE(checked.out.starts_with("e.toml: 2 phases built, compiled, and one step of each done\nphase head\n"))
      << checked.out;
  EXPECT_NE(checked.out.find("\nphase all\n"), std::string::npos) << checked.out;
  auto json = one_json_line(workshop.run({"check", "e.toml", "--json"}).out);
  EXPECT_EQ(json.at("phases.0.phase"), "head");
  EXPECT_EQ(json.at("phases.1.phase"), "all");
  EXPECT_EQ(workshop.run({"explain", "e.toml", "--phase", "hea"}).err,
            "error: there is no phase hea\n  expected: head, all\n  hint:     did you mean head?\n");
  workshop.write("plain.toml", kSmallTop);
  EXPECT_EQ(workshop.run({"explain", "plain.toml", "--phase", "head"}).err,
            "error: there is no phase head\n  expected: an experiment with [[phase]]\n");
  std::filesystem::remove(workshop.path("run/best_head.npz"));
  EXPECT_EQ(workshop.run({"eval", "run", "--phase", "head"}).err,
            "error: run: no weights of phase head are kept\n  expected: run/best_head.npz\n"
            "  hint:     a phase leaves its best weights where it has validation examples\n");
}

// Each [data] is read once where phases share it.
TEST(Phases, SharedDataIsLoadedOnce) {
  const std::string other = "[[phase]]\nname = \"third\"\n[phase.data]\nn_train = 100\n";
  TemporaryFolder temporary;
  for (const auto& [more, loads] : {std::pair<std::string, int>{"", 1}, {other, 3}}) {
    const Experiment e = experiment_in(kTwo + more);
    int count = 0;
    PhaseData data(e, [&](const Experiment& phase) {
      ++count;
      return load_data(phase, "");
    });
    RunFolder folder = RunFolder::create(temporary.path(str("run", loads)), e);
    train_phases(data, folder);
    EXPECT_EQ(count, loads);  // of another one, to check it first, and to train on it
  }
}

// ---- going on ----

TEST(Phases, ResumeAfterEveryStep) {
  TemporaryFolder temporary;
  const Experiment e = experiment_in(kTwo, {"phase.0.pass_on=best", "trainer.validation_frequency=7"});
  train_in(temporary.path("whole"), e);
  // Each process does one step; one that finds its phase over goes to the next one.
  std::atomic<int> stop{1};
  bool is_over = false;
  TrainHooks hooks{.on_phase = [&](const PhaseReport&) { is_over = false; },
                   .on_start = [&](const ModelSummary&) { stop = !is_over; },
                   .on_resume = [&](const ResumePoint& point) { is_over = point.is_over; }};
  TrainSummary summary = train_in(temporary.path("parts"), e, hooks, {.stop = &stop});
  int processes = 1;
  for (; summary.interrupted && processes < 100; ++processes)
    summary = resume_in(temporary.path("parts"), e, hooks, {.stop = &stop});
  EXPECT_EQ(processes, 50);
  expect_same(result_of(RunFolder::open(temporary.path("parts"))), result_of(RunFolder::open(temporary.path("whole"))));
}

// A phase that stopped within an epoch has drawn that epoch's order, also where the run goes on from its checkpoint.
TEST(Phases, ResumeAfterAnEarlyStopWithinAnEpoch) {
  TemporaryFolder temporary;
  const Experiment e =
      experiment_in(kTwo, {"phase.0.trainer.patience=14", "phase.0.trainer.improvement_threshold=0.0"});
  train_in(temporary.path("whole"), e);
  std::atomic<int> stop{0};
  TrainHooks hooks{.on_epoch = [&](const EpochReport& report) { stop = report.epoch == 2; }};
  TrainSummary summary = train_in(temporary.path("parts"), e, hooks, {.stop = &stop});
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.phase, "head");
  EXPECT_LT(summary.steps, 20);
  EXPECT_TRUE(read_checkpoint(temporary.path("parts/checkpoint.npz")).state.stopped_early);
  EXPECT_FALSE(resume_in(temporary.path("parts"), e).interrupted);
  expect_same(result_of(RunFolder::open(temporary.path("parts"))), result_of(RunFolder::open(temporary.path("whole"))));
}

TEST(Phases, TheLastPhaseIsExtended) {
  Workshop workshop;
  workshop.write("e.toml", kTwo);
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "run"}).code, 0);
  EXPECT_EQ(workshop.run({"resume", "run", "phase.1.trainer.epochs=4"}).code, 0);
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "whole", "phase.1.trainer.epochs=4"}).code, 0);
  EXPECT_EQ(without_seconds(workshop.read("run/metrics.jsonl")), without_seconds(workshop.read("whole/metrics.jsonl")));
  EXPECT_EQ(workshop.read("run/best.npz"), workshop.read("whole/best.npz"));
  EXPECT_EQ(workshop.run({"resume", "run", "phase.0.trainer.epochs=9"}).err,
            "error: run: phase head is over: its keys change nothing any more\n"
            "  got:      phase.0.trainer.epochs: 3 then, 9 now\n"
            "  hint:     phase.1 is the one that the run is in\n");
  EXPECT_EQ(workshop.run({"resume", "run", "trainer.epochs=9"}).err,
            "error: trainer.epochs has no effect: every phase has its own, or replaces what it belongs to\n"
            "  config:   command line:1:9\n"
            "      1 | trainer.epochs=9\n"
            "        |         ^^^^^^\n"
            "  hint:     phase.1.trainer.epochs is that of all\n");
}

// A phase that is added to a run that is over.
TEST(Phases, AreAddedByAnEdit) {
  Workshop workshop;
  workshop.write("e.toml", kTwo);
  workshop.write("three.toml", kTwo + "[[phase]]\nname = \"more\"\n[phase.trainer]\nepochs = 1\n");
  ASSERT_EQ(workshop.run({"train", "e.toml", "--run-dir", "run"}).code, 0);
  ASSERT_EQ(workshop.run({"train", "three.toml", "--run-dir", "whole"}).code, 0);
  workshop.write("run/config.toml", workshop.read("whole/config.toml"));
  EXPECT_EQ(workshop.run({"resume", "run"}).code, 2);
  EXPECT_EQ(workshop.run({"resume", "run", "--accept-edits"}).code, 0);
  EXPECT_EQ(without_seconds(workshop.read("run/metrics.jsonl")), without_seconds(workshop.read("whole/metrics.jsonl")));
  workshop.write("run/config.toml",
                 workshop.read("run/config.toml").substr(0, workshop.read("run/config.toml").find("[[phase]]")) +
                     kTwo.substr(kTwo.find("[data]"), kTwo.find("[compiler]") - kTwo.find("[data]")));
  EXPECT_EQ(workshop.run({"resume", "run", "--accept-edits"}).err.substr(0, 76),
            "error: run/checkpoint.npz: the checkpoint is of a run in phases\n  expected: ");
}

}  // namespace
}  // namespace thtrain

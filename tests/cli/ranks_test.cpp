// `mpirun -n N thtrain train`: the bits of one process, by any number of them; and what is said where that cannot be.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "tests/cli/rank_jobs.h"

namespace thtrain::ranks_test {

// The second and the third layer are larger than a bucket.
const std::string kWide =
    "[[model.layers]]\ntype = \"dense\"\nunits = 600\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 500\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 300\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"batch_norm\"\nsync = true\n[[model.layers]]\ntype = \"dense\"\nunits = 9\n"
    "[[model.layers]]\ntype = \"batch_norm\"\nsync = true\n[[model.layers]]\ntype = \"softmax\"\n";

const std::string kText =
    "[[model.layers]]\ntype = \"lstm\"\nunits = 6\ncarry = true\n"
    "[[model.layers]]\ntype = \"dropout\"\nrate = 0.2\n[[model.layers]]\ntype = \"softmax\"\n";
const std::string kTextTrainer =
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 12\nshards = 4\nepochs = 3\nshuffle = false\n";

struct Kind {
  const char* name;
  std::string data, model, trainer;
};

const std::vector<Kind> kKinds = {
    {"in memory", "", kDense, kTrainer},
    {"streamed", "memory_limit = 1e-7\n", kDense, kTrainer},
    {"carried states", "", kText, kTextTrainer},
    {"moments of the whole minibatch", "", kWide, kTrainer},
    {"the same, streamed", "memory_limit = 1e-7\n", kWide, kTrainer},
    {"streamed, shuffled within a window", "memory_limit = 1e-7\nshuffle_window = 50\n", kDense, kTrainer},
};

TEST(ManyRanks, GiveTheBitsOfOne) {
  TH_NEEDS_MPI();
  for (const Kind& kind : kKinds) {
    SCOPED_TRACE(kind.name);
    Workshop at;
    write_data(at);
    const std::string data = kind.model != kText
                                 ? header(kind.data)
                                 : "[data]\nsource = \"text\"\nfile = \"text.txt\"\nsteps = 6\ntracks = 12\n"
                                   "valid_fraction = 0.2\n[output]\nplots = false\n";
    at.write("e.toml", data + kind.model + kind.trainer);
    for (int size : {1, 2, 4}) {
      const Ended ended = launch(at, size, str("train e.toml --quiet --run-dir run", size));
      ASSERT_EQ(ended.code, 0) << ended.err;
      if (size > 1) expect_same_run(at, "run1", str("run", size));
    }
  }
}

// The emulated device, with an emulated NCCL between the processes.
TEST(ManyRanks, OnDevicesGiveTheBitsOfOne) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  for (int size : {1, 2, 4}) {
    const Ended ended =
        launch(at, size, str("train e.toml --quiet trainer.epochs=1 compiler.device=emulated --run-dir run", size));
    ASSERT_EQ(ended.code, 0) << ended.err;
    if (size > 1) expect_same_run(at, "run1", str("run", size));
  }
}

std::vector<double> losses_of(const std::string& metrics, const std::string& key) {
  std::vector<double> out;
  const std::string mark = '"' + key + "\": ";
  for (size_t at = 0; (at = metrics.find(mark, at)) != std::string::npos; ++at)
    out.push_back(std::stod(metrics.substr(at + mark.size())));
  return out;
}

// One process too computes in shards.
TEST(Shards, WithMomentsOfTheWholeMinibatchComputeWhatOneWithoutShardsDoes) {
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kWide + kTrainer);
  for (const char* shards : {"0", "4"})
    ASSERT_EQ(at.shell(str("OMP_NUM_THREADS=1 \"$THTRAIN\" train e.toml --quiet trainer.optimizer=sgd ",
                           "trainer.learning_rate=0.02 trainer.shards=", shards, " --run-dir run", shards))
                  .code,
              0);
  for (const char* key : {"train_loss", "valid_loss"}) {
    const std::vector<double> whole = losses_of(at.read("run0/metrics.jsonl"), key),
                              cut = losses_of(at.read("run4/metrics.jsonl"), key);
    ASSERT_EQ(whole.size(), 3);
    ASSERT_EQ(cut.size(), 3);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(cut[i], whole[i], 1e-4 * whole[i]) << key << ' ' << i;
  }
  // A difference that the comparison would show: moments of each shard.
  ASSERT_EQ(at.shell("sed -i 's/sync = true/sync = false/' e.toml && OMP_NUM_THREADS=1 \"$THTRAIN\" train e.toml "
                     "--quiet trainer.optimizer=sgd trainer.learning_rate=0.02 --run-dir apart")
                .code,
            0);
  const double whole = losses_of(at.read("run0/metrics.jsonl"), "train_loss").back();
  EXPECT_GT(std::abs(losses_of(at.read("apart/metrics.jsonl"), "train_loss").back() - whole), 1e-3 * whole);
}

TEST(Shards, WithoutExamplesDoNotMeetTheOthers) {
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kWide + kTrainer);
  const Ended ended = at.shell("\"$THTRAIN\" train e.toml --quiet trainer.shards=8");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err,
            "error: the last minibatch has fewer examples than shards, which a layer with sync = true does not take\n"
            "  expected: at least 8 examples in each minibatch\n"
            "  got:      5\n"
            "  hint:     trainer.full_batches_only = true leaves it out\n");
}

TEST(ManyRanks, ShowTheExchangeInTheProfile) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kWide + kTrainer);
  const Ended ended = at.shell("sed -i 's/sync = true//' e.toml && " +
                               str(kLauncher, "2 \"$THTRAIN\" train e.toml --profile --run-dir run"));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const size_t line = ended.out.find("\nexchange: 2 processes, 1.8 MiB in 2 buckets, ");
  ASSERT_NE(line, std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find(" of the shards, ", line), std::string::npos) << ended.out;
  const std::string json = at.read("run/profile/exchange.json");
  EXPECT_NE(json.find("\"processes\": 2"), std::string::npos) << json;
  EXPECT_NE(json.find("\"buckets\": 2"), std::string::npos) << json;
  EXPECT_NE(json.find("\"hidden\": "), std::string::npos) << json;
}

TEST(ManyRanks, AreResumedByAnotherNumberOfThem) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  ASSERT_EQ(launch(at, 1, "train e.toml --quiet --run-dir run1 trainer.epochs=6").code, 0);
  ASSERT_EQ(launch(at, 4, "train e.toml --quiet --run-dir run4").code, 0);
  const Ended ended = launch(at, 2, "resume run4 --quiet trainer.epochs=6");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(without_seconds(at.read("run1/metrics.jsonl")), without_seconds(at.read("run4/metrics.jsonl")));
}

// A few minibatches of a lab, in four shards: stacks, which have four phases, of few examples; and labs that take one
// example at a time take four.
std::string words_of_lab(const std::string& lab) {
  std::string out = str("train ", THTRAIN_SOURCE_DIR, "/configs/labs/", lab,
                        ".toml --quiet trainer.shards=4 trainer.validation_frequency=3 output.plots=false ");
  if (lab == "sda_mnist" || lab == "rnnrbm_jsb") out += "trainer.batch_size=4 ";
  if (lab != "sda_mnist" && lab != "dbn_mnist")
    return out + "trainer.epochs=1 trainer.patience=4 trainer.patience_increase=1 --run-dir " + lab;
  for (int phase = 0; phase < 4; ++phase) out += str("phase.", phase, ".trainer.epochs=1 ");
  return out + "data.n_train=100 data.n_valid=100 data.n_test=100 --run-dir " + lab;
}

// Some labs; THTRAIN_RANK_LABS names others, "rnn_jsb rnn_chars", or is "all" for every one that takes one gradient of
// a minibatch and whose data is there.
TEST(ManyRanks, OfLabsGiveTheBitsOfOne) {
  TH_NEEDS_MPI();
  const char* asked = std::getenv("THTRAIN_RANK_LABS");
  std::vector<std::string> labs = {"mlp_digits", "dae_digits", "rnn_reber", "factorization"};
  if (asked && std::string(asked) == "all") {
    labs.clear();
    for (const auto& entry : fs::directory_iterator(fs::path(THTRAIN_SOURCE_DIR) / "configs" / "labs"))
      labs.push_back(entry.path().stem().string());
    std::sort(labs.begin(), labs.end());
  } else if (asked) {
    std::istringstream names(asked);
    labs.assign(std::istream_iterator<std::string>(names), {});
  }
  const char* folder = std::getenv("THTRAIN_DATA");  // which a workshop takes away
  const std::string data = asked && folder ? str("THTRAIN_DATA='", folder, "' ") : "";
  Workshop at;
  int compared = 0;
  for (const std::string& lab : labs) {
    SCOPED_TRACE(lab);
    const std::string words = words_of_lab(lab);
    const Ended one = launch(at, 1, words + "1", data);
    if (asked && one.code == 2) {  // refused by name, or without its data
      std::printf("%s: %s\n", lab.c_str(), one.err.substr(0, one.err.find('\n')).c_str());
      continue;
    }
    ASSERT_EQ(one.code, 0) << one.err;
    for (int size : {2, 4}) {
      const Ended ended = launch(at, size, str(words, size), data);
      ASSERT_EQ(ended.code, 0) << ended.err;
      expect_same_run(at, lab + "1", str(lab, size));
    }
    ++compared;
  }
  std::printf("%d of %d labs compared\n", compared, static_cast<int>(labs.size()));
  EXPECT_GE(compared, 4);
}

TEST(ManyRanks, MistakesAreToldOnce) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  auto expect = [&](int size, const std::string& words, const std::string& text) {
    const Ended ended = launch(at, size, words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_TRUE(first_error(ended).starts_with(text)) << ended.err;
    EXPECT_EQ(ended.err.find("error: ", ended.err.find("error: ") + 1), std::string::npos) << ended.err;
  };
  expect(2, "train e.toml trainer.shards=0",
         "error: 2 processes were started together, and trainer.shards does not say how they share minibatches\n"
         "  expected: trainer.shards, a power of two that the number of processes divides\n"
         "  hint:     trainer.shards = 2 gives the same bits with 1, 2, 4, ... processes\n");
  expect(3, "train e.toml",
         "error: 3 processes cannot share 4 shards of each minibatch\n"
         "  expected: a number of processes that divides trainer.shards\n"
         "  got:      3\n"
         "  hint:     start 2 processes\n");
  expect(2, "train e.toml trainer.shards=1",
         "error: 2 processes cannot share 1 shard of each minibatch\n"
         "  expected: a number of processes that divides trainer.shards\n"
         "  got:      2\n"
         "  hint:     start 1 process, or set trainer.shards = 2\n");
  expect(2, "train e.toml --folds 3",
         "error: --folds trains in one process after the other\n"
         "  expected: one process\n"
         "  got:      2 that were started together\n");
  expect(2, "sweep e.toml seed=1..2",
         "error: thtrain sweep starts the processes of its runs by itself\n"
         "  expected: one process\n"
         "  got:      2 that were started together\n");
}

// Before the ranks know of each other: the launcher ends those that have said nothing.
TEST(ManyRanks, MistakesOfTheCommandLineAreToldOnce) {
  TH_NEEDS_MPI();
  Workshop at;
  for (const auto& [words, text] :
       {std::pair<const char*, const char*>("train e.toml --no-such-option",
                                            "error: thtrain train: unknown option --no-such-option\n"),
        {"sail e.toml", "error: unknown command sail\n"},
        {"eval no-such-run", "error: cannot read no-such-run\n"}}) {
    const Ended ended = launch(at, 4, words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.err.find("error: "), ended.err.rfind("error: ")) << ended.err;
    EXPECT_TRUE(first_error(ended).starts_with(text)) << ended.err;
  }
}

}  // namespace thtrain::ranks_test

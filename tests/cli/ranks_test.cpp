// `mpirun -n N thtrain train`: the bits of one process, by any number of them; and what is said where that cannot be.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "compiler/base/random_state.h"
#include "datasets/npy.h"
#include "datasets/npz.h"
#include "tests/support/cli_support.h"

namespace thtrain::ranks_test {

namespace fs = std::filesystem;

// Cores are few: ranks leave theirs while they wait, and are not bound to one.
constexpr const char* kLauncher =
    "OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 "
    "--mca btl_base_warn_component_unused 0 -q -n ";

bool has_mpi() {
  return fs::exists(fs::path(THTRAIN_BINARY).parent_path() / "libthtrain_mpi.so") &&
         std::system("mpirun --version >/dev/null 2>&1") == 0;
}
#define TH_NEEDS_MPI() \
  if (!has_mpi()) GTEST_SKIP() << "MPI is not installed, or thtrain was built without it"

std::string header(const std::string& data) {
  return "[data]\nsource = \"npy\"\ntrain = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 90\ntest = "
         "\"xt.npy\"\ntest_labels = \"yt.npy\"\n" +
         data + "[output]\nplots = false\n";
}

const std::string kDense =
    "[[model.layers]]\ntype = \"dense\"\nunits = 9\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"batch_norm\"\n[[model.layers]]\ntype = \"dropout\"\nrate = 0.2\n"
    "[[model.layers]]\ntype = \"softmax\"\n";
const std::string kTrainer =
    "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.01\nbatch_size = 22\nshards = 4\nepochs = 3\nclip_norm = 1\n"
    "full_batches_only = false\nvalidation_frequency = 7\ntest_at = \"epoch\"\nmetrics = [\"error\", \"loss\"]\n";

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

void write_data(const Workshop& at) {
  RandomState random(3);
  std::string text;
  while (text.size() < 3000) text += "abcdefg "[random.integer(0, 7)];
  at.write("text.txt", text);
  for (const auto& [end, count] : {std::pair<const char*, int64_t>(".npy", 403), {"t.npy", 50}}) {
    Tensor examples = Tensor::empty(DType::kFloat32, {count, 12}), labels = Tensor::empty(DType::kInt64, {count});
    for (int64_t i = 0; i < count; ++i) {
      labels.data<int64_t>()[i] = i % 3;
      for (int64_t j = 0; j < 12; ++j)
        examples.data<float>()[12 * i + j] =
            static_cast<float>(random.normal() + 0.4 * static_cast<double>(j % 3 == i % 3));
    }
    write_npy(at.path(str("x", end)), examples);
    write_npy(at.path(str("y", end)), labels);
  }
}

Ended launch(const Workshop& at, int size, const std::string& words, const std::string& settings = "") {
  return at.shell(str(settings, size == 1 ? "OMP_NUM_THREADS=1 " : "", size == 1 ? "" : kLauncher,
                      size == 1 ? "" : str(size), " \"$THTRAIN\" ", words));
}

// All that a run ends with, but for times.
void expect_same_run(const Workshop& at, const std::string& one, const std::string& other) {
  EXPECT_EQ(without_seconds(at.read(one + "/metrics.jsonl")), without_seconds(at.read(other + "/metrics.jsonl")));
  for (const char* file : {"/best.npz", "/checkpoint.npz"}) {
    NpzFile expected(at.path(one + file)), found(at.path(other + file));
    ASSERT_EQ(expected.names(), found.names());
    for (const std::string& name : expected.names()) {
      // Times are in these.
      if (name == "run.seconds" || name == "run.epoch" || name.starts_with("run.history")) continue;
      const Tensor a = expected.read(name), b = found.read(name);
      ASSERT_EQ(a.type_text(), b.type_text()) << name;
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << other << file << ' ' << name;
    }
  }
}

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

// Some labs, a few minibatches of each; THTRAIN_RANK_LABS=all takes every one that takes one gradient of a minibatch
// and whose data is there.
TEST(ManyRanks, OfLabsGiveTheBitsOfOne) {
  TH_NEEDS_MPI();
  const char* asked = std::getenv("THTRAIN_RANK_LABS");
  std::vector<std::string> labs = {"mlp_digits", "dae_digits", "rnn_reber", "factorization"};
  if (asked && std::string(asked) == "all") {
    labs.clear();
    for (const auto& entry : fs::directory_iterator(fs::path(THTRAIN_SOURCE_DIR) / "configs" / "labs"))
      labs.push_back(entry.path().stem().string());
    std::sort(labs.begin(), labs.end());
  }
  const char* folder = std::getenv("THTRAIN_DATA");  // which a workshop takes away
  const std::string data = asked && folder ? str("THTRAIN_DATA='", folder, "' ") : "";
  Workshop at;
  int compared = 0;
  for (const std::string& lab : labs) {
    SCOPED_TRACE(lab);
    const std::string words = str("train ", THTRAIN_SOURCE_DIR, "/configs/labs/", lab,
                                  ".toml --quiet trainer.shards=4 trainer.epochs=1 trainer.patience=4 "
                                  "trainer.patience_increase=1 trainer.validation_frequency=3 output.plots=false "
                                  "--run-dir ",
                                  lab);
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
  EXPECT_GE(compared, 4);
}

// What mpirun says of a job that was ended is its own.
std::string first_error(const Ended& ended) {
  const size_t begin = ended.err.find("error: ");
  const size_t end = std::min(ended.err.find("\n---"), ended.err.find("\n["));
  return begin == std::string::npos ? ended.err : ended.err.substr(begin, std::min(end, ended.err.size()) - begin);
}

std::string host() {
  std::array<char, 256> out{};
  ::gethostname(out.data(), out.size() - 1);
  return out.data();
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

// ---- faults --------------------------------------------------------------------------------------------------------

TEST(ManyRanks, ThatWouldNotComputeAlikeAreNamed) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended = at.shell(str(kLauncher, "2 sh -c 'OMP_NUM_THREADS=$((1 + OMPI_COMM_WORLD_RANK)) ",
                                   "exec \"$THTRAIN\" train e.toml --run-dir run'"));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_NE(ended.err.find(" would not compute alike\n"
                           "  expected: the same binary, experiment, data, threads and kind of processor\n"
                           "  got:      threads: 1 and 2\n"),
            std::string::npos)
      << ended.err;
  EXPECT_FALSE(at.exists("run"));
}

// "/proc/self/cwd/run" is another folder for each of them, as on machines that share no file system.
TEST(ManyRanks, ThatSeeOtherFoldersAreNamed) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  auto expect = [&](const std::string& words, const std::string& text) {
    const Ended ended =
        at.shell(str(kLauncher, "2 sh -c 'cd machine$OMPI_COMM_WORLD_RANK && exec \"$THTRAIN\" ", words, "'"));
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(first_error(ended), str("error: rank 1 (", host(), text,
                                      "/proc/self/cwd/run\n  expected: a file system that all ranks share\n"
                                      "  hint:     --run-dir names a folder on one\n"));
  };
  const std::string train = "train ../e.toml --quiet --run-dir /proc/self/cwd/run";
  const std::string resume = "resume /proc/self/cwd/run --quiet trainer.epochs=4";
  ASSERT_EQ(at.shell("mkdir machine0 machine1").code, 0);
  expect(train, ") does not see the folder of the run: ");
  ASSERT_EQ(launch(at, 1, "train e.toml --quiet --run-dir machine0/run --until-epoch 1").code, 0);
  expect(resume, ") does not see the folder of the run: ");
  // The one there is a step further.
  ASSERT_EQ(at.shell("cp -r machine0/run machine1/run").code, 0);
  ASSERT_EQ(launch(at, 1, "resume machine1/run --quiet --until-epoch 2").code, 0);
  expect(resume, ") sees another folder of a run than rank 0: ");
  ASSERT_EQ(at.shell("rm -r machine0/run").code, 0);
  expect(train, ") sees another folder of a run than rank 0: ");
}

TEST(ManyRanks, ALossThatIsNotFiniteIsTracedToItsShard) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended =
      launch(at, 2, "train e.toml --quiet --run-dir run trainer.optimizer=sgd trainer.learning_rate=1e38");
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_NE(ended.err.find(" not finite: epoch 1, minibatch "), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(" is from before it and all finite"), std::string::npos) << ended.err;
}

TEST(ManyRanks, OneThatHangsEndsTheJob) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("") + kDense + kTrainer);
  const Ended ended = at.shell(
      str("THTRAIN_RANK_SECONDS=2 ", kLauncher, "2 sh -c 'exec \"$THTRAIN\" train e.toml --quiet --run-dir run ",
          "trainer.epochs=1000000' & job=$!\n", "until [ -s run/metrics.jsonl ]; do sleep 0.1; done\n",
          "kill -STOP $(pgrep -P $job | tail -n 1)\nwait $job"));
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_NE(ended.err.find("rank 1 ("), std::string::npos) << ended.err;
  EXPECT_NE(ended.err.find(" seconds, and rank 0 ("), std::string::npos) << ended.err;
}

int wanted_kills() {
  const char* text = std::getenv("THTRAIN_RANK_KILLS");
  return text ? std::atoi(text) : 10;
}

// One rank is killed at a random moment; the job ends, and goes on with a random number of ranks.
TEST(ManyRanks, KilledJobsEndWithTheBitsOfOneThatWasNot) {
  TH_NEEDS_MPI();
  Workshop at;
  write_data(at);
  at.write("e.toml", header("memory_limit = 1e-7\nshuffle_window = 50\n") + kDense + kTrainer +
                         "checkpoint_seconds = 0.02\ncheckpoint_epochs = 1\n");
  const std::string epochs = str("trainer.epochs=", 120);
  ASSERT_EQ(launch(at, 1, str("train e.toml --quiet --run-dir whole ", epochs)).code, 0);
  RandomState random(7);
  int kills = 0;
  for (int left = wanted_kills(), run = 0; left > 0; ++run) {
    const std::string folder = str("run", run);
    bool has_begun = false;
    for (;; has_begun = has_begun || at.exists(folder + "/checkpoint.npz")) {
      const int size = 2 << random.integer(0, 2);
      const std::string words =
          has_begun ? str("resume ", folder, " --quiet") : str("train e.toml --quiet --run-dir ", folder, ' ', epochs);
      const double seconds = left > 0 ? random.uniform(0.3, 4) : 1000;
      const Ended ended = at.shell(str(kLauncher, size, " \"$THTRAIN\" ", words, " & job=$!\n(sleep ", seconds,
                                       "; kill -9 $(pgrep -P $job | ", "tail -n ", random.integer(1, size + 1),
                                       " | head -n 1)) >/dev/null 2>&1 & killer=$!\n",
                                       "wait $job; code=$?\nkill $killer 2>/dev/null\nexit $code"));
      if (ended.code == 0) break;
      --left;
      ++kills;
      ASSERT_EQ(ended.err.find("error: "), std::string::npos) << ended.err;
    }
    expect_same_run(at, "whole", folder);
  }
  EXPECT_GE(kills, wanted_kills());
}

}  // namespace thtrain::ranks_test

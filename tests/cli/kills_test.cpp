// A run that is killed at random moments ends with the bits of one that was not: two phases, Adam, a plateau schedule,
// streamed examples; the persistent chains of a restricted Boltzmann machine, then dropout and noise; the states that a
// text carries; the machines of an RNN-RBM. THTRAIN_KILLS=500 makes the long test of it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "datasets/npy.h"
#include "tests/support/phases_support.h"

namespace thtrain {
namespace {

int wanted_kills(int standard) {
  const char* text = std::getenv("THTRAIN_KILLS");
  return text ? std::atoi(text) : standard;
}

// Numbers around 0, or the shares 0 and 1.
void write_examples(const std::string& x, const std::string& y, int64_t count, bool are_shares = false) {
  RandomState random(3);
  Tensor examples = Tensor::empty(DType::kFloat32, {count, 12}), labels = Tensor::empty(DType::kInt64, {count});
  for (int64_t i = 0; i < count; ++i) {
    labels.data<int64_t>()[i] = i % 3;
    for (int64_t j = 0; j < 12; ++j)
      examples.data<float>()[12 * i + j] =
          static_cast<float>(random.normal() + 0.4 * static_cast<double>(j % 3 == i % 3));
    for (int64_t j = 0; j < 12 && are_shares; ++j) {
      float& value = examples.data<float>()[12 * i + j];
      value = value > 0 ? 1 : 0;
    }
  }
  write_npy(x, examples);
  write_npy(y, labels);
}

Experiment streamed_phases(const TemporaryFolder& folder) {
  write_examples(folder.path("x.npy"), folder.path("y.npy"), 400);
  const std::string at = "\"" + folder.path() + "/";
  return experiment_in("[data]\nsource = \"npy\"\ntrain = " + at + "x.npy\"\ntrain_labels = " + at +
                       "y.npy\"\nn_valid = 100\nmemory_limit = 1e-7\n"
                       "[[model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 9\nactivation = \"tanh\"\n"
                       "[[model.layers]]\ntype = \"softmax\"\n"
                       "[trainer]\noptimizer = \"adam\"\nlearning_rate = 0.01\nbatch_size = 20\nepochs = 40\n"
                       "validation_frequency = 7\ncheckpoint_seconds = 0.004\ncheckpoint_epochs = 1\n"
                       "schedule = {type = \"plateau\", patience = 2}\n"
                       "[compiler]\nthreads = 1\n[output]\nplots = false\n"
                       "[[phase]]\nname = \"first\"\npass_on = \"best\"\n"
                       "[[phase]]\nname = \"second\"\n"
                       "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 9\nactivation = \"tanh\"\n"
                       "[[phase.model.layers]]\nname = \"more\"\ntype = \"dense\"\nunits = 7\nactivation = \"tanh\"\n"
                       "[[phase.model.layers]]\ntype = \"softmax\"\nname = \"top\"\n"
                       "[phase.trainer]\nschedule = {type = \"plateau\", patience = 1, decay = 0.5}\n");
}

// Generators of random numbers and chains are state of the run.
Experiment machine_and_dropout(const TemporaryFolder& folder) {
  write_examples(folder.path("x.npy"), folder.path("y.npy"), 400, true);
  const std::string at = "\"" + folder.path() + "/";
  return experiment_in("[data]\nsource = \"npy\"\ntrain = " + at + "x.npy\"\ntrain_labels = " + at +
                       "y.npy\"\nn_valid = 100\n"
                       "[trainer]\nlearning_rate = 0.05\nbatch_size = 20\nepochs = 40\n"
                       "validation_frequency = 7\ncheckpoint_seconds = 0.004\ncheckpoint_epochs = 1\n"
                       "[compiler]\nthreads = 1\n[output]\nplots = false\n"
                       "[[phase]]\nname = \"first\"\n"
                       "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"rbm\"\nunits = 9\n"
                       "[phase.loss]\ntype = \"contrastive_divergence\"\nk = 2\npersistent = true\n"
                       "[[phase]]\nname = \"second\"\n"
                       "[[phase.model.layers]]\nname = \"noise\"\ntype = \"corrupt\"\nnoise = \"gaussian\"\n"
                       "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 9\n"
                       "activation = \"sigmoid\"\n"
                       "[[phase.model.layers]]\ntype = \"dropout\"\n"
                       "[[phase.model.layers]]\ntype = \"softmax\"\nname = \"top\"\n");
}

// The states that minibatches of a text hand to the next ones, and a dropout's generator.
Experiment carried_states(const TemporaryFolder& folder) {
  RandomState random(5);
  std::string text;
  while (text.size() < 3000) text += "abcdefg "[random.integer(0, 7)];
  const std::string file = folder.write("text.txt", text);
  const std::string layers =
      "[[phase.model.layers]]\nname = \"memory\"\ntype = \"lstm\"\nunits = 6\ncarry = true\n"
      "[[phase.model.layers]]\ntype = \"dropout\"\nrate = 0.2\n"
      "[[phase.model.layers]]\nname = \"top\"\ntype = \"softmax\"\n";
  return experiment_in("[data]\nsource = \"text\"\nfile = \"" + file +
                       "\"\nsteps = 6\ntracks = 10\nvalid_fraction = 0.2\n"
                       "[trainer]\nlearning_rate = 0.1\nbatch_size = 10\nepochs = 30\nshuffle = false\n"
                       "validation_frequency = 7\ncheckpoint_seconds = 0.004\ncheckpoint_epochs = 1\n"
                       "[compiler]\nthreads = 1\n[output]\nplots = false\n"
                       "[[phase]]\nname = \"first\"\n" +
                       layers + "[[phase]]\nname = \"second\"\n" + layers + "[phase.trainer]\nlearning_rate = 0.05\n");
}

// What is drawn for an image follows from the epoch and its number. Streamed examples, read through a window.
Experiment augmented_images(const TemporaryFolder& folder) {
  write_examples(folder.path("x.npy"), folder.path("y.npy"), 400);
  const std::string at = "\"" + folder.path() + "/";
  const std::string layers =
      "[[phase.model.layers]]\nname = \"hidden\"\ntype = \"dense\"\nunits = 9\nactivation = \"tanh\"\n"
      "[[phase.model.layers]]\nname = \"top\"\ntype = \"softmax\"\n";
  return experiment_in("[data]\nsource = \"npy\"\ntrain = " + at + "x.npy\"\ntrain_labels = " + at +
                       "y.npy\"\nn_valid = 100\nimage_shape = [1, 3, 4]\n"
                       "[trainer]\nlearning_rate = 0.05\nbatch_size = 20\nepochs = 40\n"
                       "validation_frequency = 7\ncheckpoint_seconds = 0.004\ncheckpoint_epochs = 1\n"
                       "[compiler]\nthreads = 1\n[output]\nplots = false\n"
                       "[[phase]]\nname = \"first\"\n[phase.data]\nmemory_limit = 1e-7\nshuffle_window = 50\n" +
                       layers +
                       "[phase.trainer]\naugment = {shift = 1, flip = \"both\", crop = [3, 3], noise = 0.2}\n"
                       "[[phase]]\nname = \"second\"\n" +
                       layers + "[phase.trainer]\naugment = {crop = [3, 3], rotation = 20}\n");
}

// The generators of an rnn_rbm, whose sequences of several lengths each epoch draws an order for.
Experiment machines_of_steps(const TemporaryFolder& folder) {
  RandomState random(7);
  std::string rolls;
  for (int64_t piece = 0; piece < 80; ++piece) {
    const int64_t steps = random.integer(2, 9);
    rolls += str("@ ", piece % 5 == 0 ? "valid " : "train ", steps, " 6\n");
    for (int64_t t = 0; t < steps; ++t) rolls += str(t % 3, ' ', random.integer(3, 6), '\n');
  }
  const std::string file = folder.write("rolls.txt", rolls);
  const std::string layers =
      "[[phase.model.layers]]\nname = \"machine\"\ntype = \"rnn_rbm\"\nunits = 5\nrecurrent_units = 4\n"
      "[phase.loss]\ntype = \"contrastive_divergence\"\nk = 2\n";
  return experiment_in("[data]\nsource = \"piano_rolls\"\nfile = \"" + file +
                       "\"\n[trainer]\nlearning_rate = 0.05\nbatch_size = 4\nepochs = 30\n"
                       "validation_frequency = 7\ncheckpoint_seconds = 0.004\ncheckpoint_epochs = 1\n"
                       "[compiler]\nthreads = 1\n[output]\nplots = false\n"
                       "[[phase]]\nname = \"first\"\n" +
                       layers + "[[phase]]\nname = \"second\"\n" + layers + "[phase.trainer]\nlearning_rate = 0.02\n");
}

// Where a process ends itself.
enum class End { kNever, kAfterAnEpoch, kAfterThePhase, kBeforeThePhase, kAfterItsCheckpoint };

TrainHooks ending(End end, int64_t epochs) {
  auto kill = [] { ::kill(::getpid(), SIGKILL); };
  TrainHooks hooks;
  auto phase = std::make_shared<size_t>(0);
  auto left = std::make_shared<int64_t>(epochs);
  hooks.on_phase = [=](const PhaseReport& report) {
    *phase = report.index;
    if (end == End::kBeforeThePhase && report.index == 1) kill();
  };
  hooks.on_phase_end = [=](const TrainSummary&) {
    if (end == End::kAfterThePhase) kill();
  };
  hooks.on_start = [=](const ModelSummary&) {
    if (end == End::kAfterItsCheckpoint && *phase == 1) kill();
  };
  hooks.on_epoch = [=](const EpochReport&) {
    if (end == End::kAfterAnEpoch && --*left == 0) kill();
  };
  return hooks;
}

// Resumes the run in a process of its own, which ends itself, or is killed after `seconds` (negative: never). True
// where it ended.
bool resume_in_child(const Experiment& e, const std::string& path, double seconds, const TrainHooks& hooks = {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      resume_in(path, e, hooks);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(9);
    }
  }
  EXPECT_GT(child, 0);
  const auto began = std::chrono::steady_clock::now();
  int status = 0;
  pid_t ended = 0;
  while (seconds >= 0 && ended == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    ended = ::waitpid(child, &status, WNOHANG);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() >= seconds) break;
  }
  if (ended == 0) {
    if (seconds >= 0) ::kill(child, SIGKILL);
    ended = ::waitpid(child, &status, 0);
  }
  EXPECT_EQ(ended, child);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

// The uninterrupted run is in a child too: a device that this process had opened would be of no use after a fork.
// Twice, since the first run compiles.
void expect_the_bits_after_kills(const TemporaryFolder& temporary, const Experiment& e, int kills_by_default = 20) {
  RunFolder::create(temporary.path("whole"), e);
  ASSERT_TRUE(resume_in_child(e, temporary.path("whole"), -1));
  const RunResult whole = result_of(RunFolder::open(temporary.path("whole")));
  RunFolder::create(temporary.path("timed"), e);
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(resume_in_child(e, temporary.path("timed"), -1));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  RandomState random(static_cast<int64_t>(::getpid()));
  std::map<std::pair<bool, int64_t>, int> locations;  // by time? and the phase of the checkpoint after the kill
  const int wanted = wanted_kills(kills_by_default);
  int kills = 0, runs = 0;
  while (kills < wanted && !testing::Test::HasFailure()) {
    const std::string path = temporary.path(str("killed-", runs++));
    RunFolder::create(path, e);
    auto killed = [&](double after, const TrainHooks& hooks = {}) {
      if (resume_in_child(e, path, after, hooks)) return false;
      const std::string checkpoint = RunFolder::open(path).checkpoint();
      if (std::filesystem::exists(checkpoint)) ++locations[{after >= 0, *read_checkpoint(checkpoint).phase}];
      ++kills;
      return true;
    };
    // In the first phase, between them at one of three locations, in the second one; and at any moment.
    const auto between = static_cast<End>(static_cast<int>(End::kAfterThePhase) + runs % 3);
    bool is_over = !killed(-1, ending(End::kAfterAnEpoch, random.integer(1, 12)));
    // So early that the run is hardly at its end, also where the machine is faster than it was.
    for (int i = 0; i < 2 && !is_over; ++i) is_over = !killed(seconds * random.uniform(0, 0.2));
    if (!is_over && RunFolder::open(path).has_checkpoint() &&
        read_checkpoint(RunFolder::open(path).checkpoint()).phase == 0)
      is_over = !killed(-1, ending(between, 0));
    if (!is_over) is_over = !killed(-1, ending(End::kAfterAnEpoch, random.integer(1, 6)));
    for (int i = 0; i < 3 && !is_over; ++i) is_over = !killed(seconds * random.uniform(0, 1));
    if (!is_over) is_over = resume_in_child(e, path, -1);
    EXPECT_TRUE(is_over);
    SCOPED_TRACE(str("run ", runs, " after ", kills, " kills"));
    expect_same(result_of(RunFolder::open(path)), whole);
    std::filesystem::remove_all(path);
    if (runs % 20 == 0) std::printf("%d of %d kills\n", kills, wanted), std::fflush(stdout);
  }
  EXPECT_GE(kills, wanted);
  for (int64_t phase : {0, 1}) EXPECT_GT((locations[{false, phase}]), 0) << phase;
  for (const auto& [location, count] : locations)
    std::printf("%d kills %s leave a checkpoint of phase %d\n", count,
                location.first ? "at any moment" : "at a location", static_cast<int>(location.second));
  std::printf("%d kills in %d runs, each with the bits of the uninterrupted one\n", kills, runs);
}

TEST(Kills, EveryResumptionEndsWithTheBitsOfTheUninterruptedRun) {
  TemporaryFolder temporary;
  const Experiment e = streamed_phases(temporary);
  ASSERT_TRUE(load_data(e.phases[0], "").streamed);
  expect_the_bits_after_kills(temporary, e);
}

TEST(Kills, ChainsAndGeneratorsGoOnWithTheirBits) {
  TemporaryFolder temporary;
  expect_the_bits_after_kills(temporary, machine_and_dropout(temporary));
}

// On the emulated device: what is in its memory comes back from the checkpoint.
Experiment on_device(Experiment e) {
  e.compiler.device = CompilerConfig::Device::kEmulated;
  for (Experiment& phase : e.phases) phase.compiler.device = CompilerConfig::Device::kEmulated;
  return e;
}

TEST(DeviceKills, OptimizersAndStreamsGoOnWithTheirBits) {
  TemporaryFolder temporary;
  expect_the_bits_after_kills(temporary, on_device(streamed_phases(temporary)), 14);
}

TEST(DeviceKills, ChainsAndGeneratorsGoOnWithTheirBits) {
  TemporaryFolder temporary;
  expect_the_bits_after_kills(temporary, on_device(machine_and_dropout(temporary)), 14);
}

TEST(Kills, AugmentedImagesGoOnWithTheirBits) {
  TemporaryFolder temporary;
  const Experiment e = augmented_images(temporary);
  ASSERT_TRUE(load_data(e.phases[0], "").streamed);
  expect_the_bits_after_kills(temporary, e);
}

TEST(Kills, CarriedStatesGoOnWithTheirBits) {
  TemporaryFolder temporary;
  expect_the_bits_after_kills(temporary, carried_states(temporary));
}

TEST(Kills, MachinesOfStepsGoOnWithTheirBits) {
  TemporaryFolder temporary;
  expect_the_bits_after_kills(temporary, machines_of_steps(temporary));
}

}  // namespace
}  // namespace thtrain

// A run that was stopped, killed or interrupted ends with the bits of one that was not.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <thread>

#include "tests/support/run_result.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

Experiment six_epochs() {
  Experiment out = small_experiment();
  out.trainer.epochs = 6;
  out.trainer.validation_frequency = 7;  // within epochs of 10 minibatches, too
  return out;
}

RunResult uninterrupted(const Experiment& e, const Dataset& data, const std::string& path) {
  RunFolder folder = RunFolder::create(path, e);
  TrainSummary summary = train(e, data, folder);
  EXPECT_FALSE(summary.interrupted);
  return result_of(folder);
}

// A stop flag that is raised at one step.
class StopAt {
 public:
  explicit StopAt(int64_t step) : left_(step) {}
  TrainOptions options() const { return {.stop = &flag_}; }
  // The trainer looks after each step: validation and epochs give the only hooks, so count from them.
  TrainHooks hooks() {
    return {.on_epoch = [this](const EpochReport&) {
      if (--left_ == 0) flag_ = 1;
    }};
  }

 private:
  int64_t left_;
  std::atomic<int> flag_{0};
};

TEST(Resume, AfterAnInterruptionBetweenEpochs) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunResult whole = uninterrupted(e, data, temporary.path("whole"));
  RunFolder folder = RunFolder::create(temporary.path("parts"), e);
  StopAt stop(2);
  TrainSummary summary = train(e, data, folder, stop.hooks(), stop.options());
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.epochs, 2);
  EXPECT_EQ(summary.steps, 21);  // the flag is seen after the next step
  RunFolder again = RunFolder::open(folder.path());
  summary = resume(e, data, again);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_EQ(summary.steps, 60);
  expect_same(result_of(again), whole);
}

TEST(Resume, AfterEveryStep) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  e.trainer.epochs = 3;
  Dataset data = load_data(e, "");
  RunResult whole = uninterrupted(e, data, temporary.path("whole"));
  RunFolder folder = RunFolder::create(temporary.path("parts"), e);
  std::atomic<int> stop{1};  // always: one step, then a checkpoint
  TrainSummary summary = train(e, data, folder, {}, {.stop = &stop});
  int64_t steps = 1;
  for (; summary.interrupted && steps < 100; ++steps) {
    EXPECT_EQ(summary.steps, steps);
    RunFolder again = RunFolder::open(folder.path());
    summary = resume(e, data, again, {}, {.stop = &stop});
  }
  EXPECT_EQ(steps, 30);
  expect_same(result_of(folder), whole);
}

TEST(Resume, AFinishedRunStaysAsItIs) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  TrainSummary first = train(e, data, folder);
  RunResult before = result_of(folder);
  TrainSummary second = resume(e, data, folder);
  EXPECT_EQ(second.steps, first.steps);
  EXPECT_EQ(second.valid_error, first.valid_error);
  EXPECT_EQ(second.test_error, first.test_error);
  expect_same(result_of(folder), before);
}

TEST(Resume, GoesOnToMoreEpochs) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunResult whole = uninterrupted(e, data, temporary.path("whole"));
  Experiment fewer = e;
  fewer.trainer.epochs = 2;
  RunFolder folder = RunFolder::create(temporary.path("run"), fewer);
  train(fewer, data, folder);
  EXPECT_EQ(error_text([&] { resume(e, data, folder); }),
            str("error: ", folder.config(),
                ": the experiment was edited since the last checkpoint\n"
                "  expected: what the run was trained with so far\n"
                "  got:      trainer.epochs: 2 then, 6 now\n"
                "  hint:     --accept-edits goes on with what it says now"));
  resume(e, data, folder, {}, {.accept_edits = true});
  expect_same(result_of(folder), whole);
}

TEST(Resume, NamesWhatDecidesOtherBits) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  StopAt stop(1);
  train(e, data, folder, stop.hooks(), stop.options());
  e.compiler.threads = 2;
  TrainOptions accepted{.accept_edits = true}, allowed{.allow_different_bits = true, .accept_edits = true};
  std::string checkpoint = read_file(folder.checkpoint());
  EXPECT_EQ(error_text([&] { resume(e, data, folder, {}, accepted); }),
            str("error: ", folder.path(),
                ": the run would go on with other bits than it would have had\n"
                "  expected: what the run began with\n"
                "  got:      threads: 1 then, 2 now\n"
                "  hint:     --allow-different-bits goes on all the same"));
  EXPECT_EQ(read_file(folder.checkpoint()), checkpoint);
  std::string said;
  TrainHooks hooks{.on_message = [&](const std::string& line) { said += line + "\n"; }};
  EXPECT_EQ(resume(e, data, folder, hooks, allowed).epochs, 6);
  EXPECT_EQ(said,
            "edited since the checkpoint: compiler.threads: 1 then, 2 now\n"
            "other bits than before: threads: 1 then, 2 now\n");
  EXPECT_EQ(RunFolder::open(folder.path()).facts().changes,
            (std::vector<std::string>{"step 11: compiler.threads: 1 then, 2 now", "step 11: threads: 1 then, 2 now"}));
}

// As after `thtrain tune`, or with another cache folder.
TEST(Resume, OtherChoicesComeFromAnotherCache) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  StopAt stop(1);
  train(e, data, folder, stop.hooks(), stop.options());
  Checkpoint checkpoint = read_checkpoint(folder.checkpoint());
  for (auto& [name, value] : checkpoint.fingerprint)
    if (name == "choices") value = "matrix_product float32 20x784x10 NN: other (1)";
  write_checkpoint(folder.checkpoint(), checkpoint);
  std::string text = error_text([&] { resume(e, data, folder); });
  EXPECT_NE(text.find("choices: matrix_product float32 20x784x10 NN: other (1) then, none now\n"), std::string::npos)
      << text;
  EXPECT_TRUE(
      text.ends_with("\n  hint:     `thtrain tune`, or another cache folder (THTRAIN_CACHE_DIR), chooses other "
                     "implementations: with the\n"
                     "            choices that the run began with, it goes on with the same bits;\n"
                     "            --allow-different-bits goes on all the same"))
      << text;
}

TEST(Resume, ADamagedCheckpointIsAnError) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  Dataset data = load_data(e, "");
  RunFolder folder = RunFolder::create(temporary.path("run"), e);
  train(e, data, folder);
  std::string bytes = read_file(folder.checkpoint());
  std::ofstream(folder.checkpoint(), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_THROW(resume(e, data, folder), UserError);
}

// Resumes the run in a process of its own, which is killed after `seconds` (negative: never), or kills itself after so
// many epochs (0: never). True where it ended.
bool resume_in_child(const Experiment& e, const Dataset& data, const std::string& path, double seconds,
                     int64_t epochs) {
  pid_t child = ::fork();
  if (child == 0) {
    try {
      RunFolder mine = RunFolder::open(path);
      TrainHooks hooks{.on_epoch = [&](const EpochReport&) {
        if (--epochs == 0) ::kill(::getpid(), SIGKILL);
      }};
      resume(e, data, mine, hooks);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(9);
    }
  }
  EXPECT_GT(child, 0);
  if (seconds >= 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    ::kill(child, SIGKILL);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0);
  return WIFEXITED(status);
}

// Killed at random moments again and again, with a checkpoint after each epoch.
TEST(Resume, AfterBeingKilledAtAnyMoment) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  e.trainer.epochs = 60;
  e.trainer.checkpoint_epochs = 1;
  Dataset data = load_data(e, "");
  RunResult whole = uninterrupted(e, data, temporary.path("whole"));
  std::string timed = RunFolder::create(temporary.path("timed"), e).path(), path = temporary.path("killed");
  auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(resume_in_child(e, data, timed, -1, 0));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  RunFolder::create(path, e);  // and given back: the children take its lock
  RandomState random(static_cast<int64_t>(::getpid()));
  EXPECT_FALSE(resume_in_child(e, data, path, -1, random.integer(1, 10)));
  for (int kills = 0; kills < 12; ++kills)
    if (resume_in_child(e, data, path, seconds * random.uniform(0, 0.7), 0)) break;
  EXPECT_TRUE(resume_in_child(e, data, path, -1, 0));
  expect_same(result_of(RunFolder::open(path)), whole);
}

// No file may grow beyond what the first checkpoint needs: the one with the best weights does not fit any more.
TEST(Resume, AfterTheDiskWasFull) {
  TemporaryFolder temporary;
  Experiment e = six_epochs();
  e.trainer.checkpoint_epochs = 1;
  Dataset data = load_data(e, "");
  RunResult whole = uninterrupted(e, data, temporary.path("whole"));
  RunFolder folder = RunFolder::create(temporary.path("full"), e);
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{60'000, 60'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 0;
    try {
      train(e, data, folder);
    } catch (const UserError&) {
      code = 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(read_checkpoint(folder.checkpoint()).state.step, 0);
  resume(e, data, folder);
  expect_same(result_of(folder), whole);
}

}  // namespace
}  // namespace thtrain

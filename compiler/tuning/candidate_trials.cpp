#include "compiler/tuning/candidate_trials.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>

#include "compiler/base/clock.h"
#include "compiler/base/side_by_side.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/trial_process.h"
#include "compiler/tuning/trial_program.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {
namespace {

// How long all trials of one key take if they are short, and one round of one candidate.
constexpr double kSeconds = 0.25, kRoundSeconds = 0.0005;
// Long ones take so many rounds, and of these only the first where they take longer than kMostSeconds.
constexpr int kLeastRounds = 7, kFirstRounds = 2;
constexpr double kMostSeconds = 2;
// Slower than the fastest by these factors, after the first round and after kFirstRounds more, none may become the
// fastest.
constexpr double kHopeless = 3, kSlower = 1.25;
// Programs that want a core, for each of the cores. The compilers of a tuning are as many as there are cores.
constexpr double kBusy = 1.5;
// A step of training touches much else before it comes back to the same node: operands that the second cache does not
// hold are used in rotation, so that they are not found nearer than they will be there.
constexpr int64_t kFitsCache = 1 << 20;
constexpr size_t kArgumentSets = 3;

// The mean of the last minute; 0 where the system does not say it, or it is not above kBusy.
double load_when_busy() {
  const double load = load_of_cores();
  return load > kBusy ? load : 0;
}

// A candidate's program with its times.
class Trial {
 public:
  Trial(const Graph& graph, const std::string& candidate, int threads, const kernel::Target& target)
      : program_(graph, candidate, threads, target) {}

  void load() { program_.load(); }
  void make_arrays() {
    sets_.push_back(program_.arguments(small_numbers));
    if (sets_[0].bytes() >= kFitsCache)
      while (sets_.size() < kArgumentSets) sets_.push_back(program_.arguments(small_numbers));
  }
  void share_arrays(Trial& other) {
    for (const TrialArguments& set : other.sets_) sets_.push_back(program_.arguments_in(set));
    first_ = &other;
  }

  const std::string& trouble() const { return program_.trouble(); }
  // False where the program fails.
  bool run() { return program_.run(sets_[first_->next_++ % sets_.size()]); }
  // Of the runs since the clock showed `start`, and since this was asked before.
  double seconds_since(double start) {
    return program_.is_on_device() ? program_.take_seconds() : seconds_now() - start;
  }

  int calls = 0;  // in one round
  bool failed = false, is_out = false;
  double first = 0;                                          // seconds of a call in the first round
  double fastest = std::numeric_limits<double>::infinity();  // in the others
  double least() const { return std::min(first, fastest); }

 private:
  TrialProgram program_;
  std::vector<TrialArguments> sets_;
  Trial* first_ = this;  // of those that share the arrays: it counts the runs of all
  size_t next_ = 0;
};

// One round of a candidate, by the device's events where it runs on one. The first warms up and tells how many calls
// make a round.
void run_round(Trial& trial) {
  const bool is_first = trial.calls == 0;
  const double start = seconds_now();
  int done = 0;
  do {
    trial.failed = trial.failed || !trial.run();
    ++done;
  } while (!trial.failed && (is_first ? seconds_now() - start < kRoundSeconds : done < trial.calls));
  const double seconds = trial.seconds_since(start) / done;
  if (is_first) {
    trial.calls = done;
    trial.first = seconds;
  } else {
    trial.fastest = std::min(trial.fastest, seconds);
  }
}

using CandidateTrials = std::vector<std::unique_ptr<Trial>>;

// Those that are slower than the fastest by `factor` take no other round: but the one that shows whether it was others
// at work that made them slow.
void leave_out_slow(const CandidateTrials& trials, double factor) {
  auto is_in = [](const std::unique_ptr<Trial>& trial) { return !trial->failed && !trial->is_out; };
  double best = std::numeric_limits<double>::infinity();
  for (const std::unique_ptr<Trial>& trial : trials)
    if (is_in(trial)) best = std::min(best, trial->least());
  for (const std::unique_ptr<Trial>& trial : trials) {
    if (!is_in(trial) || trial->least() <= factor * best) continue;
    run_round(*trial);
    trial->is_out = trial->least() > factor * best;
    if (trial->is_out) trial->fastest = trial->least();
  }
}

// `tell`: which one is timed, and the part of the time that is over.
void run_rounds(const CandidateTrials& trials, const std::function<void(size_t, double)>& tell) {
  const double begin = seconds_now();
  auto has_time = [&](int round) {
    const double seconds = seconds_now() - begin;
    return round < kFirstRounds || seconds < kSeconds || (round < kLeastRounds && seconds < kMostSeconds);
  };
  for (int round = -1; has_time(round); ++round) {
    for (size_t i = 0; i < trials.size(); ++i) {
      if (trials[i]->failed || trials[i]->is_out) continue;
      if (round < kFirstRounds) tell(i, std::min(1.0, (seconds_now() - begin) / kMostSeconds));
      run_round(*trials[i]);
    }
    if (round < 0) leave_out_slow(trials, kHopeless);
    if (round == kFirstRounds - 1) leave_out_slow(trials, kSlower);
  }
}

// ---- progress

// Of a key's work, what compiling takes, and both compiling and timing where candidates of shared objects follow.
constexpr double kCompilingPart = 0.7, kOwnPart = 0.8;

std::mutex observer_mutex;
std::function<void(const TrialProgress&)>& the_observer() {
  static std::function<void(const TrialProgress&)> observer;
  return observer;
}

void report(const TrialProgress& progress) {
  std::lock_guard lock(observer_mutex);
  if (the_observer()) the_observer()(progress);
}

std::vector<CandidateTrial> time_own(const kernel::ChoiceKey& key, const Graph& graph,
                                     const std::vector<const Candidate*>& candidates, int threads,
                                     const kernel::Target& target) {
  CandidateTrials trials;
  for (const Candidate* candidate : candidates)
    trials.push_back(std::make_unique<Trial>(graph, candidate->name, threads, target));
  std::atomic<size_t> begun = 0;
  auto load = [&](size_t i) {
    const double done = static_cast<double>(begun++) / static_cast<double>(trials.size());
    report({key, "compiling", candidates[i]->name, kCompilingPart * done});
    trials[i]->load();
  };
  run_side_by_side(trials.size(), static_cast<size_t>(std::max(1, target.cores)), load, [] {});
  // All work on the same arrays, and each run on the next ones: none finds its operands nearer than the others do.
  for (const std::unique_ptr<Trial>& trial : trials)
    if (trial == trials.front())
      trial->make_arrays();
    else
      trial->share_arrays(*trials.front());

  const double busy = load_when_busy();
  run_rounds(trials, [&](size_t i, double part) {
    report({key, "timing", candidates[i]->name, kCompilingPart + (kOwnPart - kCompilingPart) * part});
  });
  std::vector<CandidateTrial> out;
  for (size_t i = 0; i < trials.size(); ++i) {
    const std::string version = version_of(*candidates[i]).value_or("");
    if (!trials[i]->failed)
      out.push_back({candidates[i]->name, version, trials[i]->fastest, flops_of(graph), busy});
    else if (!trials[i]->trouble().empty())
      out.push_back({.candidate = candidates[i]->name, .version = version, .refusal = trials[i]->trouble()});
  }
  return out;
}

}  // namespace

std::vector<CandidateTrial> time_candidates(const kernel::ChoiceKey& key, const std::vector<Candidate>& candidates,
                                            int threads, const kernel::Target& target) {
  const Graph graph = example_of(key);
  std::vector<const Candidate*> own, others;  // of the program, of shared objects
  for (const Candidate& candidate : candidates)
    (candidate.file.empty() || is_trial_process() ? own : others).push_back(&candidate);
  std::vector<CandidateTrial> out = time_own(key, graph, own, threads, target);
  for (size_t i = 0; i < others.size(); ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(others.size());
    report({key, "trying", others[i]->name, kOwnPart + (1 - kOwnPart) * done});
    const TrialVerdict verdict = try_candidate(*others[i], key, threads);
    if (verdict.unavailable.empty())
      out.push_back({others[i]->name, version_of(*others[i]).value_or(""), verdict.seconds, verdict.flops, verdict.load,
                     verdict.refusal});
    else
      tell_refusal(refusal_of(*others[i], key, verdict.unavailable));
  }
  report({key, "", "", 1});
  return out;
}

Refusal refusal_of(const Candidate& candidate, const kernel::ChoiceKey& key, std::string reason) {
  return {str("the candidate ", candidate.name, " of ", candidate.file, " is"), candidate.version, key.text(),
          std::move(reason)};
}

void observe_trials(std::function<void(const TrialProgress&)> observer) {
  std::lock_guard lock(observer_mutex);
  the_observer() = std::move(observer);
}

bool are_trials_observed() {
  std::lock_guard lock(observer_mutex);
  return the_observer() != nullptr;
}

TuningTable tuning_of(const kernel::ChoiceKey& key, const std::vector<CandidateTrial>& trials) {
  TuningTable out;
  for (const CandidateTrial& trial : trials)
    if (trial.refusal.empty())
      out.add(key.text(), {trial.candidate, trial.version, trial.seconds, trial.load});
    else
      out.refuse(key.text(), {trial.candidate, trial.version, trial.refusal});
  return out;
}

}  // namespace thtrain

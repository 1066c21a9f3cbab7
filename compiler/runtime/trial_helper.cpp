// The process that tries candidates: what it is asked, and how it judges.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "compiler/base/error.h"
#include "compiler/runtime/candidate_trials.h"
#include "compiler/runtime/machine.h"
#include "compiler/runtime/trial_answers.h"
#include "compiler/runtime/trial_process.h"
#include "compiler/runtime/trial_program.h"
#include "compiler/runtime/user_candidate_calls.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

bool is_trying = false;
int answers = -1;  // the descriptor

int64_t memory_bytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

void answer(const char* kind, std::vector<std::string> fields = {}) {
  std::string text = text_of({kind, std::move(fields)});
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(answers, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(kNoAnswer);
    done += static_cast<size_t>(written);
  }
}

// The system ends the process after so long; 0: never.
void set_alarm(double seconds) {
  itimerval value{};
  value.it_value.tv_sec = static_cast<time_t>(seconds);
  value.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  if (seconds > 0 && value.it_value.tv_sec == 0 && value.it_value.tv_usec == 0) value.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &value, nullptr);
}

// The process that asked has a clock of its own, for a candidate that stops this process, its timers included.
void begin_calls(const char* stage, double times = 1) {
  const double seconds = times * trial_limit();
  answer(kStageLine, {stage, str(seconds)});
  set_alarm(seconds);
}
void end_calls(const char* stage) {
  set_alarm(0);
  answer(kStageLine, {stage});
}

/// While it lives, the candidate's code runs: `stage` says which.
class Stage {
 public:
  explicit Stage(const char* stage, double times = 1) : stage_(stage) { begin_calls(stage, times); }
  ~Stage() { end_calls(stage_); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  const char* stage_;
};

constexpr rlim_t kBesides = rlim_t{4} << 30;  // for what is mapped and never touched

// A candidate that takes all memory fails, or is the first that the system ends.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlim_t most = static_cast<rlim_t>(memory_bytes()) + kBesides;
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
#endif
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0 && ::write(file, "1000", 4) == 4) close(file);
}

// What the candidate's code writes is not the answer; what it does to the process is the system's to end.
void become_trial_process() {
  is_trying = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (nothing >= 0) dup2(nothing, standard);
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) signal(number, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  limit_memory();
}

// ---- judging -------------------------------------------------------------------------------------------------------

// Numbers in [-1, 1) that are no whole ones, the same in every process.
double mixed_numbers(size_t array, int64_t i) {
  uint64_t x = (static_cast<uint64_t>(i) + (array << 48)) * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1;
}

constexpr const char* kInCompute = "in compute()";

std::string place_of(const Tensor& t, int64_t i) {
  std::vector<int64_t> out(t.shape().size());
  for (size_t axis = out.size(); axis-- > 0; i /= t.shape()[axis]) out[axis] = i % t.shape()[axis];
  return str('[', join(out, ", "), ']');
}

// Above so many operations the definition takes too long.
constexpr double kMostFlopsOfPlain = 2e9;

std::string judging_candidate(const ChoiceKey& key, const Graph& graph, int threads) {
  const Computation& computation = *find_computation(key.computation);
  return flops_of(graph) <= kMostFlopsOfPlain ? computation.plain : computation.rule(key, machine(), threads, 0);
}

class Judge {
 public:
  Judge(const ChoiceKey& key, const Candidate& candidate, int threads)
      : candidate_(candidate),
        graph_(example_of(key)),
        plain_(graph_, judging_candidate(key, graph_, threads), threads),
        own_(graph_, candidate.name, threads) {
    plain_.load();
    own_.load();
  }

  /// Why the candidate must not be taken; empty: it may.
  std::string refusal() {
    // Sums of products of small whole numbers are exact in every order.
    const bool is_exact = candidate_.rounding != RoundingClass::kOther && graph_.updates.empty();
    for (const auto& [numbers, exact] : {std::pair(&small_numbers, is_exact), {&mixed_numbers, false}}) {
      std::string complaint;
      const std::vector<Tensor> one = run(*numbers, 0xFF, complaint), two = run(*numbers, 0x5A, complaint);
      if (!complaint.empty()) return complaint;
      if (std::string wrong = wrong_result(one, *numbers, exact); !wrong.empty()) return wrong;
      for (size_t i = 0; i < one.size(); ++i)
        if (!same_bits(one[i], two[i]))
          return str(kWrongResult, ": two calls with equal arguments gave different bits");
    }
    return {};
  }

 private:
  std::vector<Tensor> run(const TrialNumbers& numbers, uint8_t fill, std::string& complaint) {
    UserCallWatch watch{.begin = [] { begin_calls(kInCompute); },
                        .end = [] { end_calls(kInCompute); },
                        .is_guarded = true,
                        .fill = fill};
    const TrialArguments arguments = own_.arguments(numbers);
    answer(kStageLine, {kInCompute});
    watch_user_calls(&watch);
    const bool done = own_.run(arguments);
    watch_user_calls(nullptr);
    if (complaint.empty()) complaint = watch.complaint;
    if (complaint.empty() && !done) complaint = str("it failed: compute() returned ", own_.status());
    return arguments.results();
  }

  std::vector<Tensor> plain(const TrialNumbers& numbers) {
    const TrialArguments arguments = plain_.arguments(numbers);
    TH_CHECK(plain_.run(arguments), "the candidate that judges failed");
    return arguments.results();
  }

  /// What no error of an element exceeds that is not one of rounding.
  double allowed_error(const TrialNumbers& numbers);
  std::string wrong_result(const std::vector<Tensor>& got, const TrialNumbers& numbers, bool exact);

  const Candidate& candidate_;
  Graph graph_;
  TrialProgram plain_, own_;
};

double Judge::allowed_error(const TrialNumbers& numbers) {
  if (candidate_.rounding != RoundingClass::kOther) return 0;
  // The largest of one argument times the largest sum of the other.
  double out = 0;
  for (const size_t largest : {size_t{0}, size_t{1}}) {
    const std::vector<Tensor> sums = plain([&](size_t array, int64_t i) {
      if (array > 1) return 0.0;
      return array == largest ? 1.0 : std::abs(numbers(array, i));
    });
    for (const Tensor& t : sums)
      for (int64_t i = 0; i < t.size(); ++i) out = std::max(out, std::abs(t.as_double(i)));
  }
  return candidate_.error_bound * out;
}

std::string Judge::wrong_result(const std::vector<Tensor>& got, const TrialNumbers& numbers, bool exact) {
  const size_t inputs = plain_.input_count();
  const std::vector<Tensor> wanted = plain(numbers), sizes = plain([&](size_t array, int64_t i) {
                                                       return array < inputs ? std::abs(numbers(array, i)) : 0.0;
                                                     });
  const double other = allowed_error(numbers);
  for (size_t k = 0; k < got.size(); ++k) {
    const double unit = got[k].dtype() == DType::kFloat32 ? 0x1p-24 : 0x1p-53;
    const double terms =
        std::max(1.0, flops_of(graph_) / (2 * static_cast<double>(std::max<int64_t>(1, got[k].size()))));
    for (int64_t i = 0; i < got[k].size(); ++i) {
      const double is = got[k].as_double(i), should = wanted[k].as_double(i);
      const double before = graph_.updates.empty() ? 0 : std::abs(numbers(inputs + k, i));
      const double rounding = unit * (16 + 8 * std::sqrt(terms)) * (std::abs(sizes[k].as_double(i)) + before);
      if (exact ? is == should : std::abs(is - should) <= rounding + other) continue;
      return str(kWrongResult, ": element ", place_of(got[k], i), " is ", is, ", and ", should, " by the candidate ",
                 plain_.candidate());
    }
  }
  return {};
}

// ---- questions -----------------------------------------------------------------------------------------------------

using Words = std::vector<std::string>;

std::vector<DeclaredCandidate> load(const Words& words) {
  const CandidateFile file{words.at(1), words.at(2)};
  Stage stage("while it was loaded");
  return load_for_trial(file);
}

void tell_declared(const Words& words) {
  for (const DeclaredCandidate& d : load(words))
    answer(kDeclaredLine, {d.computation, d.name, d.version, str(d.error_bound)});
}

ChoiceKey key_of_words(const Words& words) {
  return {words.at(3), words.at(4)};
}

void tell_applying(const Words& words) {
  load(words);
  Stage stage("in workspace()");
  for (const auto& [name, bytes] : applying_in_trial(key_of_words(words)))
    answer(kAppliesLine, {name, std::to_string(bytes)});
}

void try_one(const Words& words) {
  load(words);
  const ChoiceKey key = key_of_words(words);
  const std::string& name = words.at(5);
  const int threads = std::stoi(words.at(6));
  std::optional<Candidate> candidate;
  {
    Stage stage("in workspace()");
    applying_in_trial(key);
    candidate = find_candidate(key, name, machine());
  }
  if (!candidate || candidate->file.empty()) {
    answer(kRefusedLine, {"another candidate has its name, or it does not compute this"});
    return;
  }
  if (candidate->workspace_bytes > memory_bytes()) {
    answer(kRefusedLine,
           {str("its workspace of ", candidate->workspace_bytes, " bytes is larger than this machine's memory")});
    return;
  }
  make_callable(*candidate, key);
  if (const std::string refusal = Judge(key, *candidate, threads).refusal(); !refusal.empty()) {
    answer(kRefusedLine, {refusal});
    return;
  }
  // The first calls of a trial, and two seconds of others.
  Stage stage("in compute(), while it was timed", 5);
  const std::vector<CandidateTrial> trials = time_candidates(key, {*candidate}, threads);
  if (trials.empty()) {
    answer(kRefusedLine, {"it failed while it was timed"});
    return;
  }
  answer(kTimeLine, {str(trials[0].seconds), str(trials[0].flops), str(trials[0].load)});
}

}  // namespace

bool is_trial_process() {
  return is_trying;
}

int run_trial_process(const std::vector<std::string>& words) {
  const size_t wanted = words.empty()            ? 0
                        : words[0] == "declared" ? 3
                        : words[0] == "applies"  ? 5
                        : words[0] == "try"      ? 7
                                                 : 0;
  if (words.size() != wanted || wanted == 0) {
    std::fprintf(stderr, "thtrain starts this program itself, to try candidates of shared objects\n");
    return 2;
  }
  become_trial_process();
  try {
    words[0] == "declared" ? tell_declared(words) : words[0] == "applies" ? tell_applying(words) : try_one(words);
  } catch (const Error& error) {
    const Message& m = error.messages().front();
    answer(kErrorLine, {m.what, m.expected, m.got, m.hint});
  } catch (const std::exception& error) {
    answer(kErrorLine, {error.what(), "", "", ""});
  }
  answer(kDoneLine);
  if (words[0] != "declared") _exit(0);  // nothing of the shared object runs any more
  begin_calls("when the process ended");
  std::exit(0);  // its destructors do, as they will where it is taken
}

}  // namespace thtrain

// The process that tries candidates: what it is asked, and how it judges.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "compiler/base/clock.h"
#include "compiler/base/error.h"
#include "compiler/base/file_descriptor.h"
#include "compiler/tuning/candidate_trials.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/trial_answers.h"
#include "compiler/tuning/trial_process.h"
#include "compiler/tuning/trial_program.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;

bool is_trying = false;
int answers = -1;  // the descriptor

void answer(const TrialLine& line) {
  if (!write_all(answers, text_of(line))) _exit(1);
}

// The system ends the process after so long; 0: never.
void set_alarm(double seconds) {
  itimerval value{};
  value.it_value.tv_sec = static_cast<time_t>(seconds);
  value.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  if (seconds > 0 && value.it_value.tv_sec == 0 && value.it_value.tv_usec == 0) value.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &value, nullptr);
}

/// While it lives, the candidate's code runs: `which` says where, and it may take so many times the limit.
class Stage {
 public:
  explicit Stage(const char* which, double times = 1) {
    answer({kStageLine, which});
    set_alarm(times * trial_limit());
  }
  ~Stage() { set_alarm(0); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
};

// What the candidate's code prints is not the answer, and its crash leaves no file.
void become_trial_process() {
  is_trying = true;
  answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const FileDescriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing.get(), standard);
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(number, SIG_DFL);  // a sanitizer's are none
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

// ---- judging -------------------------------------------------------------------------------------------------------

// Numbers in [-1, 1) that are no whole ones, the same in every process.
double mixed_numbers(size_t array, int64_t i) {
  uint64_t x = (static_cast<uint64_t>(i) + (array << 48)) * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-52 - 1;
}

std::string location_of(const Tensor& t, int64_t i) {
  std::vector<int64_t> out(t.shape().size());
  for (size_t axis = out.size(); axis-- > 0; i /= t.shape()[axis]) out[axis] = i % t.shape()[axis];
  return str('[', join(out, ", "), ']');
}

// Above so many operations the definition takes too long.
constexpr double kMostFlopsOfPlain = 2e9;
// So many calls are compared, or those that this time takes, but at least two.
constexpr int kMostCalls = 200;
constexpr double kSecondsOfCalls = 0.25;

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
    std::string why = refusal(small_numbers, is_exact);
    return why.empty() ? refusal(mixed_numbers, false) : why;
  }

 private:
  // Several calls: one in a hundred may be wrong.
  std::string refusal(const TrialNumbers& numbers, bool is_exact) {
    const std::vector<Tensor> inputs = own_.arguments(numbers).inputs;
    std::vector<Tensor> first;
    const double begin = seconds_now();
    for (int call = 0; call < 2 || (call < kMostCalls && seconds_now() - begin < kSecondsOfCalls); ++call) {
      const TrialArguments given = own_.arguments(numbers);
      own_.fill_arena(call % 2 == 0 ? 0xFF : 0x5A);
      bool is_done;
      {
        const Stage stage("in compute()");
        is_done = own_.run(given);
      }
      if (!is_done) return str("it failed: compute() returned ", own_.status());
      const std::vector<Tensor> results = given.results();
      if (call == 0) {
        first = results;
        if (std::string wrong = wrong_result(first, numbers, is_exact); !wrong.empty()) return wrong;
      }
      if (!std::equal(results.begin(), results.end(), first.begin(), same_bits))
        return str(kWrongResult, ": two calls with equal arguments gave different bits");
      if (!std::equal(inputs.begin(), inputs.end(), given.inputs.begin(), same_bits)) return "it changed its arguments";
    }
    return {};
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
      return str(kWrongResult, ": element ", location_of(got[k], i), " is ", is, ", and ", should, " by the candidate ",
                 plain_.candidate());
    }
  }
  return {};
}

// ---- questions -----------------------------------------------------------------------------------------------------

using Words = std::vector<std::string>;

std::vector<DeclaredCandidate> load(const Words& words) {
  const Stage stage("while it was loaded");
  return load_for_trial({words.at(1), words.at(2)});
}

void tell_declared(const Words& words) {
  for (const DeclaredCandidate& d : load(words))
    answer({kDeclaredLine, d.computation, d.name, d.version, str(d.error_bound)});
}

ChoiceKey key_of_words(const Words& words) {
  return {words.at(3), words.at(4)};
}

void tell_applying(const Words& words) {
  load(words);
  const Stage stage("in workspace()");
  for (const auto& [name, bytes] : applying_in_trial(key_of_words(words)))
    answer({kAppliesLine, name, std::to_string(bytes)});
}

void try_one(const Words& words) {
  load(words);
  const ChoiceKey key = key_of_words(words);
  const int threads = std::stoi(words.at(6));
  std::optional<Candidate> candidate;
  {
    const Stage stage("in workspace()");
    candidate = find_candidate(key, words.at(5), machine());
  }
  if (!candidate || candidate->file.empty())
    return answer({kRefusedLine, "another candidate has its name, or it does not compute this"});
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (candidate->workspace_bytes > memory)
    return answer({kRefusedLine, str("its workspace of ", candidate->workspace_bytes,
                                     " bytes is larger than this machine's memory")});
  make_callable(*candidate, key);
  if (std::string refusal = Judge(key, *candidate, threads).refusal(); !refusal.empty())
    return answer({kRefusedLine, std::move(refusal)});
  // The first calls of a trial, and two seconds of others.
  const Stage stage("in compute(), while it was timed", 5);
  const std::vector<CandidateTrial> trials = time_candidates(key, {*candidate}, threads);
  if (trials.empty()) return answer({kRefusedLine, "it failed while it was timed"});
  answer({kTimeLine, str(trials[0].seconds), str(trials[0].flops), str(trials[0].load)});
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
    answer({kErrorLine, m.what, m.expected, m.got, m.hint});
  } catch (const std::exception& error) {
    const std::string threw = str(" threw an exception: ", error.what());
    if (words[0] == "declared")
      answer({kErrorLine, str(words[1], ": thtrain_candidates()", threw), "", "", ""});
    else if (words[0] == "applies")
      answer({kErrorLine, str("workspace()", threw), "", "", ""});
    else
      answer({kRefusedLine, "it" + threw});
  }
  answer({kDoneLine});
  if (words[0] != "declared") _exit(0);  // nothing of the shared object runs any more
  const Stage stage("when the process ended");
  std::exit(0);  // its destructors do, as they will where it is taken
}

}  // namespace thtrain

#include "compiler/tuning/trial_process.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/base/run_program.h"
#include "compiler/host/host_compiler.h"
#include "compiler/tuning/candidate_answers.h"
#include "compiler/tuning/refusals.h"
#include "compiler/tuning/trial_answers.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {
namespace {

constexpr double kTrialLimit = 20;
constexpr int kCallsOfATrial = 16;         // each of which may take the limit
constexpr double kTrialGraceSeconds = 60;  // for what is not the candidate's
constexpr const char* kProgram = "thtrain-trial";

std::mutex program_mutex;
std::vector<std::string>& named_program() {
  static std::vector<std::string> words;
  return words;
}

// What code of a user did to the processes that tried it, by its file and name.
constexpr int kMostEnds = 2;
struct Ends {
  int times = 0;
  std::string last;  // "it was ended by SIGSEGV (Segmentation fault) in compute() for matrix_product ..."
};
std::mutex ends_mutex;
std::map<std::string, Ends>& ends() {
  static std::map<std::string, Ends> all;
  return all;
}

void note_end(const std::string& identity, const std::string& trouble, const kernel::ChoiceKey& key) {
  std::lock_guard lock(ends_mutex);
  Ends& of = ends()[identity];
  ++of.times;
  of.last = str(trouble, " for ", key.text());
}

// Why it is not tried any more; empty: it is.
std::string given_up(const std::string& identity) {
  std::lock_guard lock(ends_mutex);
  const auto at = ends().find(identity);
  return at == ends().end() || at->second.times < kMostEnds ? std::string()
                                                            : str("it was not tried: ", at->second.last);
}

double number_of(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

struct Answer {
  std::vector<TrialLine> lines;
  std::string trouble = {};      // what the candidate's code did instead of answering
  std::string unavailable = {};  // why there is no answer, where that is not its fault

  // Those with so many fields behind their kind.
  std::vector<TrialLine> of(const char* kind, size_t fields) const {
    std::vector<TrialLine> out;
    for (const TrialLine& line : lines)
      if (line[0] == kind && line.size() == fields + 1) out.push_back(line);
    return out;
  }
};

// A process that is not ended by its own alarm is ended after this: the host compiler's time is not the candidate's.
double process_limit() {
  const double own = trial_limit(), compiler = compile_limit();
  return own > 0 && compiler > 0 ? kCallsOfATrial * own + 2 * compiler + kTrialGraceSeconds : 0;
}

Answer ask(const std::vector<std::string>& question) {
  Answer out;
  std::optional<std::vector<std::string>> words = trial_program();
  if (!words) {
    out.unavailable = str("there is no ", kProgram, " next to this program, and THTRAIN_TRIAL does not name it");
    return out;
  }
  words->insert(words->end(), question.begin(), question.end());
  const Finished finished =
      run_program({.words = *words, .signal_at_end = SIGKILL}, {.limit_seconds = process_limit()});
  out.lines = trial_lines(finished.output);
  if (!out.of(kDoneLine, 0).empty() && finished.signal == 0 && !finished.out_of_time) return out;
  const std::vector<TrialLine> stages = out.of(kStageLine, 1);
  const std::string status = finished.trouble.empty() ? str("exit status ", finished.exit_code) : finished.trouble;
  if (stages.empty())
    out.unavailable = str((*words)[0], " did not answer: ", status);
  else if (finished.signal == SIGALRM || finished.out_of_time)
    out.trouble = str("it did not end within ", trial_limit(), " s ", stages.back()[1]);
  else if (finished.signal != 0)
    out.trouble = str("it was ", status, " ", stages.back()[1]);
  else
    out.trouble = str("it ended the process ", stages.back()[1], ", with status ", finished.exit_code);
  return out;
}

void warn(const std::string& text) {
  std::fprintf(stderr, "thtrain: warning: %s\n", printable(text).c_str());
}

}  // namespace

std::optional<std::vector<std::string>> trial_program() {
  {
    std::lock_guard lock(program_mutex);
    if (!named_program().empty() && access(named_program()[0].c_str(), X_OK) == 0) return named_program();
  }
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string in_folder = error ? "" : (own.parent_path() / kProgram).string();
  if (!in_folder.empty() && access(in_folder.c_str(), X_OK) == 0) return std::vector{in_folder};
  const char* named = std::getenv("THTRAIN_TRIAL");
  if (named && *named && access(named, X_OK) == 0) return std::vector<std::string>{named};
  return std::nullopt;
}

void set_trial_program(std::vector<std::string> words) {
  std::lock_guard lock(program_mutex);
  named_program() = std::move(words);
}

double trial_limit() {
  return limit_of("THTRAIN_TRIAL_LIMIT", kTrialLimit,
                  "seconds that one call into a user's candidate may take, or 0 for no limit");
}

TrialVerdict try_candidate(const Candidate& candidate, const kernel::ChoiceKey& key, int threads) {
  const CandidateFile file = file_of(candidate);
  const std::string identity = str(file.path, " ", file.hash, " ", candidate.name);
  if (std::string why = given_up(identity); !why.empty()) return {.refusal = std::move(why)};
  const Answer answer =
      ask({"try", file.path, file.hash, key.computation, key.properties, candidate.name, std::to_string(threads)});
  TrialVerdict out{.refusal = answer.trouble, .unavailable = answer.unavailable};
  if (!answer.trouble.empty()) note_end(identity, answer.trouble, key);
  if (!out.refusal.empty() || !out.unavailable.empty()) return out;
  for (const TrialLine& line : answer.of(kErrorLine, 4)) out.unavailable = line[1];
  for (const TrialLine& line : answer.of(kRefusedLine, 1)) out.refusal = line[1];
  for (const TrialLine& line : answer.of(kTimeLine, 3)) {
    out.seconds = number_of(line[1]);
    out.flops = number_of(line[2]);
    out.load = number_of(line[3]);
  }
  if (out.seconds <= 0 && out.refusal.empty() && out.unavailable.empty()) out.unavailable = "it was not timed";
  return out;
}

bool is_of_wrong_result(const std::string& refusal) {
  return refusal.starts_with(kWrongResult);
}

std::vector<DeclaredCandidate> ask_what_is_declared(const CandidateFile& file) {
  const Answer answer = ask({"declared", file.path, file.hash});
  if (!answer.unavailable.empty()) {
    warn(str("the candidates of ", file.path, " are neither tried nor taken: ", answer.unavailable));
    return {};
  }
  if (!answer.trouble.empty())
    throw UserError({.what = str(file.path, ": cannot be loaded: ", answer.trouble),
                     .expected = "constructors, destructors and a thtrain_candidates() that return"});
  for (const TrialLine& line : answer.of(kErrorLine, 4))
    throw UserError({.what = line[1], .expected = line[2], .got = line[3], .hint = line[4]});
  std::vector<DeclaredCandidate> out;
  for (const TrialLine& line : answer.of(kDeclaredLine, 4)) {
    const double bound = number_of(line[4]);
    out.push_back({line[1], line[2], line[3], bound > 0 ? RoundingClass::kOther : RoundingClass::kReordered, bound});
  }
  return out;
}

AppliesAnswer ask_what_applies(const CandidateFile& file, const kernel::ChoiceKey& key) {
  if (std::optional<AppliesAnswer> known = remembered_answer(file, key)) return std::move(*known);
  const std::string identity = str(file.path, " ", file.hash);
  auto not_taken = [&](std::string why) {
    tell_refusal({str("the candidates of ", file.path, " are"), file.hash, key.text(), std::move(why)});
    return AppliesAnswer();
  };
  if (std::string why = given_up(identity); !why.empty()) return not_taken(std::move(why));
  const Answer answer = ask({"applies", file.path, file.hash, key.computation, key.properties});
  if (!answer.trouble.empty()) note_end(identity, answer.trouble, key);
  std::string trouble = answer.trouble.empty() ? answer.unavailable : answer.trouble;
  for (const TrialLine& line : answer.of(kErrorLine, 4)) trouble = line[1];
  if (!trouble.empty()) return not_taken(std::move(trouble));
  AppliesAnswer out;
  for (const TrialLine& line : answer.of(kAppliesLine, 2)) out[line[1]] = static_cast<int64_t>(number_of(line[2]));
  remember_answer(file, key, out);
  return out;
}

}  // namespace thtrain

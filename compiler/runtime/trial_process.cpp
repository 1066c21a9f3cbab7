#include "compiler/runtime/trial_process.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "compiler/base/error.h"
#include "compiler/base/escape.h"
#include "compiler/runtime/candidate_answers.h"
#include "compiler/runtime/child_process.h"
#include "compiler/runtime/refusals.h"
#include "compiler/runtime/trial_answers.h"
#include "compiler/runtime/tuner.h"

namespace thtrain {
namespace {

constexpr double kTrialLimit = 20;
constexpr int kCallsOfATrial = 8;          // each of which may take the limit
constexpr double kTrialGraceSeconds = 60;  // for what is not the candidate's
// After its limit the other process ends itself; one that is stopped does not.
constexpr double kGraceOfACall = 3;
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

  std::vector<TrialLine> of(const char* kind) const {
    std::vector<TrialLine> out;
    for (const TrialLine& line : lines)
      if (line.kind == kind) out.push_back(line);
    return out;
  }
};

// The whole process: the host compiler's time is not the candidate's.
double process_limit() {
  const double own = trial_limit(), compiler = compile_limit();
  return own > 0 && compiler > 0 ? kCallsOfATrial * own + 2 * compiler + kTrialGraceSeconds : 0;
}

// How long the other process may write nothing: while the candidate's code runs, its limit.
double limit_of_silence(const std::string& output) {
  const std::vector<TrialLine> lines = trial_lines(output);
  if (lines.empty() || lines.back().kind != kStageLine || lines.back().fields.size() != 2) return 0;
  const double limit = number_of(lines.back().fields[1]);
  return limit > 0 ? limit + kGraceOfACall : 0;
}

Answer ask(const std::vector<std::string>& question) {
  Answer out;
  std::optional<std::vector<std::string>> words = trial_program();
  if (!words) {
    out.unavailable = str("there is no ", kProgram, " beside this program, and THTRAIN_TRIAL does not name it");
    return out;
  }
  const double limit = trial_limit();
  words->insert(words->end(), question.begin(), question.end());
  const Finished finished = run_program(
      *words, {.limit_seconds = process_limit(), .limit_of_silence = limit_of_silence, .ends_others = true});
  out.lines = trial_lines(finished.output);
  const bool ended_by_itself = finished.signal == 0 && !finished.out_of_time;
  if (!out.of(kDoneLine).empty() && ended_by_itself) return out;
  const std::vector<TrialLine> stages = out.of(kStageLine);
  if (stages.empty() || stages.back().fields.empty()) {
    const std::string status = finished.trouble.empty() ? str("exit status ", finished.exit_code) : finished.trouble;
    out.unavailable = str(words->front(), " did not answer: ", status);
    return out;
  }
  const std::string& stage = stages.back().fields.front();
  if (finished.signal == SIGALRM || finished.out_of_time)
    out.trouble = str("it did not end within ", limit, " s ", stage);
  else if (finished.signal != 0)
    out.trouble = str("it was ", finished.trouble, " ", stage);
  else if (finished.exit_code == kNoAnswer)
    out.trouble = str("it closed files that are not its own ", stage);
  else
    out.trouble = str("it ended the process ", stage, ", with status ", finished.exit_code);
  return out;
}

// What the other process says as an error of the user's.
void raise(const Answer& answer) {
  for (const TrialLine& line : answer.of(kErrorLine))
    if (line.fields.size() == 4)
      throw UserError(
          {.what = line.fields[0], .expected = line.fields[1], .got = line.fields[2], .hint = line.fields[3]});
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
  const std::string beside = error ? "" : (own.parent_path() / kProgram).string();
  if (!beside.empty() && access(beside.c_str(), X_OK) == 0) return std::vector{beside};
  const char* named = std::getenv("THTRAIN_TRIAL");
  if (named && *named && access(named, X_OK) == 0) return std::vector<std::string>{named};
  return std::nullopt;
}

void set_trial_program(std::vector<std::string> words) {
  std::lock_guard lock(program_mutex);
  named_program() = std::move(words);
}

double trial_limit() {
  const char* text = std::getenv("THTRAIN_TRIAL_LIMIT");
  if (!text || !*text) return kTrialLimit;
  double seconds = -1;
  const char* end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, seconds);
  if (error != std::errc() || rest != end || !std::isfinite(seconds) || seconds < 0)
    throw UserError({.what = "THTRAIN_TRIAL_LIMIT is not a time",
                     .expected = "seconds that one call into a user's candidate may take, or 0 for no limit",
                     .got = text});
  return seconds;
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
  for (const TrialLine& line : answer.of(kErrorLine))
    if (!line.fields.empty()) out.unavailable = line.fields[0];
  for (const TrialLine& line : answer.of(kRefusedLine))
    if (!line.fields.empty()) out.refusal = line.fields[0];
  for (const TrialLine& line : answer.of(kTimeLine))
    if (line.fields.size() == 3) {
      out.seconds = number_of(line.fields[0]);
      out.flops = number_of(line.fields[1]);
      out.load = number_of(line.fields[2]);
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
  raise(answer);
  std::vector<DeclaredCandidate> out;
  for (const TrialLine& line : answer.of(kDeclaredLine))
    if (line.fields.size() == 4) {
      const double bound = number_of(line.fields[3]);
      out.push_back({line.fields[0], line.fields[1], line.fields[2],
                     bound > 0 ? RoundingClass::kOther : RoundingClass::kReordered, bound});
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
  for (const TrialLine& line : answer.of(kErrorLine))
    if (!line.fields.empty()) trouble = line.fields[0];
  if (!trouble.empty()) return not_taken(std::move(trouble));
  AppliesAnswer out;
  for (const TrialLine& line : answer.of(kAppliesLine))
    if (line.fields.size() == 2) out[line.fields[0]] = static_cast<int64_t>(number_of(line.fields[1]));
  remember_answer(file, key, out);
  return out;
}

}  // namespace thtrain

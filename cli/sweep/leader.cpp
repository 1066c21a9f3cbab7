#include "cli/sweep/leader.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/runs_table.h"
#include "cli/sweep/seeds.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "trainers/run_folder.h"

namespace thtrain {

using State = SweepRun::State;

static constexpr double kSecondsToKill = 1;  // after the second signal
static constexpr double kSecondsBetweenCsvs = 2;

static int64_t count_of(const std::vector<SweepRun>& runs, State state) {
  return std::count_if(runs.begin(), runs.end(), [&](const SweepRun& run) { return run.state == state; });
}

std::string progress_text(const std::vector<SweepRun>& runs, double seconds_left, int width) {
  std::string out =
      str(count_text(static_cast<int64_t>(runs.size()), "run"), ": ", count_text(count_of(runs, State::kDone)),
          " finished, ", count_text(count_of(runs, State::kRunning)), " running");
  if (const int64_t failed = count_of(runs, State::kFailed)) out += str(", ", count_text(failed), " failed");
  if (seconds_left >= 0) {
    const std::string left = seconds_left < 100 ? str(std::llround(seconds_left), " s") : seconds_text(seconds_left);
    out += str(", about ", left, " left");
  }
  return first_characters(out, width);
}

SweepLeader::SweepLeader(const SweepFolder& folder, const SweepPoints& points, std::vector<SweepRun>& runs,
                         LeadOptions options)
    : folder_(folder),
      points_(points),
      runs_(runs),
      options_(std::move(options)),
      processes_(options_.launch),
      began_(Clock::now()),
      has_bar_(!options_.quiet && is_terminal(stderr)) {
  done_before_ = done();
}
SweepLeader::~SweepLeader() {
  clear_bar();
}

static double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

int SweepLeader::lead() {
  for (;;) {
    hand_on_signals();
    take_ended();
    if (handed_on_ == 0) begin_round();
    if (handed_on_ == 0) start_waiting();
    if (csv_is_old_ && (csv_written_ == Clock::time_point() || seconds_since(csv_written_) > kSecondsBetweenCsvs))
      try_to_write_csv(false);
    if (is_over()) break;
    draw();
    signals_.wait(processes_.running() > 0 ? 0.5 : 0.05);
  }
  clear_bar();
  try_to_write_csv(true);
  return handed_on_ > 0 ? 128 + signals_.signal() : 0;
}

bool SweepLeader::is_over() const {
  return processes_.running() == 0 && (signals_.stops() > 0 || count_of(runs_, State::kWaiting) == 0);
}

void SweepLeader::hand_on_signals() {
  if (const int stops = signals_.stops(); stops > handed_on_) {
    handed_on_ = std::min(stops, 2);
    if (handed_on_ < stops || processes_.running() == 0) return;
    clear_bar();
    if (handed_on_ == 1)
      std::fprintf(stderr, "stopping %s after the minibatch, with a checkpoint; %s stops at once\n",
                   count_text(static_cast<int64_t>(processes_.running()), "run").c_str(),
                   signals_.signal() == SIGINT ? "Ctrl-C again" : "a second signal");
    processes_.signal(signals_.signal());
    stopped_ = Clock::now();
  }
  if (handed_on_ >= 2 && seconds_since(stopped_) > kSecondsToKill) processes_.signal(SIGKILL);
}

// Its process has ended with 0, and the run is not over. Where none has ever begun, it would be so of all.
void SweepLeader::fail_by_launcher(SweepRun& run) const {
  std::error_code ignored;
  const bool any_began =
      std::ranges::any_of(runs_, [&](const SweepRun& one) { return std::filesystem::exists(one.folder, ignored); });
  const UserError error(
      Message{.what = str("the launcher ended before ", any_began ? "its run did" : "any run began"),
              .expected = "a launcher that runs the command behind its own words, and waits for its end",
              .got = join(options_.launch, " "),
              .hint = "`srun` and `ssh` wait; `sbatch` does with --wait"});
  if (!any_began) throw error;
  fail(run, error);
}

void SweepLeader::take_ended() {
  for (const EndedProcess& ended : processes_.ended()) {
    SweepRun& run = runs_[static_cast<size_t>(ended.id)];
    run.state = State::kWaiting;
    run.message = ended.message;
    csv_is_old_ = true;
    read_record(run, points_);
    const bool is_paused = run.record && run.record->end == RunEnd::kPaused && run.record->epochs >= run.until;
    if (ended.code == 0 && run.state == State::kWaiting && run.until > 0 && is_paused) {
      run.state = State::kPaused;
      tell(run);
      continue;
    }
    const bool was_stopped = handed_on_ > 0 && ended.code > 128;
    if (run.state == State::kWaiting && was_stopped) continue;
    if (run.state == State::kWaiting && ended.code == 0 && !options_.launch.empty()) fail_by_launcher(run);
    if (run.state == State::kWaiting || (ended.code != 0 && run.state == State::kDone)) {
      run.state = State::kFailed;
      run.code = ended.code != 0 ? ended.code : 1;
      if (run.message.empty() && ended.signal == 0) run.message = str("see ", folder_.log(run.name));
    } else if (!run.record && ended.code != 0) {  // what it left cannot be read
      run.code = ended.code;
    }
    tell(run);
  }
}

// Where all runs of a round have ended, the next one begins.
void SweepLeader::begin_round() {
  if (!options_.halving || processes_.running() > 0 || count_of(runs_, State::kWaiting) > 0) return;
  const int64_t before = count_of(runs_, State::kDropped);
  options_.halving->advance(runs_);
  const int64_t dropped = count_of(runs_, State::kDropped) - before;
  if (dropped == 0) return;
  csv_is_old_ = true;
  if (options_.quiet || !options_.lines) return;
  const auto next = std::ranges::find(runs_, State::kWaiting, &SweepRun::state);
  const std::string until = next == runs_.end() ? ""
                            : next->until == 0  ? ", the others go on to the end"
                                                : str(", the others go on to ", count_text(next->until, "epoch"));
  print_line(str("dropped ", count_text(dropped, "run"), until, '\n'));
}

void SweepLeader::start_waiting() {
  for (SweepRun& run : runs_) {
    if (processes_.running() >= static_cast<size_t>(options_.jobs)) return;
    if (run.state != State::kWaiting) continue;
    if (!is_locked(run.folder)) {
      if (!start(run)) return;
    } else if (processes_.running() == 0 && waits_for_ != run.folder) {
      waits_for_ = run.folder;
      clear_bar();
      std::fprintf(stderr, "waiting for the process that writes to %s\n", printable(run.folder).c_str());
    }
  }
}

// A run that has a checkpoint goes on from it; what a process left that was killed before gives way to a new run.
std::vector<std::string> SweepLeader::arguments_of(const SweepRun& run) const {
  // A launcher may begin in another folder.
  const std::string folder = options_.launch.empty() ? run.folder : std::filesystem::absolute(run.folder).string();
  std::vector<std::string> until;
  if (run.until > 0) until = {str("--until-epoch=", run.until)};
  std::vector<std::string> out;
  auto add = [&out](const std::vector<std::string>& words) { out.insert(out.end(), words.begin(), words.end()); };
  if (run.record && RunFolder::open(run.folder).had_checkpoint()) {
    add({"resume"});
    add(until);
    add({"--", folder});
    return out;
  }
  add({"train", str("--run-dir=", folder)});
  add(until);
  add({"--", options_.config});
  add(points_.overrides(run.point));
  return out;
}

// False where it has to wait until another one has ended.
bool SweepLeader::start(SweepRun& run) {
  try {
    const int threads = options_.threads[static_cast<size_t>(run.point)];
    if (!processes_.start(run.point, arguments_of(run), threads, folder_.log(run.name))) return false;
    run.state = State::kRunning;
  } catch (const UserError& error) {  // the others may have no such trouble
    fail(run, error);
    csv_is_old_ = true;
    tell(run);
  }
  return true;
}

void SweepLeader::tell(const SweepRun& run) {
  if (options_.quiet || !options_.lines) return;
  const int64_t ended =
      count_of(runs_, State::kDone) + count_of(runs_, State::kFailed) + count_of(runs_, State::kPaused);
  const std::string number = std::to_string(ended),
                    all = std::to_string(std::ssize(runs_) - count_of(runs_, State::kDropped));
  std::string text = str(std::string(all.size() - number.size(), ' '), number, " of ", all, "  ", run.name);
  if (const std::string best = best_text(run); !best.empty()) text += "  " + best;
  if (run.record) text += "  " + seconds_text(run.record->seconds);
  text += "  " + end_text(run);
  if (run.state == State::kFailed && !run.message.empty()) text += ": " + printable(run.message);
  print_line(text + '\n');
}

void SweepLeader::print_line(const std::string& text) {
  clear_bar();
  print_text(text);
}

void SweepLeader::write_csv() {
  const auto write = [](const std::string& path, const std::string& text) {
    AtomicFile file(path);
    file.write(text);
    file.commit();
  };
  write(folder_.csv(), results_csv(points_, runs_));
  if (has_seeds(points_)) write(folder_.seeds_csv(), seeds_csv(points_, runs_));
  csv_is_old_ = false;
}

// The runs have their results in their own folders: no reason to end them, or to keep the table back.
void SweepLeader::try_to_write_csv(bool is_last) {
  csv_written_ = Clock::now();
  csv_is_old_ = true;
  try {
    write_csv();
  } catch (const UserError& error) {
    if (!is_last) return;
    const Message& message = error.messages().at(0);
    std::fprintf(stderr, "thtrain: warning: %s%s\n", printable(message.what).c_str(),
                 message.got.empty() ? "" : printable(": " + message.got).c_str());
  }
}

// In runs: those that have ended, and of the others the part of their epochs.
double SweepLeader::done() const {
  double out = 0;
  for (const SweepRun& run : runs_) {
    if (run.state == State::kDone || run.state == State::kFailed || run.state == State::kDropped) {
      out += 1;
    } else if (run.state == State::kRunning || run.record) {
      std::ifstream metrics(run.folder + "/metrics.jsonl", std::ios::binary);
      const auto lines = std::count(std::istreambuf_iterator<char>(metrics), {}, '\n');
      const auto epochs = static_cast<double>(options_.epochs[static_cast<size_t>(run.point)]);
      out += std::min(1.0, static_cast<double>(lines) / std::max(1.0, epochs));
    }
  }
  return out;
}

void SweepLeader::draw() {
  if (!has_bar_) return;
  const double now = done(), gained = now - done_before_;
  const double left = gained > 0.01 ? (static_cast<double>(runs_.size()) - now) * seconds_since(began_) / gained : -1;
  std::fprintf(stderr, "\r\x1b[K%s", progress_text(runs_, left, terminal_width(stderr) - 1).c_str());
  std::fflush(stderr);
  bar_shown_ = true;
}

void SweepLeader::clear_bar() {
  if (!bar_shown_) return;
  std::fputs("\r\x1b[K", stderr);
  bar_shown_ = false;
}

}  // namespace thtrain

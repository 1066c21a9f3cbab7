#include "trainers/run_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "compiler/base/build_info.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "compiler/base/utf8.h"
#include "compiler/tuning/machine.h"
#include "reports/json.h"
#include "trainers/folder_guard.h"
#include "trainers/load_data.h"
#include "trainers/stale_files.h"
#include "trainers/written_version.h"

namespace thtrain {

namespace fs = std::filesystem;

static UserError cannot_be_made(const std::string& path, const std::string& reason) {
  return UserError(
      Message{.what = str(path, ": the folder cannot be made"),
              .got = reason,
              .hint = "choose another folder with --run-dir, or another root for new ones with output.root"});
}

static void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    throw cannot_be_made(path, error ? system_error_text(error.value()) : "a file of that name");
}

static void write_whole(const std::string& path, const std::string& text, const std::function<void()>& check = {}) {
  AtomicFile file(path, check);
  file.write(text);
  file.commit();
}

// UserError where it cannot be said.
static bool is_there(const std::string& path) {
  std::error_code error;
  bool out = fs::exists(path, error);
  if (error)
    throw file_error(path, "the file cannot be read",
                     error == std::errc::permission_denied ? "a folder that this user may enter" : "",
                     system_error_text(error.value()));
  return out;
}

static UserError taken(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (!error && !fs::exists(path, error))
    return UserError(Message{.what = str(path, ": there is a link to a folder that is not there at this path"),
                             .expected = "a folder that does not exist yet, or an empty one",
                             .got = str("a link to ", target.native()),
                             .hint = "make the folder that it names, or remove the link"});
  return UserError(Message{
      .what = str(path, ": there is a run in this folder already, or something else"),
      .expected = "a folder that does not exist yet, or an empty one",
      .hint = str("`thtrain resume ", printable(path), "` goes on with a run; --run-dir names another folder")});
}

static bool may_be_taken(const std::string& path) {
  std::error_code error;
  return !fs::exists(fs::symlink_status(path, error)) || is_empty_folder(path);
}

// TOML and JSON hold nothing else, and a resumption reads them.
static void require_utf8(const std::string& config, const std::string& config_folder) {
  std::string bad = first_not_utf8(config_folder) == std::string_view::npos ? "" : config_folder;
  std::istringstream lines(config);
  for (std::string line; bad.empty() && std::getline(lines, line);)
    if (first_not_utf8(line) != std::string_view::npos) bad = line;
  if (bad.empty()) return;
  throw UserError(Message{.what = str(printable(bad), ": the files of a run folder cannot hold this path"),
                          .expected = "UTF-8 in the names of the experiment's folder and its data files",
                          .hint = "rename the folder or the file, or make a link to it that has another name"});
}

// The error of a folder that was made under another name first.
static UserError in_place(const UserError& error, const std::string& temporary, const std::string& path) {
  std::vector<Message> messages = error.messages();
  for (Message& message : messages)
    for (std::string* text : {&message.what, &message.expected, &message.got, &message.hint})
      for (size_t at = 0; (at = text->find(temporary, at)) != std::string::npos; at += path.size())
        text->replace(at, temporary.size(), path);
  return UserError(messages);
}

static std::string parent_of(const std::string& path) {
  std::string out = fs::path(path).parent_path().native();
  return out.empty() ? "." : out;
}

static std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

static bool has_pins(const std::map<std::string, std::string>& facts) {
  return facts.lower_bound("pins.") != facts.lower_bound("pins/");
}

// A run that was killed before its first checkpoint left nothing but what a new one writes again, run.json first where
// the folder was there before. Whoever has its lock may still reach a checkpoint.
static bool is_unfinished_run(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || is_locked(path)) return false;
  bool has_part = false, has_facts = false, has_others = false;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name == "lock" || is_unfinished_file(name))  // lock: of an earlier version
      has_part = true;
    else if (name == "run.json")
      has_facts = true;
    else if (name == "config.toml" || name == "table.json")
      has_others = true;
    else
      return false;
  }
  if (error) return false;
  if (!has_facts) return has_part && !has_others;
  try {
    const std::string file = path + "/run.json";
    const std::map<std::string, std::string> facts = read_json(read_file(file), file);
    if (facts.contains("version")) refuse_newer_version(file, "run", facts.at("version"));
    return facts.contains("version") && !has_pins(facts);
  } catch (const UserError&) {  // it is taken, then
    return false;
  }
}

static void remove_unfinished_run(const std::string& path) {
  if (!is_unfinished_run(path)) return;
  std::error_code error;
  try {
    RunLock lock(path);
    // What is not a name of its own stays where it is: a link, and the working folder.
    const bool stays = fs::is_symlink(path, error) || is_same_file(path, ".");
    const std::string aside = stays ? path : set_aside(path);
    remove_stale_files(aside);
    for (const char* name : {"lock", "table.json", "config.toml", "run.json"}) fs::remove(aside + "/" + name, error);
    if (aside != path) fs::remove_all(aside, error);
  } catch (const UserError&) {  // it is taken, then
  }
}

std::optional<UserError> RunFolder::why_none_begins(const std::string& wanted) {
  const std::string path = without_last_slashes(wanted);
  if (may_be_taken(path) || is_unfinished_run(path)) return {};
  try {
    RunFolder run(path, {});
    if (is_there(run.config()) && !is_there(run.facts_file())) open(path);
  } catch (const UserError& error) {
    return error;
  }
  return taken(path);
}

RunFolder RunFolder::create(const std::string& wanted, const Experiment& experiment, RunFacts facts) {
  std::string path = without_last_slashes(wanted), parent = parent_of(path);
  remove_unfinished_run(path);
  if (!may_be_taken(path)) throw taken(path);
  std::string config = resolved_toml(with_absolute_paths(checked_experiment(experiment), facts.config_folder));
  require_utf8(config, facts.config_folder);
  remove_stale_folders(parent);
  facts.started = utc_now();
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return create_in(path, config, experiment.seed, std::move(facts));
  // Made next to its final path and renamed to it, so that a run folder always holds its configuration.
  RunFolder out(new_folder_name(parent), std::move(facts));
  try {
    FolderGuard location(out.path());
    location.made();
    make_folder(out.path());
    out.lock_ = std::make_shared<RunLock>(out.path());
    write_whole(out.config(), config);
    out.write_facts(experiment.seed, {});
    if (::rename(out.path().c_str(), path.c_str()) != 0) {
      int error = errno;
      if (error == EEXIST || error == ENOTEMPTY) throw taken(path);
      throw cannot_be_made(path, system_error_text(error));
    }
    location.keep();
  } catch (const UserError& error) {
    throw in_place(error, out.path(), path);
  }
  out.path_ = path;
  return out;
}

// An empty folder is filled where it is: it may be a link, a mount point, or the working folder, and its owner and
// rights are the user's choice.
RunFolder RunFolder::create_in(const std::string& path, const std::string& config, int64_t seed, RunFacts facts) {
  RunFolder out(path, std::move(facts));
  out.lock_ = std::make_shared<RunLock>(path);
  if (!is_empty_folder(path)) throw taken(path);  // another process came between
  FolderGuard location(path);
  location.made();
  out.write_facts(seed, {});  // which says whose folder this is, where the process is killed now
  write_whole(out.config(), config);
  location.keep();
  return out;
}

// The file of an experiment, or a run's own, where the run's folder is wanted.
static UserError not_a_folder(const std::string& path) {
  const std::string parent = parent_of(path);
  std::error_code error;
  const bool is_of_run = fs::exists(parent + "/config.toml", error) && fs::exists(parent + "/run.json", error);
  std::string hint;
  if (is_of_run)
    hint = str("`thtrain resume ", printable(parent), "` goes on with the run in its folder");
  else if (path.ends_with(".toml"))
    hint = str("`thtrain train ", printable(path), "` begins a run of this experiment");
  return UserError(Message{.what = str(path, ": this is a file, and no run folder"),
                           .expected = "a folder that `thtrain train` made",
                           .hint = hint});
}

static void require_folder(const std::string& path) {
  struct stat status {};
  int error = ::stat(path.c_str(), &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode)) return;
  const char* made = "a folder that `thtrain train` made";
  if (error == 0 && S_ISREG(status.st_mode)) throw not_a_folder(path);
  if (error == 0 || error == ENOENT || error == ENOTDIR)
    throw UserError(Message{.what = str(path, ": there is no such run folder"), .expected = made});
  throw UserError(
      Message{.what = str(path, ": the run folder cannot be read"), .expected = made, .got = system_error_text(error)});
}

// Of a folder without config.toml.
static std::string hint_at_no_run(const std::string& path) {
  if (is_there(path + "/sweep.json")) return "this is the folder of a sweep; name the folder of one of its runs";
  if (!is_there(path + "/fold-1/config.toml")) return "";
  return str("this is the folder of the runs of --folds; `thtrain train CONFIG --folds K --run-dir ", printable(path),
             "` goes on with them");
}

// But for its facts.
RunFolder RunFolder::opened(const std::string& wanted) {
  require_folder(wanted);
  const std::string path = without_last_slashes(wanted);
  RunFolder out(path, {});
  if (!is_there(out.config()))
    throw UserError(Message{.what = str(path, ": this is no run folder: it holds no config.toml"),
                            .expected = "a folder that `thtrain train` made",
                            .hint = hint_at_no_run(path)});
  if (!is_there(out.facts_file())) {
    const bool has_weights = is_there(out.best());
    throw UserError(Message{
        .what = str(path, ": this is no run folder, or no longer: it holds no run.json"),
        .expected = "a folder that `thtrain train` made, with config.toml and run.json",
        .hint = str("put run.json back from a copy; `thtrain train ", printable(out.config()), "` begins another run",
                    has_weights ? str(";\n`thtrain eval ", printable(out.config()), " --weights ",
                                      printable(out.best()), "` measures its weights")
                                : "")});
  }
  return out;
}

RunFolder RunFolder::open(const std::string& path) {
  RunFolder out = opened(path);
  std::map<std::string, std::string> facts = read_json(read_file(out.facts_file()), out.facts_file());
  if (facts.contains("version")) refuse_newer_version(out.facts_file(), "run", facts["version"]);
  out.take_facts(std::move(facts));
  return out;
}

RunFolder RunFolder::open_without_facts(const std::string& path, std::string& trouble) {
  RunFolder out = opened(path);
  std::map<std::string, std::string> facts;
  try {
    facts = read_json(read_file(out.facts_file()), out.facts_file());
  } catch (const UserError& error) {
    trouble = error.messages().front().what;
  }
  if (facts.contains("version")) refuse_newer_version(out.facts_file(), "run", facts["version"]);
  try {
    if (trouble.empty()) out.take_facts(std::move(facts));
  } catch (const UserError& error) {
    trouble = error.messages().front().what;
  }
  return out;
}

void RunFolder::take_facts(std::map<std::string, std::string> facts) {
  for (const char* name : {"config_file", "config_folder", "version"})
    if (!facts.contains(name))
      throw UserError(Message{
          .what = str(facts_file(), ": this is not what a run writes: it has no ", name),
          .expected = "the object that `thtrain train` wrote",
          .hint = str("put run.json back from a copy; `thtrain train ", printable(config()), "` begins another run")});
  auto list = [&](const std::string& name) {
    std::vector<std::string> values;
    while (facts.contains(str(name, '.', values.size()))) values.push_back(facts[str(name, '.', values.size())]);
    return values;
  };
  facts_ = {list("command_line"), facts["config_file"], facts["config_folder"], list("changes"), facts["target"]};
  facts_.started = utc_seconds(facts["started"]);
  if (facts.contains("metric.name"))
    facts_.metric = {facts["metric.name"], facts["metric.unit"], facts["metric.larger_is_better"] == "true"};
  if (facts.contains("ended.how")) {
    facts_.end = run_end_of(facts["ended.how"]);
    if (!facts_.end)
      throw UserError(Message{.what = str(facts_file(), ": this is not what a run writes: its ended.how is unknown"),
                              .got = facts["ended.how"],
                              .hint = "put run.json back from a copy"});
  }
  facts_.ended = utc_seconds(facts["ended.at"]);
  facts_.why = facts["ended.why"];
  has_fingerprint_ = has_pins(facts);
}

void RunFolder::lock() {
  if (lock_) return;
  lock_ = std::make_shared<RunLock>(path_);
  remove_stale_files(path_);
  remove_stale_folders(parent_of(without_last_slashes(path_)));
}

void RunFolder::require_in_place() const {
  if (is_in_place()) return;
  std::error_code error;
  throw UserError(
      Message{.what = str(path_, ": the folder of the run was removed or renamed while the run was at work"),
              .got = fs::exists(path_, error) ? "another one of that name" : "nothing of that name"});
}

void RunFolder::require_new(std::string_view caller) const {
  if (has_checkpoint())
    throw UserError(Message{.what = str(caller, ": ", path(), " is the folder of another run"),
                            .expected = "a new folder",
                            .hint = "resume() goes on with that run"});
}

bool RunFolder::has_checkpoint() const {
  return is_there(checkpoint());
}
bool RunFolder::had_checkpoint() const {
  return has_fingerprint_ || is_there(metrics()) || is_there(best());
}
void RunFolder::require_checkpoint() const {
  if (has_checkpoint() || !had_checkpoint()) return;
  throw UserError(Message{.what = str(path_, ": the checkpoint of this run is gone"),
                          .expected = "checkpoint.npz",
                          .hint = str("put it back from a copy; `thtrain train ", config(), "` begins another run")});
}

std::string RunFolder::weights() const {
  if (is_there(best())) return best();
  if (has_checkpoint()) return checkpoint();
  throw UserError(Message{.what = str(path_, ": there are no weights in this run folder yet"),
                          .expected = "best.npz or checkpoint.npz",
                          .hint = str("`thtrain resume ", printable(path_), "` trains on")});
}

void RunFolder::write_facts(int64_t seed, const Fingerprint& fingerprint) {
  seed_ = seed;
  fingerprint_ = fingerprint;
  facts_.end = RunEnd::kRunning;
  facts_.ended.reset();
  facts_.why.clear();
  write_facts();
  has_fingerprint_ = !fingerprint.empty();
  is_running_ = true;
}

void RunFolder::write_end(RunEnd end, const std::string& why) {
  if (!is_running_) return;
  facts_.end = end;
  facts_.ended = utc_now();
  facts_.why = why;
  write_facts();
  is_running_ = false;
}

void RunFolder::write_facts() const {
  require_in_place();
  JsonObject decided, ended;
  for (const auto& [name, value] : fingerprint_) decided.add(name, value);
  ended.add("how", text_of(*facts_.end));
  if (facts_.ended) ended.add("at", utc_text(*facts_.ended));
  if (!facts_.why.empty()) ended.add("why", facts_.why);
  JsonObject out;
  out.add("command_line", facts_.command_line)
      .add("config_file", facts_.config_file)
      .add("config_folder", facts_.config_folder)
      .add("version", version)
      .add("build", build_id)
      .add("seed", seed_);
  if (facts_.started) out.add("started", utc_text(*facts_.started));
  if (const auto& metric = facts_.metric)
    out.add_raw("metric", JsonObject()
                              .add("name", metric->name)
                              .add("unit", metric->unit)
                              .add("larger_is_better", metric->larger_is_better)
                              .line());
  out.add_raw("ended", ended.line());
  if (!facts_.changes.empty()) out.add("changes", facts_.changes);
  if (!fingerprint_.empty()) out.add_raw("pins", decided.line()).add("target", machine().text());
  write_whole(facts_file(), out.lines(), in_place_check());
}

std::string new_run_path(const std::string& root, const std::string& config_path) {
  std::string stem = fs::path(config_path).stem().string();
  if (stem.empty()) stem = "run";
  for (int64_t number = 1;; ++number) {
    std::string path = (fs::path(root) / str(stem, "-", number)).string();
    std::error_code error;
    if (!fs::exists(fs::symlink_status(path, error))) return path;
  }
}

}  // namespace thtrain

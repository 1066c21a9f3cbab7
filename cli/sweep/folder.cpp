#include "cli/sweep/folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

#include "compiler/base/build_info.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/system_error.h"
#include "compiler/base/utf8.h"
#include "reports/json.h"
#include "trainers/folder_guard.h"
#include "trainers/stale_files.h"
#include "trainers/written_version.h"

namespace thtrain {

namespace fs = std::filesystem;

static std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

static std::string parent_of(const std::string& path) {
  const std::string out = fs::path(path).parent_path().native();
  return out.empty() ? "." : out;
}

static UserError cannot_be_made(const std::string& path, int error) {
  return UserError(
      Message{.what = str(path, ": the folder cannot be made"),
              .got = system_error_text(error),
              .hint = "choose another folder with --run-dir, or another root for new ones with output.root"});
}

static void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw cannot_be_made(path, error.value());
}

static std::shared_ptr<RunLock> lock_of(const std::string& path) {
  if (is_locked(path)) try {
      RunLock lock(path);
    } catch (const UserError& error) {
      Message message = error.messages().at(0);
      message.what = str(path, ": another process leads this sweep");
      message.expected = "one process for each sweep";
      throw UserError(message);
    }
  return std::make_shared<RunLock>(path);
}

static std::string json_of(const SweepFacts& facts) {
  return JsonObject()
      .add("command_line", facts.command_line)
      .add("config_file", facts.config_file)
      .add("config_path", facts.config_path)
      .add("words", facts.words)
      .add("random", facts.search.random)
      .add("random_seed", facts.search.random_seed)
      .add("halving", facts.search.halving)
      .add("threads", facts.threads)
      .add("version", version)
      .add("build", build_id)
      .add("experiments", facts.hash)
      .add("runs", facts.runs)
      .add("data", facts.data)
      .lines();
}

// What a process left that was killed while it filled an empty folder; `lock` is of an earlier version.
static void remove_unfinished_sweep(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || is_locked(path)) return;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_of_start = name == "lock" || (name == "logs" && is_empty_folder(at->path().string()));
    if (!is_of_start && !is_unfinished_file(name)) return;
  }
  if (error) return;
  try {
    RunLock lock(path);
    empty_folder(path);
  } catch (const UserError&) {  // it is taken, then
  }
}

static void require_utf8(const SweepFacts& facts) {
  std::vector<std::string> texts = facts.words;
  texts.push_back(facts.config_path);
  for (const std::string& text : texts)
    if (first_not_utf8(text) != std::string_view::npos)
      throw UserError(Message{.what = str(printable(text), ": the file sweep.json cannot hold this text"),
                              .expected = "UTF-8 in the name of the experiment's file and in the values"});
}

SweepFolder SweepFolder::create(const std::string& wanted, SweepFacts facts) {
  const std::string path = without_last_slashes(wanted), parent = parent_of(path);
  require_utf8(facts);
  std::error_code error;
  remove_unfinished_sweep(path);
  const bool is_there = is_empty_folder(path);
  const UserError taken(Message{.what = str(path, ": there is something else at this path"),
                                .expected = "a folder that does not exist yet, an empty one, or that of this sweep",
                                .hint = "--run-dir names another folder"});
  if (fs::exists(fs::symlink_status(path, error)) && !is_there) throw taken;
  // Made next to its final path and renamed to it, so that a sweep's folder always holds sweep.json. An empty folder,
  // which may be a link, a mount point or the working folder, is filled where it is.
  remove_stale_folders(parent);
  SweepFolder out(is_there ? path : new_folder_name(parent), std::move(facts));
  if (is_there) out.lock_ = lock_of(path);
  if (is_there && !is_empty_folder(path)) throw taken;  // another process came between
  FolderGuard location(out.path_);
  location.made();
  try {
    make_folder(out.path_ + "/logs");
    if (!is_there) out.lock_ = std::make_shared<RunLock>(out.path_);
    AtomicFile file(out.path_ + "/sweep.json");
    file.write(json_of(out.facts_));
    file.commit();
  } catch (const UserError& failed) {
    Message message = failed.messages().at(0);
    for (std::string* text : {&message.what, &message.hint})
      if (size_t at = text->find(out.path_); at != std::string::npos) text->replace(at, out.path_.size(), path);
    if (message.what.starts_with(path + "/logs")) message.what.erase(path.size(), 5);
    throw UserError(message);
  }
  if (!is_there && ::rename(out.path_.c_str(), path.c_str()) != 0) throw cannot_be_made(path, errno);
  location.keep();
  out.path_ = path;
  return out;
}

bool SweepFolder::is_at(const std::string& path) {
  std::error_code error;
  return fs::exists(path + "/sweep.json", error);
}

SweepFolder SweepFolder::open(const std::string& wanted) {
  const std::string path = without_last_slashes(wanted), file = path + "/sweep.json";
  std::error_code error;
  if (!fs::is_directory(path, error))
    throw UserError(Message{.what = str(path, ": there is no such folder of a sweep"),
                            .expected = "a folder that `thtrain sweep` made"});
  if (!is_at(path)) {
    const bool is_run = fs::exists(path + "/run.json", error);
    throw UserError(Message{.what = str(path, ": this is no folder of a sweep: it holds no sweep.json"),
                            .expected = "a folder that `thtrain sweep` made",
                            .hint = is_run ? str("`thtrain resume ", printable(path), "` goes on with the run") : ""});
  }
  std::map<std::string, std::string> values = read_json(read_file(file), file);
  refuse_newer_version(file, "sweep", values["version"]);
  auto list = [&](const std::string& name) {
    std::vector<std::string> out;
    while (values.contains(str(name, '.', out.size()))) out.push_back(values[str(name, '.', out.size())]);
    return out;
  };
  SweepFacts facts{list("command_line"),  values["config_file"], values["config_path"], list("words"), 0,
                   values["experiments"], list("runs"),          list("data")};
  bool is_right = true;
  auto number = [&](const char* name, auto& into) {
    const std::string& text = values[name];  // "" in what an earlier version wrote
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    is_right = is_right && (text.empty() || (error == std::errc() && end == text.data() + text.size() && into >= 0));
  };
  number("threads", facts.threads);
  number("random", facts.search.random);
  number("random_seed", facts.search.random_seed);
  number("halving", facts.search.halving);
  if (!is_right || facts.config_path.empty() || facts.words.empty() || facts.threads < 1 || facts.hash.empty() ||
      facts.runs.empty())
    throw UserError(Message{.what = str(file, ": this is not what a sweep writes"),
                            .expected = "the object that `thtrain sweep` wrote",
                            .hint = "put it back from a copy"});
  return {path, std::move(facts)};
}

void SweepFolder::lock() {
  if (lock_) return;
  lock_ = lock_of(path_);
  remove_stale_files(path_);
  std::error_code ignored;
  fs::create_directory(path_ + "/logs", ignored);  // where somebody removed it; else check_logs() tells, or a log
}

void SweepFolder::check_logs() const {
  const std::string logs = path_ + "/logs";
  std::error_code error;
  const fs::file_status status = fs::symlink_status(logs, error);
  if (status.type() == fs::file_type::not_found || fs::is_directory(logs, error)) return;
  throw UserError(
      Message{.what = str(logs, ": the logs of the runs cannot be written: this is no folder"),
              .expected = "a folder, or nothing: it is made then",
              .got = fs::is_symlink(status) ? "a link to no folder" : "a file of that name",
              .hint = str("give it another name, and go on by `thtrain sweep --resume ", printable(path_), "`")});
}

std::string sweep_path_start(const std::string& root, const std::string& config) {
  const std::string stem = fs::path(config).stem().string();
  return (fs::path(root) / str(stem.empty() ? "run" : stem, "-sweep-")).string();
}

// 0 where there is none.
static int64_t largest_number(const std::string& path_start, bool sweeps_only) {
  const std::string parent = parent_of(path_start), start = fs::path(path_start).filename().string();
  int64_t out = 0;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(start) || (sweeps_only && !SweepFolder::is_at(at->path().string()))) continue;
    int64_t number = 0;
    const char *first = name.data() + start.size(), *last = name.data() + name.size();
    if (auto [stop, bad] = std::from_chars(first, last, number); bad == std::errc() && stop == last)
      out = std::max(out, number);
  }
  return out;
}

std::optional<std::string> last_sweep(const std::string& path_start) {
  const int64_t number = largest_number(path_start, true);
  return number > 0 ? std::optional(str(path_start, number)) : std::nullopt;
}
std::string new_sweep_path(const std::string& path_start) {
  return str(path_start, largest_number(path_start, false) + 1);
}

}  // namespace thtrain

#include "trainers/run_folder.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "compiler/base/build_info.h"
#include "datasets/file.h"
#include "trainers/json.h"
#include "trainers/load_data.h"

namespace thtrain {

namespace fs = std::filesystem;

static void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path))
    throw UserError(Message{.what = str(path, ": the folder cannot be made"),
                            .got = error ? error.message() : "a file of that name",
                            .hint = "--run-dir names another one"});
}

static void write_whole(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

RunFolder RunFolder::create(const std::string& path, const Experiment& experiment, RunFacts facts) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error)) && !(fs::is_directory(path, error) && fs::is_empty(path, error)))
    throw UserError(
        Message{.what = str(path, ": there is a run in this folder already, or something else"),
                .expected = "a folder that does not exist yet",
                .hint = str("`thtrain resume ", path, "` goes on with a run; --run-dir names another folder")});
  Experiment written = with_absolute_paths(experiment, facts.config_folder);
  // Made beside its place and renamed into it, so that a run folder always holds its configuration.
  std::string clean = path;
  while (clean.size() > 1 && clean.back() == '/') clean.pop_back();
  RunFolder beside(str(clean, ".", ::getpid(), ".new"), facts);
  make_folder(beside.path());
  write_whole(beside.config(), resolved_toml(written));
  beside.write_facts(experiment.seed, {});
  fs::rename(beside.path(), clean, error);
  if (error) {
    std::error_code ignored;
    fs::remove_all(beside.path(), ignored);
    throw UserError(Message{.what = str(path, ": the folder cannot be made"),
                            .got = error.message(),
                            .hint = "--run-dir names another one"});
  }
  return RunFolder(clean, std::move(facts));
}

RunFolder RunFolder::open(const std::string& path) {
  if (!fs::is_directory(path))
    throw UserError(
        Message{.what = str(path, ": there is no such run folder"), .expected = "a folder that `thtrain train` made"});
  RunFolder out(path, {});
  if (!fs::exists(out.config()))
    throw UserError(Message{.what = str(path, ": this is no run folder: it holds no config.toml"),
                            .expected = "a folder that `thtrain train` made"});
  std::map<std::string, std::string> facts = read_json(read_file(out.facts_file()), out.facts_file());
  out.facts_.config_file = facts["config_file"];
  out.facts_.config_folder = facts["config_folder"];
  for (size_t i = 0; facts.contains(str("command_line.", i)); ++i)
    out.facts_.command_line.push_back(facts[str("command_line.", i)]);
  return out;
}

bool RunFolder::has_checkpoint() const {
  return fs::exists(checkpoint());
}

std::string RunFolder::weights() const {
  if (fs::exists(best())) return best();
  if (has_checkpoint()) return checkpoint();
  throw UserError(Message{.what = str(path_, ": there are no weights in this run folder yet"),
                          .expected = "best.npz or checkpoint.npz",
                          .hint = str("`thtrain resume ", path_, "` trains on")});
}

void RunFolder::write_facts(int64_t seed, const Pins& pins) const {
  JsonObject decided;
  for (const auto& [name, value] : pins) decided.add(name, value);
  JsonObject out;
  out.add("command_line", facts_.command_line)
      .add("config_file", facts_.config_file)
      .add("config_folder", facts_.config_folder)
      .add("version", version)
      .add("build", build_id)
      .add("seed", seed);
  if (!pins.empty()) out.add_raw("pins", decided.line());
  write_whole(facts_file(), out.lines());
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

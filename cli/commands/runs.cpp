// `thtrain runs`: the results of the runs below a folder.
#include "cli/command.h"
#include "cli/runs_table.h"
#include "cli/text.h"

namespace thtrain {

namespace {

struct RunsArguments {
  std::string root = "runs";  // the default of output.root
  std::string sort = {};      // "best", "time", "name"; "": by when they began
  bool json = false;
};

}  // namespace

static std::vector<std::string> folders_below(const RunsArguments& arguments) {
  try {
    return run_folders(arguments.root);
  } catch (const UserError& error) {
    Message message = error.messages().front();
    if (arguments.root == OutputConfig().root && message.what.ends_with("no such folder"))
      message.hint = "`thtrain train` makes it; `thtrain runs DIR` looks in another one";
    throw UserError(std::move(message));
  }
}

// A table of the runs below a folder. A folder that cannot be read is a row that says so.
static int run_runs(const RunsArguments& arguments) {
  std::vector<RunRow> rows;
  for (const std::string& folder : folders_below(arguments)) rows.push_back(read_row(folder));
  sort_rows(rows, arguments.sort);
  std::string text;
  if (arguments.json)
    for (const RunRow& row : rows) text += run_json(row) + "\n";
  else if (rows.empty())
    text = str(arguments.root, ": no runs\n");
  else
    text = runs_text(rows, is_terminal(stdout) ? terminal_width(stdout) : 0);
  print_text(text);
  return kDone;
}

static Command declare_runs(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<RunsArguments>();
  command.add_option("DIR", arguments->root, "the folder that they are in, at any depth; without it runs");
  command.add_option("--sort", arguments->sort, "best, time (of training) or name; without it by when they began")
      ->type_name("KEY")
      ->check(one_of("runs", "--sort", {"best", "time", "name"}));
  command.add_flag("--json", arguments->json, "print one JSON object for each run");
  return [arguments] { return run_runs(*arguments); };
}

CommandSpec runs_command() {
  return {"runs",
          "list runs and their results",
          {{"thtrain runs", "all runs in runs, the newest last"},
           {"thtrain runs sweeps/rates --sort best", "those of a folder, the best last"}},
          declare_runs};
}

}  // namespace thtrain

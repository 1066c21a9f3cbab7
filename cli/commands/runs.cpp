// `thtrain runs`: what the runs below a folder came to.
#include "cli/commands/commands.h"
#include "cli/runs_table.h"
#include "cli/text.h"

namespace thtrain {

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

int run_runs(const RunsArguments& arguments) {
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

}  // namespace thtrain

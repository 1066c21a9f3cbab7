// `thtrain man`: the manual page, made from the declarations.
#include "cli/command.h"
#include "cli/completion/completion.h"
#include "cli/text.h"

namespace thtrain {

static Command declare_man(CLI::App& command, const Invocation&) {
  return [&command] {
    print_text(manual_page({listed_commands(*command.get_parent()), listed_keys()}));
    return kDone;
  };
}

CommandSpec man_command() {
  return {"man",
          "print the manual page",
          {{"thtrain man > thtrain.1", "write it into a file; `man -l thtrain.1` shows it"}},
          declare_man};
}

}  // namespace thtrain

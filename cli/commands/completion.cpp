// `thtrain completion` and `thtrain man`: texts for shells and for man, made from the declarations.
#include "cli/completion/completion.h"

#include "cli/commands/commands.h"
#include "cli/text.h"

namespace thtrain {

int run_completion(const CompletionArguments& arguments) {
  const Listing listing{arguments.commands, listed_keys()};
  print_text(arguments.shell == "bash"  ? bash_completion(listing)
             : arguments.shell == "zsh" ? zsh_completion(listing)
                                        : fish_completion(listing));
  return kDone;
}

int run_man(const std::vector<ListedCommand>& commands) {
  print_text(manual_page({commands, listed_keys()}));
  return kDone;
}

}  // namespace thtrain

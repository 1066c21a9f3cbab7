// `thtrain completion`: a script for a shell, made from the declarations.
#include "cli/completion/completion.h"

#include "cli/command.h"
#include "cli/text.h"

namespace thtrain {

static Command declare_completion(CLI::App& command, const Invocation&) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "the shell: " + join(completed_shells(), ", "))
      ->required()
      ->check(one_of("completion", "SHELL", completed_shells()));
  return [shell, &command] {
    const Listing listing{listed_commands(*command.get_parent()), listed_keys()};
    print_text(*shell == "bash"  ? bash_completion(listing)
               : *shell == "zsh" ? zsh_completion(listing)
                                 : fish_completion(listing));
    return kDone;
  };
}

CommandSpec completion_command() {
  return {"completion",
          "print a script that makes a shell complete command lines",
          {{"thtrain completion bash > ~/.local/share/bash-completion/completions/thtrain", "for bash"},
           {"thtrain completion zsh > ~/.zfunc/_thtrain", "for zsh, with that folder in fpath"},
           {"thtrain completion fish > ~/.config/fish/completions/thtrain.fish", "for fish"}},
          declare_completion};
}

}  // namespace thtrain

// Completion in zsh.
#include "cli/completion/completion.h"
#include "compiler/base/str.h"

namespace thtrain {

// What does not depend on the declarations.
static const char* const kZshFunctions = R"zsh(
_thtrain_runs() {  # folders of runs, and folders that may hold some
  _files -/
}

_thtrain_config_or_run() {
  _alternative 'configs:experiment file:_files -g "*.toml"' 'runs:run folder:_thtrain_runs'
}

_thtrain_pairs() {  # key=value; numbers in keys are where the declarations have N
  local key part value at
  local -a numbers parts found
  if [[ $PREFIX == *=* ]]; then
    key=${PREFIX%%=*}
    for part in ${(s:.:)key}; do
      [[ $part == <-> ]] && part=N
      parts+=($part)
    done
    value=${_thtrain_values[${(j:.:)parts}]}
    compset -P '*[=,]'
    compadd -- ${=value}
    return
  fi
  for part in ${(s:.:)PREFIX}; do [[ $part == <-> ]] && numbers+=($part); done
  for key in $_thtrain_keys; do
    at=1
    while [[ $key == *.N.* || $key == *.N ]]; do
      key=${key/.N/.${numbers[at]:-0}}
      (( at++ ))
    done
    found+=($key)
  done
  compadd -q -S = -- $found
}
)zsh";

// In a specification of _arguments.
static std::string escaped_for_arguments(const std::string& text) {
  std::string out;
  for (char c : text) out += std::string(c == ':' || c == '[' || c == ']' || c == '\\' ? "\\" : "") + c;
  return out;
}

static std::string action_of(const ListedOption& option) {
  switch (takes(option)) {
    case Takes::kConfig:
      return "_files -g \"*.toml\"";
    case Takes::kRun:
      return "_thtrain_runs";
    case Takes::kConfigOrRun:
      return "_thtrain_config_or_run";
    case Takes::kFolder:
      return "_files -/";
    case Takes::kFile:
      return "_files";
    case Takes::kWords:
      return option.is_list ? str("_values -s , ", option.type, ' ', join(option.choices, " "))
                            : str("(", join(option.choices, " "), ")");
    case Takes::kPairs:
      return "_thtrain_pairs";
    case Takes::kNothing:
    case Takes::kOther:
      return " ";
  }
  return " ";
}

static std::string specification(const ListedOption& option) {
  const std::string about = escaped_for_arguments(option.about);
  if (option.type.empty()) return single_quoted(str(option.name, '[', about, ']'));
  return single_quoted(str(option.name, "=[", about, "]:", escaped_for_arguments(option.type), ':', action_of(option)));
}

std::string zsh_completion(const Listing& listing) {
  std::string out = "#compdef thtrain\n# Completion of thtrain in zsh, written by `thtrain completion zsh`.\n\n";
  out += str("typeset -ga _thtrain_keys=(", join(listing.keys, " ", [](const ListedKey& k) { return k.path; }), ")\n");
  out += "typeset -gA _thtrain_values=(\n";
  for (const ListedKey& key : listing.keys)
    if (!key.choices.empty()) out += str("  ", key.path, ' ', single_quoted(join(key.choices, " ")), '\n');
  out += str(")\n", kZshFunctions, "\n_thtrain() {\n  local -a commands=(\n");
  for (const ListedCommand& command : listing.commands) {
    std::string about;
    for (char c : command.about) about += std::string(c == ':' || c == '\\' ? "\\" : "") + c;
    out += str("    ", single_quoted(str(command.name, ':', about)), '\n');
  }
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const ListedCommand& command : listing.commands) {
    out += str("    ", command.name, ")\n      _arguments '--help[show what it takes]'");
    for (const ListedOption& option : command.options) out += str(" \\\n        ", specification(option));
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const ListedOption& argument = command.arguments[i];
      const bool is_last = argument.is_repeated || (i > 0 && i + 1 == command.arguments.size());
      out += str(" \\\n        ", single_quoted(str(is_last ? "*" : std::to_string(i + 1), ':',
                                                    escaped_for_arguments(argument.name), ':', action_of(argument))));
    }
    out += "\n      ;;\n";
  }
  // In a folder of fpath the file is the body of the function at its first call; where it is sourced, compdef knows it.
  return out +
         "  esac\n}\n\nif [[ $funcstack[1] == _thtrain ]]; then\n  _thtrain \"$@\"\nelse\n"
         "  compdef _thtrain thtrain\nfi\n";
}

}  // namespace thtrain

// Completion in bash.
#include "cli/completion/completion.h"
#include "compiler/base/str.h"

namespace thtrain {

static std::string word_of(const ListedOption& option) {
  switch (takes(option)) {
    case Takes::kNothing:
      return "";
    case Takes::kConfig:
      return "config";
    case Takes::kRun:
      return "run";
    case Takes::kConfigOrRun:
      return "config run";
    case Takes::kFolder:
      return "folder";
    case Takes::kFile:
      return "file";
    case Takes::kWords:
      return str("words ", join(option.choices, " "));
    case Takes::kPairs:
      return "pairs";
    case Takes::kOther:
      return "other";
  }
  return "";
}

// What does not depend on the declarations. A word that holds `=` is several words to readline, which replaces the last
// one only.
static const char* const kBashFunctions = R"bash(
_thtrain_files() {  # folders, and files whose names end so; folders get a slash, or are left to _thtrain_runs
  local file
  for file in "$1"*; do
    if [[ -d $file ]]; then
      [[ ${3-} == *run* ]] || found+=("$file/")
    elif [[ -e $file && $file == *"$2" ]]; then
      found+=("$file ")
    fi
  done
}

_thtrain_runs() {  # folders of runs, and folders that may hold some
  local folder
  for folder in "$1"*/; do
    [[ -d $folder ]] || continue
    if [[ -e ${folder}run.json && -e ${folder}config.toml ]]; then
      found+=("${folder%/} ")
    else
      found+=("$folder")
    fi
  done
}

_thtrain_pairs() {  # key=value; numbers in keys are where the declarations have N
  local word=$1 key general value done part numbers=() at
  if [[ $word == *=* ]]; then
    key=${word%%=*} value=${word#*=}
    general=$(_thtrain_general "$key")
    done=${value%"${value##*,}"}
    for part in $(_thtrain_values "$general"); do found+=("$key=$done$part"); done
    return
  fi
  for part in ${word//./ }; do [[ $part =~ ^[0-9]+$ ]] && numbers+=("$part"); done
  for key in $_thtrain_keys; do
    at=0
    while [[ $key == *.N.* || $key == *.N ]]; do
      key=${key/.N/.${numbers[at]-0}}
      at=$((at + 1))
    done
    found+=("$key=")
  done
}

_thtrain_general() {
  local part out=
  for part in ${1//./ }; do
    [[ $part =~ ^[0-9]+$ ]] && part=N
    out+=.$part
  done
  echo "${out#.}"
}

_thtrain_find() {  # what $1 says, for the word $2
  local kind word
  case $1 in
    words\ *) for word in ${1#words }; do found+=("$word "); done ;;
    *)
      for kind in $1; do
        case $kind in
          config) _thtrain_files "$2" .toml "$1" ;;
          run) _thtrain_runs "$2" ;;
          folder) _thtrain_files "$2" '/' ;;
          file) _thtrain_files "$2" '' ;;
          pairs) _thtrain_pairs "$2" ;;
        esac
      done
      ;;
  esac
}

_thtrain() {
  local line=${COMP_LINE:0:COMP_POINT} current= command last what index=0 i
  local words=() found=()
  read -r -a words <<< "$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[${#words[@]} - 1]}
    unset "words[${#words[@]} - 1]"
  fi
  command=${words[1]-}
  if ((${#words[@]} < 2)); then
    for what in $_thtrain_commands; do found+=("$what "); done
  else
    for ((i = 2; i < ${#words[@]}; i++)); do
      case ${words[i]} in
        --*=*) ;;
        --*) [[ -n $(_thtrain_option "$command" "${words[i]}") ]] && i=$((i + 1)) ;;
        *) index=$((index + 1)) ;;
      esac
    done
    last=${words[${#words[@]} - 1]}
    what=
    if ((${#words[@]} > 2)) && [[ $last == --* && $last != *=* ]]; then
      what=$(_thtrain_option "$command" "$last")
    fi
    if [[ -n $what ]]; then
      _thtrain_find "$what" "$current"
    elif [[ $current == --*=* ]]; then
      _thtrain_find "$(_thtrain_option "$command" "${current%%=*}")" "${current#*=}"
      for i in "${!found[@]}"; do found[i]=${current%%=*}=${found[i]}; done
    elif [[ $current == -* ]]; then
      for what in $(_thtrain_options "$command"); do found+=("$what "); done
    else
      _thtrain_find "$(_thtrain_argument "$command" "$index")" "$current"
    fi
  fi
  local prefix=
  [[ $current == *=* && $COMP_WORDBREAKS == *=* ]] && prefix=${current%"${current##*=}"}
  COMPREPLY=()
  for what in "${found[@]}"; do
    [[ $what == "$current"* ]] && COMPREPLY+=("${what#"$prefix"}")
  done
}

complete -o nospace -F _thtrain thtrain
)bash";

std::string bash_completion(const Listing& listing) {
  std::string out = "# Completion of thtrain in bash, written by `thtrain completion bash`.\n\n";
  out +=
      str("_thtrain_commands=", single_quoted(join(listing.commands, " ", [](const auto& c) { return c.name; })), "\n");
  out += str("_thtrain_keys=", single_quoted(join(listing.keys, " ", [](const auto& k) { return k.path; })), "\n");
  std::string options = "\n_thtrain_options() {  # of a command\n  case $1 in\n",
              option = "\n_thtrain_option() {  # what follows it; nothing behind a flag\n  case \"$1 $2\" in\n",
              argument = "\n_thtrain_argument() {  # what a position takes, from 0\n  case \"$1 $2\" in\n",
              values = "\n_thtrain_values() {  # words that a key may be\n  case $1 in\n";
  for (const ListedCommand& command : listing.commands) {
    options += str("    ", command.name, ") echo ",
                   single_quoted(join(command.options, " ", [](const ListedOption& o) { return o.name; }) +
                                 (command.options.empty() ? "" : " ") + "--help"),
                   " ;;\n");
    for (const ListedOption& o : command.options)
      if (const std::string word = word_of(o); !word.empty())
        option += str("    '", command.name, ' ', o.name, "') echo ", single_quoted(word), " ;;\n");
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const bool is_last = command.arguments[i].is_repeated || (i > 0 && i + 1 == command.arguments.size());
      argument += str("    '", command.name, " '", is_last ? "*" : std::to_string(i), ") echo ",
                      single_quoted(word_of(command.arguments[i])), " ;;\n");
    }
  }
  for (const ListedKey& key : listing.keys)
    if (!key.choices.empty())
      values += str("    ", key.path, ") echo ", single_quoted(join(key.choices, " ")), " ;;\n");
  for (const std::string& part : {options, option, argument, values}) out += part + "  esac\n}\n";
  return out + kBashFunctions;
}

}  // namespace thtrain

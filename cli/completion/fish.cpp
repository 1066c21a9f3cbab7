// Completion in fish.
#include "cli/completion/completion.h"
#include "compiler/base/str.h"

namespace thtrain {

// What does not depend on the declarations.
static const char* const kFishFunctions = R"fish(
function __thtrain_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

function __thtrain_has_no_command
    test (count (commandline -opc)) -lt 2
end

function __thtrain_configs
    set -l word (commandline -ct)
    for file in $word*
        if test -d $file
            test "$argv[1]" = files; or echo $file/  # __thtrain_runs has them too
        else if string match -q '*.toml' -- $file
            echo $file
        end
    end
end

function __thtrain_runs
    set -l word (commandline -ct)
    for folder in $word*/
        if test -e {$folder}run.json -a -e {$folder}config.toml
            printf '%s\t%s\n' (string trim -r -c / -- $folder) 'run folder'
        else
            echo $folder
        end
    end
end

function __thtrain_pairs
    set -l word (commandline -ct)
    if string match -q '*=*' -- $word
        set -l key (string split -m 1 = -- $word)[1]
        set -l general (string replace -ra '\.[0-9]+(?=\.|$)' '.N' -- $key)
        set -l done (string replace -r '[^=,]*$' '' -- $word)
        for value in (__thtrain_values $general)
            echo $done$value
        end
        return
    end
    set -l numbers (string match -ra '(?<=\.)[0-9]+(?=\.|$)' -- $word)
    for key in $__thtrain_keys
        for number in $numbers
            set key (string replace -r '\.N(?=\.|$)' ".$number" -- $key)
        end
        echo (string replace -ra '\.N(?=\.|$)' '.0' -- $key)=
    end
end

complete -c thtrain -f
)fish";

static std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += std::string(c == '\'' || c == '\\' ? "\\" : "") + c;
  return out + "'";
}

// The options of fish's `complete` that offer it.
static std::string offers(const ListedOption& option) {
  switch (takes(option)) {
    case Takes::kConfig:
      return " -a '(__thtrain_configs)'";
    case Takes::kRun:
      return " -a '(__thtrain_runs)'";
    case Takes::kConfigOrRun:
      return " -a '(__thtrain_configs files; __thtrain_runs)'";
    case Takes::kFolder:
      return " -a '(__fish_complete_directories)'";
    case Takes::kFile:
      return " -F";
    case Takes::kWords:
      return str(" -a ", quoted(join(option.choices, " ")));
    case Takes::kPairs:
      return " -a '(__thtrain_pairs)'";
    case Takes::kNothing:
    case Takes::kOther:
      return "";
  }
  return "";
}

std::string fish_completion(const Listing& listing) {
  std::string out = "# Completion of thtrain in fish, written by `thtrain completion fish`.\n\n";
  out += str("set -g __thtrain_keys ", join(listing.keys, " ", [](const ListedKey& k) { return k.path; }), "\n\n");
  out += "function __thtrain_values\n    switch $argv[1]\n";
  for (const ListedKey& key : listing.keys)
    if (!key.choices.empty())
      out += str("        case ", key.path, "\n            printf '%s\\n' ", join(key.choices, " "), "\n");
  out += str("    end\nend\n", kFishFunctions);
  for (const ListedCommand& command : listing.commands)
    out +=
        str("complete -c thtrain -n __thtrain_has_no_command -a ", command.name, " -d ", quoted(command.about), "\n");
  for (const ListedCommand& command : listing.commands) {
    const std::string begin = str("complete -c thtrain -n '__thtrain_is ", command.name, "'");
    for (const ListedOption& argument : command.arguments)
      if (const std::string what = offers(argument); !what.empty()) out += str(begin, what, "\n");
    for (const ListedOption& option : command.options)
      out += str(begin, " -l ", option.name.substr(2), option.type.empty() ? "" : " -r", offers(option), " -d ",
                 quoted(option.about), "\n");
  }
  return out;
}

}  // namespace thtrain

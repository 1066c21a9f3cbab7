#include "cli/arguments.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/command_line.h"
#include "cli/command_words.h"
#include "cli/text.h"
#include "compiler/base/build_info.h"
#include "compiler/base/nearest_name.h"
#include "compiler/runtime/trial_process.h"

namespace thtrain {

std::vector<std::string> CommandLine::names() const {
  std::vector<std::string> out;
  for (const auto& [command, run] : commands) out.push_back(command->get_name());
  out.push_back("help");
  return out;
}

void CommandLine::refuse_command(const std::string& word) const {
  std::string near = nearest_name(word, names());
  std::error_code ignored;
  if (std::filesystem::is_regular_file(word, ignored)) near = "`thtrain train " + word + "`";
  throw UserError(
      Message{.what = word.empty() ? "the command is empty" : str("unknown command ", word),
              .expected = join(names(), ", "),
              .hint = near.empty() ? "`thtrain help` says what each one does" : str("did you mean ", near, '?')});
}

std::string CommandLine::help_of(const std::string& name) const {
  if (name == "help") return app.help();
  for (const auto& [command, run] : commands)
    if (command->get_name() == name) return command->help("thtrain");
  refuse_command(name);
}

// What stands before the command: --help or --version.
Command CommandLine::without_command(const std::string& word) const {
  if (word == "--version") return [] { return print_text(str("thtrain ", version, "\n")), kDone; };
  if (word == "--help" || word == "-h") return [text = app.help()] { return print_text(text), kDone; };
  const std::string near = near_option(app, word);
  throw UserError(Message{.what = str("thtrain: unknown option ", word),
                          .expected = str("a command: ", join(names(), ", ")),
                          .hint = near.empty() ? "options come after the command" : str("did you mean ", near, '?')});
}

Command CommandLine::parse(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) return [text = app.help()] { return print_text(text), kBadInput; };
  if (words.front().starts_with('-')) return without_command(words.front());
  const std::string name = words.front();
  if (name == "help") {
    if (words.size() > 2)
      throw UserError(Message{.what = str("thtrain help: unexpected argument ", words[2]), .expected = "one command"});
    return [text = help_of(words.size() > 1 ? words[1] : "help")] { return print_text(text), kDone; };
  }
  if (name == "trial") return [rest = std::vector(words.begin() + 1, words.end())] { return run_trial_process(rest); };
  const std::string help = help_of(name);
  const CLI::App& asked = *app.get_subcommand(name);
  if (check_words(asked, std::span(words).subspan(1))) return [help] { return print_text(help), kDone; };
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UserError(Message{.what = str("thtrain ", name, ": ", error.what()),
                            .hint = str("`thtrain help ", name, "` lists what it takes")});
  }
  if (!explain.html.empty() && asked.count("--stage") > 0)
    throw UserError(Message{.what = "thtrain explain: --stage and --html are both given",
                            .expected = "one of them",
                            .hint = "the page of --html has all stages"});
  for (const auto& [command, run] : commands)
    if (command == &asked) return run;
  TH_CHECK(false, "a command without a function");
}

Command parse_arguments(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  auto line = std::make_shared<CommandLine>(words, started);
  Command command = line->parse(words);
  return [line, command] { return command(); };
}

}  // namespace thtrain

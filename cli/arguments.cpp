#include "cli/arguments.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "cli/command_words.h"
#include "cli/job.h"
#include "cli/text.h"
#include "compiler/base/build_info.h"
#include "compiler/base/nearest_name.h"
#include "compiler/tuning/trial_process.h"

namespace thtrain {

namespace {

/// The parser of the command line, with every command that it knows.
class CommandLine {
 public:
  explicit CommandLine(const Invocation& invocation);
  Command parse(std::vector<std::string> words);

 private:
  std::vector<std::string> names() const;
  [[noreturn]] void refuse_command(const std::string& word) const;
  std::string help_of(const std::string& name) const;
  Command without_command(const std::string& word) const;

  CLI::App app_{"Trains neural networks that experiment files describe.", "thtrain"};
  std::vector<std::pair<CLI::App*, Command>> commands_;
  // Only listed: what precedes the command, and `help`, are looked at by hand.
  bool wants_version_ = false;
  std::string helped_;
};

struct HelpFormatter : CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? argument_name(*option) : CLI::Formatter::make_option_name(option, is_positional);
  }
};

CommandLine::CommandLine(const Invocation& invocation) {
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.add_flag("--version", wants_version_, "print the version");
  app_.footer(general_footer());
  app_.get_formatter()->column_width(30);
  app_.require_subcommand(0, 1);  // behind the command, a folder may have the name of another one
  for (auto [label, ours] : {std::pair("REQUIRED", "(required)"),
                             {"SUBCOMMAND", "COMMAND"},
                             {"Subcommands", "Commands"},
                             {"Positionals", "Arguments"},
                             {"TEXT", ""}})
    app_.get_formatter()->label(label, ours);
  for (const CommandSpec& spec : command_specs()) {
    CLI::App* command = app_.add_subcommand(spec.name, spec.about);
    command->footer(command_footer(spec.examples));
    command->group("Commands");
    commands_.emplace_back(command, spec.declare(*command, invocation));
  }
  CLI::App* help = app_.add_subcommand("help", "show what a command takes")->group("Commands");
  help->add_option("COMMAND", helped_, "a command")->check(listed_words(names()));
}

std::vector<std::string> CommandLine::names() const {
  std::vector<std::string> out;
  for (const auto& [command, run] : commands_) out.push_back(command->get_name());
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
  if (name == "help") return app_.help();
  for (const auto& [command, run] : commands_)
    if (command->get_name() == name) return command->help("thtrain");
  refuse_command(name);
}

// What precedes the command: --help or --version.
Command CommandLine::without_command(const std::string& word) const {
  if (word == "--version") return [] { return print_text(str("thtrain ", version, "\n")), kDone; };
  if (word == "--help" || word == "-h") return [text = app_.help()] { return print_text(text), kDone; };
  const std::string near = near_option(app_, word);
  throw UserError(Message{.what = str("thtrain: unknown option ", word),
                          .expected = str("a command: ", join(names(), ", ")),
                          .hint = near.empty() ? "options come after the command" : str("did you mean ", near, '?')});
}

Command CommandLine::parse(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) return [text = app_.help()] { return print_text(before_report() + text), kBadInput; };
  if (words.front().starts_with('-')) return without_command(words.front());
  const std::string name = words.front();
  if (name == "help") {
    if (words.size() > 2)
      throw UserError(Message{.what = str("thtrain help: unexpected argument ", words[2]), .expected = "one command"});
    return [text = help_of(words.size() > 1 ? words[1] : "help")] { return print_text(text), kDone; };
  }
  if (name == "trial") return [rest = std::vector(words.begin() + 1, words.end())] { return run_trial_process(rest); };
  const std::string help = help_of(name);
  const CLI::App& asked = *app_.get_subcommand(name);
  if (check_words(asked, std::span(words).subspan(1))) return [help] { return print_text(help), kDone; };
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app_.parse(words);
  } catch (const CLI::ParseError& error) {
    throw UserError(Message{.what = str("thtrain ", name, ": ", error.what()),
                            .hint = str("`thtrain help ", name, "` lists what it takes")});
  }
  for (const auto& [command, run] : commands_)
    if (command == &asked) return run;
  TH_CHECK(false, "a command without a function");
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  Invocation invocation{.words = {"thtrain"}, .started = started};
  invocation.words.insert(invocation.words.end(), words.begin(), words.end());
  auto line = std::make_shared<CommandLine>(invocation);
  Command command = line->parse(words);
  return [line, command] { return command(); };
}

}  // namespace thtrain

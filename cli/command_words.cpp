#include "cli/command_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/command.h"
#include "compiler/base/nearest_name.h"
#include "config/config_node.h"
#include "trainers/experiment.h"

namespace thtrain {

std::string near_option(const CLI::App& command, const std::string& given) {
  std::vector<std::string> options, begin;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& long_name : option->get_lnames())
      if (!option->get_group().empty()) options.push_back("--" + long_name);
  for (const std::string& option : options)
    if (given.size() > 2 && option.starts_with(given)) begin.push_back(option);
  return begin.size() == 1 ? begin.front() : nearest_name(given, options);
}

namespace {

class WordCheck {
 public:
  WordCheck(const CLI::App& command, std::span<const std::string> words) : command_(command), words_(words) {}

  /// UserError for what the command does not take and for what is missing; true where help is asked for.
  bool run() {
    const auto end = std::find(words_.begin(), words_.end(), "--");
    if (std::any_of(words_.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; }))
      return true;
    for (size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (!options_end_ && word == "--")
        options_end_ = true;
      else if (options_end_ || word.size() < 2 || word[0] != '-')
        positional(word);
      else
        i += option(word, i);
    }
    missing();
    return false;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::string hint = {}) const {
    const std::string& name = command_.get_name();
    if (hint.empty()) hint = str("`thtrain help ", name, "` lists what it takes");
    throw UserError(Message{.what = str("thtrain ", name, ": ", what), .hint = std::move(hint)});
  }

  std::vector<const CLI::Option*> positionals() const {
    std::vector<const CLI::Option*> out;
    for (const CLI::Option* option : command_.get_options())
      if (option->get_positional()) out.push_back(option);
    return out;
  }

  bool takes_pairs() const {
    const std::vector<const CLI::Option*> arguments = positionals();
    return arguments.size() > 1 && argument_name(*arguments.back()) == "key=value";
  }

  void positional(const std::string& word) {
    std::vector<const CLI::Option*> arguments = positionals();
    // The last: key=value ..., CONFIG ..., RUN ...
    const bool takes_many =
        arguments.size() > 1 || (!arguments.empty() && arguments.back()->get_items_expected_max() > 1);
    if (positionals_ >= arguments.size() && !takes_many) refuse(str("unexpected argument ", word));
    if (positionals_ == 0) {
      const std::string name = arguments.front()->get_name(true);
      if (word.empty()) refuse(str(name, " is empty"), str("give ", about(*arguments.front())));
      std::error_code ignored;
      if (takes_pairs() && word.find('=') != std::string::npos && !std::filesystem::exists(word, ignored))
        refuse(str(name, " is missing before ", word), str("give ", about(*arguments.front()), " first"));
    }
    ++positionals_;
  }

  // How many of the words after it are its value.
  size_t option(const std::string& word, size_t at) {
    const size_t equals = word.find('=');
    const std::string given = word.substr(0, equals);
    const CLI::Option* found = given.starts_with("--") ? command_.get_option_no_throw(given) : nullptr;
    if (!found) {
      const std::string near = near_option(command_, given);
      std::string hint = near.empty() ? "" : str("did you mean ", near, '?');
      if (near.empty() && takes_pairs()) hint = pair_hint(word, at);
      refuse(str("unknown option ", given), hint);
    }
    const bool is_flag = found->get_items_expected_max() == 0;
    std::string type = found->get_type_name();
    if (type.ends_with(' ')) type.pop_back();  // of --start
    if (is_flag && equals != std::string::npos) refuse(str(given, " takes no value"), str("write ", given));
    const bool is_list = found->get_items_expected_max() > 1;
    if (!is_flag && !is_list && std::find(given_.begin(), given_.end(), found) != given_.end())
      refuse(str(given, " is given twice"));
    given_.push_back(found);
    if (is_flag) return 0;
    if (equals != std::string::npos) {
      check_elements(*found, given, word.substr(equals + 1));
      if (equals + 1 == word.size()) refuse(str(given, " is empty"), str("write ", given, ' ', type));
      return 0;
    }
    const bool has_value = at + 1 < words_.size() && words_[at + 1] != "--" && !is_known_option(words_[at + 1]);
    if (!has_value) refuse(str(given, " needs a value"), str("write ", given, ' ', type));
    const std::string& value = words_[at + 1];
    if (value.empty() || (is_list && value.find_first_not_of(',') == std::string::npos))
      refuse(str(given, " is empty"), str("write ", given, ' ', type));
    check_elements(*found, given, value);
    const bool is_number = value.find_first_not_of("-+.0123456789") == std::string::npos;
    if (value.size() > 1 && value[0] == '-' && !is_number)
      refuse(str(given, " needs a value"), str("write ", given, '=', value, " for a value that begins with -"));
    return 1;
  }

  // CLI11 passes over what is empty between two commas.
  void check_elements(const CLI::Option& option, const std::string& given, const std::string& value) const {
    if (option.get_delimiter() != ',' || value.find_first_not_of(',') == std::string::npos) return;
    if (value.front() == ',' || value.back() == ',' || value.find(",,") != std::string::npos)
      refuse(str(given, " has an empty element: ", value), str("write ", given, ' ', option.get_type_name()));
  }

  // Of an option that is a key of the experiment, or its file; "": it is neither.
  std::string pair_hint(const std::string& word, size_t at) const {
    if (word == "--config" || word.starts_with("--config=")) return "the experiment file is given without an option";
    const char* without = "keys of the experiment are written without dashes: ";
    if (word.find('=') != std::string::npos) return str(without, pair_of(word));
    const std::string key = key_of(word);
    const bool is_key = is_outermost_key(key) || key.find('.') != std::string::npos || !path_of_key(key).empty();
    if (!is_key || is_other_option(key)) return "";
    const bool has_value = at + 1 < words_.size() && !words_[at + 1].starts_with("--");
    return str(without, pair_of(str(word, '=', has_value ? words_[at + 1] : "VALUE")));
  }

  // A key outside of sections, such as `seed`.
  static bool is_outermost_key(const std::string& key) {
    const FieldSpec* field = schema_of<Experiment>().find(key);
    using Value = FieldAccess::Value;
    return field && field->access->value != Value::kTable && field->access->value != Value::kKind;
  }

  // What other programs call a key, such as `run_dir`, may be an option of another command: that is meant.
  bool is_other_option(const std::string& key) const {
    const std::string path = path_of_key(key);
    if (path.empty() || path == key || path.ends_with("." + key)) return false;
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    const std::vector<const CLI::App*> all =
        command_.get_parent()->get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(all.begin(), all.end(),
                       [&](const CLI::App* command) { return command->get_option_no_throw(option) != nullptr; });
  }

  // "--batch-size=3" -> "batch_size"
  static std::string key_of(const std::string& word) {
    const size_t begin = std::min(word.find_first_not_of('-'), word.size());
    std::string key = word.substr(begin, word.find('=') - begin);
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
  }

  // "--epochs=3" -> "trainer.epochs=3", as the experiment's sections declare it.
  static std::string pair_of(const std::string& word) {
    const std::string path = path_of_key(key_of(word));
    return path.empty() ? word.substr(std::min(word.find_first_not_of('-'), word.size()))
                        : path + word.substr(word.find('='));
  }

  bool is_known_option(const std::string& word) const {
    return word.starts_with("--") && command_.get_option_no_throw(word.substr(0, word.find('=')));
  }

  // All at once.
  void missing() const {
    const std::vector<const CLI::Option*> arguments = positionals();
    std::vector<std::string> names, hints;
    if (positionals_ == 0 && !arguments.empty() && arguments.front()->get_required()) {
      names.push_back(arguments.front()->get_name(true));
      hints.push_back(str("give ", about(*arguments.front())));
    }
    for (const CLI::Option* option : command_.get_options())
      if (!option->get_positional() && option->get_required() &&
          std::find(given_.begin(), given_.end(), option) == given_.end()) {
        names.push_back(option->get_name());
        hints.push_back(str("write ", names.back(), ' ', option->get_type_name(), ": ", about(*option)));
      }
    if (names.empty()) return;
    const std::string last = names.back();
    names.pop_back();
    refuse(names.empty() ? str(last, " is missing") : str(join(names, ", "), " and ", last, " are missing"),
           join(hints, ";\n"));
  }

  static std::string about(const CLI::Option& option) { return option.get_description(); }

  const CLI::App& command_;
  std::span<const std::string> words_;
  std::vector<const CLI::Option*> given_;
  size_t positionals_ = 0;
  bool options_end_ = false;
};

}  // namespace

bool check_words(const CLI::App& command, std::span<const std::string> words) {
  return WordCheck(command, words).run();
}

}  // namespace thtrain

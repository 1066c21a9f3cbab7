#include "cli/command_listing.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>

#include "cli/command.h"
#include "config/config.h"
#include "trainers/experiment.h"

namespace thtrain {

static const std::string kChoices = "one_of:";

std::string choices_name(const std::vector<std::string>& words) {
  return kChoices + join(words, "|");
}

static std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> out;
  // CLI11 has no other way to look at validators; it throws where there is none.
  try {
    const std::string name = const_cast<CLI::Option&>(option).get_validator(0)->get_name();
    if (!name.starts_with(kChoices)) return out;
    std::istringstream words(name.substr(kChoices.size()));
    for (std::string word; std::getline(words, word, '|');) out.push_back(word);
  } catch (const CLI::OptionNotFound&) {
  }
  return out;
}

static ListedOption listed(const CLI::Option& option) {
  const bool is_argument = option.get_positional();
  ListedOption out{.name = is_argument ? argument_name(option) : "--" + option.get_lnames().at(0),
                   .about = option.get_description(),
                   .choices = choices_of(option),
                   .is_list = option.get_delimiter() == ',',
                   .required = option.get_required(),
                   .is_repeated = is_argument && option.get_items_expected_max() > 1};
  if (option.get_items_expected_max() > 0) out.type = option.get_type_name();
  while (out.type.ends_with(' ')) out.type.pop_back();
  return out;
}

std::vector<ListedCommand> listed_commands(const CLI::App& app) {
  std::vector<ListedCommand> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    ListedCommand one{.name = command->get_name(), .about = command->get_description()};
    for (const CommandSpec& spec : command_specs())
      if (spec.name == one.name) one.examples = spec.examples;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional())
        one.arguments.push_back(listed(*option));
      else if (!option->get_group().empty() && option != command->get_help_ptr())
        one.options.push_back(listed(*option));
    }
    out.push_back(std::move(one));
  }
  return out;
}

// ---- keys ----

namespace {

using Value = FieldAccess::Value;

/// Walks the declarations; a path that several kinds have is one key with the words of all.
class Keys {
 public:
  void walk(const Schema& schema, const std::string& path) {
    for (const FieldSpec& field : schema.fields) {
      const FieldAccess& access = *field.access;
      const std::string inner = path.empty() ? field.name : str(path, '.', field.name);
      const bool is_list = access.container == FieldAccess::Container::kList;
      const std::string element = is_list ? str(inner, ".N") : inner;
      if (access.value == Value::kTable) {
        walk(access.schema(), element);
        continue;
      }
      if (access.value != Value::kKind) {
        add(inner, field.help, access.value == Value::kBool ? std::vector<std::string>{"true", "false"} : field.choices,
            field.independent);
        continue;
      }
      std::vector<std::string> names;
      for (const Alternative& kind : access.alternatives) names.emplace_back(kind.name);
      if (field.inlined || (field.by_name && !is_list)) add(inner, field.help, names);
      if (!field.inlined) add(str(element, '.', field.tag), field.help, names);
      for (const Alternative& kind : access.alternatives) walk(kind.schema(), field.inlined ? path : element);
    }
  }
  std::vector<ListedKey> keys() { return std::move(keys_); }

 private:
  void add(const std::string& path, const std::string& help, const std::vector<std::string>& choices,
           bool independent = false) {
    auto [at, is_new] = indices_.emplace(path, keys_.size());
    if (is_new) keys_.push_back({path, help});
    keys_[at->second].independent |= independent;
    std::vector<std::string>& words = keys_[at->second].choices;
    for (const std::string& word : choices)
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::vector<ListedKey> keys_;
  std::map<std::string, size_t> indices_;
};

}  // namespace

std::vector<ListedKey> listed_keys() {
  Keys keys;
  keys.walk(schema_of<Experiment>(), "");
  std::vector<ListedKey> out = keys.keys();
  const size_t own = out.size();
  for (size_t i = 0; i < own; ++i)  // what a phase may have of its own (trainers/phase_config.h)
    for (const char* section : {"data.", "model.", "loss.", "trainer."})
      if (out[i].path.starts_with(section))
        out.push_back({"phase.N." + out[i].path, out[i].help, out[i].choices, out[i].independent});
  return out;
}

}  // namespace thtrain

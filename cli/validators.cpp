#include "cli/validators.h"

#include <algorithm>

#include "cli/command_listing.h"
#include "compiler/base/error.h"
#include "compiler/base/nearest_name.h"
#include "config/config_node.h"

namespace thtrain {

void refuse_value(const std::string& command, const std::string& option, const std::string& word, std::string expected,
                  std::string near) {
  throw UserError(Message{
      .what = str("thtrain ", command, ": ", option, " cannot be \"", word, '"'),
      .expected = std::move(expected),
      .hint = near.empty() ? str("`thtrain help ", command, "` lists the options") : str("did you mean ", near, '?')});
}

CLI::Validator one_of(const std::string& command, const std::string& option, const std::vector<std::string>& names) {
  auto check = [=](std::string& word) -> std::string {
    if (std::find(names.begin(), names.end(), word) == names.end())
      refuse_value(command, option, word, join(names, ", "), nearest_name(word, names));
    return "";
  };
  return {check, "", choices_name(names)};
}

CLI::Validator listed_words(const std::vector<std::string>& words) {
  return {[](std::string&) { return std::string(); }, "", choices_name(words)};
}

CLI::Validator folds() {
  auto check = [](std::string& word) -> std::string {
    int64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 2)
      refuse_value("train", "--folds", word, "an integer from 2 to the number of examples");
    return "";
  };
  return {check, "", "folds"};
}

}  // namespace thtrain

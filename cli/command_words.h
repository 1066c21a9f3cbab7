// The words behind a command, looked at before CLI11 sees them: its own messages say less.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
}

namespace thtrain {

/// UserError for what the command does not take and for what is missing. True where help is asked for.
bool check_words(const CLI::App& command, std::span<const std::string> words);

/// The option of `command` that `given` may be a misspelling, or the beginning, of; "" where there is none.
std::string near_option(const CLI::App& command, const std::string& given);

}  // namespace thtrain

// What an option's value may be. Each of these throws a UserError that names the option and says what it takes.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/base/str.h"

namespace thtrain {

/// "thtrain bench: --threads cannot be 0". `near` is what may have been meant.
[[noreturn]] void refuse_value(const std::string& command, const std::string& option, const std::string& word,
                               std::string expected, std::string near = {});

/// One of these words, which completion offers.
CLI::Validator one_of(const std::string& command, const std::string& option, const std::vector<std::string>& names);
/// Any word; completion offers these.
CLI::Validator listed_words(const std::vector<std::string>& words);
/// Of --folds.
CLI::Validator folds();

/// A number from `low` to `high`.
template <class T>
CLI::Validator number_in(const std::string& command, const std::string& option, T low, T high) {
  auto check = [=](std::string& word) -> std::string {
    T value{};
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !(value >= low && value <= high))
      refuse_value(command, option, word,
                   str(std::is_integral_v<T> ? "an integer from " : "a number from ", low, " to ", high));
    return "";
  };
  return {check, "", "number_in"};
}

}  // namespace thtrain

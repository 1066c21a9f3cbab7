// A chooser that gives every computation to one candidate, and remembers the questions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/choice.h"

namespace thtrain {

struct Always : kernel::Chooser {
  explicit Always(std::string name) : candidate(std::move(name)) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    asked.push_back(key.text());
    return candidate;
  }
  std::string candidate;
  mutable std::vector<std::string> asked;
};

}  // namespace thtrain

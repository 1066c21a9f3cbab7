// Names of C++ variables for things of the graph.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace thtrain {

/// Names become identifiers; equal names of different things get numbers.
class Identifiers {
 public:
  Identifiers();  // knows C++'s words and what generated entries call
  std::string unique(std::string_view wish);

 private:
  std::unordered_map<std::string, int> used_;  // how often each was wished for
};

}  // namespace thtrain

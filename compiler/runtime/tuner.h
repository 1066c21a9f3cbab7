// Which implementation computes a matrix product: what was measured on this machine, else a rule. Decision 19.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/kernel/chooser.h"

namespace thtrain {

enum class Tune {
  kNever,   // the built-in rule
  kCached,  // what `thtrain tune` remembered, else the rule
  kAlways,  // what is remembered, else measured now and remembered
};

/// "float32 60x784x500 NN": dtype, m x k x n, which operands are transposed; " added" where C is accumulated into.
std::string text_of(const kernel::MatrixProduct& product);

/// Every candidate that applies on this machine, "library" first.
std::vector<std::string> candidates_of(const kernel::MatrixProduct& product);
/// What is taken where nothing was measured. It depends on the product, the processor and `threads` only.
std::string rule_choice(const kernel::MatrixProduct& product, int threads);

/// Chooses for functions of `threads` threads, and keeps what it was asked.
class Tuner : public kernel::Chooser {
 public:
  /// `answers`: given before, and given again.
  Tuner(Tune policy, int threads, std::vector<kernel::ProductChoice> answers = {})
      : policy_(policy), threads_(threads), answers_(std::move(answers)) {}
  std::string choose(const kernel::MatrixProduct& product) const override;
  /// In the order of the first question.
  const std::vector<kernel::ProductChoice>& answers() const { return answers_; }
  /// Would it answer the same today?
  bool agrees(const std::vector<kernel::ProductChoice>& answers) const;

 private:
  Tune policy_;
  int threads_;
  mutable std::vector<kernel::ProductChoice> answers_;
};

/// What was measured on this machine (processor, libraries) for that many threads: a product's text -> candidate.
using TuningTable = std::map<std::string, std::string>;
TuningTable remembered(int threads);
/// Adds `table` to what is remembered, on disk too.
void remember(const TuningTable& table, int threads);

namespace detail {
/// A line "product = candidate" for each entry; `head` is a comment above them.
std::string tuning_text(const TuningTable& table, const std::string& head);
/// Lines that are no entry, or name no candidate, are left out and told to `complain`.
TuningTable read_tuning(std::string_view text, const std::function<void(const std::string&)>& complain);
}  // namespace detail

}  // namespace thtrain

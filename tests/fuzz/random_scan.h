// Random scans, and the same loops unrolled: the step function applied again and again by a plain loop.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/api.h"

namespace thtrain {

/// What a step function of a random scan computes: values from values, the same expression in a scan and unrolled.
/// Ranks are 0, 1 or 2: scalars, rows of 3 elements, matrices of 2 rows.
struct RandomStep {
  struct Term {
    size_t argument, other;  // indices among the arguments; `other` is a factor
    size_t form;             // which function of them
    double factor;
  };
  // A loop inside: none, over so many steps, over the rows of a value, or with taps.
  enum class Inner { kNone, kSteps, kUntil, kRows, kTaps };
  struct Value {
    size_t rank;
    std::vector<Term> terms;
    Inner inner = Inner::kNone;
    std::optional<size_t> mask = {};  // an argument: where it is 0 the value is `before`
    size_t before = 0;                // an argument of the same rank
  };
  std::vector<Value> outputs, shared;  // shared: the next values of the shared variables
  std::optional<Value> until;          // the condition: the sum of it is above `threshold`
  double threshold = 0;

  struct Result {
    std::vector<Expr> outputs, shared;
    Expr done;  // empty without `until`
  };
  /// `arguments`: those of a scan's step function, then the values of the shared variables. With `unrolled` loops
  /// inside are written out too.
  Result operator()(const std::vector<Expr>& arguments, bool unrolled) const;
};

/// A scan with random sequences, taps, states, numbers of steps, conditions, updates and loops inside, with values for
/// its inputs (float64; a count of steps is int64).
class RandomScan {
 public:
  explicit RandomScan(uint64_t seed);

  /// What the loop gives: outputs [steps, ...], and the last values of the shared variables.
  struct Result {
    std::vector<Expr> outputs, shared;
    std::vector<Update> updates;  // of the scan
  };
  Result as_scan() const;
  /// The first `steps` steps, as expressions of each other. `truncated`: what truncate_gradient leaves out is constant.
  Result unrolled(int64_t steps, bool truncated) const;
  /// At most so many steps run; the condition after each of them, if there is one (bool scalars).
  int64_t limit() const { return limit_; }
  std::vector<Expr> conditions() const;
  bool has_condition() const { return step_.until.has_value(); }
  bool is_truncated() const { return truncate_ >= 0; }

  const std::vector<Expr>& inputs() const { return inputs_; }
  const std::vector<Tensor>& values() const { return values_; }
  /// The float64 inputs and the shared variables.
  std::vector<Expr> variables() const;
  const std::vector<Shared>& shared() const { return shared_; }
  const std::vector<Tensor>& shared_values() const { return shared_values_; }
  const std::string& text() const { return text_; }

 private:
  struct Sequence {
    Expr input;
    size_t rank;  // of an element
    std::vector<int64_t> taps;
    int64_t length;
    int64_t before() const;  // how far back the taps reach, and how far ahead
    int64_t ahead() const;
  };
  struct State {  // of one output; no taps: it has no state
    Expr initial;
    size_t rank;
    std::vector<int64_t> taps;
  };
  enum class Steps { kOfSequences, kNumber, kVariable, kOfInput };

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool one_in(size_t n) { return below(n) == 0; }
  double number();
  Expr input(const std::string& name, size_t rank, std::optional<int64_t> first_axis, bool is_mask = false);
  std::vector<int64_t> some_taps(bool of_state);
  RandomStep::Value some_value(size_t rank, const std::vector<size_t>& ranks, bool may_nest);
  void draw();
  // The values of each output in `steps` steps, the last ones of the shared variables, and the conditions.
  std::vector<std::vector<Expr>> histories(int64_t steps, bool truncated, std::vector<Expr>& shared,
                                           std::vector<Expr>* conditions) const;
  bool runs_backwards() const { return go_backwards_ != (n_steps_ < 0); }

  std::mt19937_64 random_;
  bool known_ = true;  // lengths of the inputs
  std::vector<Sequence> sequences_;
  std::vector<State> states_;
  std::vector<Expr> non_sequences_, found_;  // arguments, and what the step function reads from outside
  std::vector<size_t> argument_ranks_;
  std::vector<Shared> shared_;
  std::vector<Tensor> shared_values_;
  RandomStep step_;
  Steps steps_ = Steps::kOfSequences;
  int64_t n_steps_ = 0, limit_ = 0, truncate_ = -1;
  Expr count_;  // of kVariable, kOfInput
  bool go_backwards_ = false;
  std::vector<Expr> inputs_;
  std::vector<Tensor> values_;
  std::string text_;
};

}  // namespace thtrain

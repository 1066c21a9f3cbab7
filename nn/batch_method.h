// Methods that minimize a function of all data: many numbers in one vector, value and gradient in each evaluation.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nn/optimizer.h"

namespace thtrain {

/// The value at x; writes d value / d x, of the same length, to `gradient`. A value that is not finite means that x is
/// outside of where the function is defined.
using ValueAndGradient = std::function<double(std::span<const double> x, std::span<double> gradient)>;

/// Why a method goes on, or ended.
enum class BatchStatus {
  kRunning,
  kGradient,    // the largest element of the gradient is at most gradient_tolerance
  kValue,       // the last iteration changed the value by at most value_tolerance
  kLineSearch,  // no step along the steepest descent improves the value: what the numbers' precision can tell
};
/// "the largest element of the gradient is at most gradient_tolerance"; "" for kRunning.
const char* text_of(BatchStatus status);

/// When a method ends by itself.
struct BatchTolerances {
  double gradient = 1e-5;  // of the largest absolute element
  double value = 0;        // of (f_old - f) / max(|f_old|, |f|, 1); 0: never
};

/// A method that goes from point to point, each found by a line search. All that decides its next points is named
/// state, so that a training can stop after any iteration and go on.
class BatchMethod {
 public:
  virtual ~BatchMethod() = default;
  BatchMethod(const BatchMethod&) = delete;
  BatchMethod& operator=(const BatchMethod&) = delete;

  /// One iteration; the first one also evaluates the function where it starts. UserError where the value or the
  /// gradient there is not finite.
  BatchStatus iterate(const ValueAndGradient& f);
  /// Iterations until the method ends by itself, at most `max_iterations` of them.
  BatchStatus run(const ValueAndGradient& f, int64_t max_iterations = 10000);

  const std::string& name() const { return name_; }  // "lbfgs"
  std::span<double> x() const { return vector_of(x_); }
  std::span<const double> gradient() const { return vector_of(gradient_); }
  double value() const { return counts()[kValue]; }
  double largest_gradient() const;
  int64_t iterations() const { return static_cast<int64_t>(counts()[kIterations]); }
  /// Calls of the function so far.
  int64_t evaluations() const { return static_cast<int64_t>(counts()[kEvaluations]); }
  /// How far, relative to the value, two evaluations that should be equal may differ: line searches look no closer. Of
  /// functions in float64 it is the 4e-16 of the beginning; of others more.
  void set_rounding(double rounding) { rounding_ = rounding; }
  /// Of a method that ended by other tolerances than it has now: goes on where these are not reached. Does nothing
  /// where no step improved the value.
  void take_tolerances();
  /// (f_old - f) / max(|f_old|, |f|, 1) of the last iteration.
  double relative_change() const;
  BatchStatus status() const { return static_cast<BatchStatus>(counts()[kStatus]); }
  /// What a checkpoint keeps, all of it float64: "x", "gradient", "counts", and what the method adds.
  const NamedState& state() const { return state_; }

 protected:
  /// `curvature`: the line search's c2. UserError where a tolerance is below 0 or not finite.
  BatchMethod(std::string_view name, std::span<const double> start, const BatchTolerances& tolerances,
              double curvature);

  Shared add_state(const std::string& name, const Shape& shape);
  static std::span<double> vector_of(const Shared& shared);

  /// A direction of descent from x() to `direction`. `restart`: forget what is known, and take -gradient.
  virtual void choose_direction(bool restart, std::span<double> direction) = 0;
  /// The step to try first. `slope`: gradient times direction, below 0.
  virtual double first_step(double slope, std::span<const double> direction) const = 0;
  /// May the next point have this gradient? Else the line search goes on; it does without where it finds no such point.
  virtual bool accepts(std::span<const double> /*gradient*/) const { return true; }
  /// x() and gradient() are new; `step` is what was added to x, `change` to the gradient.
  virtual void learn(std::span<const double> step, std::span<const double> change) = 0;

  /// Of the iteration before this one.
  double previous_value() const { return counts()[kPreviousValue]; }

 private:
  enum { kValue, kPreviousValue, kIterations, kEvaluations, kStatus, kCountsLength };
  std::span<double> counts() const { return vector_of(counts_); }
  void start(const ValueAndGradient& f);
  bool reaches_value_tolerance() const;
  bool search(const ValueAndGradient& f, bool restart, std::vector<double>& step, std::vector<double>& change);

  std::string name_;
  BatchTolerances tolerances_;
  double curvature_, rounding_ = 4e-16;
  Shared x_, gradient_, counts_;
  NamedState state_;
};

/// What a configuration says of a batch method; each kind makes its own. It is listed with the optimizers.
struct BatchMethodOptions : OptimizerOptions {
  const BatchMethodOptions* batch_method() const final { return this; }
  double rate() const final { return 0; }
  /// InternalError: what looks at batch_method() first asks for method_from().
  std::unique_ptr<Optimizer> make(std::vector<Param> params) const final;
  virtual std::unique_ptr<BatchMethod> method_from(std::span<const double> start) const = 0;
};

/// The configuration of the batch method M: the members of M::Options, declared by M::describe.
template <class M>
struct BatchMethodKind final : BatchMethodOptions, M::Options {
  static constexpr std::string_view kName = M::kName;
  static void describe(Fields<BatchMethodKind>& f) { M::describe(f); }
  std::unique_ptr<BatchMethod> method_from(std::span<const double> start) const override {
    return std::make_unique<M>(static_cast<const typename M::Options&>(*this), start);
  }
};

/// Declares the tolerances, which every batch method has, and what none has.
template <class Table>
void describe_tolerances(Fields<Table>& f) {
  const auto keys = f.group("tolerances");
  f.absent({"learning_rate", "lr", "momentum", "nesterov"},
           "a batch method has none: a line search finds the length of each step");
  f.absent({"weight_decay", "decoupled_weight_decay"}, "a batch method has none; loss.l2 is a penalty on the weights");
  f.field("gradient_tolerance", &Table::gradient_tolerance)
      .range(at_least(0))
      .synonyms({"gtol", "pgtol"})
      .help("Ends where the largest element of the gradient is at most this.");
  f.field("value_tolerance", &Table::value_tolerance)
      .range(at_least(0))
      .synonyms({"ftol"})
      .help("Ends where an iteration makes the value smaller by at most this part; 0: never.");
}

/// Sums that minimizers are made of.
double inner_product(std::span<const double> a, std::span<const double> b);
double largest_magnitude(std::span<const double> a);  // NaN where an element is

}  // namespace thtrain

// What every first-order optimizer is: parameters, named state, numbers that a schedule may change, and updates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "nn/options.h"
#include "nn/param.h"

namespace thtrain {

/// The gradient of a parameter: of all of it, or of rows without which it is 0.
struct ParamGradient {
  Expr value;      // of the parameter's type; of rows [k, ...]
  Expr rows = {};  // integers [k], each once; empty: all
};

/// What an optimizer takes a step of: a parameter or some rows of it.
class ParamStep {
 public:
  Expr w, gradient, rate;  // value, gradient and learning rate

  /// The value of this parameter's state.
  Expr old(const std::vector<Shared>& state) const { return rows_of(state[index_]); }
  /// Gives it another one.
  void update(const std::vector<Shared>& state, const Expr& value) const {
    updates_.push_back({state[index_], with_rows(state[index_], value)});
  }

 private:
  friend class Optimizer;
  ParamStep(size_t index, const ParamGradient& gradient, const Shared& param, std::vector<Update>& updates)
      : w(), gradient(gradient.value), index_(index), rows_(gradient.rows), updates_(updates) {
    w = rows_of(param);
  }
  Expr rows_of(const Shared& all) const;
  Expr with_rows(const Shared& all, const Expr& value) const;

  size_t index_;
  Expr rows_;
  std::vector<Update>& updates_;
};

/// A number of an optimizer: a shared scalar of the parameters' dtype, so that another value needs no other program.
struct OptimizerNumber {
  std::string name;  // as the options call it: "learning_rate", "momentum"
  Shared variable;
  double value;  // what the options gave
};

/// An optimizer of parameters W with gradients g = d cost / d W.
///
/// The learning rate r of a parameter is `learning_rate` times its Param::rate_factor. Weight decay d acts on the
/// penalized parameters, or is what Param::weight_decay says:
///
///   L2          g <- g + d W               before the optimizer's formula; as PyTorch's weight_decay
///   decoupled   W <- W - r d W             before the step is taken: I. Loshchilov, F. Hutter, "Decoupled weight decay
///                                          regularization", ICLR 2019, algorithm 2, line 12, with r instead of
///                                          their schedule's factor, as PyTorch has it
///
/// PyTorch's optimizers decay every parameter that they are given; here biases are left out unless they say otherwise.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::string& name() const { return name_; }  // "adam": the scope of its nodes
  const std::vector<Param>& params() const { return params_; }

  /// Of the state and of the parameters. `cost` is a scalar that all parameters reach.
  std::vector<Update> updates(const Expr& cost) const;
  /// The same where the gradients are given: one for each of params(), in their order, of their types. UserError where
  /// there are more or fewer.
  std::vector<Update> updates(const std::vector<Expr>& gradients) const;
  /// The same where some are those of rows: the other rows, and their state, stay as they are ("lazy"). Without state
  /// and weight decay that is what the whole gradient gives; with momentum or running means, a row rests where they
  /// would move on, and its decay comes with its next gradient. Steps are counted for all rows together.
  std::vector<Update> updates(const std::vector<ParamGradient>& gradients) const;

  /// What a checkpoint keeps: "velocity/hidden/W", "step".
  const NamedState& state() const { return state_; }
  /// The numbers that a schedule may change, the learning rate first.
  const std::vector<OptimizerNumber>& numbers() const { return numbers_; }
  const Shared& learning_rate() const { return numbers_.front().variable; }
  /// Sets a number for the steps from now on. UserError where there is none of that name, or the value is not finite in
  /// the parameters' dtype.
  void set_number(std::string_view name, double value) const;
  /// Sets it to `factor` times what the options gave: what a schedule of the learning rate does.
  void scale_number(std::string_view name, double factor) const;

 protected:
  /// UserError where the learning rate is not finite in the parameters' dtype, or a Param's factors are not finite or
  /// below 0.
  template <class Options>
  Optimizer(std::string_view name, const Options& options, std::vector<Param> params)
      : Optimizer(name, options.learning_rate, options.weight_decay, is_decoupled(options), std::move(params)) {}

  /// A number of the options as a shared scalar.
  Expr add_number(const std::string& name, double value);
  /// State of each parameter: `<name>/<parameter>`, of its type, every element `start`.
  std::vector<Shared> add_state(const std::string& name, double start = 0);
  /// Counts the steps in the state "step", an int64 scalar.
  void count_steps();
  /// 1, 2, ...: the number of the step that is being taken, as a float64 scalar.
  Expr step_number() const;
  /// A number in float64, where the parameters' dtype would round too coarsely (1 - beta^t).
  static Expr precise(const Expr& number);
  DType dtype() const { return dtype_; }

  /// The new value of w, W - r (...); state is read and updated by `of`.
  virtual Expr step(const ParamStep& of) const = 0;

 private:
  const OptimizerNumber& number(std::string_view name) const;
  Optimizer(std::string_view name, double learning_rate, double weight_decay, bool decoupled,
            std::vector<Param> params);
  template <class Options>
  static bool is_decoupled(const Options& options) {
    if constexpr (requires { options.decoupled_weight_decay; })
      return options.decoupled_weight_decay;
    else
      return Options::kDecoupledWeightDecay;
  }
  Shared checked_scalar(const std::string& name, double value) const;

  std::string name_;
  std::vector<Param> params_;
  DType dtype_;
  bool decoupled_;
  std::vector<OptimizerNumber> numbers_;
  std::vector<Expr> rate_factors_, decays_;  // of each parameter; empty where there is none
  NamedState state_;
  std::optional<Shared> step_;
};

struct BatchMethodOptions;

/// What a configuration says of an optimizer; each kind makes its own.
struct OptimizerOptions : Section {
  virtual ~OptimizerOptions() = default;
  /// These, where they are a batch method's (nn/batch_method.h), which has no learning rate and makes no Optimizer.
  virtual const BatchMethodOptions* batch_method() const { return nullptr; }
  /// The learning rate that the options give; 0 of a batch method.
  virtual double rate() const = 0;
  virtual std::unique_ptr<Optimizer> make(std::vector<Param> params) const = 0;
  /// Those of nn/optimizer_list.inc: a line `TH_OPTIMIZER(adam)` stands for `Kind<OptimizerOptions> adam_optimizer()`.
  static const std::vector<Kind<OptimizerOptions>>& kinds();
};

/// The configuration of the optimizer O: the members of O::Options, declared by O::describe.
template <class O>
struct OptimizerKind final : OptimizerOptions, O::Options {
  static constexpr std::string_view kName = O::kName;
  static void describe(Fields<OptimizerKind>& f) { O::describe(f); }
  double rate() const override { return O::Options::learning_rate; }
  std::unique_ptr<Optimizer> make(std::vector<Param> params) const override {
    return std::make_unique<O>(static_cast<const typename O::Options&>(*this), std::move(params));
  }
};

/// Declares the learning rate and the weight decay, which every optimizer has.
template <class Table>
void describe_rate_and_decay(Fields<Table>& f) {
  const auto keys = f.group("learning rate and weight decay");
  f.field("learning_rate", &Table::learning_rate)
      .range(above(0))
      .independent()
      .synonyms({"lr", "eta", "step_size", "base_lr"})
      .help("Factor of the gradient in each step.");
  f.field("weight_decay", &Table::weight_decay)
      .range(at_least(0))
      .independent()
      .synonyms({"decay", "wd"})
      .help("Factor of the weights in the weight decay; biases have none.");
  if constexpr (requires(Table kind) { kind.decoupled_weight_decay; })
    f.field("decoupled_weight_decay", &Table::decoupled_weight_decay)
        .help("Take the decay off the weights, times the learning rate, instead of adding it to the gradient.");
}

}  // namespace thtrain

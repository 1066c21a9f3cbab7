// Rewriting rules: one line of algebra each, or a function where lengths and properties matter; and the tables of them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/elemwise/scalar_op.h"
#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"

namespace thtrain {

/// What a rule may ask while a graph is being rewritten.
class RuleContext {
 public:
  virtual ~RuleContext() = default;
  /// Does one node at most read this value, as far as can be seen? Rules that would compute an inner value once more
  /// ask before they take it apart.
  bool has_one_use(const Expr& value) const { return has_at_most_uses(value, 1); }
  /// The same of `count` nodes at most.
  virtual bool has_at_most_uses(const Expr& value, size_t count) const = 0;
  /// The canonical form of an expression over values of the graph: equal ones are the same node.
  virtual Expr normalize(const Expr& value) = 0;
  virtual Level level() const = 0;
};

using RuleCondition = std::function<bool(const Binding&, const RuleContext&)>;
/// The value in another form, or empty. The result has the value's dtype; its lengths may still be broadcast.
using RuleFunction = std::function<Expr(const Expr& value, RuleContext& context)>;

/// A value that a rule must rewrite, for the tests: every rule that is a function has some.
struct RuleExample {
  std::vector<Type> inputs;
  std::function<Expr(const std::vector<Expr>&)> build;
  int64_t int_low = 0, int_high = 4;  // integer inputs are drawn from [low, high)
};

/// Safety speaks of floats and complex numbers. On integers and bools every rule is exact, and so runs at every level,
/// but for those that compare floats.
struct Rule {
  std::string name;
  Expr from = {}, to = {};  // patterns; both empty where `rewrite` is set
  Safety safety = Safety::kExact;
  unsigned kinds = kFloats;  // of the value's dtype, for which the rule holds
  RuleCondition when = {};
  /// Of the finite-math rules, those that gradients need run at the standard level too.
  bool for_gradients = false;
  /// Gives integers or bools for floats (argmax, x == x): its safety speaks of those too.
  bool compares = false;
  /// A form for values, whose derivative is no better than that of the plain one (it has a branch or a kink), or is
  /// another one where elements are equal. grad differentiates the plain form, and a rule for what comes of it makes
  /// that stable.
  bool values_only = false;

  RuleFunction rewrite = {};
  std::vector<const Op*> roots = {};  // the ops of the values that `rewrite` looks at; none: every elementwise op
  std::vector<RuleExample> examples = {};
};

/// May the rule run on values of this dtype at this level?
bool rule_allowed(const Rule& rule, DType dtype, Level level);

/// The value in the rule's form and of exactly the same type; empty where the rule does not apply. Does not look at the
/// level.
Expr apply_rule(const Rule& rule, const Expr& value, RuleContext& context);

/// A condition of rules: each operand of the value that is of this op has no other reader, so that nothing is computed
/// twice.
RuleCondition operands_have_one_use(const Op& op);

// ---- the tables: rules/<family>_rules.cpp --------------------------------------------------------------------------

const std::vector<Rule>& arithmetic_rules();   // signs, zeros, ones
const std::vector<Rule>& power_rules();        // squares, roots, powers, divisions by numbers
const std::vector<Rule>& term_rules();         // sums as a whole: numbers and equal terms come together
const std::vector<Rule>& factor_rules();       // products as a whole: numbers, what cancels
const std::vector<Rule>& selection_rules();    // switch, casts, comparisons, extrema, logic
const std::vector<Rule>& shape_rules();        // chains of views, broadcasting
const std::vector<Rule>& reduce_rules();       // reductions of reductions, of views, of scaled and of repeated values
const std::vector<Rule>& extremum_rules();     // argmax through increasing functions, max and min
const std::vector<Rule>& matrix_rules();       // transposes and factors out of products, chains of products
const std::vector<Rule>& trace_rules();        // traces of products
const std::vector<Rule>& slice_rules();        // parts of computed values: only what is read is computed
const std::vector<Rule>& write_rules();        // parts that are written
const std::vector<Rule>& index_rules();        // zeros with some elements added
const std::vector<Rule>& hyperbolic_rules();   // tanh, however it is spelled
const std::vector<Rule>& exponential_rules();  // log1p, expm1, softplus, sigmoid, erf
const std::vector<Rule>& inverse_rules();      // functions of their inverses
const std::vector<Rule>& quotient_rules();     // products of quotients that must not divide by zero
const std::vector<Rule>& log_sum_exp_rules();  // what is left of logarithms of sums of exponentials
const std::vector<Rule>& log_determinant_rules();  // logarithms of determinants and of other products over axes
const std::vector<Rule>& logarithm_part_rules();   // logarithms of products, of what a switch chose
const std::vector<Rule>& logarithm_rules();        // logarithms that no other rule looks for any more
const std::vector<Rule>& slope_rules();            // derivatives of sigmoid and tanh by themselves
const std::vector<Rule>& softmax_rules();          // log-softmax, and gradients through softmax

const std::vector<Rule>& logarithm_derivative_rules();  // forms of logarithms whose derivatives are stable

/// What canonicalize applies.
const std::vector<const Rule*>& canonical_rules();
/// What stabilize applies; the canonical ones tidy up behind them.
const std::vector<const Rule*>& stable_rules();
/// What stabilize applies in the end, when no rule looks for forms with a logarithm of a sum of exponentials any more.
const std::vector<const Rule*>& last_rules();
/// Forms whose derivative is that of the value and stable, while the form itself may be defined on less: log(x * y) and
/// log(x) + log(y). stable_forms() differentiates these, and nobody computes them.
const std::vector<const Rule*>& derivative_rules();
/// All, each once, but for derivative_rules().
const std::vector<const Rule*>& all_rules();
/// The rule of that name, for what reads Fired; null if there is none.
const Rule* find_rule(const std::string& name);

// ---- applying them -------------------------------------------------------------------------------------------------

/// Applies the rules bottom-up, and again until none applies (four times at most). Each new node is rewritten at once,
/// so one time is nearly always enough. A node may be rewritten 32 times, and rules may make four new nodes for each
/// old one in all. Equal nodes merge, commutative ones in either order too. Nodes of constants alone become constants.
/// Notes each rewrite under the name of the pass. The rules that tidy up look at new nodes only: those of the graph
/// given have been through them before.
Graph apply_rules(const Graph& graph, std::span<const Rule* const> rules, const PassContext& context,
                  const std::string& pass, std::span<const Rule* const> cleanup = {});

}  // namespace thtrain

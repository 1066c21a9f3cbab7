// What grad and jvp share: sets of values, what they say of an op without a rule, and the derivatives of the stable
// forms of values.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/node.h"
#include "compiler/ops/control/connections.h"

namespace thtrain {

/// "hidden float64[3]", for messages: the value's name or its op's, and its type.
std::string described(const Expr& value);

/// Message::node with the place where the function of that name was called: "built at a.cpp:3; grad is called at
/// a.cpp:5".
std::string with_call(std::string node, const std::string& name, const std::source_location& where);

/// A derivative that a user gives for a value: of its dtype and rank, else a UserError that begins with `what`. Lengths
/// that cannot be proved equal are checked when a call begins.
Expr of_type_of(const Expr& value, const Expr& derivative, const std::string& what);

/// Some values of a graph: outputs of nodes, each by itself.
class ValueSet {
 public:
  explicit ValueSet(std::span<const Expr> values = {});

  void insert(const Expr& value);
  bool contains(const Node& node, size_t output) const;
  bool contains(const Expr& value) const { return contains(value.node(), value.output()); }

 private:
  std::unordered_map<const Node*, std::vector<bool>> outputs_;
};

/// A derivative passes a node whose op has no rule for it: UserError, with `what` of "the op <name> has <what>".
[[noreturn]] void fail_without_rule(const Node& node, const std::string& mode, const std::string& what);

struct Differentiation;
/// Reverse mode gives a derivative for each of `wrt`, forward mode one for each output; empty: not connected.
using DifferentiationRule = std::function<std::vector<Expr>(const Differentiation&)>;

/// What is differentiated, and how.
struct Differentiation {
  std::vector<Expr> outputs, wrt, constants;
  DifferentiationRule rule;

  std::vector<Expr> derivatives() const { return rule(*this); }
};

/// The same derivatives, of the stable forms of the outputs; nothing where no form differs. Values in `kept` keep their
/// identity: among them must be what of `wrt` and `constants` is no leaf.
std::optional<std::vector<Expr>> derivatives_of_stable_forms(const Differentiation& plain,
                                                             const std::vector<Expr>& kept);

}  // namespace thtrain

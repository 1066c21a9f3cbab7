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

struct GradOptions;
struct JvpOptions;

/// "hidden float64[3]", for messages: the value's name or its op's, and its type.
std::string described(const Expr& value);

/// Message::node with the location where the function of that name was called: "built at a.cpp:3; grad is called at
/// a.cpp:5".
std::string with_call(std::string node, const std::string& name, const std::source_location& where);
std::string with_call(std::string node, const std::string& name, const Origin& call);

/// The function of derivatives that a user called, for its errors: "vjp: no output depends on y", "vjp is called at
/// a.cpp:5".
struct DerivativeCall {
  const char* name;
  const char* dependence;  // "the cost does not depend on"
  const char* end;         // of paths from a wrt: "the cost"
  std::source_location where = {};
  Origin origin = where.line() > 0 ? Origin::here(where) : Origin{};  // rules run under the origins of their nodes

  std::string what(const std::string& text) const { return str(name, ": ", text); }
  std::string node(const Expr& value) const { return with_call(value.node().origin.text(), name, origin); }
};

/// What grad does, for that call.
std::vector<Expr> reverse_derivatives(const DerivativeCall& called, const Expr& cost, const std::vector<Expr>& wrt,
                                      const GradOptions& options);
/// What jvp does, for that call.
std::vector<Expr> forward_derivatives(const DerivativeCall& called, const std::vector<Expr>& outputs,
                                      const std::vector<Expr>& wrt, const std::vector<Expr>& tangents,
                                      const JvpOptions& options);
/// What vjp does, for that call.
std::vector<Expr> derivatives_of_cotangents(const DerivativeCall& called, const std::vector<Expr>& outputs,
                                            const std::vector<Expr>& wrt, const std::vector<Expr>& cotangents,
                                            const GradOptions& options);

/// A derivative that a user gives for a value: of its dtype and rank, else a UserError that calls it `what`. Lengths
/// that cannot be proved equal are checked when a call begins.
Expr of_type_of(const Expr& value, const Expr& derivative, const DerivativeCall& called, const std::string& what);

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
[[noreturn]] void fail_without_rule(const Node& node, const DerivativeCall& called, const std::string& what);

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

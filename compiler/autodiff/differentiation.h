// What grad and jvp share: which values have derivatives, and the derivatives of the stable forms of values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/node.h"

namespace thtrain {

/// Has a value of this type derivatives? Floating and complex tensors have.
bool differentiable(const Type& type);

/// "hidden float64[3]", for messages: the value's name or its op's, and its type.
std::string described(const Expr& value);

/// Message::node with the place where the function of that name was called: "built at a.cpp:3; grad is called at
/// a.cpp:5".
std::string with_call(std::string node, const std::string& name, const std::source_location& where);

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

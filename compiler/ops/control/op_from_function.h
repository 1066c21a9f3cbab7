// A C++ function as an op.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "compiler/ops/control/op_from_graph.h"

namespace thtrain {

// ---- control -------------------------------------------------------------------------------------------------------

/// What an op made of a C++ function is.
struct FunctionOpRules {
  /// Letters, digits and "_" or ".", in texts and errors; none that an op of thtrain has.
  std::string name;
  /// Any text, another one when the function computes something else: compiled programs are kept on disk under both.
  std::string version;
  /// The results. Inputs are row-major, only read, and valid while the function runs. What is computed follows from
  /// them alone. Threads that call functions may call it at once. Where it throws, updated variables may have changed.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> compute;
  /// The types of the results; none: one result, of the type of the first argument.
  std::function<std::vector<Type>(const std::vector<Type>& inputs)> types = nullptr;
  /// The cotangents of the inputs; none: a derivative that would pass the op is an error.
  GraphGradient gradient = nullptr;
  /// Forward mode; none: it follows from the gradient.
  GraphTangents tangents = nullptr;
};

/// An op whose results a C++ function computes. A call is a node like any other: native programs call the function back
/// between their steps, loops and branches too, vmap() makes a loop of it, and a program that was compiled once is
/// found on disk in later processes, without being planned anew. What the function throws, and results of other types
/// than the type rule says, are UserErrors that name the line of the call. Make one op and use it often: each lives as
/// long as the process.
class OpFromFunction {
 public:
  /// UserError where the name, the version or the function is missing, or thtrain has an op of that name.
  explicit OpFromFunction(FunctionOpRules rules, std::source_location where = std::source_location::current());

  /// The results. UserError where an argument is empty, or where the type rule refuses the arguments.
  std::vector<Expr> operator()(const std::vector<Expr>& arguments,
                               std::source_location where = std::source_location::current()) const;

  const Op& op() const { return *op_; }
  const std::string& version() const { return version_; }

 private:
  const Op* op_;
  std::string version_;
};

}  // namespace thtrain

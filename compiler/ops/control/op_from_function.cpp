#include "compiler/ops/control/op_from_function.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "compiler/base/escape.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/registry.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// A function of the user's ran for `node`: what it throws names the node.
[[noreturn]] void fail_at(const Origin& origin, std::string what, std::string expected, std::string got,
                          std::string hint) {
  throw UserError({.what = std::move(what),
                   .expected = std::move(expected),
                   .got = std::move(got),
                   .node = origin.text(),
                   .config = origin.config(),
                   .hint = std::move(hint)});
}

template <class Run>
auto run_users(const FunctionOpRules& rules, const Origin& origin, const char* which, const Run& run) {
  try {
    return run();
  } catch (const UserError& error) {  // has its own words, and a location perhaps
    std::vector<Message> messages = error.messages();
    for (Message& message : messages)
      if (message.node.empty()) message.node = origin.text();
    throw UserError(std::move(messages));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_at(origin, str(rules.name, ": its ", which, " has thrown an exception"), "", error.what(), "");
  } catch (...) {
    fail_at(origin, str(rules.name, ": its ", which, " has thrown an exception"), "", "no std::exception", "");
  }
}

std::vector<Type> infer_function_call(const FunctionOpRules& rules, const TypeArgs& a) {
  std::vector<Type> inputs;
  for (const Expr& input : a.inputs) inputs.push_back(input.type());
  if (!rules.types) {
    a.require(!inputs.empty(), "without an argument the type of the result must be given",
              "a type rule, FunctionOpRules::types");
    return {inputs[0]};
  }
  std::vector<Type> out = run_users(rules, a.origin, "type rule", [&] { return rules.types(inputs); });
  a.require(!out.empty(), "the type rule gives no result", "a type or more");
  return out;
}

std::vector<Tensor> call_function(const FunctionOpRules& rules, const ReferenceArgs& a) {
  const Origin& origin = a.node.origin;
  const std::vector<Tensor> inputs(a.inputs.begin(), a.inputs.end());
  std::vector<Tensor> out = run_users(rules, origin, "function", [&] { return rules.compute(inputs); });
  const char* hint = "the type rule, FunctionOpRules::types, says what the function gives";
  if (out.size() != a.node.types.size())
    fail_at(origin, str(rules.name, ": its function gives another number of results"), str(a.node.types.size()),
            str(out.size()), hint);
  for (size_t i = 0; i < out.size(); ++i) {
    const Type expected{.dtype = a.node.types[i].dtype, .dims = Dims(a.shapes[i].begin(), a.shapes[i].end())};
    if (out[i].dtype() != expected.dtype || out[i].shape() != a.shapes[i])
      fail_at(origin, str(rules.name, ": its function gives result ", i, " of another type"), expected.text(),
              out[i].type_text(), hint);
    out[i] = out[i].on_host().contiguous();
  }
  return out;
}

// Derivatives that the user's rule gives for `values`; those that are given are of their types.
std::vector<Expr> checked(const FunctionOpRules& rules, const Node& node, std::vector<Expr> given,
                          const std::vector<Expr>& values, const char* gives, const char* kind, const char* of) {
  if (given.size() != values.size())
    fail_at(node.origin, str(rules.name, ": its ", gives, " gives another number of ", kind, "s"),
            str(values.size(), ", one for each ", of), str(given.size()), "");
  for (size_t i = 0; i < given.size(); ++i) {
    if (!differentiable(values[i].type())) given[i] = Expr();
    if (!given[i].has_value()) continue;
    given[i] = typed_as(given[i], values[i].type());
    if (!(given[i].type() == values[i].type()))
      fail_at(node.origin, str(rules.name, ": its ", gives, " gives a ", kind, " of another type for ", of, " ", i),
              readable(values[i].type().text()), value_text(given[i]), "");
  }
  return given;
}

// Zeros for those that are not there, but have derivatives.
std::vector<Expr> filled(std::span<const Expr> derivatives, std::span<const Expr> values) {
  std::vector<Expr> out(derivatives.begin(), derivatives.end());
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i].has_value() && differentiable(values[i].type())) out[i] = zeros_like(values[i]);
  return out;
}

std::vector<Expr> gradient_of_call(const FunctionOpRules& rules, const GradientArgs& a) {
  const std::vector<Expr> results(a.outputs.begin(), a.outputs.end());
  return checked(rules, a.node, rules.gradient(a.node.inputs, results, filled(a.cotangents, a.outputs)), a.node.inputs,
                 "gradient", "cotangent", "argument");
}

std::vector<Expr> tangents_of_call(const FunctionOpRules& rules, const JvpArgs& a) {
  const std::vector<Expr> results(a.outputs.begin(), a.outputs.end());
  return checked(rules, a.node, rules.tangents(a.node.inputs, results, filled(a.tangents, a.node.inputs)), results,
                 "forward mode", "tangent", "result");
}

// Nodes name their op by its address, as long as there may be nodes.
const Op* kept(Op op) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<const Op>>& all = *new std::vector<std::unique_ptr<const Op>>();
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::make_unique<const Op>(std::move(op))).get();
}

}  // namespace

OpFromFunction::OpFromFunction(FunctionOpRules rules, std::source_location where) : version_(rules.version) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  if (rules.name.empty() || !std::ranges::all_of(rules.name, allowed))
    fail_build(where, "op_from_function: the op has no name that texts can show",
               "FunctionOpRules::name of letters, digits, \"_\" and \".\"", str('"', escaped(rules.name), '"'), {});
  if (find_op(rules.name))
    fail_build(where, str("op_from_function: thtrain has an op named ", rules.name), "another name", rules.name, {});
  if (rules.version.empty())
    fail_build(where, str("op_from_function: ", rules.name, " has no version"),
               "FunctionOpRules::version, which is another text when the function computes something else", "\"\"", {});
  if (!rules.compute)
    fail_build(where, str("op_from_function: ", rules.name, " has no function"), "FunctionOpRules::compute",
               "an empty std::function", {});
  const auto shared = std::make_shared<const FunctionOpRules>(std::move(rules));
  Op op{.name = shared->name,
        .doc = "The results of a C++ function.",
        .infer = [shared](const TypeArgs& a) { return infer_function_call(*shared, a); },
        .reference = [shared](const ReferenceArgs& a) { return call_function(*shared, a); },
        .calls_reference = true};
  if (shared->gradient) op.gradient = [shared](const GradientArgs& a) { return gradient_of_call(*shared, a); };
  if (shared->tangents) op.jvp = [shared](const JvpArgs& a) { return tangents_of_call(*shared, a); };
  op_ = kept(std::move(op));
}

std::vector<Expr> OpFromFunction::operator()(const std::vector<Expr>& arguments, std::source_location where) const {
  for (const Expr& value : arguments) require_value(value, str(op_->name, ": an argument"), where);
  return outputs_of(*make_node(*op_, arguments, {{"version", version_}}, {}, where));
}

}  // namespace thtrain

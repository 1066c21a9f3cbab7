#include "compiler/ops/control/if_else.h"

#include <array>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/connections.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/iterations_rule.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

std::vector<Type> infer_if_else(const TypeArgs& a) {
  const Graph &then = *a.bodies[0], &otherwise = *a.bodies[1];
  a.require(a.type(0).is_scalar() && is_bool(a.type(0).dtype), "the condition is no bool scalar",
            "a bool scalar, as x > 0 of a scalar x gives, or all(...) of a tensor's");
  a.require(then.inputs.size() + 1 == a.inputs.size() && otherwise.inputs.size() + 1 == a.inputs.size(),
            "a body takes another number of values");
  a.require(then.outputs.size() == otherwise.outputs.size(), "the two sides give different numbers of values",
            str(then.outputs.size(), " and ", otherwise.outputs.size()));
  std::vector<Type> out;
  for (size_t o = 0; o < then.outputs.size(); ++o) {
    const Type &left = then.outputs[o].type(), &right = otherwise.outputs[o].type();
    a.require(left == right, str("value ", o, " has two types"),
              str("one type on both sides, got ", readable(left.text()), " and ", readable(right.text())));
    out.push_back(left);
  }
  return out;
}

const Graph& taken(const Node& node, const Tensor& condition) {
  return *node.bodies[condition.as_int() != 0 ? 0 : 1];
}

// The outputs of a body that something reads, each in its location.
void lower_side(kernel::RegionBuilder& b, const Graph& body) {
  Graph side{.inputs = body.inputs, .outputs = {}, .updates = {}, .effects = body.effects};
  std::vector<kernel::RegionValue> inputs, outputs;
  for (size_t i = 1; i < b.node().inputs.size(); ++i) inputs.push_back(b.input(i));
  for (size_t o = 0; o < body.outputs.size(); ++o)
    if (b.is_read(o)) {
      side.outputs.push_back(body.outputs[o]);
      outputs.push_back(b.output(o));
    }
  b.body(side, inputs, outputs);
}

void lower_if_else(kernel::RegionBuilder& b) {
  for (size_t o = 0; o < b.node().types.size(); ++o)
    if (b.is_read(o)) b.output(o);
  b.branch(
      b.input(0), [&] { lower_side(b, *b.node().bodies[0]); }, [&] { lower_side(b, *b.node().bodies[1]); });
}

// A side that gives a captured value as it is has nothing to do where the output lies in that value's location.
bool overwrites(const Node& node, size_t output, size_t input) {
  auto keeps = [&](const GraphPtr& body) { return input > 0 && body->outputs[output].same(body->inputs[input - 1]); };
  return keeps(node.bodies[0]) || keeps(node.bodies[1]);
}

// Derivatives by a branch on the same condition. Of each side: its derivatives, in terms of its inputs and of `inside`,
// which stand for the values `given` outside, and values of their types. What one side has not is zero there; what
// neither has is empty.
std::vector<Expr> branch_of_derivatives(const Node& node, std::vector<Expr> given, std::vector<Expr> inside,
                                        const std::array<std::vector<Expr>, 2>& derivatives,
                                        const std::array<std::vector<Expr>, 2>& like) {
  std::vector<Expr> out(like[0].size());
  std::vector<size_t> connected;
  auto sides = std::array{std::make_shared<Graph>(), std::make_shared<Graph>()};
  for (size_t k = 0; k < out.size(); ++k) {
    if (!derivatives[0][k].has_value() && !derivatives[1][k].has_value()) continue;
    connected.push_back(k);
    for (size_t side = 0; side < 2; ++side) {
      const Expr &value = like[side][k], &derivative = derivatives[side][k];
      sides[side]->outputs.push_back(typed_as(derivative.has_value() ? derivative : zeros_like(value), value.type()));
    }
  }
  if (connected.empty()) return out;
  if (std::optional<Expr> kept = kept_for_effects(node)) {
    given.push_back(*kept);
    inside.push_back(make_input(kept->type(), "printed"));
  }
  for (size_t side = 0; side < 2; ++side) {
    sides[side]->inputs = node.bodies[side]->inputs;
    sides[side]->inputs.insert(sides[side]->inputs.end(), inside.begin(), inside.end());
    sides[side]->effects = needed_definitions(sides[side]->outputs, without_effects(*node.bodies[side]).effects);
  }
  std::vector<Expr> captures(node.inputs.begin() + 1, node.inputs.end());
  captures.insert(captures.end(), given.begin(), given.end());
  const std::vector<Expr> made = make_if_else(node.inputs[0], sides[0], sides[1], std::move(captures));
  for (size_t k = 0; k < connected.size(); ++k) out[connected[k]] = made[k];
  return out;
}

// Each side gives the cotangents of the captures through its own body.
std::vector<Expr> gradient_if_else(const GradientArgs& a) {
  std::vector<Expr> given, inside;  // cotangents of the outputs: outside, and as inputs of the new bodies
  for (const Expr& cotangent : a.cotangents)
    if (cotangent.has_value()) {
      given.push_back(cotangent);
      inside.push_back(make_input(cotangent.type(), "cotangent"));
    }
  std::array<std::vector<Expr>, 2> cotangents, captures;
  for (size_t side = 0; side < 2; ++side) {
    const Graph body = without_effects(*a.node.bodies[side]);  // it runs again
    std::vector<Expr> outputs;
    for (size_t o = 0; o < a.cotangents.size(); ++o)
      if (a.cotangents[o].has_value()) outputs.push_back(body.outputs[o]);
    cotangents[side] = a.differentiate(outputs, inside, body.inputs);
    captures[side] = body.inputs;
  }
  std::vector<Expr> out = branch_of_derivatives(a.node, std::move(given), std::move(inside), cotangents, captures);
  out.insert(out.begin(), Expr());  // the condition's
  return out;
}

// Each side gives the tangents of its outputs.
std::vector<Expr> jvp(const JvpArgs& a) {
  std::vector<Expr> given, inside;  // tangents of captures: outside, and as inputs of the new bodies
  std::vector<size_t> moved;        // the captures that have one
  for (size_t i = 1; i < a.node.inputs.size(); ++i)
    if (a.tangents[i].has_value()) {
      given.push_back(a.tangents[i]);
      inside.push_back(make_input(a.input(i).type(), "tangent"));
      moved.push_back(i - 1);
    }
  std::array<std::vector<Expr>, 2> tangents, values;
  for (size_t side = 0; side < 2; ++side) {
    const Graph body = without_effects(*a.node.bodies[side]);  // it runs again
    std::vector<Expr> wrt;
    for (size_t i : moved) wrt.push_back(body.inputs[i]);
    tangents[side] = a.differentiate(body.outputs, wrt, inside);
    values[side] = body.outputs;
  }
  return branch_of_derivatives(a.node, std::move(given), std::move(inside), tangents, values);
}

// On one condition the branch stays, of bodies for all iterations. On conditions of their own each iteration keeps its
// branch: of both sides for all, the one that is not taken could end the call, or give its derivative a NaN.
bool is_one_branch(const Node& node, const std::vector<bool>& varies) {
  return !varies[0] && node.bodies[0]->effects.empty() && node.bodies[1]->effects.empty();
}

std::vector<Expr> branch_of_iterations(const Node& node, const Dim& iterations, std::span<const Expr> inputs,
                                       const std::vector<bool>& varies) {
  const std::span<const Expr> captures = inputs.subspan(1);
  const std::vector<bool> varying(varies.begin() + 1, varies.end());
  std::vector<Type> types;
  for (const Expr& capture : captures) types.push_back(capture.type());
  return make_if_else(inputs[0], body_of_iterations(*node.bodies[0], iterations, types, varying),
                      body_of_iterations(*node.bodies[1], iterations, types, varying),
                      {captures.begin(), captures.end()});
}

constexpr IterationsRule kBranchOfIterations{
    .applies = is_one_branch, .outputs = branch_of_iterations, .may_fail = true};

ConnectionTable connections_of_branch(const Node& node) {
  ConnectionTable out{std::vector<bool>(node.types.size())};  // the condition's
  const ConnectionTable then = connections_of(*node.bodies[0]), otherwise = connections_of(*node.bodies[1]);
  for (size_t i = 0; i < then.size(); ++i) {
    out.push_back(then[i]);
    for (size_t o = 0; o < then[i].size(); ++o)
      if (otherwise[i][o]) out.back()[o] = true;
  }
  return out;
}

std::vector<OpCase> cases_if_else() {
  const Type vector{.dtype = DType::kFloat64, .dims = {3}};
  auto build = [](bool holds) {
    return [holds](const std::vector<Expr>& x) {
      Expr condition = holds ? lt(sum(sqr(x[0])), 1e6) : gt(sum(sqr(x[0])), 1e6);
      return if_else(
          condition,
          [&] {
            return std::vector<Expr>{tanh(x[0] * x[1]), x[0]};
          },
          [&] {
            return std::vector<Expr>{sqr(x[1]), x[0] - x[1]};
          });
    };
  };
  return {{.name = "then", .inputs = {vector, vector}, .build = build(true), .bound = 64},
          {.name = "otherwise", .inputs = {vector, vector}, .build = build(false), .bound = 64}};
}

}  // namespace

const Op& if_else_op() {
  static const Op op{
      .name = "if_else",
      .doc =
          "The outputs of the first body where the condition holds, else those of the second; only that body runs.\n"
          "Shapes: the condition [], then the captures that both bodies take.\n"
          "dtypes: the condition bool, the others any.\n"
          "Gradient: a branch on the same condition.\n"
          "Edge cases: an error of the other body does not happen.",
      .infer = infer_if_else,
      .reference = [](const ReferenceArgs& a) { return a.run_body(taken(a.node, a.inputs[0]), a.inputs.subspan(1)); },
      .error =
          [](const ErrorArgs& a) {
            if (a.errors[0].as_double() != 0) return unknown_errors(a);  // the other side may have been taken
            return a.run_body(taken(a.node, a.inputs[0]), a.inputs.subspan(1), a.errors.subspan(1)).second;
          },
      .gradient = gradient_if_else,
      .jvp = jvp,
      .lower_region = lower_if_else,
      .iterations = &kBranchOfIterations,
      .overwrites = overwrites,
      .foldable = false,
      .connection = ConnectionsOfBodies{connections_of_branch},
      .cases = cases_if_else,
  };
  return op;
}

std::vector<Expr> make_if_else(const Expr& condition, GraphPtr then, GraphPtr otherwise, std::vector<Expr> captures,
                               const std::source_location& where) {
  captures.insert(captures.begin(), condition);
  const std::shared_ptr<const Node> node =
      make_node(if_else_op(), std::move(captures), {}, {std::move(then), std::move(otherwise)}, where);
  std::vector<Expr> out;
  for (size_t o = 0; o < node->types.size(); ++o) out.emplace_back(node, o);
  return out;
}

namespace {

// Brings what two sides give to one type, value by value.
class Sides {
 public:
  Sides(const Expr& condition, std::array<Body, 2>& bodies, const std::source_location& where)
      : condition_(condition), then_(bodies[0].graph->outputs), otherwise_(bodies[1].graph->outputs), where_(where) {
    lengths_.resize(std::min(then_.size(), otherwise_.size()));
    for (size_t o = 0; o < lengths_.size(); ++o) {
      const std::optional<DType> dtype = promote(then_[o].dtype(), otherwise_[o].dtype());
      for (Expr* value : {&then_[o], &otherwise_[o]})
        if (dtype && value->dtype() != *dtype) *value = cast(*value, *dtype);
      if (then_[o].rank() == otherwise_[o].rank()) unite_lengths(o);
      otherwise_[o] = typed_as(otherwise_[o], then_[o].type(), str("if_else: value ", o), where_);
    }
  }

  /// The values of the branch without what was added to them.
  void cut(std::vector<Expr>& values) const {
    for (size_t o = 0; o < lengths_.size(); ++o)
      for (const auto& [axis, length] : lengths_[o]) values[o] = slice_of_axis({values[o], where_}, axis, 0, length);
  }

 private:
  // Lengths that only a call knows are equal unless that is impossible, or the data decides one of them.
  static bool differ(const Dim& a, const Dim& b) {
    if (a == b) return false;
    return is_data_dependent(a) || is_data_dependent(b) || a.is_at_least(b + 1) || b.is_at_least(a + 1);
  }

  // Both values get zeros at the end, up to the longer one.
  void unite_lengths(size_t o) {
    const Dims then = then_[o].dims(), otherwise = otherwise_[o].dims();
    for (size_t axis = 0; axis < then.size(); ++axis) {
      if (!differ(then[axis], otherwise[axis])) continue;
      const Dim longer = max(then[axis], otherwise[axis]);
      for (Expr* value : {&then_[o], &otherwise_[o]}) {
        Dims missing = value->dims();
        missing[axis] = longer - missing[axis];
        if (!missing[axis].is(0)) *value = join(static_cast<int64_t>(axis), {*value, zeros(missing, value->dtype())});
      }
      lengths_[o].emplace_back(static_cast<int64_t>(axis), chosen(then[axis], otherwise[axis]));
    }
  }

  // The length of the side that is taken: one for each pair.
  Dim chosen(const Dim& then, const Dim& otherwise) {
    for (const Chosen& known : chosen_)
      if (known.then == then && known.otherwise == otherwise) return known.length;
    auto number = [](const Dim& d) { return length(zeros({d}, DType::kBool), 0); };
    const Expr n = named(switch_(condition_, number(then), number(otherwise)), "if_else");
    chosen_.push_back({then, otherwise, defined_length(define_length(n, n, max(then, otherwise), where_))});
    return chosen_.back().length;
  }

  struct Chosen {
    Dim then, otherwise, length;
  };
  const Expr condition_;
  std::vector<Expr>&then_, &otherwise_;
  const std::source_location& where_;
  std::vector<std::vector<std::pair<int64_t, Dim>>> lengths_;  // of each value: axes, and what is left of them
  std::vector<Chosen> chosen_;
};

}  // namespace

std::vector<Expr> if_else(const Operand& condition, const std::function<std::vector<Expr>()>& then,
                          const std::function<std::vector<Expr>()>& otherwise, std::source_location where) {
  const Expr decides = require_value(condition.expr(), "if_else: the condition", where);
  std::array<Body, 2> bodies{make_body({}, then, where), make_body({}, otherwise, where)};
  const Sides sides(decides, bodies, where);
  std::vector<Expr> captures = share_captures(bodies);
  std::vector<Expr> out = make_if_else(decides, bodies[0].graph, bodies[1].graph, std::move(captures), where);
  sides.cut(out);
  return out;
}

Expr if_else(const Operand& condition, const std::function<Expr()>& then, const std::function<Expr()>& otherwise,
             std::source_location where) {
  auto one = [](const std::function<Expr()>& side) { return [&side] { return std::vector<Expr>{side()}; }; };
  return if_else(condition, std::function<std::vector<Expr>()>(one(then)),
                 std::function<std::vector<Expr>()>(one(otherwise)), where)[0];
}

}  // namespace thtrain

#include "compiler/ops/bounded.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>
#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/effects.h"
#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/scalar_error.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

bool is_continuous(DType dtype) {
  return is_float(dtype) || is_complex(dtype);
}

bool is_known(const Tensor& error) {
  return all_zero(error);
}

// Roundings that an op without a rule is granted.
constexpr double kRoundings = 8;

// An op without a rule: its inputs moved within their errors, in a few directions drawn anew for every element.
std::vector<Tensor> perturbed(const ErrorArgs& args) {
  constexpr int kDirections = 6;
  constexpr double kSafety = 8;
  std::vector<Tensor> out;
  for (size_t o = 0; o < args.outputs.size(); ++o) out.push_back(args.make_error(o));
  bool can_move = !args.node.op->has_effect;
  for (size_t i = 0; i < args.inputs.size(); ++i)
    can_move = can_move && (is_float(args.inputs[i].dtype()) || is_known(args.errors[i]));
  std::mt19937_64 random(20250117);
  for (int direction = 0; can_move && direction < kDirections; ++direction) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      inputs.push_back(args.inputs[i].copy());
      visit(inputs[i].dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>)
          for (int64_t k = 0; k < inputs[i].size(); ++k) {
            T& x = inputs[i].data<T>()[k];
            const double e = args.errors[i].data<double>()[k];
            const double step = std::max(e, std::abs(static_cast<double>(x)) * std::numeric_limits<T>::epsilon());
            if (e > 0) x = static_cast<T>(static_cast<double>(x) + (random() & 1 ? step : -step));
          }
      });
    }
    const std::vector<Tensor> moved = args.evaluate(args.node, inputs);
    for (size_t o = 0; o < out.size(); ++o)
      for (int64_t k = 0; k < out[o].size(); ++k) {
        double& error = out[o].data<double>()[k];
        const double distance = std::abs(moved[o].as_double(k) - args.outputs[o].as_double(k));
        error = std::isnan(distance) ? kUnknownError : std::max(error, kSafety * distance);
      }
  }
  for (Tensor& error : out)
    if (!can_move) std::fill_n(error.data<double>(), error.size(), kUnknownError);
  return out;
}

std::vector<Tensor> without_rule(const ErrorArgs& args) {
  std::vector<Tensor> out;
  if (std::all_of(args.errors.begin(), args.errors.end(), is_known))
    for (size_t o = 0; o < args.outputs.size(); ++o) out.push_back(args.make_error(o));
  else
    out = perturbed(args);
  if (args.inputs.empty()) return out;
  for (size_t o = 0; o < out.size(); ++o) {
    if (!is_continuous(args.outputs[o].dtype())) continue;
    const FloatLimits limits = float_limits(args.outputs[o].dtype());
    const Tensor size = magnitudes(args.outputs[o]);
    for (int64_t k = 0; k < out[o].size(); ++k) {
      const double x = size.data<double>()[k];
      out[o].data<double>()[k] += kRoundings * (limits.unit * (std::isinf(x) ? NAN : x) + limits.tiny);
    }
  }
  return out;
}

bool are_exact_with_infinity(std::span<const Bounded> inputs) {
  bool has_infinity = false;
  for (const Bounded& input : inputs) {
    if (!is_known(input.error)) return false;
    has_infinity = has_infinity || !all_finite(input.value);
  }
  return has_infinity;
}

// What an element that is no finite number says, where the op's rule did not: its error is NaN.
void bound_infinities(const Node& node, std::span<const Bounded> inputs, Infinities infinities, Bounded& out) {
  const DType dtype = out.value.dtype();
  double* error = out.error.data<double>();
  const int64_t count = out.error.size();
  if (!is_continuous(dtype)) {
    for (int64_t k = 0; k < count; ++k)
      if (!(error[k] == 0)) error[k] = kUnknownError;
    return;
  }
  if (all_finite(out.value)) {
    std::replace_if(
        error, error + count, [](double e) { return std::isnan(e); }, kUnknownError);
    return;
  }
  const Tensor sizes = magnitudes(out.value);
  const double* size = sizes.data<double>();
  const bool tells = node.op->scalar != nullptr || node.inputs.empty();
  std::optional<bool> is_from_infinity;  // known infinities went in
  for (int64_t k = 0; k < count; ++k) {
    const bool is_finite = std::isfinite(size[k]);
    if (!tells && !is_finite && std::isnan(error[k]) && infinities == Infinities::kSame) {
      if (!is_from_infinity) is_from_infinity = are_exact_with_infinity(inputs);
      error[k] = *is_from_infinity ? 0 : kUnknownError;
    }
    if (std::isnan(error[k]) || (!is_finite && infinities == Infinities::kUnknown)) error[k] = kUnknownError;
  }
}

std::vector<Bounded> of_body(const Graph& body, std::span<const Bounded> inputs, const Lengths& lengths,
                             Infinities infinities) {
  Lengths inner = lengths;
  for (size_t i = 0; i < body.inputs.size(); ++i) inner.bind(body.inputs[i], inputs[i].value);
  BoundedEvaluator evaluator({}, inner, infinities);
  for (size_t i = 0; i < body.inputs.size(); ++i) evaluator.set(body.inputs[i], inputs[i]);
  evaluator.expect(body.outputs);
  std::vector<Bounded> out;
  for (const Expr& effect : body.effects)
    if (effect.node().op->defines) evaluator(effect);
  for (const Expr& output : body.outputs) out.push_back(evaluator(output));
  return out;
}

// By the reference of the op, and by its error rule.
std::vector<Bounded> by_rules(const Node& node, std::span<const Bounded> inputs, const Lengths& lengths,
                              Infinities infinities, std::vector<bool> read) {
  if (!read.empty()) read.resize(node.types.size());  // without its effects it may have a token less
  std::vector<Tensor> values, errors;
  for (const Bounded& input : inputs) values.push_back(input.value), errors.push_back(input.error);
  const std::vector<Tensor> outputs = evaluate_node(node, values, lengths, read);
  const std::function evaluate = [&](const Node& other, std::span<const Tensor> given) {
    return evaluate_node(other, given, lengths);
  };
  const std::function run_body = [&](const Graph& body, std::span<const Tensor> given, std::span<const Tensor> moved) {
    std::vector<Bounded> bound;
    for (size_t i = 0; i < given.size(); ++i) bound.push_back({given[i], moved[i]});
    std::pair<std::vector<Tensor>, std::vector<Tensor>> out;
    for (Bounded& b : of_body(body, bound, lengths, infinities))
      out.first.push_back(std::move(b.value)), out.second.push_back(std::move(b.error));
    return out;
  };
  const std::function<int64_t(const std::string&)> length_of = [&](const std::string& name) { return lengths(name); };
  const ErrorArgs args{node, values, errors, outputs, evaluate, run_body, length_of};
  const bool is_exact = std::all_of(errors.begin(), errors.end(), is_known);
  bool rounds = false;
  for (const Type& type : node.types) rounds = rounds || is_continuous(type.dtype);
  std::vector<Tensor> found;
  if (!rounds && is_exact)
    for (size_t o = 0; o < outputs.size(); ++o) found.push_back(args.make_error(o));
  else
    found = node.op->error    ? node.op->error(args)
            : node.op->scalar ? elementwise_error(args, infinities)
                              : without_rule(args);
  TH_CHECK(found.size() == outputs.size(), "the error rule of ", node.op->name, " gives ", found.size(), " errors");
  std::vector<Bounded> out;
  for (size_t o = 0; o < outputs.size(); ++o) {
    out.push_back({outputs[o].contiguous(), found[o].contiguous()});
    if (node.types[o].kind == TypeKind::kTensor) bound_infinities(node, inputs, infinities, out[o]);
  }
  return out;
}

}  // namespace

Bounded exactly(const Tensor& value) {
  return {value.contiguous(), Tensor::zeros(DType::kFloat64, value.shape())};
}

std::vector<Bounded> bounded_node(const Node& node, std::span<const Bounded> inputs, const Lengths& lengths,
                                  Infinities infinities, const std::vector<bool>& read) {
  // The values come with the errors: nothing is computed twice.
  if (node.op->fused) return of_body(*node.bodies[0], inputs, lengths, infinities);
  if (!has_effect(node)) return by_rules(node, inputs, lengths, infinities, read);
  // The effect takes place in the program: what is computed to check it is the value alone.
  if (!node.op->has_effect)
    return by_rules(without_effect(node, node.inputs)[0].node(), inputs, lengths, infinities, read);
  if (!node.op->without_effect) return by_rules(node, inputs, lengths, infinities, read);
  std::vector<Expr> leaves;
  BoundedEvaluator evaluator({}, lengths, infinities);
  for (size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(make_input(node.inputs[i].type(), node.inputs[i].name()));
    evaluator.set(leaves.back(), inputs[i]);
  }
  std::vector<Bounded> out;
  for (const Expr& output : without_effect(node, leaves)) out.push_back(evaluator(output));
  return out;
}

BoundedEvaluator::BoundedEvaluator(std::span<const std::pair<Expr, Tensor>> inputs, Lengths lengths,
                                   Infinities infinities)
    : lengths_(std::move(lengths)), infinities_(infinities) {
  for (const auto& [leaf, value] : inputs) set(leaf, exactly(value));
}

void BoundedEvaluator::set(const Expr& leaf, Bounded value) {
  if (infinities_ == Infinities::kUnknown && is_continuous(value.value.dtype()) && !all_finite(value.value)) {
    const Tensor size = magnitudes(value.value);
    value.error = value.error.copy();
    for (int64_t k = 0; k < size.size(); ++k)
      if (!std::isfinite(size.data<double>()[k])) value.error.data<double>()[k] = kUnknownError;
  }
  held_.push_back(leaf);
  known_[&leaf.node()] = {std::move(value)};
}

void BoundedEvaluator::expect(std::span<const Expr> values) {
  std::vector<const Node*> stack;
  std::unordered_set<const Node*> seen;
  auto note = [&](const Expr& value) {
    const Node& node = value.node();
    if (node.op->lower_region) {
      std::vector<bool>& read = read_[&node];
      read.resize(node.types.size());
      if (!read[value.output()]) known_.erase(&node);
      read[value.output()] = true;
    }
    if (!known_.count(&node) && seen.insert(&node).second) stack.push_back(&node);
  };
  for (const Expr& value : values) note(value);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Expr& input : node->inputs) note(input);
  }
}

const Bounded& BoundedEvaluator::operator()(const Expr& value) {
  expect({&value, 1});
  std::vector<const Node*> stack{&value.node()};
  held_.push_back(value);
  while (!stack.empty()) {
    const Node* node = stack.back();
    if (known_.count(node)) {
      stack.pop_back();
      continue;
    }
    if (node->op == &shared_op()) {
      set((*node)[0], exactly(node->shared->value.on_host()));
      continue;
    }
    if (node->op == &input_op())
      throw UserError({.what = str("the input ", node->name, " has no value"), .node = node->origin.text()});
    bool is_ready = true;
    for (const Expr& input : node->inputs)
      if (!known_.count(&input.node())) {
        stack.push_back(&input.node());
        is_ready = false;
      }
    if (!is_ready) continue;
    std::vector<Bounded> arguments;
    for (const Expr& input : node->inputs) arguments.push_back(known_.at(&input.node())[input.output()]);
    auto read = read_.find(node);
    known_[node] =
        bounded_node(*node, arguments, lengths_, infinities_, read == read_.end() ? std::vector<bool>() : read->second);
    if (node->op->defines)
      for (const DefinedLength& length : node->op->defines(*node))
        lengths_.set(length.name, known_[node][length.output].value.as_int());
    stack.pop_back();
  }
  return known_.at(&value.node())[value.output()];
}

Bounded evaluate_bounded(const Expr& output, std::span<const std::pair<Expr, Tensor>> inputs, Infinities infinities) {
  Lengths lengths;
  for (const auto& [input, value] : inputs) lengths.bind_names(input, value);
  for (const Expr& leaf : leaves_of(std::vector{output}))
    if (is_shared(leaf)) lengths.bind(leaf, leaf.node().shared->value);
  for (const auto& [input, value] : inputs) lengths.check(input, value);
  BoundedEvaluator evaluator(inputs, std::move(lengths), infinities);
  for (const Expr& length : definitions_of({output})) evaluator(length);
  return evaluator(output);
}

namespace {

template <class T>
bool is_finite(T x) {
  if constexpr (is_complex_v<T>)
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  else
    return std::isfinite(static_cast<double>(x));
}

template <class T>
bool same_or_within(T a, T b, double bound) {
  if constexpr (is_complex_v<T>) {
    using Part = typename T::value_type;
    if (same_or_within<Part>(a.real(), b.real(), 0) && same_or_within<Part>(a.imag(), b.imag(), 0)) return true;
    return static_cast<double>(std::abs(a - b)) <= bound;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return true;
    if (!std::isfinite(a) || !std::isfinite(b)) return false;
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= bound;
  } else {
    return a == b;
  }
}

std::string short_number(double x) {
  std::ostringstream out;
  out.precision(2);
  out << x;
  return out.str();
}

}  // namespace

std::optional<std::string> beyond_bounds(const Bounded& got, const Bounded& expected, bool range_may_grow) {
  if (got.value.dtype() != expected.value.dtype() || got.value.shape() != expected.value.shape())
    return str(got.value.type_text(), ", expected ", expected.value.type_text());
  const Tensor a = got.value.contiguous(), b = expected.value.contiguous();
  const double *error_a = got.error.data<double>(), *error_b = expected.error.data<double>();
  return visit(a.dtype(), [&](auto zero) -> std::optional<std::string> {
    using T = decltype(zero);
    for (int64_t i = 0; i < a.size(); ++i) {
      if (std::isinf(error_b[i]) || (range_may_grow && !is_finite(b.data<T>()[i]))) continue;
      if (std::isinf(error_a[i]) && (!range_may_grow || is_finite(a.data<T>()[i]))) continue;
      const double bound = error_a[i] + error_b[i];
      if (same_or_within<T>(a.data<T>()[i], b.data<T>()[i], bound)) continue;
      Shape index(a.rank());
      int64_t rest = i;
      for (size_t k = a.rank(); k-- > 0;) {
        index[k] = rest % a.shape()[k];
        rest /= a.shape()[k];
      }
      auto element = [&](const Tensor& t) { return t.reshape({t.size()}).rows(i, 1).reshape({}).text(); };
      std::string out = str(shape_text(index), ": ", element(a), ", expected ", element(b));
      if (std::isfinite(bound) && bound > 0) out += ", bound " + short_number(bound);
      return out;
    }
    return std::nullopt;
  });
}

}  // namespace thtrain

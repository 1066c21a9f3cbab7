#include "tests/support/error_bound.h"

#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Precision {
  double unit, tiny, largest;  // half a step at 1, the smallest number, the largest
};
Precision precision_of(DType dtype) {
  if (dtype == DType::kFloat32) return {0x1p-24, 0x1p-149, 3.4e38};
  return {0x1p-53, 0x1p-1074, 1.79e308};
}

// One element: inputs x with errors e, output y. Gives the error that the inputs' errors become.
using Spread = std::function<double(std::span<const double> x, std::span<const double> e, double y)>;

// |f(x + e) - f(x)| for a function whose relative change is that of x over its distance from `pole`.
double relative(double x, double e, double pole) {
  double distance = std::abs(x - pole);
  return e == 0 ? 0 : e < distance ? e / (distance - e) : kInfinity;
}

const std::unordered_map<std::string, Spread>& spreads() {
  using S = std::span<const double>;
  static const Spread same = [](S, S e, double) { return e[0]; };
  static const Spread steps = [](S, S e, double) { return e[0] == 0 ? 0 : e[0] + 1; };
  static const Spread larger = [](S, S e, double) { return std::max(e[0], e[1]); };
  static const std::unordered_map<std::string, Spread> table{
      {"add", [](S, S e, double) { return e[0] + e[1]; }},
      {"sub", [](S, S e, double) { return e[0] + e[1]; }},
      {"neg", same},
      {"abs", same},
      {"cast", same},
      {"mul",
       [](S x, S e, double) {
         double out = e[0] * e[1];
         if (e[1] > 0) out += std::abs(x[0]) * e[1];
         if (e[0] > 0) out += std::abs(x[1]) * e[0];
         return out;
       }},
      {"true_div",
       [](S x, S e, double y) {
         if (e[0] == 0 && e[1] == 0) return 0.0;
         if (std::abs(x[1]) <= e[1]) return kInfinity;
         return (e[0] + (e[1] > 0 ? std::abs(y) * e[1] : 0)) / (std::abs(x[1]) - e[1]);
       }},
      {"sqr", [](S x, S e, double) { return e[0] > 0 ? 2 * std::abs(x[0]) * e[0] + e[0] * e[0] : 0; }},
      {"sqrt", [](S x, S e, double) { return x[0] > e[0] ? e[0] / std::sqrt(x[0] - e[0]) : std::sqrt(e[0]); }},
      {"reciprocal", [](S x, S e, double y) { return std::abs(y) * relative(x[0], e[0], 0); }},
      {"exp", [](S, S e, double y) { return e[0] > 0 ? y * std::expm1(e[0]) : 0; }},
      {"expm1", [](S, S e, double y) { return e[0] > 0 ? (y + 1) * std::expm1(e[0]) : 0; }},
      {"log", [](S x, S e, double) { return relative(x[0], e[0], 0); }},
      {"log1p", [](S x, S e, double) { return relative(x[0], e[0], -1); }},
      {"pow",
       [](S x, S e, double y) {
         if (e[0] == 0 && e[1] == 0) return 0.0;
         return e[1] > 0 ? kInfinity : std::abs(y) * std::expm1(std::abs(x[1]) * relative(x[0], e[0], 0));
       }},
      {"sigmoid", [](S, S e, double y) { return std::min(e[0] / 4, y * std::expm1(std::min(e[0], 100.0))); }},
      {"exp2", [](S, S e, double y) { return e[0] > 0 ? y * std::expm1(e[0]) : 0; }},
      {"log2", [](S x, S e, double) { return 1.5 * relative(x[0], e[0], 0); }},
      {"sinh", [](S x, S e, double) { return e[0] > 0 ? e[0] * std::cosh(std::abs(x[0]) + e[0]) : 0; }},
      {"cosh", [](S x, S e, double) { return e[0] > 0 ? e[0] * std::cosh(std::abs(x[0]) + e[0]) : 0; }},
      {"arcsinh", same},
      {"arctanh",
       [](S x, S e, double) {
         const double farthest = std::abs(x[0]) + e[0];
         return e[0] == 0 ? 0 : farthest < 1 ? e[0] / (1 - farthest * farthest) : kInfinity;
       }},
      {"floor", steps},
      {"ceil", steps},
      {"softplus", same},
      {"tanh", same},
      {"erf", [](S, S e, double) { return 1.13 * e[0]; }},
      {"erfc", [](S x, S e, double) { return 1.13 * e[0] * std::exp(-std::pow(std::max(0.0, x[0] - e[0]), 2)); }},
      {"sign", [](S x, S e, double) { return std::abs(x[0]) > e[0] || e[0] == 0 ? 0 : 1; }},
      {"maximum", larger},
      {"minimum", larger},
      {"switch", [](S x, S e, double) { return x[0] != 0 ? e[1] : e[2]; }},
  };
  return table;
}

// Roundings of the result itself, in units of the last place. The references call the C library.
double roundings(const std::string& op) {
  static const std::unordered_map<std::string, double> table{
      {"neg", 0},  {"floor", 0},   {"ceil", 0},    {"abs", 0},     {"switch", 0},   {"maximum", 0}, {"minimum", 0},
      {"sign", 0}, {"exp", 2},     {"expm1", 3},   {"log", 2},     {"exp2", 2},     {"log2", 2},    {"sinh", 3},
      {"cosh", 3}, {"arcsinh", 3}, {"arctanh", 3}, {"max", 0},     {"min", 0},      {"log1p", 3},   {"pow", 2},
      {"tanh", 3}, {"erf", 3},     {"erfc", 6},    {"sigmoid", 6}, {"softplus", 6}, {"softmax", 4}, {"log_softmax", 4}};
  auto at = table.find(op);
  return at == table.end() ? 0.5 : at->second;
}

bool moves_elements(const std::string& op) {
  for (const char* name : {"dimshuffle", "reshape", "broadcast_to", "join", "subtensor", "take", "pick_rows",
                           "inc_picked", "inc_take", "inc_subtensor", "sum", "max", "min"})
    if (op == name) return true;
  return false;
}

class Evaluator {
 public:
  Evaluator(std::span<const std::pair<Expr, Tensor>> inputs, Infinities infinities) : infinities_(infinities) {
    for (const auto& [leaf, value] : inputs) {
      lengths_.bind(leaf, value);
      Tensor error = Tensor::zeros(DType::kFloat64, value.shape());
      Bounded& known = known_[&leaf.node()] = {value.contiguous(), error};
      if (infinities_ == Infinities::kUnknown) taint(known);
    }
  }

  Bounded run(const Expr& output) {
    for (const Node* node : topological_order(std::vector{output}))
      if (!known_.count(node)) known_[node] = computed(*node);
    return known_.at(&output.node());
  }

 private:
  // Nothing is known of what is not finite.
  static void taint(Bounded& bounded) {
    if (!is_float(bounded.value.dtype())) return;
    for (int64_t i = 0; i < bounded.value.size(); ++i)
      if (!std::isfinite(bounded.value.as_double(i))) bounded.error.data<double>()[i] = kInfinity;
  }

  Bounded computed(const Node& node) {
    TH_CHECK(node.types.size() == 1, "an op of several outputs: ", node.op->name);
    std::vector<Tensor> values, errors;
    for (const Expr& input : node.inputs) {
      values.push_back(known_.at(&input.node()).value);
      errors.push_back(known_.at(&input.node()).error);
    }
    Bounded out;
    out.value = evaluate_node(node, values, lengths_)[0];
    out.error = Tensor::zeros(DType::kFloat64, out.value.shape());
    if (!is_float(out.value.dtype()) || node.inputs.empty()) return out;
    const std::string& name = node.op->name;
    if (auto at = spreads().find(name); at != spreads().end())
      elementwise(at->second, values, errors, out);
    else if (moves_elements(name))
      out.error = moved(node, errors);
    else if (name == "prod")
      out.error = prod_error(node, values[0], errors[0]);
    else if (name == "dot")
      out.error = dot_error(node, values, errors);
    else if (name == "softmax" || name == "log_softmax")
      slices(node, errors[0], out, name == "softmax");
    else
      TH_CHECK(false, "no error bound is known for ", name);
    round(name, out);
    for (int64_t i = 0; i < out.error.size(); ++i)
      if (std::isnan(out.error.data<double>()[i])) out.error.data<double>()[i] = kInfinity;
    if (infinities_ == Infinities::kUnknown) taint(out);
    return out;
  }

  void elementwise(const Spread& spread, const std::vector<Tensor>& values, const std::vector<Tensor>& errors,
                   Bounded& out) const {
    const Precision precision = precision_of(out.value.dtype());
    const Shape& shape = out.value.shape();
    std::vector<double> x(values.size()), e(values.size());
    int64_t i = 0;
    for_each_index(shape, [&](const Shape& at) {
      bool exact = true, overflowed = false;
      for (size_t k = 0; k < values.size(); ++k) {
        int64_t from = 0;
        size_t lead = shape.size() - values[k].rank();
        for (size_t axis = 0; axis < values[k].rank(); ++axis)
          from = from * values[k].dim(axis) + (values[k].dim(axis) == 1 ? 0 : at[lead + axis]);
        x[k] = values[k].as_double(from);
        e[k] = errors[k].data<double>()[from];
        exact = exact && e[k] == 0;
        overflowed = overflowed || (k == 1 && std::isinf(x[k]) && std::isinf(e[k]));
      }
      const double y = out.value.as_double(i);
      double& error = out.error.data<double>()[i++];
      // 1 / (a number too large to hold) is 0, and nearly right.
      if (infinities_ != Infinities::kUnknown && overflowed && y == 0 && std::isfinite(e[0]))
        error = (std::abs(x[0]) + e[0]) / precision.largest;
      else
        error = spread(x, e, y);
      // What finite numbers overflow to is a number of any size.
      bool finite = true;
      for (double part : x) finite = finite && std::isfinite(part);
      if (std::isinf(y) && (finite || !exact)) error = kInfinity;
    });
  }

  // The same op on the errors: it moves or adds them.
  Tensor moved(const Node& node, const std::vector<Tensor>& errors) const {
    std::vector<Expr> leaves;
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < errors.size(); ++i) {
      const Expr& input = node.inputs[i];
      const bool is_index = !is_float(input.dtype());
      leaves.push_back(make_input({.dtype = is_index ? input.dtype() : DType::kFloat64, .dims = input.dims()}, "e"));
      bound.emplace_back(leaves.back(), is_index ? known_.at(&input.node()).value : errors[i]);
    }
    return evaluate({Expr(make_node(*node.op, leaves, node.props))}, bound)[0].contiguous();
  }

  // The product of |x| + e, less that of |x|, and a rounding for each factor.
  static Tensor prod_error(const Node& node, const Tensor& value, const Tensor& error) {
    const Expr leaf = make_input({.dtype = DType::kFloat64, .dims = node.inputs[0].dims()}, "e");
    Tensor magnitude = value.cast(DType::kFloat64).copy(), widened = magnitude.copy();
    for (int64_t i = 0; i < magnitude.size(); ++i) {
      double& x = magnitude.data<double>()[i];
      x = std::abs(x);
      widened.data<double>()[i] = x + error.data<double>()[i];
    }
    const double unit = precision_of(node.types[0].dtype).unit * static_cast<double>(value.size() + 1);
    const Expr product(make_node(*node.op, {leaf}, node.props));
    Tensor exact = evaluate({product}, {{leaf, magnitude}})[0].contiguous();
    Tensor out = evaluate({product}, {{leaf, widened}})[0].copy();
    for (int64_t i = 0; i < out.size(); ++i)
      out.data<double>()[i] = out.data<double>()[i] * (1 + unit) - exact.data<double>()[i];
    return out;
  }

  // |a| e_b + e_a |b| + e_a e_b + length u |a| |b|
  static Tensor dot_error(const Node& node, const std::vector<Tensor>& values, const std::vector<Tensor>& errors) {
    std::vector<Expr> leaves;
    std::vector<Tensor> magnitudes, widened;
    for (size_t i = 0; i < 2; ++i) {
      leaves.push_back(make_input({.dtype = DType::kFloat64, .dims = node.inputs[i].dims()}, "e"));
      magnitudes.push_back(values[i].cast(DType::kFloat64).copy());
      for (int64_t k = 0; k < magnitudes[i].size(); ++k)
        magnitudes[i].data<double>()[k] = std::abs(magnitudes[i].data<double>()[k]);
      widened.push_back(magnitudes[i].copy());
      for (int64_t k = 0; k < widened[i].size(); ++k) widened[i].data<double>()[k] += errors[i].data<double>()[k];
    }
    const double unit = precision_of(node.types[0].dtype).unit * static_cast<double>(values[1].dim(0) + 1);
    const Expr product(make_node(*node.op, leaves, node.props));
    Tensor exact = evaluate({product}, {{leaves[0], magnitudes[0]}, {leaves[1], magnitudes[1]}})[0].contiguous();
    Tensor out = evaluate({product}, {{leaves[0], widened[0]}, {leaves[1], widened[1]}})[0].copy();
    for (int64_t k = 0; k < out.size(); ++k)
      out.data<double>()[k] = out.data<double>()[k] * (1 + unit) - exact.data<double>()[k];
    return out;
  }

  // softmax: y exp(2 e) at most, with e the largest error of the slice; the logarithm: 2 e.
  void slices(const Node& node, const Tensor& error, Bounded& out, bool is_softmax) const {
    double worst = 0;
    for (int64_t i = 0; i < error.size(); ++i) worst = std::max(worst, error.data<double>()[i]);
    TH_CHECK(node.inputs.size() == 1, "softmax of one input");
    for (int64_t i = 0; i < out.value.size(); ++i)
      out.error.data<double>()[i] = is_softmax ? out.value.as_double(i) * std::expm1(2 * worst) : 2 * worst;
  }

  static void round(const std::string& name, Bounded& out) {
    const Precision precision = precision_of(out.value.dtype());
    const double count = roundings(name);
    if (count == 0) return;
    for (int64_t i = 0; i < out.value.size(); ++i) {
      const double value = std::abs(out.value.as_double(i));
      double& error = out.error.data<double>()[i];
      // The definition of the sigmoid ends at 1 / (the largest number).
      if (name == "sigmoid") error += 1 / precision.largest;
      if (std::isfinite(value))
        error = error * (1 + 4 * precision.unit) + count * 2 * precision.unit * value + precision.tiny;
    }
  }

  Infinities infinities_;
  Lengths lengths_;
  std::unordered_map<const Node*, Bounded> known_;
};

}  // namespace

Bounded evaluate_bounded(const Expr& output, std::span<const std::pair<Expr, Tensor>> inputs, Infinities infinities) {
  return Evaluator(inputs, infinities).run(output);
}

std::string first_beyond_bounds(const Bounded& a, const Bounded& b, bool both) {
  for (int64_t i = 0; i < a.value.size(); ++i) {
    const double x = a.value.as_double(i), y = b.value.as_double(i);
    const double error_x = a.error.data<double>()[i], error_y = b.error.data<double>()[i];
    if (!std::isfinite(x) || std::isinf(error_x) || (both && std::isinf(error_y))) continue;
    if (std::isfinite(y) && std::abs(x - y) <= error_x + error_y) continue;
    return str("element ", i, ": ", x, " and ", y, " differ by more than ", error_x, " + ", error_y);
  }
  return {};
}

}  // namespace thtrain

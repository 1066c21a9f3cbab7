#include "tests/fuzz/wide_evaluator.h"

#include <functional>
#include <string>
#include <unordered_map>

#include "compiler/ir/op.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

Wide logistic(const Wide& x) {
  return Wide(1) / (Wide(1) + (Wide(0) - x).by(mpfr_exp));
}

const std::unordered_map<std::string, std::function<Wide(const Wide&)>>& unary_functions() {
  static const std::unordered_map<std::string, std::function<Wide(const Wide&)>> table{
      {"neg", [](const Wide& x) { return x.by(mpfr_neg); }},
      {"abs", [](const Wide& x) { return x.by(mpfr_abs); }},
      {"sqr", [](const Wide& x) { return x.by(mpfr_sqr); }},
      {"sqrt", [](const Wide& x) { return x.by(mpfr_sqrt); }},
      {"exp", [](const Wide& x) { return x.by(mpfr_exp); }},
      {"log", [](const Wide& x) { return x.by(mpfr_log); }},
      {"log1p", [](const Wide& x) { return x.by(mpfr_log1p); }},
      {"expm1", [](const Wide& x) { return x.by(mpfr_expm1); }},
      {"tanh", [](const Wide& x) { return x.by(mpfr_tanh); }},
      {"sinh", [](const Wide& x) { return x.by(mpfr_sinh); }},
      {"cosh", [](const Wide& x) { return x.by(mpfr_cosh); }},
      {"erf", [](const Wide& x) { return x.by(mpfr_erf); }},
      {"erfc", [](const Wide& x) { return x.by(mpfr_erfc); }},
      {"reciprocal", [](const Wide& x) { return Wide(1) / x; }},
      {"sign", [](const Wide& x) { return x.is_nan() ? x
                                                     : Wide(x.sign() > 0   ? 1
                                                            : x.sign() < 0 ? -1
                                                                           : 0); }},
      {"sigmoid", logistic},
      {"softplus", [](const Wide& x) { return x.by(mpfr_exp).by(mpfr_log1p); }},
  };
  return table;
}

const std::unordered_map<std::string, std::function<Wide(const Wide&, const Wide&)>>& binary_functions() {
  using W = const Wide&;
  static const std::unordered_map<std::string, std::function<Wide(W, W)>> table{
      {"add", [](W a, W b) { return a + b; }},
      {"sub", [](W a, W b) { return a - b; }},
      {"mul", [](W a, W b) { return a * b; }},
      {"true_div", [](W a, W b) { return a / b; }},
      {"maximum", [](W a, W b) { return a.is_nan() || b < a ? a : b; }},
      {"minimum", [](W a, W b) { return a.is_nan() || a < b ? a : b; }},
  };
  return table;
}

const std::unordered_map<std::string, std::function<bool(const Wide&, const Wide&)>>& comparisons() {
  using W = const Wide&;
  static const std::unordered_map<std::string, std::function<bool(W, W)>> table{
      {"lt", [](W a, W b) { return a < b; }},           {"gt", [](W a, W b) { return b < a; }},
      {"le", [](W a, W b) { return a < b || a == b; }}, {"ge", [](W a, W b) { return b < a || a == b; }},
      {"eq", [](W a, W b) { return a == b; }},          {"neq", [](W a, W b) { return !(a == b); }},
  };
  return table;
}

bool is_wide(const Expr& value) {
  return is_float(value.dtype());
}

WideTensor widened(const Tensor& tensor) {
  WideTensor out{tensor.shape(), {}, {}};
  const Tensor rows = tensor.contiguous();
  for (int64_t i = 0; i < rows.size(); ++i) out.elements.emplace_back(rows.as_double(i));
  return out;
}

class Evaluator {
 public:
  explicit Evaluator(const std::vector<std::pair<Expr, Tensor>>& inputs) {
    for (const auto& [leaf, value] : inputs)
      known_[&leaf.node()] = is_wide(leaf) ? widened(value) : WideTensor{value.shape(), {}, value.contiguous()};
  }

  void compute(const Node& node) {
    if (known_.count(&node)) return;
    TH_CHECK(node.types.size() == 1, "an op of several outputs: ", node.op->name);
    WideTensor out;
    out.shape = node.types[0].known_shape();
    if (const Tensor* constant = constant_value(node[0])) {
      out = is_wide(node[0]) ? widened(*constant) : WideTensor{constant->shape(), {}, *constant};
    } else if (!is_wide(node[0])) {
      out.exact = exact(node);
    } else {
      out.elements = elements(node, out.shape);
    }
    known_[&node] = std::move(out);
  }
  const WideTensor& of(const Expr& value) const { return known_.at(&value.node()); }

 private:
  // The element of input k that meets element `at` of the result.
  static size_t index(const Shape& shape, const Shape& at) {
    int64_t out = 0;
    const size_t lead = at.size() - shape.size();
    for (size_t axis = 0; axis < shape.size(); ++axis)
      out = out * shape[axis] + (shape[axis] == 1 ? 0 : at[lead + axis]);
    return static_cast<size_t>(out);
  }
  Wide number(const Expr& value, const Shape& at) const {
    const WideTensor& tensor = of(value);
    const size_t i = index(tensor.shape, at);
    return is_wide(value) ? tensor.elements[i] : Wide(tensor.exact.as_double(static_cast<int64_t>(i)));
  }

  // Bools and integers: of floats by comparing, of each other by the reference.
  Tensor exact(const Node& node) const {
    const std::string& name = node.op->name;
    std::vector<Tensor> inputs;
    bool any_wide = false;
    for (const Expr& input : node.inputs) {
      any_wide = any_wide || is_wide(input);
      inputs.push_back(of(input).exact);
    }
    if (!any_wide) return evaluate_node(node, inputs, Lengths())[0];
    Tensor out = Tensor::empty(DType::kBool, node.types[0].known_shape());
    int64_t i = 0;
    for_each_index(out.shape(), [&](const Shape& at) {
      const Wide x = number(node.inputs[0], at);
      bool& result = out.data<bool>()[i++];
      if (auto compare = comparisons().find(name); compare != comparisons().end())
        result = compare->second(x, number(node.inputs[1], at));
      else if (name == "isnan")
        result = x.is_nan();
      else if (name == "isinf")
        result = x.is_inf();
      else
        TH_CHECK(false, "the wide evaluator knows no ", name);
    });
    return out;
  }

  std::vector<Wide> elements(const Node& node, const Shape& shape) const {
    const std::string& name = node.op->name;
    if (name == "stable_gradient") return of(node.inputs[0]).elements;
    if (name == "sum" || name == "prod" || name == "max") return reduced(node, shape);
    if (name == "softmax" || name == "log_softmax") return softmax(node, shape);
    if (name == "scatter") return incremented(node);
    if (name == "dimshuffle" || name == "reshape" || name == "broadcast_to" || name == "gather" || name == "subtensor")
      return moved(node);
    std::vector<Wide> out;
    for_each_index(shape, [&](const Shape& at) {
      if (name == "switch")
        out.push_back(number(node.inputs[number(node.inputs[0], at).sign() != 0 ? 1 : 2], at));
      else if (name == "cast")
        out.push_back(number(node.inputs[0], at));
      else if (auto unary = unary_functions().find(name); unary != unary_functions().end())
        out.push_back(unary->second(number(node.inputs[0], at)));
      else if (auto binary = binary_functions().find(name); binary != binary_functions().end())
        out.push_back(binary->second(number(node.inputs[0], at), number(node.inputs[1], at)));
      else
        TH_CHECK(false, "the wide evaluator knows no ", name);
    });
    return out;
  }

  // The op's reference on the numbers of the elements says where each goes.
  std::vector<Wide> moved(const Node& node) const {
    std::vector<Wide> out;
    const std::vector<int64_t> from = sources(node);
    for (int64_t source : from) out.push_back(of(node.inputs[0]).elements[static_cast<size_t>(source)]);
    return out;
  }
  std::vector<int64_t> sources(const Node& node) const {
    const Shape& shape = of(node.inputs[0]).shape;
    Tensor numbers = Tensor::empty(node.inputs[0].dtype(), shape);
    for (int64_t i = 0; i < numbers.size(); ++i) {
      if (numbers.dtype() == DType::kFloat32)
        numbers.data<float>()[i] = static_cast<float>(i);
      else
        numbers.data<double>()[i] = static_cast<double>(i);
    }
    std::vector<Tensor> inputs{numbers};
    for (size_t k = 1; k < node.inputs.size(); ++k) inputs.push_back(of(node.inputs[k]).exact);
    const Tensor out = evaluate_node(node, inputs, Lengths())[0].contiguous();
    std::vector<int64_t> from;
    for (int64_t i = 0; i < out.size(); ++i) from.push_back(static_cast<int64_t>(out.as_double(i)));
    return from;
  }

  // x with y added to one element of each row.
  std::vector<Wide> incremented(const Node& node) const {
    std::vector<Wide> out = of(node.inputs[0]).elements;
    TH_CHECK(node.props.get_or<bool>("by_row", false), "the wide evaluator knows no other scatter");
    const Tensor& labels = of(node.inputs[2]).exact;
    const std::vector<Wide>& y = of(node.inputs[1]).elements;
    const int64_t columns = of(node.inputs[0]).shape[1];
    const bool sets = node.props.get_or<bool>("set", false);
    for (int64_t row = 0; row < labels.size(); ++row) {
      Wide& element = out[static_cast<size_t>(row * columns + labels.as_int(row))];
      const Wide& value = y[y.size() == 1 ? 0 : static_cast<size_t>(row)];
      element = sets ? value : element + value;
    }
    return out;
  }

  std::vector<Wide> reduced(const Node& node, const Shape& shape) const {
    const WideTensor& x = of(node.inputs[0]);
    const Ints& axes = node.props.get<Ints>("axes");
    const bool keeps = node.props.get<bool>("keepdims");
    const std::string& name = node.op->name;
    std::vector<Wide> out(static_cast<size_t>(element_count(shape)), Wide(name == "prod" ? 1 : 0));
    std::vector<bool> met(out.size(), false);
    size_t i = 0;
    for_each_index(x.shape, [&](const Shape& at) {
      Shape to;
      for (size_t axis = 0; axis < at.size(); ++axis) {
        const bool goes = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
        if (!goes || keeps) to.push_back(goes ? 0 : at[axis]);
      }
      const size_t r = index(shape, to);
      const Wide& element = is_wide(node.inputs[0]) ? x.elements[i] : Wide(x.exact.as_double(static_cast<int64_t>(i)));
      if (name == "max")
        out[r] = !met[r] || out[r] < element || element.is_nan() ? element : out[r];
      else
        out[r] = name == "sum" ? out[r] + element : out[r] * element;
      met[r] = true;
      ++i;
    });
    return out;
  }

  std::vector<Wide> softmax(const Node& node, const Shape& shape) const {
    const std::vector<Wide>& x = of(node.inputs[0]).elements;
    const size_t axis = static_cast<size_t>(node.props.get<int64_t>("axis"));
    size_t stride = 1;
    for (size_t k = axis + 1; k < shape.size(); ++k) stride *= static_cast<size_t>(shape[k]);
    const size_t length = static_cast<size_t>(shape[axis]);
    std::vector<Wide> out = x;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t first = i - (i / stride % length) * stride;
      Wide total;
      for (size_t k = 0; k < length; ++k) total = total + x[first + k * stride].by(mpfr_exp);
      out[i] = node.op->name == "softmax" ? x[i].by(mpfr_exp) / total : x[i] - total.by(mpfr_log);
    }
    return out;
  }

  std::unordered_map<const Node*, WideTensor> known_;
};

}  // namespace

std::vector<WideTensor> evaluate_wide(const std::vector<Expr>& outputs,
                                      const std::vector<std::pair<Expr, Tensor>>& inputs) {
  Evaluator evaluator(inputs);
  for (const Node* node : topological_order(outputs)) evaluator.compute(*node);
  std::vector<WideTensor> out;
  for (const Expr& output : outputs) out.push_back(evaluator.of(output));
  return out;
}

}  // namespace thtrain

// Reads tests/golden/optimizers.txt: runs of a small network by PyTorch, and the network itself as a graph.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "nn/optimizer.h"
#include "tests/support/golden_lines.h"

namespace thtrain {

/// What PyTorch got: the losses of all steps, and the parameters after some of them.
struct GoldenSteps {
  std::string text;  // the line that names it
  std::string name;  // "adam", "clip_norm"
  std::map<std::string, double> options = {};
  std::vector<double> losses = {};
  std::map<int64_t, std::map<std::string, Tensor>> after = {};
  std::map<std::string, Tensor> averages = {};
};

/// "beta1=0.8" -> beta1, 0.8
inline std::pair<std::string, std::string> key_and_value(const std::string& text) {
  size_t at = text.find('=');
  return {text.substr(0, at), text.substr(at + 1)};
}

/// The runs under "optimizer" or "around".
inline std::vector<GoldenSteps> golden_steps(const std::string& kind) {
  std::vector<GoldenSteps> out;
  bool ours = false;
  for (const GoldenLine& line : golden_lines("optimizers.txt")) {
    if (line.name == "optimizer" || line.name == "around") {
      ours = line.name == kind;
      if (!ours) continue;
      out.push_back({.text = line.text, .name = line.arguments[0]});
      for (size_t i = 1; i < line.arguments.size(); ++i) {
        auto [key, value] = key_and_value(line.arguments[i]);
        out.back().options[key] = std::stod(value);
      }
    }
    if (!ours) continue;
    if (line.name == "loss")
      for (const std::string& value : line.values) out.back().losses.push_back(std::stod(value));
    if (line.name == "after")
      out.back().after[std::stoll(line.arguments[0])][line.arguments[1]] = line.result(DType::kFloat64);
    if (line.name == "average") out.back().averages[line.arguments[0]] = line.result(DType::kFloat64);
  }
  return out;
}

/// The network of optimizers.py with its first weights: 6-5-3, tanh, mean negative log-likelihood.
class GoldenNetwork {
 public:
  explicit GoldenNetwork(DType dtype = DType::kFloat64) {
    for (const GoldenLine& line : golden_lines("optimizers.txt")) {
      if (line.name == "x") x_ = line.result(DType::kFloat64).cast(dtype);
      if (line.name == "y") y_ = line.result(DType::kInt64);
      if (line.name.starts_with("hidden/") || line.name.starts_with("softmax/"))
        params.push_back({.name = line.name,
                          .variable = Shared(line.result(DType::kFloat64).cast(dtype), line.name),
                          .penalized = line.name.ends_with("W")});
    }
    x = tensor("x", {5, 6}, dtype), y = tensor("y", {5}, DType::kInt64);
    Expr hidden = tanh(dot(x, params[0].expr()) + params[1].expr());
    cost = mean(categorical_crossentropy_logits(dot(hidden, params[2].expr()) + params[3].expr(), y));
  }

  std::vector<Param> params;  // hidden/W, hidden/b, softmax/W, softmax/b
  Expr x, y, cost;

  /// The function that returns the cost and does the updates.
  Function step_function(const std::vector<Update>& updates, Mode mode = Mode::kReference) const {
    return function({x, y}, {cost}, updates, {.mode = mode});
  }
  /// Step number 0, 1, ...
  double step(Function& f, int64_t number) const {
    int64_t begin = number % 4 * 5;
    return f({x_.rows(begin, 5), y_.rows(begin, 5)})[0].as_double();
  }
  /// The steps of `golden` with its losses and parameters, to `bound` relative.
  void expect_steps(const GoldenSteps& golden, Function f, double bound = 1e-6) const {
    ASSERT_FALSE(golden.after.empty()) << golden.text;
    int64_t steps = golden.after.rbegin()->first;
    for (int64_t t = 0; t < steps; ++t) {
      double loss = step(f, t);
      if (!golden.losses.empty()) {
        ASSERT_NEAR(loss, golden.losses[static_cast<size_t>(t)], bound * loss) << golden.text << ", step " << t;
      }
      if (!golden.after.contains(t + 1)) continue;
      for (const Param& param : params)
        expect_close(param.variable.get_value(), golden.after.at(t + 1).at(param.name), bound,
                     str(golden.text, ", ", param.name, " after ", t + 1));
    }
  }
  static void expect_close(const Tensor& got, const Tensor& expected, double bound, const std::string& what) {
    ASSERT_EQ(got.shape(), expected.shape()) << what;
    for (int64_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound * std::abs(expected.as_double(i)) + 1e-300)
          << what << " " << i;
  }

 private:
  Tensor x_, y_;
};

/// The configuration of Table from "key=value" numbers, as a file would give it: 1 stands for true.
template <class Table>
Table kind_of(const std::map<std::string, double>& options) {
  ConfigNode root;
  for (const auto& [key, value] : options) {
    const FieldSpec* field = schema_of<Table>().find(key);
    bool is_bool = field && field->access->value == FieldAccess::Value::kBool;
    bool is_int = field && field->access->value == FieldAccess::Value::kInt;
    ConfigNode node = is_bool  ? ConfigNode::of(value != 0)
                      : is_int ? ConfigNode::of(static_cast<int64_t>(value))
                               : ConfigNode::of(value);
    node.key = key;
    root.children.push_back(node);
  }
  Findings findings;
  Table out = read_config<Table>(root, findings);
  findings.raise();
  return out;
}

}  // namespace thtrain

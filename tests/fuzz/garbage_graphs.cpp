// Activations, losses, and what is done with whole graphs.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {

#define TH_UNARY(name) calls.push_back(garbage_call(#name, [](const Operand& x) { return name(x); }))
#define TH_OF_TWO(name) \
  calls.push_back(garbage_call(#name, [](const Operand& x, const Operand& y) { return name(x, y); }))
#define TH_IN_DTYPES(name)                                                                              \
  calls.push_back(                                                                                      \
      garbage_call(#name, [](const Operand& x, const Axes& axes, KeepDims keep, std::optional<DType> a, \
                             std::optional<DType> b) { return name(x, axes, keep, {.dtype = a, .acc_dtype = b}); }))

void add_graphs(std::vector<GarbageCall>& calls) {
  TH_UNARY(relu);
  TH_OF_TWO(relu);
  TH_UNARY(elu);
  TH_OF_TWO(elu);
  TH_UNARY(selu);
  TH_UNARY(gelu);
  TH_UNARY(gelu_tanh);
  TH_UNARY(swish);
  TH_UNARY(softsign);
  TH_UNARY(ultra_fast_sigmoid);
  calls.push_back(garbage_call("hard_sigmoid", [](const Operand& x, bool fifth) {
    return hard_sigmoid(x, fifth ? HardSigmoid::kFifth : HardSigmoid::kSixth);
  }));
  calls.push_back(garbage_call("multiclass_hinge", [](const Operand& z, const Operand& labels, double margin) {
    return multiclass_hinge(z, labels, margin);
  }));
  calls.push_back(garbage_call("confusion_matrix", [](const Operand& actual, const Operand& predicted) {
    const ConfusionCounts out = confusion_matrix(actual, predicted);
    return std::vector{out.counts, out.classes};
  }));
  calls.push_back(garbage_call("ctc", [](const Operand& z, const Operand& labels, const std::optional<Operand>& steps,
                                         int64_t blank) { return ctc(z, labels, {.steps = steps, .blank = blank}); }));
  calls.push_back(garbage_call("h_softmax", [](const Operand& x, const Operand& w, const Operand& b, const Operand& v,
                                               const Operand& c, const Operand& labels, int64_t classes, bool all) {
    return all ? h_softmax(x, {w, b, v, c}, classes) : h_softmax(x, {w, b, v, c}, labels);
  }));
  TH_IN_DTYPES(sum);
  TH_IN_DTYPES(prod);
  TH_IN_DTYPES(mean);

  using Values = std::vector<std::pair<Expr, Tensor>>;
  calls.push_back(garbage_call("eval", [](const Expr& value, const Values& inputs) { (void)eval(value, inputs); }));
  calls.push_back(garbage_call("tree_text", [](const Expr& value, int64_t depth, bool stop_on_name) {
    (void)tree_text(value, {.depth = depth, .stop_on_name = stop_on_name});
  }));
  calls.push_back(garbage_call("dot_text", [](const std::vector<Expr>& values) { (void)dot_text(values); }));
  using Pairs = std::vector<std::pair<Expr, Expr>>;
  calls.push_back(garbage_call("clone_replace", [](const std::vector<Expr>& outputs, const Pairs& replacements) {
    return clone_replace(outputs, replacements);
  }));
  calls.push_back(garbage_call("clone_replace", [](const Expr& output, const Pairs& replacements) {
    return clone_replace(output, replacements);
  }));
  calls.push_back(
      garbage_call("shapes_of", [](const std::vector<Expr>& values, const std::vector<std::pair<Expr, Shape>>& inputs) {
        (void)shapes_of(values, inputs);
      }));
  calls.push_back(garbage_call("subgraph_grad", [](const std::vector<Expr>& wrt, const std::vector<Expr>& end,
                                                   const Pairs& start, const Expr& cost) {
    const SubgraphGradients out = subgraph_grad(wrt, end, start, cost);
    std::vector<Expr> all = out.of_wrt;
    all.insert(all.end(), out.of_end.begin(), out.of_end.end());
    return all;
  }));
  calls.push_back(garbage_call("verify_grad", [](const std::vector<Expr>& wrt, const Values& values, double tolerance) {
    std::vector<Expr> outputs;
    for (const Expr& x : wrt) outputs.push_back(x.has_value() && is_float(x.dtype()) ? tanh(x) : x);
    (void)verify_grad(outputs, wrt, values, {.tolerance = tolerance, .elements = 3});
  }));
}

#undef TH_UNARY
#undef TH_OF_TWO
#undef TH_IN_DTYPES

}  // namespace thtrain

// Lesson 7: the gradient. The second stage: derivatives are nodes of the same graph, which is followed backwards. We
// print which nodes they are, do the same by hand for four ops, and compare with grad and with differences.
// `./thtrain lesson 7` builds and runs it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/ir/roles.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// Reverse mode for scalars. Each node gets a cotangent: how much the cost grows when the node's value grows by a
// little. The cost's own is 1. From the last node to the first, each hands its cotangent on to its inputs, times the
// derivative of its op; what reaches a node by several ways is added. Every cotangent is an expression again.
static Expr derivative(const Expr& cost, const Expr& wrt) {
  const std::vector<Expr> roots = {cost};
  const std::vector<const Node*> order = topological_order(roots);
  std::map<const Node*, Expr> cotangents{{&cost.node(), make_constant(Tensor(1.0))}};
  for (size_t i = order.size(); i-- > 0;) {
    const Node& node = *order[i];
    auto own = cotangents.find(&node);
    if (own == cotangents.end()) continue;
    const Expr c = own->second;
    auto hand_on = [&](size_t input, const Expr& part) {
      Expr& sum = cotangents[&node.inputs[input].node()];
      sum = sum.has_value() ? sum + part : part;
    };
    const std::string& op = node.op->name;
    if (op == "add") hand_on(0, c), hand_on(1, c);
    if (op == "mul") hand_on(0, c * node.inputs[1]), hand_on(1, c * node.inputs[0]);
    if (op == "tanh") hand_on(0, c * (1 - sqr(tanh(node.inputs[0]))));
    if (op == "sqr") hand_on(0, 2 * c * node.inputs[0]);
  }
  return cotangents.at(&wrt.node());
}

int main() {
  Expr x = scalar("x"), w = scalar("w"), b = scalar("b");
  Expr cost = sqr(tanh(x * w + b) * w);  // w is read twice: two ways lead back to it

  // grad builds expressions. In the text, "# gradient" marks the nodes that it built. A node that computes the forward
  // pass has no mark.
  Expr dw = grad(cost, w);
  std::printf("cost and its derivative by w, as built:\n%s\n", text_with_roles({{x, w, b}, {cost, dw}, {}}).c_str());
  const Graph graph{{x, w, b}, {cost, dw}, {}};
  const NodeMap<Roles> roles = roles_of(graph);
  expect(roles.at(&cost.node()).forward && !roles.at(&cost.node()).gradient, "the cost belongs to the forward pass");
  expect(roles.at(&dw.node()).gradient && !roles.at(&dw.node()).forward, "its derivative belongs to the gradient");

  // Three derivatives of one thing: by grad, by the function above, by moving w a little.
  Function f = function({x, w, b}, {cost, dw, derivative(cost, w)});
  auto at = [&](double x0, double w0, double b0) { return f({Tensor(x0), Tensor(w0), Tensor(b0)}); };
  std::printf("x     w     grad        by hand     (cost(w+h) - cost(w-h)) / 2h\n");
  bool agree = true;
  for (double x0 : {-1.5, 0.3, 2.0}) {
    const double w0 = 0.7, b0 = 0.1, h = 1e-5;
    const std::vector<Tensor> out = at(x0, w0, b0);
    const double difference = (at(x0, w0 + h, b0)[0].as_double() - at(x0, w0 - h, b0)[0].as_double()) / (2 * h);
    std::printf("%-5g %-5g %.8f  %.8f  %.8f\n", x0, w0, out[1].as_double(), out[2].as_double(), difference);
    agree = agree && std::fabs(out[1].as_double() - out[2].as_double()) < 1e-12;
    agree = agree && std::fabs(out[1].as_double() - difference) < 1e-8;
  }
  expect(agree, "all three agree");

  // Why backwards? One pass gives the derivatives by all inputs, and takes a few times the work of the cost, however
  // many inputs there are. A chain of n layers:
  std::printf("\nlayers  nodes of the cost  nodes with all derivatives\n");
  bool few = true;
  for (int n : {1, 10, 100}) {
    std::vector<Expr> weights;
    Expr h = x;
    for (int i = 0; i < n; ++i) {
      weights.push_back(scalar("w" + std::to_string(i)));
      h = tanh(h * weights.back());
    }
    std::vector<Expr> inputs = weights;
    inputs.insert(inputs.begin(), x);
    const size_t forward = node_count({inputs, {h}, {}}), all = node_count({inputs, grad(h, weights), {}});
    std::printf("%6d  %17zu  %zu\n", n, forward, all);
    few = few && all < 6 * forward;
  }
  expect(few, "all derivatives together: less than six times the nodes");

  // The same as an update: what the optimizer does with the gradient is neither forward nor gradient.
  Shared v(0.7, "v");
  Expr error = sqr(tanh(x * v) - b), dv = grad(error, v);
  const Graph step{{x, b}, {error}, {{v, v - 0.1 * dv}}};
  std::printf("\na step of gradient descent:\n%s", text_with_roles(step).c_str());
  expect(roles_of(step).at(&step.updates[0].value.node()).update, "the new value of v has the role `update`");
  std::printf("\nTo try: give derivative() a line for exp and for true_div, and use them in the cost.\n");
}

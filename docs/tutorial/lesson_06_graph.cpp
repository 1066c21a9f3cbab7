// Lesson 6: the graph. The first stage of the compiler. What is an expression before anything is computed? We build a
// small layer, print it, visit its nodes, and write an interpreter of twenty lines that gives the compiler's numbers.
// `./thtrain lesson 6` builds and runs it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "compiler/api.h"
#include "compiler/base/error.h"
#include "compiler/ir/op.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-60s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// An interpreter for graphs of vectors: every node once, each after its inputs. `known` begins with the values of the
// inputs; the key of a node is its address. All real compilers of expressions begin with this traversal.
using Numbers = std::vector<double>;
static Numbers interpret(const Expr& wanted, std::map<const Node*, Numbers> known) {
  const std::vector<Expr> roots = {wanted};
  for (const Node* node : topological_order(roots)) {
    if (known.count(node)) continue;
    if (const Tensor* constant = constant_value((*node)[0])) {
      known[node] = {constant->as_double()};
      continue;
    }
    std::vector<Numbers> in;
    for (const Expr& input : node->inputs) in.push_back(known.at(&input.node()));
    size_t length = 1;
    for (const Numbers& numbers : in) length = std::max(length, numbers.size());
    // A value with one element is read for every element of the others: broadcasting.
    auto at = [&](size_t input, size_t i) { return in[input][in[input].size() == 1 ? 0 : i]; };
    Numbers out(length);
    for (size_t i = 0; i < length; ++i) {
      const std::string& op = node->op->name;
      if (op == "add") out[i] = at(0, i) + at(1, i);
      if (op == "mul") out[i] = at(0, i) * at(1, i);
      if (op == "tanh") out[i] = std::tanh(at(0, i));
      if (op == "broadcast_to" || op == "dimshuffle") out[i] = at(0, i);
    }
    known[node] = out;
  }
  return known.at(&wanted.node());
}

int main() {
  // An Expr is a handle on a node. A node has an op, inputs, and the type of its result. Nothing is computed here.
  Expr x = vector("x"), w = vector("w");
  Expr z = x * w + 0.5;
  Expr y = tanh(z) * tanh(z);

  // The text of a graph: one line for each node, %0, %1, ... The type comes last: the dtype, and the length of each
  // axis, which may be a name, since the graph is for vectors of any length.
  const Graph graph{{x, w}, {y}, {}};
  std::printf("The graph as we wrote it:\n%s\n", graph_text(graph).c_str());
  expect(y.node().op->name == "mul", "the last node of the expression is a product");
  expect(y.node().inputs[0].node().op->name == "tanh", "its first input is a tanh");

  // We called tanh(z) twice, so there are two nodes. They are equal, and the first passes make them one; lesson 8.
  expect(!y.node().inputs[0].same(y.node().inputs[1]), "tanh(z) was built twice: two nodes");
  Expr once = tanh(z), shared = once * once;
  expect(node_count({{x, w}, {shared}, {}}) + 1 == node_count(graph), "a C++ variable makes it one: a node fewer");

  // Expressions never change. This gives the handle z another node; y still reads the old one.
  z = z + 1;
  expect(graph_text({{x, w}, {y}, {}}) == graph_text(graph), "z = z + 1 left y as it was");

  // Types are checked while the graph is built, not when it runs. The message names this line.
  bool refused = false;
  try {
    dot(matrix("A", {2, 3}), matrix("B", {4, 5}));
  } catch (const UserError& error) {
    refused = true;
    std::printf("\nWhat the compiler says of dot(A, B):\n%s\n\n", error.what());
  }
  expect(refused, "lengths that do not fit are refused while building");

  // Computing: by our interpreter, and by the compiler.
  const Numbers x0 = {-1, 0, 0.25, 3}, w0 = {2, 1, 0.5, -1};
  const Numbers ours = interpret(y, {{&x.node(), x0}, {&w.node(), w0}});
  Function f = function({x, w}, {y});
  const Tensor theirs = f({Tensor::of(x0, {4}), Tensor::of(w0, {4})})[0];
  std::printf("x          w          ours       compiled\n");
  bool agree = true;
  for (size_t i = 0; i < x0.size(); ++i) {
    const double other = theirs.as_double(static_cast<int64_t>(i));
    std::printf("%-10g %-10g %.7f  %.7f\n", x0[i], w0[i], ours[i], other);
    agree = agree && std::fabs(ours[i] - other) < 1e-12;
  }
  expect(agree, "the interpreter and the compiled function agree");
  std::printf(
      "\nTo try: add the op `exp` to the interpreter and to y. What does it say of an op that it does not know?\n");
}

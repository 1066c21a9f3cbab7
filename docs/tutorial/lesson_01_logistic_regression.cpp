// Lesson 1: logistic regression, as in Figures 1 to 4 of "Theano: A CPU and GPU Math Compiler in Python" (Bergstra et
// al., SciPy 2010). `./thtrain lesson 1` builds and runs it.
#include <cstdio>

#include "compiler/api.h"

using namespace thtrain;

int main() {
  RandomState rng(344);
  const int64_t N = 4, feats = 100;
  const int training_steps = 10;

  // Figure 1: declare the variables. x and y stand for arrays that are given later; w and b are shared variables, which
  // live between calls and which functions may update.
  Expr x = matrix("x");
  Expr y = vector("y");
  Shared w(Tensor::of(rng.normal(0, 1, feats), {feats}), "w");
  Shared b(0.0, "b");

  // Figure 2: build the graph. Nothing is computed here: these are expressions.
  Expr p_1 = 1 / (1 + exp(-dot(x, w) - b));            // probability that the target is 1
  Expr xent = -y * log(p_1) - (1 - y) * log(1 - p_1);  // cross-entropy
  Expr cost = mean(xent) + 0.01 * sum(sqr(w));         // with an L2 penalty
  std::vector<Expr> g = grad(cost, {w, b});            // the derivatives are expressions too
  Expr prediction = p_1 > 0.5;

  // Figure 3: compile. The graph is rewritten (log(1 - 1 / (1 + exp(-z))) would overflow; its stable form does not),
  // and becomes one native function. Each call of train also performs a step of gradient descent.
  Function predict = function({x}, {prediction});
  Function train = function({x, y}, {prediction, xent}, {{w, w - 0.1 * g[0]}, {b, b - 0.1 * g[1]}});

  // Figure 4: train it on random data.
  Tensor data = Tensor::of(rng.normal(0, 1, N * feats), {N, feats});
  Tensor target = Tensor::of(rng.integers(0, 2, N), {N}).cast(DType::kFloat64);
  for (int step = 0; step < training_steps; ++step) {
    std::vector<Tensor> result = train({data, target});
    double error = 0;
    for (int64_t i = 0; i < N; ++i) error += result[1].as_double(i) / static_cast<double>(N);
    std::printf("step %d: mean cross-entropy %.6f\n", step, error);
  }
  std::printf("target:     %s\n", target.cast(DType::kBool).text().c_str());
  std::printf("prediction: %s\n", predict({data})[0].text().c_str());

  // What became of it: read the graph, and the code.
  std::printf("\nThe program that train became:\n%s", train.explain().program.c_str());
}

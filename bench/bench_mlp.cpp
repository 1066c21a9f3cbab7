// The MLP step of Fig. 5 of the Theano paper: 784-500-10, tanh, softmax, mean negative log-likelihood, plain SGD with
// learning rate 0.01, batch 60, data in shared variables, the cost returned by each call. Prints one JSON object a
// line: examples per second, the median of `--rounds` passes over 6,000 examples, with the lowest and highest.
//
//   bench_mlp [--dtype float32|float64] [--threads N] [--batch N] [--rounds N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compiler/api.h"

using namespace thtrain;

namespace {

struct Options {
  std::string dtype = "float32";
  int threads = 1;
  int64_t batch = 60;
  int rounds = 15;
};

Options read_options(int count, char** words) {
  Options out;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!std::strcmp(words[i], "--dtype"))
      out.dtype = words[i + 1];
    else if (!std::strcmp(words[i], "--threads"))
      out.threads = std::atoi(words[i + 1]);
    else if (!std::strcmp(words[i], "--batch"))
      out.batch = std::atol(words[i + 1]);
    else if (!std::strcmp(words[i], "--rounds"))
      out.rounds = std::atoi(words[i + 1]);
    else
      throw UserError(Message{.what = str("bench_mlp: no such option: ", words[i])});
  }
  return out;
}

void run(const Options& options) {
  const int64_t examples = 6000, pixels = 784, hidden = 500, classes = 10;
  DType dtype = *dtype_named(options.dtype);
  set_floatX(dtype);
  RandomState rng(2344);
  auto uniform = [&](double range, Shape shape) {
    size_t n = static_cast<size_t>(element_count(shape));
    return Tensor::of(rng.uniform(-range, range, n), std::move(shape)).cast(dtype);
  };
  Shared x_all(Tensor::of(rng.normal(0, 1, static_cast<size_t>(examples * pixels)), {examples, pixels}).cast(dtype),
               "x", true);
  Shared y_all(Tensor::of(rng.integers(0, classes, static_cast<size_t>(examples)), {examples}), "y", true);
  // The paper's scale, sqrt(6 / (784 + 500)), as a real number (its script divided integers and got zeros).
  Shared W(uniform(0.0683, {pixels, hidden}), "W"), b(Tensor::zeros(dtype, {hidden}), "b");
  Shared V(Tensor::zeros(dtype, {hidden, classes}), "V"), c(Tensor::zeros(dtype, {classes}), "c");
  Shared learning_rate(Tensor(0.01).cast(dtype), "learning_rate");

  Expr start = iscalar("start");
  Expr x = rows(x_all, start, options.batch), y = rows(y_all, start, options.batch);
  Expr h = named(tanh(dot(x, W) + b), "hidden");
  Expr cost = categorical_crossentropy_logits(dot(h, V) + c, y);
  std::vector<Expr> g = grad(mean(cost), {W, b, V, c});
  auto step = [&](const Shared& p, const Expr& gradient) { return Update{p, p - learning_rate.expr() * gradient}; };
  Function train = function({start}, {{mean(cost), true}}, {step(W, g[0]), step(b, g[1]), step(V, g[2]), step(c, g[3])},
                            {.threads = options.threads, .name = "mlp step"});

  Tensor at(int64_t{0});
  std::vector<double> rates;
  for (int round = -1; round < options.rounds; ++round) {
    auto begin = std::chrono::steady_clock::now();
    for (int64_t row = 0; row + options.batch <= examples; row += options.batch) {
      *at.data<int64_t>() = row;
      train(std::span<const Tensor>(&at, 1));
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (round >= 0) rates.push_back(static_cast<double>(examples / options.batch * options.batch) / seconds);
  }
  std::sort(rates.begin(), rates.end());
  std::printf(
      "{\"bench\": \"mlp\", \"case\": \"784_500_10_b%ld\", \"dtype\": \"%s\", \"threads\": %d, \"implementation\": "
      "\"thtrain\", \"unit\": \"examples/s\", \"value\": %.0f, \"low\": %.0f, \"high\": %.0f}\n",
      options.batch, options.dtype.c_str(), options.threads, rates[rates.size() / 2], rates.front(), rates.back());
}

}  // namespace

int main(int count, char** words) {
  try {
    run(read_options(count, words));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

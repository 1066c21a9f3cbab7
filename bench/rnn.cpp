// The training step of a recurrent network: tanh or LSTM, the squares of the last state's distance from a target, SGD.
#include <cmath>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

// bench/peers/rnn.py has the same.
constexpr double kRnnLearningRate = 1e-5;

struct RnnArrays {
  Tensor x, target, Wx, Wh, b;
  RnnArrays(const RnnCase& what, DType dtype) {
    RandomState rng(2344);
    const int64_t units = what.gates() * what.hidden;
    const double range = 1 / std::sqrt(static_cast<double>(what.hidden));
    auto uniform = [&](double limit, const Shape& shape) {
      int64_t size = 1;
      for (int64_t length : shape) size *= length;
      return Tensor::of(rng.uniform(-limit, limit, static_cast<size_t>(size)), shape).cast(dtype);
    };
    auto size = static_cast<size_t>(what.steps * what.batch * what.inputs);
    x = Tensor::of(rng.normal(0, 1, size), {what.steps, what.batch, what.inputs}).cast(dtype);
    target = uniform(0.5, {what.batch, what.hidden});
    Wx = uniform(range, {what.inputs, units});
    Wh = uniform(range, {what.hidden, units});
    b = uniform(range, {units});
  }
};

// The state after the last step. `a` [steps, batch, gates * hidden] is what the inputs add in each step.
Expr last_state(const RnnCase& what, const Expr& a, const Expr& Wh) {
  const Expr zeros = zeros_like(a[0][{all(), Slice{.stop = what.hidden}}]);
  if (!what.lstm)
    return scan([&](Expr a_t, Expr h) { return tanh(a_t + dot(h, Wh)); },
                {.sequences = {a}, .outputs_info = {zeros}, .name = "tanh"})
        .outputs[-1];
  auto step = [&](Expr a_t, Expr h, Expr c) -> std::vector<Expr> {
    const LengthList sizes{what.hidden, what.hidden, what.hidden, what.hidden};
    const std::vector<Expr> gates = split(a_t + dot(h, Wh), sizes, 1);  // input, forget, cell, output
    const Expr cell = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    return {sigmoid(gates[3]) * tanh(cell), cell};
  };
  return scan(step, {.sequences = {a}, .outputs_info = {zeros, zeros}, .name = "lstm"}).outputs[0][-1];
}

Function training_step(const RnnCase& what, const WorkloadOptions& options) {
  const RnnArrays arrays(what, options.dtype);
  Shared x(arrays.x, "x"), target(arrays.target, "target"), Wx(arrays.Wx, "Wx"), Wh(arrays.Wh, "Wh"), b(arrays.b, "b");
  Shared learning_rate(Tensor(kRnnLearningRate).cast(options.dtype), "learning_rate");
  const Expr cost = sum(sqr(last_state(what, dot(x, Wx) + b, Wh) - target));
  const std::vector<Shared> parameters = {Wx, Wh, b};
  const std::vector<Expr> gradients = grad(cost, std::vector<Expr>(parameters.begin(), parameters.end()));
  std::vector<Update> updates;
  for (size_t i = 0; i < parameters.size(); ++i)
    updates.push_back({parameters[i], parameters[i] - learning_rate.expr() * gradients[i]});
  return function({}, {Out(cost, options.borrow)}, updates,
                  {.threads = options.threads, .target = options.target, .name = "bench rnn"});
}

}  // namespace

Workload rnn_workload(const std::string& text, const WorkloadOptions& options) {
  const RnnCase what = rnn_case(text);
  auto train = std::make_shared<Function>(training_step(what, options));
  auto run = [train](long calls) {
    for (; calls > 0; --calls) (*train)({});
  };
  return {run, static_cast<double>(what.batch), {}, train};
}

std::vector<double> rnn_costs(const std::string& text, const WorkloadOptions& options, int calls) {
  Function train = training_step(rnn_case(text), options);
  std::vector<double> out;
  for (; calls > 0; --calls) out.push_back(train({})[0].as_double());
  return out;
}

}  // namespace thtrain

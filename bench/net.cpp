// The training step of a dense network: tanh, softmax, mean negative log-likelihood, plain SGD, data in memory.
#include <chrono>
#include <cmath>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

constexpr int64_t kExamples = 6000;
constexpr double kNetLearningRate = 0.01;

// The paper's scale, sqrt(6 / (in + out)), as a real number: its script divided integers and got zeros. The output
// layer starts at zero, as there.
Tensor first_weights(RandomState& rng, int64_t in, int64_t out, bool is_last, DType dtype) {
  double range = std::sqrt(6.0 / static_cast<double>(in + out));
  Tensor drawn = Tensor::of(rng.uniform(-range, range, static_cast<size_t>(in * out)), {in, out}).cast(dtype);
  return is_last ? Tensor::zeros(dtype, {in, out}) : drawn;
}

struct Data {
  RandomState rng{2344};
  Tensor x, y;
  Data(const NetCase& net, DType dtype) {
    auto drawn = rng.normal(0, 1, static_cast<size_t>(kExamples * net.sizes.front()));
    x = Tensor::of(drawn, {kExamples, net.sizes.front()}).cast(dtype);
    y = Tensor::of(rng.integers(0, net.sizes.back(), static_cast<size_t>(kExamples)), {kExamples});
  }
};

Function training_step(const NetCase& net, Data& data, const WorkloadOptions& options) {
  RandomState& rng = data.rng;
  Shared x_all(data.x, "x", true), y_all(data.y, "y", true);
  Shared learning_rate(Tensor(kNetLearningRate).cast(options.dtype), "learning_rate");

  Expr start = iscalar("start");
  Expr h = rows(x_all, start, net.batch), y = rows(y_all, start, net.batch);
  std::vector<Shared> parameters;
  for (size_t i = 0; i + 1 < net.sizes.size(); ++i) {
    int64_t in = net.sizes[i], out = net.sizes[i + 1];
    bool is_last = i + 2 == net.sizes.size();
    Shared W(first_weights(rng, in, out, is_last, options.dtype), str("W", i));
    Shared b(Tensor::zeros(options.dtype, {out}), str("b", i));
    h = dot(h, W) + b;
    if (!is_last) h = tanh(h);
    parameters.insert(parameters.end(), {W, b});
  }
  Expr cost = mean(categorical_crossentropy_logits(h, y));
  std::vector<Expr> leaves(parameters.begin(), parameters.end());
  std::vector<Expr> gradients = grad(cost, leaves);
  std::vector<Update> updates;
  for (size_t i = 0; i < parameters.size(); ++i)
    updates.push_back({parameters[i], parameters[i] - learning_rate.expr() * gradients[i]});
  // As in the paper's scripts: logistic regression returns nothing.
  std::vector<Out> outputs;
  if (net.sizes.size() > 2) outputs.emplace_back(cost, options.borrow);
  return function({start}, outputs, updates,
                  {.threads = options.threads, .target = options.target, .name = "bench net"});
}

}  // namespace

Workload net_workload(const std::string& text, const WorkloadOptions& options) {
  NetCase net = net_case(text);
  Data data(net, options.dtype);
  auto train = std::make_shared<Function>(training_step(net, data, options));
  auto run = [train, batch = net.batch, start = Tensor(int64_t{0})](long calls) mutable {
    int64_t& at = *start.data<int64_t>();
    for (; calls > 0; --calls) {
      (*train)(std::span<const Tensor>(&start, 1));
      at += batch;
      if (at + batch > kExamples) at = 0;
    }
  };
  return {run, static_cast<double>(net.batch), {}, train};
}

double seconds_to_build(const std::string& text, const WorkloadOptions& options) {
  NetCase net;
  if (size_t at = text.find("-layers"); at != std::string::npos) {
    net.sizes.assign(static_cast<size_t>(std::stol(text.substr(0, at))) + 1, 16);
    net.batch = 60;
  } else {
    net = net_case(text);
  }
  Data data(net, options.dtype);
  auto begin = std::chrono::steady_clock::now();
  training_step(net, data, options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace thtrain

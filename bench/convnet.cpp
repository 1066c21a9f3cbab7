// The training step of a network with two convolutions, max pooling, tanh, softmax, mean negative log-likelihood and
// plain SGD, data in memory.
#include <cmath>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

struct ConvnetArrays {
  Tensor x, y;
  std::vector<Tensor> parameters;  // a weight and its bias for each of the four layers
};

// bench/peers/convnet.py draws the same. The paper's weights are positive numbers, its output layer zeros; the
// tutorial's are uniform around 0.
ConvnetArrays convnet_arrays(const ConvnetCase& net, DType dtype) {
  RandomState rng(2344);
  auto size_of_shape = [](const Shape& shape) {
    size_t size = 1;
    for (int64_t length : shape) size *= static_cast<size_t>(length);
    return size;
  };
  ConvnetArrays out;
  const Shape images{net.examples, 1, net.image, net.image};
  out.x = Tensor::of(rng.normal(0, 1, size_of_shape(images)), images).cast(dtype);
  out.y = Tensor::of(rng.integers(0, 10, static_cast<size_t>(net.examples)), {net.examples});
  const int64_t flat = net.maps2 * net.pooled2() * net.pooled2(), taps = net.kernel * net.kernel;
  auto uniform = [&](double low, double high, const Shape& shape) {
    out.parameters.push_back(Tensor::of(rng.uniform(low, high, size_of_shape(shape)), shape).cast(dtype));
  };
  auto zeros = [&](const Shape& shape) { out.parameters.push_back(Tensor::zeros(dtype, shape)); };
  auto range = [](int64_t in, int64_t outputs) { return std::sqrt(6 / static_cast<double>(in + outputs)); };
  const Shape w0{net.maps1, 1, net.kernel, net.kernel}, w1{net.maps2, net.maps1, net.kernel, net.kernel};
  if (net.is_lenet) {
    const double r0 = range(taps, net.maps1 * taps / 4), r1 = range(net.maps1 * taps, net.maps2 * taps / 4);
    uniform(-r0, r0, w0), zeros({net.maps1});
    uniform(-r1, r1, w1), zeros({net.maps2});
    const double r2 = range(flat, net.hidden);
    uniform(-r2, r2, {flat, net.hidden});
  } else {
    uniform(0, std::sqrt(6 / 25.0), w0), zeros({net.maps1});
    uniform(0, std::sqrt(6 / 25.0), w1), zeros({net.maps2});
    uniform(0, std::sqrt(6 / 16.0 / 25.0), {flat, net.hidden});
  }
  zeros({net.hidden}), zeros({net.hidden, 10}), zeros({10});
  return out;
}

Expr stage(const ConvnetCase& net, const Expr& x, const Expr& w, const Expr& b, int64_t window) {
  const Expr bias = reshape(b, {1, b.dims()[0], 1, 1});
  const PoolOptions how{.window = {window, window}};
  const Expr y = conv2d(x, w);
  return net.is_lenet ? tanh(pool(y, how) + bias) : tanh(pool(tanh(y + bias), how));
}

Function training_step(const ConvnetCase& net, const WorkloadOptions& options) {
  const ConvnetArrays arrays = convnet_arrays(net, options.dtype);
  Shared x_all(arrays.x, "x", true), y_all(arrays.y, "y", true);
  Shared learning_rate(Tensor(net.learning_rate).cast(options.dtype), "learning_rate");
  std::vector<Shared> parameters;
  for (const Tensor& value : arrays.parameters)
    parameters.emplace_back(value, str(parameters.size() % 2 ? "b" : "w", parameters.size() / 2));
  const Expr start = iscalar("start");
  const std::vector<Expr> p(parameters.begin(), parameters.end());
  Expr h = rows(x_all, start, net.batch);
  h = stage(net, h, p[0], p[1], net.pool1);
  h = stage(net, h, p[2], p[3], net.pool2);
  h = reshape(h, {net.batch, net.maps2 * net.pooled2() * net.pooled2()});
  h = tanh(dot(h, p[4]) + p[5]);
  const Expr cost = mean(categorical_crossentropy_logits(dot(h, p[6]) + p[7], rows(y_all, start, net.batch)));
  const std::vector<Expr> gradients = grad(cost, p);
  std::vector<Update> updates;
  for (size_t i = 0; i < parameters.size(); ++i)
    updates.push_back({parameters[i], parameters[i] - learning_rate.expr() * gradients[i]});
  return function({start}, {Out(cost, options.borrow)}, updates,
                  {.threads = options.threads, .target = options.target, .name = "bench convnet"});
}

// The first example of the step after the one that began at `at`.
int64_t next_start(const ConvnetCase& net, int64_t at) {
  at += net.batch;
  return at + net.batch > net.examples ? 0 : at;
}

}  // namespace

Workload convnet_workload(const std::string& text, const WorkloadOptions& options) {
  const ConvnetCase net = convnet_case(text);
  auto train = std::make_shared<Function>(training_step(net, options));
  auto run = [train, net, start = Tensor(int64_t{0})](long calls) mutable {
    int64_t& at = *start.data<int64_t>();
    for (; calls > 0; --calls) {
      (*train)(std::span<const Tensor>(&start, 1));
      at = next_start(net, at);
    }
  };
  return {run, static_cast<double>(net.batch), {}, train};
}

std::vector<double> convnet_costs(const std::string& text, const WorkloadOptions& options, int calls) {
  const ConvnetCase net = convnet_case(text);
  Function train = training_step(net, options);
  std::vector<double> out;
  for (int64_t at = 0; calls > 0; --calls, at = next_start(net, at)) out.push_back(train({Tensor(at)})[0].as_double());
  return out;
}

}  // namespace thtrain

// Operations on arrays, as compiled functions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

using Build = std::function<Expr(const std::vector<Expr>& in)>;

// An operation with its arguments, which are drawn one after the other by one generator: bench/peers/language.py has
// the same.
struct Operation {
  std::vector<Tensor> arguments;
  Build build;
};

class ArgumentDraws {
 public:
  explicit ArgumentDraws(DType dtype) : dtype_(dtype) {}

  Tensor normal(const Shape& shape) {
    return made(shape, [&] { return random_.normal(); });
  }
  // Of which many come several times.
  Tensor rounded(const Shape& shape) {
    return made(shape, [&] { return std::rint(1000 * random_.normal()); });
  }
  Tensor integers(const Shape& shape, int64_t below) {
    Tensor out = Tensor::empty(DType::kInt64, shape);
    for (int64_t i = 0; i < out.size(); ++i) out.data<int64_t>()[i] = random_.integer(0, below);
    return out;
  }

 private:
  Tensor made(const Shape& shape, const std::function<double()>& number) {
    Tensor out = Tensor::empty(DType::kFloat64, shape);
    for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = number();
    return out.cast(dtype_);
  }

  RandomState random_{7};
  DType dtype_;
};

constexpr int64_t kLargest = 100;

Operation order(const LanguageCase& what, ArgumentDraws& draws) {
  const bool repeats = what.what == "unique";
  const Tensor x = what.is_int64 ? draws.integers(what.shape, repeats ? 100'000 : 1'000'000'000)
                   : repeats     ? draws.rounded(what.shape)
                                 : draws.normal(what.shape);
  if (what.what == "sort") return {{x}, [](auto& in) { return sort(in[0]); }};
  if (what.what == "argsort") return {{x}, [](auto& in) { return argsort(in[0]); }};
  if (what.what == "topk")
    return {{x}, [k = std::min(kLargest, what.shape.back())](auto& in) { return topk(in[0], k); }};
  return {{x}, [](auto& in) { return unique(in[0]).values; }};
}

// The gradients of the network's weights for each example, each network's [batch, inputs, hidden units, classes].
Operation per_example(const Shape& lengths, ArgumentDraws& draws) {
  const int64_t batch = lengths[0], inputs = lengths[1], hidden = lengths[2], classes = lengths[3];
  const std::vector<Tensor> arguments{draws.normal({batch, inputs}), draws.integers({batch}, classes),
                                      draws.normal({inputs, hidden}), draws.normal({hidden, classes})};
  return {arguments, [](auto& in) {
            return vmap(
                [&](const Expr& x, const Expr& label) {
                  const Expr scores = log_softmax(dot(tanh(dot(x, in[2])), in[3]), 0);
                  return grad(-take(scores, label), in[2]);
                },
                {in[0], in[1]});
          }};
}

Operation operation(const LanguageCase& what, DType dtype) {
  ArgumentDraws draws(dtype);
  const Shape& shape = what.shape;
  const std::string& name = what.what;
  const int64_t rows = shape[0];
  if (name == "matmul")
    return {{draws.normal(shape), draws.normal(shape)}, [](auto& in) { return matmul(in[0], in[1]); }};
  if (name == "attention")
    return {{draws.normal(shape), draws.normal(shape), draws.normal(shape)}, [](auto& in) {
              return einsum("bhqk,bkhd->bqhd", {einsum("bqhd,bkhd->bhqk", {in[0], in[1]}), in[2]});
            }};
  if (name == "take")
    return {{draws.normal(shape), draws.integers({rows}, rows)}, [](auto& in) { return take(in[0], in[1]); }};
  if (name == "scatter_add")
    return {{draws.normal(shape), draws.integers({rows}, rows), draws.normal(shape)},
            [](auto& in) { return scatter_add(in[0], in[1], in[2]); }};
  if (name == "mask") return {{draws.normal(shape)}, [](auto& in) { return in[0][gt(in[0], 0)]; }};
  if (name == "mask_rows")
    return {{draws.normal(shape), draws.normal({rows})}, [](auto& in) { return in[0][gt(in[1], 0)]; }};
  if (name == "set_mask")
    return {{draws.normal(shape)}, [](auto& in) { return set_subtensor(in[0][gt(in[0], 0)], 0); }};
  if (name == "per_example") return per_example(shape, draws);
  const int64_t axis = name.back() - '0';
  const std::string reduction = name.substr(0, name.size() - 1);
  if (reduction == "sum") return {{draws.normal(shape)}, [=](auto& in) { return sum(in[0], axis); }};
  if (reduction == "max") return {{draws.normal(shape)}, [=](auto& in) { return max(in[0], axis); }};
  if (reduction == "argmax") return {{draws.normal(shape)}, [=](auto& in) { return argmax(in[0], axis); }};
  if (reduction == "cumsum") return {{draws.normal(shape)}, [=](auto& in) { return cumsum(in[0], axis); }};
  return order(what, draws);
}

Function compiled(const Operation& what, const std::string& text, const WorkloadOptions& options) {
  std::vector<Expr> variables;
  std::vector<In> inputs;
  for (const Tensor& argument : what.arguments) {
    variables.push_back(
        tensor(str("x", variables.size()), Dims(argument.shape().begin(), argument.shape().end()), argument.dtype()));
    inputs.emplace_back(variables.back());
  }
  return function(inputs, {Out(what.build(variables), options.borrow)}, {},
                  {.threads = options.threads, .name = "bench " + text});
}

}  // namespace

Workload language_workload(const std::string& text, const WorkloadOptions& options) {
  const LanguageCase what = language_case(text);
  const Operation made = operation(what, options.dtype);
  auto call = std::make_shared<Function>(compiled(made, text, options));
  auto run = [call, arguments = made.arguments](long calls) {
    for (; calls > 0; --calls) (*call)(std::span<const Tensor>(arguments));
  };
  return {run, what.elements()};
}

}  // namespace thtrain

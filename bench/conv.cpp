// A convolution or one of its gradients: all lengths known, correlation as other libraries compute it.
#include <algorithm>
#include <array>

#include "bench/workloads.h"
#include "compiler/api.h"

namespace thtrain {

namespace {

struct ConvCall {
  Function call;
  std::array<Tensor, 2> arguments;
};

// The operands as bench/peers/conv.py draws them.
ConvCall conv_call(const ConvCase& c, const WorkloadOptions& options) {
  RandomState rng(7);
  auto drawn = [&](const Shape& shape) {
    int64_t size = 1;
    for (int64_t length : shape) size *= length;
    return Tensor::of(rng.uniform(-1, 1, static_cast<size_t>(size)), shape).cast(options.dtype);
  };
  const auto [first_shape, second_shape] = conv_shapes(c);
  std::array<Tensor, 2> arguments{drawn(first_shape), drawn(second_shape)};
  auto input = [&](const char* name, const Shape& shape) {
    return tensor(name, {shape[0], shape[1], shape[2], shape[3]}, options.dtype);
  };
  const Expr first = input("first", first_shape), second = input("second", second_shape);
  const Expr out = conv_of(c, first, second);
  return {function({first, second}, {{out, options.borrow}}, {}, {.threads = options.threads, .name = "bench conv"}),
          std::move(arguments)};
}

}  // namespace

std::array<Shape, 2> conv_shapes(const ConvCase& c) {
  const Shape x{c.batch, c.channels, c.height, c.width}, w{c.filters, c.channels, c.kernel_height, c.kernel_width},
      dy{c.batch, c.filters, c.out_height(), c.out_width()};
  return {c.pass == ConvPass::kInputGradient ? dy : x, c.pass == ConvPass::kWeightGradient ? dy : w};
}

Expr conv_of(const ConvCase& c, const Expr& first, const Expr& second) {
  const ConvOptions how{.padding = ConvPadding::zeros({{c.pad_y, c.pad_y}, {c.pad_x, c.pad_x}}),
                        .stride = {c.stride_y, c.stride_x},
                        .flip = false};
  return c.pass == ConvPass::kForward ? conv2d(first, second, how)
         : c.pass == ConvPass::kInputGradient
             ? conv_transposed(first, second, how, {c.height, c.width})
             : conv_weight_gradient(first, second, {c.kernel_height, c.kernel_width}, how);
}

Workload conv_workload(const std::string& text, const WorkloadOptions& options) {
  const ConvCase c = conv_case(text);
  auto made = std::make_shared<ConvCall>(conv_call(c, options));
  const std::vector<kernel::Choice>& choices = made->call.info().choices;
  const auto chosen = std::find_if(choices.begin(), choices.end(), [&](const kernel::Choice& choice) {
    return choice.key.computation == name_of(c.pass);
  });
  auto run = [made](long calls) {
    for (; calls > 0; --calls) made->call(std::span<const Tensor>(made->arguments));
  };
  return {run, 1e-9 * c.flops(), chosen == choices.end() ? "" : chosen->candidate};
}

Tensor conv_result(const std::string& text, const WorkloadOptions& options) {
  ConvCall made = conv_call(conv_case(text), options);
  return made.call(std::span<const Tensor>(made.arguments))[0].copy();
}

}  // namespace thtrain

// A pooling, or its gradient: all lengths known, square windows.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "bench/workloads.h"
#include "compiler/api.h"
#include "compiler/base/error.h"

namespace thtrain {

namespace {

constexpr int64_t kLargestSetting = 1'000'000;
constexpr double kMostInputElements = 2147483648.0;  // of an array

// "w3s2p1", with the letters w, s and p, or "16x64x56x56", with x: the numbers; empty for another text.
std::vector<int64_t> numbers(std::string_view text, std::string_view letters) {
  std::vector<int64_t> out;
  for (const char letter : letters) {
    if (!out.empty() || letter != 'x') {
      if (text.empty() || text[0] != letter) return {};
      text.remove_prefix(1);
    }
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < (letter == 'p' ? 0 : 1) || value > kLargestSetting) return {};
    text.remove_prefix(static_cast<size_t>(stop - text.data()));
    out.push_back(value);
  }
  return text.empty() ? out : std::vector<int64_t>();
}

struct PoolCall {
  Function call;
  std::vector<Tensor> arguments;
};

// x, then dy, as bench/peers/pool.py draws them.
PoolCall pool_call(const PoolCase& c, const WorkloadOptions& options) {
  const Shape image{c.batch, c.channels, c.height, c.width},
      pooled{c.batch, c.channels, c.pooled(c.height), c.pooled(c.width)};
  RandomState rng(7);
  auto drawn = [&](const Shape& shape) {
    int64_t size = 1;
    for (int64_t length : shape) size *= length;
    return Tensor::of(rng.uniform(-1, 1, static_cast<size_t>(size)), shape).cast(options.dtype);
  };
  auto input = [&](const char* name, const Shape& shape) {
    return tensor(name, {shape[0], shape[1], shape[2], shape[3]}, options.dtype);
  };
  const Tensor image_numbers = drawn(image), pooled_numbers = drawn(pooled);
  const Expr x = input("x", image), dy = input("dy", pooled);
  Expr out = pool(x, {.window = {c.window, c.window},
                      .stride = {c.stride, c.stride},
                      .padding = {{c.padding, c.padding}, {c.padding, c.padding}},
                      .mode = c.is_mean ? PoolMode::kAveragePadded : PoolMode::kMax});
  if (c.is_gradient) out = vjp(out, x, dy);
  std::vector<In> inputs;
  std::vector<Tensor> arguments;
  auto take = [&](const Expr& variable, const Tensor& numbers) {
    inputs.emplace_back(variable);
    arguments.push_back(numbers);
  };
  if (!(c.is_gradient && c.is_mean)) take(x, image_numbers);  // the gradient of a mean is that of any images
  if (c.is_gradient) take(dy, pooled_numbers);
  return {function(inputs, {{out, options.borrow}}, {}, {.threads = options.threads, .name = "bench pool"}),
          std::move(arguments)};
}

}  // namespace

PoolCase pool_case(const std::string& text) {
  const size_t first = std::min(text.find('/'), text.size());
  const std::string_view behind = std::string_view(text).substr(std::min(first + 1, text.size()));
  const size_t middle = std::min(behind.find('/'), behind.size());
  const std::string what = text.substr(0, first);
  const std::vector<int64_t> lengths = numbers(behind.substr(0, middle), "xxxx"),
                             windows = numbers(behind.substr(std::min(middle + 1, behind.size())), "wsp");
  const bool is_known = what == "max" || what == "max_gradient" || what == "mean" || what == "mean_gradient";
  if (!is_known || lengths.empty() || windows.empty())
    throw UserError(Message{.what = "bench: no such case",
                            .expected = "max, max_gradient, mean or mean_gradient, the lengths of the images, and w, s "
                                        "and p with the window, the stride and the padding, such as "
                                        "max/16x64x56x56/w3s2p1",
                            .got = text});
  const PoolCase c{what.ends_with("_gradient"),
                   what.starts_with("mean"),
                   lengths[0],
                   lengths[1],
                   lengths[2],
                   lengths[3],
                   windows[0],
                   windows[1],
                   windows[2]};
  if (2 * c.padding > c.window || c.pooled(c.height) < 1 || c.pooled(c.width) < 1)
    throw UserError(Message{.what = "bench: no window fits",
                            .expected = "a padding of at most half of the window, and a window that is no longer than "
                                        "the padded image",
                            .got = text});
  if (c.elements() > kMostInputElements)
    throw UserError(
        Message{.what = "bench: the images are too large", .expected = "at most 2,147,483,648 elements", .got = text});
  return c;
}

Workload pool_workload(const std::string& text, const WorkloadOptions& options) {
  const PoolCase c = pool_case(text);
  auto made = std::make_shared<PoolCall>(pool_call(c, options));
  const std::vector<kernel::Choice>& choices = made->call.info().choices;
  const auto chosen = std::find_if(choices.begin(), choices.end(),
                                   [](const kernel::Choice& choice) { return choice.key.computation == "pool"; });
  auto run = [made](long calls) {
    for (; calls > 0; --calls) made->call(std::span<const Tensor>(made->arguments));
  };
  return {run, c.elements(), chosen == choices.end() ? "" : chosen->candidate};
}

Tensor pool_result(const std::string& text, const WorkloadOptions& options) {
  PoolCall made = pool_call(pool_case(text), options);
  return made.call(std::span<const Tensor>(made.arguments))[0].copy();
}

}  // namespace thtrain

// Convolutions and both gradients against PyTorch, in the cases of Theano's test_abstract_conv.py: its tables of two
// and three axes, groups, unshared filters, other paddings before than behind, causal convolutions. Elements are small
// whole numbers, so that the sums are exact in any order.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

constexpr size_t kCases = 473, kCasesOfTables = 404;  // those come first

// Element k: (3 k k + 7 k + s) % 13 - 6, as convolutions.py has them.
int64_t element(int64_t k, int64_t s) {
  return (3 * k * k + 7 * k + s) % 13 - 6;
}

Tensor pattern(const Shape& shape, int64_t s, DType dtype) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t k = 0; k < out.size(); ++k) out.data<double>()[k] = static_cast<double>(element(k, s));
  return out.cast(dtype);
}

ConvPadding padding_of(const std::string& text) {
  if (text == "valid") return ConvPadding::valid();
  if (text == "half") return ConvPadding::half();
  if (text == "full") return ConvPadding::full();
  if (text == "causal") return ConvPadding::causal();
  const std::vector<int64_t> flat = parse_list(text);
  std::vector<std::pair<int64_t, int64_t>> zeros;
  for (size_t i = 0; i < flat.size(); i += 2) zeros.emplace_back(flat[i], flat[i + 1]);
  return ConvPadding::zeros(std::move(zeros));
}

// The result, the gradient to the images and that to the filters.
struct Case {
  explicit Case(const GoldenLine& line, DType dtype)
      : x(pattern(parse_list(line.arguments[0]), 1, dtype)),
        w(pattern(parse_list(line.arguments[1]), 2, dtype)),
        dy(pattern(line.shape, 3, dtype)) {
    const ConvOptions options{.padding = padding_of(line.arguments[2]),
                              .stride = parse_list(line.arguments[3]),
                              .dilation = parse_list(line.arguments[4]),
                              .groups = std::stoll(line.arguments[5]),
                              .flip = line.arguments[6] == "1",
                              .unshared = w.shape().size() > x.shape().size()};
    for (const Tensor* value : {&x, &w, &dy}) inputs.push_back(make_input(type_of(*value), "x"));
    auto lengths = [&](const Tensor& of) {
      return Dims(of.shape().end() - static_cast<ptrdiff_t>(x.shape().size() - 2), of.shape().end());
    };
    results = {conv(inputs[0], inputs[1], options), conv_transposed(inputs[2], inputs[1], options, lengths(x)),
               conv_weight_gradient(inputs[0], inputs[2], lengths(w), options)};
  }

  Tensor x, w, dy;
  std::vector<Expr> inputs, results;
};

void expect_sums(const GoldenLine& line, const Case& of, const Tensor* results) {
  const Shape shapes[] = {line.shape, of.x.shape(), of.w.shape()};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(results[i].shape(), shapes[i]) << "result " << i;
    for (int64_t s : {4, 5}) {
      double sum = 0;
      for (int64_t k = 0; k < results[i].size(); ++k)
        sum += results[i].as_double(k) * static_cast<double>(element(k, s));
      EXPECT_EQ(sum, std::stod(line.values.at(2 * i + static_cast<size_t>(s - 4)))) << "result " << i << ", " << s;
    }
  }
}

TEST(ConvGolden, TheDefinitionsArePyTorchs) {
  size_t cases = 0;
  for (const GoldenLine& line : golden_lines("convolutions.txt")) {
    SCOPED_TRACE(line.text);
    const Case of(line, DType::kFloat64);
    const std::vector<Tensor> out =
        evaluate(of.results, {{of.inputs[0], of.x}, {of.inputs[1], of.w}, {of.inputs[2], of.dy}});
    expect_sums(line, of, out.data());
    ++cases;
  }
  EXPECT_EQ(cases, kCases);
}

// One function of every so many cases, since each has three kernels: of the tables, and of all others.
TEST(ConvGolden, NativeCodeIsPyTorchs) {
  std::vector<GoldenLine> lines;
  size_t number = 0;
  for (GoldenLine& line : golden_lines("convolutions.txt"))
    if (const bool is_of_tables = number < kCasesOfTables; number++ % (is_of_tables ? 17 : 3) == 0)
      lines.push_back(std::move(line));
  std::vector<Case> cases;
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<Tensor> values;
  for (const GoldenLine& line : lines) {
    cases.emplace_back(line, cases.size() % 2 == 0 ? DType::kFloat32 : DType::kFloat64);
    const Case& of = cases.back();
    inputs.insert(inputs.end(), of.inputs.begin(), of.inputs.end());
    outputs.insert(outputs.end(), of.results.begin(), of.results.end());
    for (const Tensor* value : {&of.x, &of.w, &of.dy}) values.push_back(*value);
  }
  const std::vector<Tensor> out = function(inputs, outputs)(values);
  for (size_t i = 0; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i].text);
    expect_sums(lines[i], cases[i], &out[3 * i]);
  }
}

// By automatic differentiation, which builds the two gradients by itself.
TEST(ConvGolden, DerivativesArePyTorchs) {
  size_t number = 0;
  for (const GoldenLine& line : golden_lines("convolutions.txt")) {
    if (number++ % 7 != 0) continue;
    SCOPED_TRACE(line.text);
    const Case of(line, DType::kFloat64);
    const Expr cost = sum(of.results[0] * of.inputs[2]);
    const std::vector<Tensor> out = evaluate({of.results[0], grad(cost, of.inputs[0]), grad(cost, of.inputs[1])},
                                             {{of.inputs[0], of.x}, {of.inputs[1], of.w}, {of.inputs[2], of.dy}});
    expect_sums(line, of, out.data());
  }
}

}  // namespace
}  // namespace thtrain

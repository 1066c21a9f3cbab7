// Normalizations and their derivatives against NumPy and PyTorch; second derivatives against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/normalization.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::normalization_test {
namespace {

// ---- values and first derivatives ----------------------------------------------------------------------------------

class Golden {
 public:
  Golden(DType dtype, bool known) : dtype_(dtype), known_(known) {
    for (const GoldenLine& line : golden_lines("normalizations.txt")) {
      if (line.name == "value")
        values_[line.arguments[0]] = line.result(dtype);
      else
        add(line);
    }
  }

  int compare(double tolerance) {
    std::vector<In> ins;
    std::vector<Out> outs;
    std::vector<Tensor> values;
    std::vector<std::pair<Expr, Tensor>> bound;
    for (const auto& [name, input] : inputs_) {
      ins.emplace_back(input);
      values.push_back(values_.at(name));
      bound.emplace_back(input, values.back());
    }
    for (const Expr& e : built_) outs.emplace_back(e);
    const std::vector<Tensor> native = function(ins, outs)(values), reference = evaluate(built_, bound);
    for (size_t k = 0; k < built_.size(); ++k) {
      SCOPED_TRACE(wanted_[k].text);
      const Tensor want = wanted_[k].result(dtype_);
      for (const Tensor* got : {&native[k], &reference[k]}) {
        EXPECT_EQ(got->type_text(), want.type_text());
        if (got->shape() != want.shape()) continue;
        for (int64_t i = 0; i < want.size(); ++i)
          EXPECT_NEAR(got->as_double(i), want.as_double(i), tolerance * std::max(1.0, std::abs(want.as_double(i))))
              << i;
      }
    }
    return static_cast<int>(built_.size());
  }

 private:
  Expr input(const std::string& name) {
    auto found = inputs_.find(name);
    if (found != inputs_.end()) return found->second;
    Type type = type_of(values_.at(name));
    // Lengths that are equal have one name.
    if (!known_)
      for (Dim& dim : type.dims) dim = Dim::named(str("n", dim.value()));
    return inputs_.emplace(name, make_input(type, name)).first->second;
  }

  void add(const GoldenLine& line) {
    const std::vector<std::string>& words = line.arguments;
    const std::string &key = words[0], &what = words.back();
    const Expr x = input(key);
    if (line.name == "batch") {
      const Expr scale = input(key + "_scale"), shift = input(key + "_shift");
      const RunningMoments running{input(key + "_running_mean"), input(key + "_running_variance")};
      const Axes axes(parse_list(words[1]));
      if (what == "evaluated")
        return keep(line, batch_normalization_evaluation(x, scale, shift, running.mean, running.variance, axes));
      const BatchNormalization made = batch_normalization_training(x, scale, shift, axes, running);
      const std::map<std::string, Expr> values{{"output", made.output},
                                               {"mean", made.mean},
                                               {"inverse_deviation", made.inverse_deviation},
                                               {"running_mean", made.running_mean},
                                               {"running_variance", made.running_variance}};
      if (values.count(what)) return keep(line, values.at(what));
      return keep(line, derivative(made.output, key, what == "dx" ? x : what == "dscale" ? scale : shift));
    }
    const Expr y = line.name == "layer" ? layer_normalization(x, std::stoll(words[1]))
                                        : local_response_normalization(x, {.channels = std::stoll(words[1]),
                                                                           .k = std::stod(words[2]),
                                                                           .alpha = std::stod(words[3]),
                                                                           .beta = std::stod(words[4])});
    keep(line, what == "output" ? y : derivative(y, key, x));
  }

  Expr derivative(const Expr& y, const std::string& key, const Expr& wrt) {
    return grad(sum(y * input(key + "_weights")), wrt);
  }

  void keep(const GoldenLine& line, const Expr& e) {
    wanted_.push_back(line);
    built_.push_back(e);
  }

  DType dtype_;
  bool known_;
  std::map<std::string, Tensor> values_;
  std::map<std::string, Expr> inputs_;
  std::vector<Expr> built_;
  std::vector<GoldenLine> wanted_;
};

TEST(Normalization, GivesPyTorchsValuesAndDerivativesWithKnownLengths) {
  EXPECT_EQ(Golden(DType::kFloat64, true).compare(1e-12), 59);
}

TEST(Normalization, GivesPyTorchsValuesAndDerivativesWithNamedLengths) {
  EXPECT_EQ(Golden(DType::kFloat32, false).compare(2e-5), 59);
}

// ---- second derivatives --------------------------------------------------------------------------------------------

Tensor random_tensor(RandomState& rng, const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = rng.uniform(-2, 2);
  return out;
}

// d sum(w2 * d sum(w1 * f(x)^2) / dx) / dx against differences of the inner derivative.
void check_second(const std::string& name, const Shape& shape, const std::function<Expr(Expr)>& f) {
  SCOPED_TRACE(name);
  RandomState rng(77);
  const Tensor value = random_tensor(rng, shape);
  const Expr x = make_input(type_of(value), "x"), y = f(x);
  const Expr first = grad(sum(sqr(y) * make_constant(random_tensor(rng, y.type().known_shape()))), x);
  const Expr cost = sum(first * make_constant(random_tensor(rng, shape)));
  const Tensor exact = evaluate({grad(cost, x)}, {{x, value}})[0];
  for (int64_t i = 0; i < exact.size(); ++i) {
    const double step = 1e-6;
    auto cost_at = [&](double change) {
      Tensor moved = value.copy();
      moved.data<double>()[i] += change;
      return evaluate({cost}, {{x, moved}})[0].as_double();
    };
    EXPECT_NEAR((cost_at(step) - cost_at(-step)) / (2 * step), exact.as_double(i),
                1e-6 * std::max(1.0, std::abs(exact.as_double(i))))
        << i;
  }
}

TEST(Normalization, SecondDerivativesAgreeWithDifferences) {
  const Expr scale = make_constant(Tensor::vector<double>({0.5, -1.5})),
             shift = make_constant(Tensor::vector<double>({1, 2}));
  check_second("batch", {3, 2, 2, 2}, [&](Expr x) {
    return batch_normalization_training(x, scale, shift, {0, 2, 3}, {}, 0.1).output;
  });
  check_second("moments", {4, 2}, [&](Expr x) {
    const BatchNormalization made = batch_normalization_training(x, scale, shift, {0}, {}, 0.1);
    return made.output * made.inverse_deviation + made.mean;
  });
  check_second("layer", {2, 5}, [](Expr x) { return layer_normalization(x, 1, 0.1); });
  check_second("response", {2, 4, 2}, [](Expr x) {
    return local_response_normalization(x, {.channels = 3, .k = 1, .alpha = 0.5, .beta = 0.75});
  });
}

// ---- special values ------------------------------------------------------------------------------------------------

TEST(Normalization, OneElementAndConstantsAreFinite) {
  const Expr x = make_constant(Tensor::matrix<double>({{3, 5}}));
  const Expr zero = make_constant(Tensor::vector<double>({0, 0})), one = make_constant(Tensor::vector<double>({1, 1}));
  const BatchNormalization made = batch_normalization_training(x, 2, 7, {0}, RunningMoments{zero, one});
  const std::vector<Tensor> got =
      evaluate({made.output, made.running_mean, made.running_variance, layer_normalization(x * 0)}, {});
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got[0].as_double(i), 7);
    EXPECT_NEAR(got[1].as_double(i), i == 0 ? 0.3 : 0.5, 1e-15);
    EXPECT_NEAR(got[2].as_double(i), 0.9, 1e-15);
    EXPECT_EQ(got[3].as_double(i), 0);
  }
}

// The variance of values far from 0: the mean is subtracted first.
TEST(Normalization, OfValuesFarFromZero) {
  Tensor value = Tensor::zeros(DType::kFloat32, {4096, 2});
  for (int64_t i = 0; i < value.size(); ++i)
    value.data<float>()[i] = 1000 + static_cast<float>(i / 2 % 2 == 0 ? 1 : -1) / 8;
  const Expr x = make_input(type_of(value), "x");
  const BatchNormalization made = batch_normalization_training(x, 1, 0, {0}, {}, 1e-12);
  const std::vector<Tensor> got = function({x}, {made.output, made.inverse_deviation})({value});
  EXPECT_NEAR(got[0].as_double(0), 1, 1e-6);
  EXPECT_NEAR(got[0].as_double(2), -1, 1e-6);
  EXPECT_NEAR(got[1].as_double(1), 8, 1e-5);
}

// A channel's statistics, its output and its derivatives are computed while its elements are in the cache.
TEST(Normalization, OfImagesIsOneKernel) {
  const Type images{.dtype = DType::kFloat32, .dims = {10, 16, 12, 12}},
      channels{.dtype = DType::kFloat32, .dims = {16}};
  const Expr x = make_input(images, "x"), weights = make_input(images, "weights"),
             scale = make_input(channels, "scale"), shift = make_input(channels, "shift");
  const Expr y = batch_normalization_training(x, scale, shift, {0, 2, 3}).output;
  const std::vector<Expr> d = grad(sum(y * weights), {x, scale, shift});
  EXPECT_EQ(function({x, scale, shift}, {y}).info().kernels, 1u);
  // The second one copies what each channel has to outputs without the other axes.
  EXPECT_EQ(function({x, scale, weights}, {d[0], d[1], d[2]}).info().kernels, 2u);
}

// ---- errors --------------------------------------------------------------------------------------------------------

template <class Action>
std::string message(Action action) {
  std::string text = text_without_node(action);
  size_t at = text.find("\n  node:");
  if (at == std::string::npos) return text;
  size_t rest = text.find("\n", at + 1);
  return text.substr(0, at) + (rest == std::string::npos ? "" : text.substr(rest));
}

Expr input(DType dtype, Dims dims, std::string name = "x") {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, std::move(name));
}

TEST(NormalizationErrors, OfBatches) {
  const Expr x = input(DType::kFloat32, {"n", 3, 4, 4});
  EXPECT_EQ(message([&] {
              batch_normalization_training(input(DType::kInt32, {3, 4}), 1, 0, {0});
            }),
            "error: batch_normalization_training: the values are not real floats\n"
            "  expected: float32 or float64\n"
            "  got:      x int32[3, 4]\n"
            "  hint:     cast them");
  EXPECT_EQ(message([&] {
              batch_normalization_training(x, input(DType::kFloat32, {4}, "scale"), 0, {0, 2, 3});
            }),
            "error: batch_normalization_training: the scale does not fit\n"
            "  expected: float32[3], the lengths of the axes that stay, or a scalar\n"
            "  got:      scale float32[4] for x float32[n, 3, 4, 4]");
  EXPECT_EQ(message([&] {
              batch_normalization_training(x, 1, input(DType::kFloat64, {3}, "shift"), {0, 2, 3});
            }),
            "error: batch_normalization_training: the shift does not fit\n"
            "  expected: float32[3], the lengths of the axes that stay, or a scalar\n"
            "  got:      shift float64[3] for x float32[n, 3, 4, 4]");
  EXPECT_EQ(message([&] { batch_normalization_training(x, 1, 0, {4}); }),
            "error: batch_normalization_training: there is no axis 4\n"
            "  expected: an axis from -4 to 3\n"
            "  got:      axes [4] of 4 dimensions");
  EXPECT_EQ(message([&] { batch_normalization_training(x, 1, 0, {0}, {}, 0); }),
            "error: batch_normalization_training: epsilon is not positive\n"
            "  expected: a number above 0\n"
            "  got:      0");
  const Expr mean = input(DType::kFloat32, {3}, "mean");
  EXPECT_EQ(message([&] {
              batch_normalization_training(x, 1, 0, {0, 2, 3}, RunningMoments{mean, mean, 1.5});
            }),
            "error: batch_normalization_training: the factor of the running averages is not a part\n"
            "  expected: a number from 0 to 1\n"
            "  got:      1.5");
  EXPECT_EQ(message([&] {
              batch_normalization_evaluation(x, 1, 0, mean, input(DType::kFloat32, {1, 3}, "v"), {0, 2, 3});
            }),
            "error: batch_normalization_evaluation: the variance does not fit\n"
            "  expected: float32[3], the lengths of the axes that stay, or a scalar\n"
            "  got:      v float32[1, 3] for x float32[n, 3, 4, 4]");
}

TEST(NormalizationErrors, OfLayersAndResponses) {
  EXPECT_EQ(message([&] {
              layer_normalization(input(DType::kFloat32, {3, 4}), 3);
            }),
            "error: layer_normalization: the last 3 axes are asked for\n"
            "  expected: a number from 1 to 2\n"
            "  got:      x float32[3, 4]");
  EXPECT_EQ(message([&] { layer_normalization(input(DType::kFloat32, {}), 1); }),
            "error: layer_normalization: the last 1 axes are asked for\n"
            "  expected: a value with an axis\n"
            "  got:      x float32[]");
  EXPECT_EQ(message([&] {
              local_response_normalization(input(DType::kComplex64, {3, 4}));
            }),
            "error: local_response_normalization: the values are not real floats\n"
            "  expected: float32 or float64\n"
            "  got:      x complex64[3, 4]");
  EXPECT_EQ(message([&] { local_response_normalization(input(DType::kFloat32, {3})); }),
            "error: local_response_normalization: the values have no axis of channels\n"
            "  expected: at least 2 axes\n"
            "  got:      x float32[3]");
  EXPECT_EQ(message([&] {
              local_response_normalization(input(DType::kFloat32, {3, 4}), {.channels = 0});
            }),
            "error: local_response_normalization: over 0 channels\n"
            "  expected: at least 1 channel\n"
            "  got:      0");
}

}  // namespace
}  // namespace thtrain::normalization_test

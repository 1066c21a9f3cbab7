// After NumPy's linalg/tests/test_linalg.py and fft/tests/test_pocketfft.py, and PyTensor's tests/tensor/
// test_nlinalg.py, test_slinalg.py and test_fft.py: products of many, tensors as matrices, functions of matrices,
// gradients, transforms.
//
// Not expressed: solvers of Lyapunov's, Sylvester's and Riccati's equations, QZ and Schur forms, block-diagonal
// matrices; transforms of threads and of memory layouts.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/linalg_values.h"

namespace thtrain::linalg_more_suite {
namespace {

using G = Given&;

void add(std::vector<SuiteCase>& cases, const std::string& name, std::function<All(G)> build) {
  cases.push_back(made_case(name, [build = std::move(build)](G g) { return parts(build(g)); }));
}

void add_products(std::vector<SuiteCase>& cases) {
  const auto product = [&](const std::string& name, size_t count, bool first_is_row, bool last_is_column) {
    add(cases, "TestMultiDot.test_" + name, [=](G g) {
      const Shape shapes[] = {{6, 2}, {2, 6}, {6, 2}, {2, 3}};
      std::vector<Operand> all;
      for (size_t k = 0; k < count; ++k) {
        const Expr x = g.known(spread(shapes[k], static_cast<int64_t>(k)));
        all.emplace_back(k == 0 && first_is_row ? x[0] : k == 3 && last_is_column ? transpose(x)[0] : x);
      }
      return All{multi_dot(all)};
    });
  };
  product("basic_function_with_two_arguments", 2, false, false);
  product("basic_function_with_three_arguments", 3, false, false);
  product("basic_function_with_dynamic_programming_optimization", 4, false, false);
  product("vector_as_first_argument", 4, true, false);
  product("vector_as_last_argument", 4, false, true);
  product("vector_as_first_and_last_argument", 4, true, true);
}

// As a matrix, spread(n, n) with 9 more on its diagonal.
Expr tensor_of(G g, int64_t n, int64_t seed, const Dims& dims) {
  return reshape(g.known(spread({n, n}, seed)) + 9.0 * eye(n), LengthList(dims));
}

TEST(LinalgSuite, Others) {
  std::vector<SuiteCase> cases;
  add_products(cases);
  const std::string tensors = "TestTensorinv.test_tensorinv_";
  add(cases, tensors + "shape[2]", [](G g) { return All{tensorinv(tensor_of(g, 24, 1, {4, 6, 8, 3}), 2)}; });
  add(cases, tensors + "shape[1]", [](G g) { return All{tensorinv(tensor_of(g, 24, 1, {24, 8, 3}), 1)}; });
  add(cases, tensors + "result[2]", [](G g) {
    return All{tensorsolve(tensor_of(g, 24, 1, {4, 6, 8, 3}), g.known(spread({4, 6}, 2)))};
  });
  add(cases, tensors + "result[1]", [](G g) {
    return All{tensorsolve(tensor_of(g, 24, 1, {24, 8, 3}), g.known(spread({24}, 2)))};
  });
  add(cases, "TestTensorsolve.test_result", [](G g) {
    return All{tensorsolve(tensor_of(g, 12, 4, {2, 6, 3, 4}), g.known(spread({2, 6}, 5)))};
  });
  const double scales[] = {0.01, 0.5, 3};
  for (int64_t k = 0; k < 3; ++k)
    add(cases, str("test_expm[", k, "]"), [=](G g) { return All{expm(scales[k] * g.known(spread({4, 4}, k)))}; });
  add(cases, "test_expm[zero]", [](G g) { return All{expm(0.0 * g.known(positive({3, 3})))}; });
  for (const bool lower : {true, false})
    for (const bool transposed : {false, true})
      for (const bool unit : {true, false})
        add(cases, str("TestSolveTriangular.test_correctness[", lower, ",", transposed, ",", unit, "]"), [=](G g) {
          const Expr a = g.known(spread({4, 4}, 6)) + 4.0 * eye(4);
          return All{triangular_solve(a, g.known(spread({4, 2}, 7)),
                                      {.lower = lower, .transposed = transposed, .unit = unit})};
        });
  const std::pair<Shape, Shape> shapes[] = {{{2, 2}, {2, 3}}, {{1, 3}, {3, 1}}, {{3, 2}, {2, 4}}};
  for (int64_t k = 0; k < 3; ++k)
    add(cases, str("TestKron.test_perform[", k, "]"),
        [=](G g) { return All{kron(g.known(spread(shapes[k].first, k)), g.known(spread(shapes[k].second, k + 1)))}; });
  for (const int64_t offset : {-2, -1, 0, 1, 3})
    add(cases, str("test_trace[", offset, "]"), [=](G g) { return All{trace(g.known(spread({3, 4}, 2)), offset)}; });
  expect_suite("linalg", "others", cases);
}

TEST(LinalgSuite, Gradients) {
  std::vector<SuiteCase> cases;
  for (const int64_t n : {1, 2, 4}) {
    const MatrixOfSuite matrix{"", {n, n}, DType::kFloat64, n};
    const auto of = [&](const std::string& name, const std::function<Expr(const Expr& x, G g)>& loss) {
      add(cases, str(name, "[", n, "]"), [=](G g) {
        const Expr x = matrix.of(g);
        return All{grad(loss(x, g), x)};
      });
    };
    const auto weighed = [n](const Expr& x) { return sum(x * make_constant(positive({n, x.dims()[1].value()}))); };
    const auto right = [n](G g) { return g.known(spread({n, 2}, 9)); };
    of("test_inverse_grad", [=](const Expr& x, G) { return weighed(inverse(x)); });
    of("test_det_grad", [](const Expr& x, G) { return det(x); });
    of("test_trace_grad", [](const Expr& x, G) { return trace(dot(x, x)); });
    of("TestSolveBase.test_solve_grad", [=](const Expr& x, G g) { return weighed(solve(x, right(g))); });
    of("TestSolveBase.test_solve_triangular_grad",
       [=](const Expr& x, G g) { return weighed(triangular_solve(x, right(g))); });
    of("test_pinv_grad", [=](const Expr& x, G) { return weighed(pinv(x)); });
    of("test_matrix_power_grad", [=](const Expr& x, G) { return weighed(matrix_power(x, 3)); });
    of("test_slogdet_grad", [](const Expr& x, G) { return slogdet(x).log; });
  }
  expect_suite("linalg", "gradients", cases);
}

Expr signal(G g, const Shape& shape) {
  return complex(g.known(spread(shape)), g.known(spread(shape, 3)));
}

const std::vector<std::pair<std::string, FftNorm>>& norms() {
  static const std::vector<std::pair<std::string, FftNorm>> out = {
      {"backward", FftNorm::kBackward}, {"ortho", FftNorm::kOrtho}, {"forward", FftNorm::kForward}};
  return out;
}

void add_transforms(std::vector<SuiteCase>& cases) {
  const std::string test = "TestFFT1D.test_";
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 21, 30})
    for (size_t k = 0; k < 3; ++k) {
      if (n >= 4 && k != static_cast<size_t>(n % 3)) continue;
      const auto& [name, norm] = norms()[k];
      const std::string of = str("[", n, ",", name, "]");
      add(cases, test + "fft" + of, [=, norm = norm](G g) { return All{fft(signal(g, {n}), {}, -1, norm)}; });
      add(cases, test + "ifft" + of, [=, norm = norm](G g) { return All{ifft(signal(g, {n}), {}, -1, norm)}; });
      add(cases, test + "rfft" + of, [=, norm = norm](G g) { return All{rfft(g.known(spread({n})), {}, -1, norm)}; });
      add(cases, test + "irfft" + of,
          [=, norm = norm](G g) { return All{irfft(signal(g, {n / 2 + 1}), Length(n), -1, norm)}; });
    }
  for (const int64_t n : {4, 8, 10})
    for (const int64_t axis : {0, 1, -1})
      add(cases, str(test, "axes_and_lengths[", n, ",", axis, "]"), [=](G g) {
        return All{fft(signal(g, {5, 6}), Length(n), axis), rfft(g.known(spread({5, 6})), Length(n), axis)};
      });
}

TEST(LinalgSuite, Transforms) {
  std::vector<SuiteCase> cases;
  add_transforms(cases);
  const std::string test = "TestFFT1D.test_";
  for (const auto& [name, norm] : norms()) {
    const std::string of = str("[", name, "]");
    const Shape shape = {3, 4, 2};
    const auto with = [&](const std::string& function, const std::function<All(G)>& build) {
      add(cases, test + function + of, build);
    };
    const auto real_signal = [](G g) { return g.known(spread({3, 2, 6})); };
    with("fft2", [=, norm = norm](G g) {
      const Expr x = signal(g, shape);
      return All{fft2(x, {}, norm), ifft2(x, {}, norm)};
    });
    with("fftn", [=, norm = norm](G g) {
      const Expr x = signal(g, shape);
      return All{fftn(x, {}, {}, norm), ifftn(x, {}, {}, norm)};
    });
    with("rfft2", [=, norm = norm](G g) { return All{rfft2(real_signal(g), {}, norm)}; });
    with("rfftn", [=, norm = norm](G g) { return All{rfftn(real_signal(g), {}, {}, norm)}; });
    with("irfftn", [=, norm = norm](G g) { return All{irfftn(signal(g, shape), {}, {}, norm)}; });
  }
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 1}, {0, 2}, {2, 1}, {2, 0, 1}})
    add(cases, str(test, "all_1d_norm_preserving[", join(axes, ",", [](int64_t axis) { return str(axis); }), "]"),
        [=](G g) {
          return All{fftn(signal(g, {3, 4, 2}), axes)};
        });
  for (const int64_t n : {8, 9}) {
    const auto numbers = [n](G g) { return g.known(count({n}, -4)); };
    add(cases, str("TestFFTShift.test_definition[fftshift,", n, "]"), [=](G g) { return All{fftshift(numbers(g))}; });
    add(cases, str("TestFFTShift.test_definition[ifftshift,", n, "]"), [=](G g) { return All{ifftshift(numbers(g))}; });
    add(cases, str("TestFFTFreq.test_definition[", n, "]"), [n](G) {
      return All{fftfreq(n), fftfreq(n, 0.25), rfftfreq(n)};
    });
  }
  // PyTensor has real and imaginary parts along a last axis.
  const auto pairs = [](const Expr& z) { return stack({real(z), imag(z)}, -1); };
  const auto rows = [](G g) { return g.known(spread({4, 10})); };
  add(cases, "TestFFT.test_norm_rfft[None]", [=](G g) { return All{pairs(rfft(rows(g)))}; });
  add(cases, "TestFFT.test_norm_rfft[ortho]", [=](G g) { return All{pairs(rfft(rows(g), {}, -1, FftNorm::kOrtho))}; });
  add(cases, "TestFFT.test_norm_rfft[no_norm]", [=](G g) { return All{pairs(rfft(rows(g)))}; });
  add(cases, "TestFFT.test_rfft_grad", [=](G g) {
    const Expr x = rows(g), z = rfft(x);
    return All{grad(sum(sqr(real(z)) + sqr(imag(z))), x)};
  });
  expect_suite("linalg", "fft", cases);
}

}  // namespace
}  // namespace thtrain::linalg_more_suite

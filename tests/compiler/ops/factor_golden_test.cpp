// Factorizations, linear equations and determinants against NumPy and SciPy: by the references and natively.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/api.h"
#include "tests/support/golden_lines.h"

namespace thtrain::factor_golden_test {
namespace {

using Build = std::function<Expr(const std::vector<Expr>&)>;

const std::map<std::string, Build>& builders() {
  static const std::map<std::string, Build> all = [] {
    std::map<std::string, Build> out;
    out["inverse 0"] = [](const auto& x) { return inverse(x[0]); };
    out["det 0"] = [](const auto& x) { return det(x[0]); };
    out["slogdet sign"] = [](const auto& x) { return slogdet(x[0]).sign; };
    out["slogdet log"] = [](const auto& x) { return slogdet(x[0]).log; };
    out["trace 0"] = [](const auto& x) { return trace(x[0], 0, -2, -1); };
    for (int64_t n : {-2, 0, 3}) out[str("power_", n, " 0")] = [n](const auto& x) { return matrix_power(x[0], n); };
    out["lu packed"] = [](const auto& x) { return lu(x[0]).packed; };
    out["lu rows"] = [](const auto& x) { return lu(x[0]).rows; };
    out["cholesky 0"] = [](const auto& x) { return cholesky(x[0]); };
    out["cholesky_upper 0"] = [](const auto& x) { return cholesky(x[0], true); };
    out["solve 0"] = [](const auto& x) { return solve(x[0], x[1]); };
    out["solve_definite 0"] = [](const auto& x) { return solve(x[0], x[1], MatrixKind::kPositiveDefinite); };
    out["solve_lower 0"] = [](const auto& x) { return solve(x[0], x[1], MatrixKind::kLower); };
    out["solve_upper 0"] = [](const auto& x) { return solve(x[0], x[1], MatrixKind::kUpper); };
    out["triangular_unit 0"] = [](const auto& x) { return triangular_solve(x[0], x[1], {.unit = true}); };
    out["triangular_unit_transposed 0"] = [](const auto& x) {
      return triangular_solve(x[0], x[1], {.transposed = true, .unit = true});
    };
    out["qr q"] = [](const auto& x) { return qr(x[0]).q; };
    out["qr r"] = [](const auto& x) { return qr(x[0]).r; };
    out["qr_complete q"] = [](const auto& x) { return qr(x[0], true).q; };
    out["qr_complete r"] = [](const auto& x) { return qr(x[0], true).r; };
    out["svd u"] = [](const auto& x) { return svd(x[0]).u; };
    out["svd s"] = [](const auto& x) { return svdvals(x[0]); };
    out["svd vh"] = [](const auto& x) { return svd(x[0]).vh; };
    out["pinv 0"] = [](const auto& x) { return pinv(x[0]); };
    out["rank 0"] = [](const auto& x) { return matrix_rank(x[0]); };
    out["nuclear 0"] = [](const auto& x) { return nuclear_norm(x[0]); };
    out["norm_2 0"] = [](const auto& x) { return norm(x[0], 2, {-2, -1}); };
    out["norm_-2 0"] = [](const auto& x) { return norm(x[0], -2, {-2, -1}); };
    out["cond 0"] = [](const auto& x) { return cond(x[0]); };
    out["cond_1 0"] = [](const auto& x) { return cond(x[0], 1); };
    out["eigh values"] = [](const auto& x) { return eigh(x[0]).values; };
    out["eigh vectors"] = [](const auto& x) { return eigh(x[0]).vectors; };
    out["eig values"] = [](const auto& x) { return eig(x[0]).values; };
    out["eig vectors"] = [](const auto& x) { return eig(x[0]).vectors; };
    out["expm 0"] = [](const auto& x) { return expm(x[0]); };
    out["lstsq 0"] = [](const auto& x) { return lstsq(x[0], x[1]); };
    out["lstsq_any 0"] = [](const auto& x) { return lstsq(x[0], x[1], 1e-13); };
    return out;
  }();
  return all;
}

Tensor doubles(const Tensor& x) {
  return x.cast(is_complex(x.dtype()) ? DType::kComplex128 : DType::kFloat64);
}

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  const bool is_single = want.dtype() == DType::kFloat32 || want.dtype() == DType::kComplex64;
  const Tensor ours = doubles(got), theirs = doubles(want);
  const auto* x = static_cast<const double*>(ours.raw());
  const auto* y = static_cast<const double*>(theirs.raw());
  const auto count = static_cast<int64_t>(ours.bytes() / sizeof(double));
  double largest = 1;
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(y[i])) largest = std::max(largest, std::abs(y[i]));
  for (int64_t i = 0; i < count; ++i) {
    if (x[i] == y[i]) continue;
    ASSERT_NEAR(x[i], y[i], largest * (is_single ? 2e-4 : 1e-11)) << "element " << i;
  }
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

// Of each matrix one function of all results; where no length is known, one for all matrices of a type.
void compare(Mode mode, const std::vector<std::string>& matrices, size_t expected) {
  std::map<std::string, Tensor> values;
  std::map<std::string, std::vector<GoldenLine>> cases;  // by the matrix
  for (const GoldenLine& line : golden_lines("factor_ops.txt")) {
    std::string matrix = parts_of(line.arguments[0])[0];
    if (line.name == "input") {
      values[matrix] = line.result(*dtype_named(line.arguments[1]));
      continue;
    }
    if (matrix.starts_with("pd_")) matrix.erase(0, 3);
    if (matrices.empty() || std::ranges::count(matrices, matrix) > 0) cases[matrix].push_back(line);
  }
  size_t compared = 0;
  std::map<std::string, Function> functions;
  for (const auto& [matrix, lines] : cases) {
    std::string key;
    std::vector<std::string> names;
    for (const GoldenLine& line : lines) {
      key += line.name + line.arguments[1] + ";";
      for (const std::string& name : parts_of(line.arguments[0]))
        if (std::ranges::count(names, name) == 0) names.push_back(name);
    }
    std::vector<Expr> inputs;
    std::vector<Tensor> arguments;
    for (const std::string& name : names) {
      const Tensor& value = values.at(name);
      Dims dims;
      for (size_t i = 0; i < value.rank(); ++i) {
        const bool is_square = value.rank() >= 2 && value.dim(value.rank() - 1) == value.dim(value.rank() - 2),
                   is_side = i + 2 >= value.rank() && (is_square || name[0] == 'b' || name[0] == 'v') &&
                             (name[0] != 'b' || i + 1 < value.rank() || name[1] != '_');
        dims.push_back(is_side && matrices.empty() && matrix != "stack" ? Dim("n") : Dim(value.dim(i)));
      }
      inputs.push_back(tensor(name, dims, value.dtype()));
      arguments.push_back(value);
      key += inputs.back().type().text();
    }
    if (!functions.contains(key)) {
      std::vector<Expr> results;
      for (const GoldenLine& line : lines) {
        std::vector<Expr> of;
        for (const std::string& name : parts_of(line.arguments[0]))
          of.push_back(inputs[static_cast<size_t>(std::ranges::find(names, name) - names.begin())]);
        results.push_back(builders().at(line.name + " " + line.arguments[1])(of));
      }
      functions.emplace(key,
                        function({inputs.begin(), inputs.end()}, {results.begin(), results.end()}, {}, {.mode = mode}));
    }
    const std::vector<Tensor> got = functions.at(key)(arguments);
    for (size_t i = 0; i < lines.size(); ++i) {
      SCOPED_TRACE(lines[i].text.substr(0, 80));
      expect_near(got[i], lines[i].result(*dtype_named(lines[i].arguments[2])));
      ++compared;
    }
  }
  EXPECT_EQ(compared, expected);
}

TEST(FactorValues, AreNumPys) {
  compare(Mode::kReference, {}, 600);
}
TEST(FactorValues, AreNumPysNatively) {
  compare(Mode::kNative, {}, 600);
}
// Of these, matrices of known lengths, kernels are compiled.
TEST(FactorValues, AreNumPysOfSmallMatrices) {
  compare(Mode::kNative, {"double_3", "batch", "batch_32", "eight", "exchanged", "cbatch", "no_batch"}, 218);
}

}  // namespace
}  // namespace thtrain::factor_golden_test

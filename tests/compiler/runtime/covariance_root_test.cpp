// The root of a covariance: natively and by the reference, and what its derivatives are.
#include "compiler/runtime/covariance_root.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"

namespace thtrain::covariance_root_test {
namespace {

const Tensor kCovariances[] = {Tensor::matrix({{2.0, 0.5, 0.1}, {0.5, 1.0, -0.2}, {0.1, -0.2, 0.7}}),
                               Tensor::matrix({{4.0, 0.0, 0.0}, {0.0, 4.0, 0.0}, {0.0, 0.0, 4.0}})};

void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  for (int64_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got.as_double(i), want.as_double(i), 1e-12) << i;
}

TEST(CovarianceRoot, IsCalledByThePrograms) {
  const Expr c = tensor("c", {3, 3}, DType::kFloat64);
  Function f = function({c}, {covariance_root(c)});
  EXPECT_TRUE(f.info().reference_steps.empty());
  for (const Tensor& value : kCovariances) {
    const Tensor root = f({value})[0];
    EXPECT_TRUE(same_bits(root, evaluate({covariance_root(c)}, {{c, value}})[0]));
    const Expr r = tensor("r", {3, 3}, DType::kFloat64);
    expect_near(evaluate({dot(transpose(r), r)}, {{r, root}})[0], value);
  }
}

// r^T r is the covariance: so the derivatives of a function of that are the function's own, whatever rotates r.
TEST(CovarianceRoot, DerivativesAreThoseOfTheCovariance) {
  const Expr c = tensor("c", {3, 3}, DType::kFloat64), w = tensor("w", {3, 3}, DType::kFloat64);
  const Tensor weights = Tensor::matrix({{0.3, -1.0, 0.2}, {0.6, 0.4, 1.5}, {-0.7, 0.1, 0.9}});
  const Expr root = covariance_root(c), back = dot(transpose(root), root), symmetric = w + transpose(w);
  for (const Tensor& value : kCovariances) {
    const std::vector<std::pair<Expr, Tensor>> values = {{c, value}, {w, weights}};
    expect_near(evaluate({grad(sum(w * back), c)}, values)[0], evaluate({0.5 * symmetric}, values)[0]);
    expect_near(evaluate({jvp({back}, {c}, {symmetric})[0]}, values)[0], evaluate({symmetric}, values)[0]);
  }
}

}  // namespace
}  // namespace thtrain::covariance_root_test

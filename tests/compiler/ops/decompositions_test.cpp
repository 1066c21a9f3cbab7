// QR factorizations, eigenvalues and singular values: what defines them.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/evaluate.h"

namespace thtrain::decompositions_test {
namespace {

constexpr DType kF64 = DType::kFloat64;

Expr adjoint_of(const Expr& x) {
  return is_complex(x.dtype()) ? conj(matrix_transpose(x)) : matrix_transpose(x);
}

Expr largest(const Expr& x) {
  return sum(abs(x));
}

// How far factors are from what they are, each as one number.
std::vector<Expr> defects_of(const Expr& x) {
  const QrFactors f = qr(x);
  const SingularValues s = svd(x);
  const Expr one = eye(f.q.dims().back());
  const Expr square = matmul(adjoint_of(x), x), a = x.dims()[x.rank() - 2] == x.dims().back() ? x : square;
  const EigenPairs h = eigh(square), e = eig(a);
  const auto columns = [](const Expr& m, const Expr& w) { return m * expand_dims(w, {-2}); };
  return {largest(matmul(f.q, f.r) - x),
          largest(matmul(adjoint_of(f.q), f.q) - one),
          largest(f.r - triu(f.r)),
          largest(matmul(columns(s.u, s.s), s.vh) - x),
          largest(matmul(adjoint_of(s.u), s.u) - one),
          largest(matmul(s.vh, adjoint_of(s.vh)) - one),
          largest(svdvals(x) - s.s),
          largest(matmul(square, h.vectors) - columns(h.vectors, h.values)),
          largest(matmul(adjoint_of(h.vectors), h.vectors) - eye(square.dims().back())),
          largest(eigvalsh(square) - h.values),
          largest(matmul(a, e.vectors) - columns(e.vectors, e.values)),
          largest(eigvals(a) - e.values)};
}

TEST(Decompositions, AreWhatDefinesThem) {
  RandomState random(5);
  for (DType dtype : {kF64, DType::kFloat32, DType::kComplex128, DType::kComplex64})
    for (const Shape& shape :
         {Shape{3, 3}, Shape{7, 4}, Shape{2, 12, 5}, Shape{3, 5}, Shape{0, 3, 3}, Shape{20, 8, 8}}) {
      const Expr in = tensor("x", Dims(shape.begin(), shape.end()), dtype);
      SCOPED_TRACE(in.type().text());
      int64_t count = 1;
      for (int64_t n : shape) count *= n;
      Tensor x = Tensor::of(random.normal(0, 1, count), shape).cast(dtype);
      if (is_complex(dtype)) {
        const Expr re = tensor("re", Dims(shape.begin(), shape.end()), kF64), im = tensor("im", re.dims(), kF64);
        x = evaluate({cast(complex(re, im), dtype)},
                     {{re, x.cast(kF64)}, {im, Tensor::of(random.normal(0, 1, count), shape)}})[0];
      }
      for (Mode mode : {Mode::kNative, Mode::kReference}) {
        const std::vector<Expr> all = defects_of(in);
        const std::vector<Tensor> got = function({in}, {all.begin(), all.end()}, {}, {.mode = mode})({x});
        const bool is_single = dtype == DType::kFloat32 || dtype == DType::kComplex64;
        for (size_t i = 0; i < got.size(); ++i)
          EXPECT_LE(got[i].as_double(), static_cast<double>(count + 1) * (is_single ? 2e-5 : 4e-14)) << "number " << i;
      }
    }
}

}  // namespace
}  // namespace thtrain::decompositions_test

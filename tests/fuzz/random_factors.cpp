// Statements of linear algebra, of matrices that are positive definite.
#include "tests/fuzz/random_statements.h"

namespace thtrain {

void RandomStatements::add_factored() {
  const size_t x = find([](const Expr& e) { return e.rank() >= 2 && is_float(e.dtype()); });
  if (x == kNone) return;
  const auto part = [](const Expr& e) { return where(isnan(e), 0.0, tanh(e)); };
  const auto definite = [part](const Expr& e) {
    const Expr t = part(e);
    return matmul(t, matrix_transpose(t)) + 2.0 * eye(e.dims()[e.rank() - 2], {}, 0, e.dtype());
  };
  const std::string t = "where(isnan($0), 0.0, tanh($0))",
                    a = str("(matmul(", t, ", matrix_transpose(", t,
                            ")) + 2.0 * eye($0.dims()[$0.rank() - 2], {}, 0, $0.dtype()))");
  struct Form {
    std::string text;
    std::function<Expr(const Expr& a, const Expr& t)> build;
  };
  const Form forms[] = {
      {str("cholesky(", a, ")"), [](const Expr& m, const Expr&) { return cholesky(m); }},
      {str("slogdet(", a, ").log"), [](const Expr& m, const Expr&) { return slogdet(m).log; }},
      {str("det(", a, ", MatrixKind::kPositiveDefinite)"),
       [](const Expr& m, const Expr&) { return det(m, MatrixKind::kPositiveDefinite); }},
      {str("solve(", a, ", ", t, ")"), [](const Expr& m, const Expr& b) { return solve(m, b); }},
      {str("matmul(inverse(", a, "), ", t, ")"), [](const Expr& m, const Expr& b) { return matmul(inverse(m), b); }},
      {str("qr(", a, ").r"), [](const Expr& m, const Expr&) { return qr(m).r; }},
      {str("qr(", a, ").q"), [](const Expr& m, const Expr&) { return qr(m).q; }},
      {str("eigvalsh(", a, ")"), [](const Expr& m, const Expr&) { return eigvalsh(m); }},
      {str("eigh(", a, ").vectors"), [](const Expr& m, const Expr&) { return eigh(m).vectors; }},
      {str("svdvals(", a, ")"), [](const Expr& m, const Expr&) { return svdvals(m); }},
      {str("svd(", a, ").u"), [](const Expr& m, const Expr&) { return svd(m).u; }},
      {str("real(eigvals(", a, "))"), [](const Expr& m, const Expr&) { return real(eigvals(m)); }},
      {str("lstsq(", a, ", ", t, ")"), [](const Expr& m, const Expr& b) { return lstsq(m, b); }},
      {str("pinv(", a, ")"), [](const Expr& m, const Expr&) { return pinv(m); }},
      {str("expm(0.1 * ", a, ")"), [](const Expr& m, const Expr&) { return expm(0.1 * m); }},
  };
  const Form& form = forms[below(std::size(forms))];
  add(form.text, {x}, [=](Args in) { return form.build(definite(in[0]), part(in[0])); });
}

}  // namespace thtrain

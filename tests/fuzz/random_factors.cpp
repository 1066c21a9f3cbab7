// Statements of linear algebra, of matrices that are positive definite, and of transforms.
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
  const std::string hinted = str("matrix_hint(", a, ", MatrixKind::kPositiveDefinite)");
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
      {str("log(det(", hinted, "))"),
       [](const Expr& m, const Expr&) { return log(det(matrix_hint(m, MatrixKind::kPositiveDefinite))); }},
      {str("log(abs(det(", a, ")))"), [](const Expr& m, const Expr&) { return log(abs(det(m))); }},
      {str("solve(", hinted, ", ", t, ")"),
       [](const Expr& m, const Expr& b) { return solve(matrix_hint(m, MatrixKind::kPositiveDefinite), b); }},
      {str("solve(cholesky(", a, "), ", t, ")"), [](const Expr& m, const Expr& b) { return solve(cholesky(m), b); }},
      {str("inverse(tril(", a, "))"), [](const Expr& m, const Expr&) { return inverse(tril(m)); }},
      {str("solve(", a, ", ", t, ") + solve(matrix_transpose(", a, "), ", t, ")"),
       [](const Expr& m, const Expr& b) { return solve(m, b) + solve(matrix_transpose(m), b); }},
      {str("trace(matmul(", a, ", ", a, "), 0, -2, -1)"),
       [](const Expr& m, const Expr&) { return trace(matmul(m, m), 0, -2, -1); }},
  };
  const Form& form = forms[below(std::size(forms))];
  add(form.text, {x}, [=](Args in) { return form.build(definite(in[0]), part(in[0])); });
}

void RandomStatements::add_transformed() {
  const size_t x = find([](const Expr& e) { return e.rank() >= 1 && is_float(e.dtype()); });
  if (x == kNone) return;
  struct Form {
    std::string text;
    std::function<Expr(const Expr& x)> build;
  };
  const Form forms[] = {
      {"real(fft($0))", [](const Expr& e) { return real(fft(e)); }},
      {"imag(ifft($0, {}, 0))", [](const Expr& e) { return imag(ifft(e, {}, 0)); }},
      {"abs(rfft($0, 5))", [](const Expr& e) { return abs(rfft(e, 5)); }},
      {"irfft(rfft($0), 6)", [](const Expr& e) { return irfft(rfft(e), 6); }},
      {"irfft($0, 7, -1, FftNorm::kOrtho)", [](const Expr& e) { return irfft(e, 7, -1, FftNorm::kOrtho); }},
      {"real(fftn($0))", [](const Expr& e) { return real(fftn(e)); }},
      {"imag(rfftn($0))", [](const Expr& e) { return imag(rfftn(e)); }},
      {"fftshift($0)", [](const Expr& e) { return fftshift(e); }},
      {"dct($0)", [](const Expr& e) { return dct(e); }},
      {"idct($0, 3, {}, 0, FftNorm::kOrtho)", [](const Expr& e) { return idct(e, 3, {}, 0, FftNorm::kOrtho); }},
  };
  const Form& form = forms[below(std::size(forms))];
  std::string text = form.text;
  const std::string part = "where(isnan($0), 0.0, tanh($0))";
  text.replace(text.find("$0"), 2, part);
  add(text, {x}, [=](Args in) { return form.build(where(isnan(in[0]), 0.0, tanh(in[0]))); });
}

}  // namespace thtrain

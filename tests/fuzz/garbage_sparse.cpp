// Sparse matrices: builders, values and variables.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {

// Mostly a matrix, of parts that fit or not.
void Garbage::fill(Sparse& out) {
  if (one_in(12)) return;
  const SparseFormat format = draw<SparseFormat>();
  if (one_in(6)) {
    out = {format, draw<Expr>(), draw<Expr>(), draw<Expr>(), draw<Dim>(), draw<Dim>()};
    return;
  }
  const Dim rows = one_in(4) ? draw<Dim>() : Dim(lengths_[0]), columns = one_in(4) ? draw<Dim>() : Dim(lengths_[1]);
  const DType dtype = one_in(3) ? draw<DType>() : DType::kFloat64;
  out = format == SparseFormat::kCsr ? csr_matrix("a", rows, columns, dtype) : csc_matrix("a", rows, columns, dtype);
}

void Garbage::fill(SparseTensor& out) {
  out = {.format = draw<SparseFormat>(),
         .data = draw<Tensor>(),
         .indices = draw<Tensor>(),
         .indptr = draw<Tensor>(),
         .rows = integer(),
         .columns = integer()};
  const Tensor dense = draw<Tensor>();
  if (dense.rank() == 2 && !one_in(3)) out = SparseTensor::from_dense(dense, out.format);
}

static std::vector<Expr> exprs_of(const Sparse& a) {
  return a.parts();
}
static std::vector<Expr> exprs_of(const std::array<Expr, 2>& both) {
  return {both[0], both[1]};
}

void add_sparse(std::vector<GarbageCall>& calls) {
  const auto add = [&](const char* name, auto f) { calls.push_back(garbage_call(name, std::function(f))); };
  // The expressions of a sparse result.
  const auto made = [&](const char* name, auto f) {
    calls.push_back({name, [f](Garbage& garbage) { return exprs_of(f(garbage)); }});
  };
  using In = Garbage&;
  made("csr_matrix", [](In g) {
    return csr_matrix(g.draw<std::string>(), g.draw<Dim>(), g.draw<Dim>(), g.draw<DType>(), g.draw<DType>());
  });
  made("csc_matrix", [](In g) {
    return csc_matrix(g.draw<std::string>(), g.draw<Dim>(), g.draw<Dim>(), g.draw<DType>(), g.draw<DType>());
  });
  made("csr", [](In g) { return csr(g.draw<Operand>(), g.draw<Operand>(), g.draw<Operand>(), g.draw<Length>()); });
  made("csc", [](In g) { return csc(g.draw<Operand>(), g.draw<Operand>(), g.draw<Operand>(), g.draw<Length>()); });
  made("csr_from_dense", [](In g) { return csr_from_dense(g.draw<Operand>()); });
  made("csc_from_dense", [](In g) { return csc_from_dense(g.draw<Operand>()); });
  made("csr_from_coordinates", [](In g) {
    return csr_from_coordinates(g.draw<Operand>(), g.draw<Operand>(), g.draw<Operand>(), g.draw<LengthList>());
  });
  add("dense", [](const Sparse& a) { return dense(a); });
  made("coordinates", [](In g) { return coordinates(g.draw<Sparse>()); });
  made("to_csr", [](In g) { return to_csr(g.draw<Sparse>()); });
  made("to_csc", [](In g) { return to_csc(g.draw<Sparse>()); });
  made("structured", [](In g) {
    return structured(g.draw<Sparse>(), [&](const Expr& x) { return g.one_in(2) ? exp(x) : g.draw<Expr>(); });
  });
  const auto both = [](In g) {
    return [&g](const Expr& x, const Expr& y) { return g.one_in(2) ? x - y : g.draw<Expr>(); };
  };
  made("structured", [=](In g) {
    const Sparse a = g.draw<Sparse>();
    return g.one_in(2) ? structured(a, g.draw<Operand>(), both(g)) : structured(a, g.draw<Sparse>(), both(g));
  });
  made("csr_from_unsorted", [](In g) {
    return csr_from_unsorted(g.draw<Operand>(), g.draw<Operand>(), g.draw<Operand>(), g.draw<Length>());
  });
  made("regular", [](In g) {
    const Sparse a = g.draw<Sparse>();
    return regular(a, g.one_in(2) ? Operand(dense(a)) : g.draw<Operand>());
  });
  using Compared = Sparse (*)(const SparseOperand&, const SparseOperand&);
  for (Compared compare : {Compared(lt), Compared(gt), Compared(neq)})
    made("lt", [compare](In g) { return compare(g.draw<Sparse>(), g.draw<Sparse>()); });
  using Everywhere = Expr (*)(const SparseOperand&, const SparseOperand&);
  for (Everywhere compare : {Everywhere(le), Everywhere(ge), Everywhere(eq)})
    add("le", [compare](const Sparse& a, const Sparse& b) { return compare(a, b); });
  using WithDense = Expr (*)(const SparseOperand&, const Operand&);
  for (WithDense compare : {WithDense(lt), WithDense(le), WithDense(gt), WithDense(ge), WithDense(eq), WithDense(neq)})
    add("lt", [compare](const Sparse& a, const Operand& x) { return compare(a, x); });
  made("subtensor", [](In g) { return subtensor(g.draw<Sparse>(), g.draw<std::vector<Index>>()); });
  add("elements", [](const Sparse& a, const Operand& i, const Operand& j) { return elements(a, i, j); });
  made("vstack", [](In g) {
    const std::vector<SparseOperand> two = {g.draw<Sparse>(), g.draw<Sparse>()};
    return g.one_in(2) ? vstack(two) : hstack(two);
  });
  made("cast", [](In g) { return cast(g.draw<Sparse>(), g.draw<DType>()); });
  made("operator-", [](In g) { return g.one_in(2) ? -g.draw<Sparse>() : g.draw<Sparse>() - g.draw<Sparse>(); });
  made("operator*",
       [](In g) { return g.one_in(2) ? g.draw<Sparse>() * g.draw<Operand>() : g.draw<Operand>() * g.draw<Sparse>(); });
  made("row_scale", [](In g) { return row_scale(g.draw<Sparse>(), g.draw<Operand>()); });
  made("column_scale", [](In g) { return column_scale(g.draw<Sparse>(), g.draw<Operand>()); });
  made("multiply", [](In g) {
    return g.one_in(2) ? multiply(g.draw<Sparse>(), g.draw<Operand>()) : multiply(g.draw<Sparse>(), g.draw<Sparse>());
  });
  made("operator+", [](In g) { return g.draw<Sparse>() + g.draw<Sparse>(); });
  add("operator+", [](const Sparse& a, const Operand& x) { return a + x; });
  made("remove_zeros", [](In g) { return remove_zeros(g.draw<Sparse>()); });
  add("sum", [](const Sparse& a) { return sum(a); });
  add("sum", [](const Sparse& a, int64_t axis) { return sum(a, axis); });
  add("diagonal", [](const Sparse& a) { return diagonal(a); });
  made("square_diagonal", [](In g) { return square_diagonal(g.draw<Operand>()); });
  add("dot", [](const Sparse& a, const Operand& x) { return dot(a, x); });
  add("dot", [](const Operand& x, const Sparse& a) { return dot(x, a); });
  made("dot", [](In g) { return dot(g.draw<Sparse>(), g.draw<Sparse>()); });
  made("sampled_dot", [](In g) { return sampled_dot(g.draw<Sparse>(), g.draw<Operand>(), g.draw<Operand>()); });
  add("inputs_of", [](const Sparse& a, const Expr& x) { inputs_of({a, x}); });
  add("arguments_of", [](const SparseTensor& a, const Tensor& x) { arguments_of({a, x}); });
  add("SharedSparse.SharedSparse", [](const SparseTensor& a, const std::string& name) { SharedSparse(a, name); });
  add("SharedSparse.expr", [](const SparseTensor& a) { return dense(SharedSparse(a).expr()); });
  add("SharedSparse.get_value", [](const SparseTensor& a) { SharedSparse(a).get_value().dense(); });
  add("SharedSparse.data", [](const SparseTensor& a) { return SharedSparse(a).data().expr(); });
  add("SharedSparse.set_value", [](const SparseTensor& a, const SparseTensor& b) { SharedSparse(a).set_value(b); });
}

}  // namespace thtrain

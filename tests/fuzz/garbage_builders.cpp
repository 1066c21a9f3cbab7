// The builders of expressions.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {
namespace {

using Where = std::source_location;
using Unary = Expr (*)(const Operand&, Where);
using Operands = const std::vector<Operand>&;
using Exprs = const std::vector<Expr>&;

#define TH_CALL(name) calls.push_back(garbage_call(#name, &name))
#define TH_REDUCTION(name) \
  calls.push_back(         \
      garbage_call(#name, [](const Operand& x, const Axes& axes, KeepDims keep) { return name(x, axes, keep); }))
#define TH_UNARY(name) calls.push_back(garbage_call(#name, [](const Operand& x) { return name(x); }))
#define TH_BINARY(name) \
  calls.push_back(garbage_call(#name, [](const Operand& a, const Operand& b) { return name(a, b); }))
#define TH_OPERATOR(op) \
  calls.push_back(garbage_call("operator" #op, [](const Operand& a, const Expr& b) { return a op b; }))
#define TH_ASSIGNMENT(op) calls.push_back(garbage_call("operator" #op, [](Expr x, const Operand& y) { return x op y; }))

void add_inputs(std::vector<GarbageCall>& calls) {
  TH_CALL(make_constant);
  TH_CALL(promote);
  TH_CALL(until);
  calls.push_back(garbage_call("set_floatX", [](DType dtype) {
    const DType before = floatX();
    set_floatX(dtype);
    set_floatX(before);
  }));
  TH_CALL(named);
  calls.push_back(garbage_call("tensor", [](const std::string& name, const Dims& lengths, DType dtype) {
    return tensor(name, lengths, dtype);
  }));
  TH_CALL(tensor_of_rank);
  TH_CALL(scalar);
  calls.push_back(
      garbage_call("vector", [](const std::string& name, const Dims& lengths) { return vector(name, lengths); }));
  calls.push_back(
      garbage_call("matrix", [](const std::string& name, const Dims& lengths) { return matrix(name, lengths); }));
  TH_CALL(tensor3);
  TH_CALL(tensor4);
  TH_CALL(iscalar);
  TH_CALL(ivector);
  TH_CALL(imatrix);
  TH_CALL(one_hot);
  calls.push_back(
      garbage_call("zeros", [](const LengthList& n, std::optional<DType> dtype) { return zeros(n, dtype); }));
  calls.push_back(garbage_call("ones", [](const LengthList& n, std::optional<DType> dtype) { return ones(n, dtype); }));
  TH_CALL(full);
  TH_CALL(zeros_like);
  TH_CALL(ones_like);
  TH_CALL(full_like);
  TH_CALL(eye);
  calls.push_back(garbage_call("arange", [](const Operand& a, const Operand& b, const Operand& c,
                                            std::optional<DType> dtype) { return arange(a, b, c, dtype); }));
  calls.push_back(
      garbage_call("arange", [](const Operand& n, std::optional<DType> dtype) { return arange(n, dtype); }));
}

void add_elementwise(std::vector<GarbageCall>& calls) {
  TH_BINARY(add);
  TH_BINARY(sub);
  TH_BINARY(mul);
  TH_BINARY(true_div);
  TH_BINARY(floor_div);
  TH_BINARY(mod);
  TH_BINARY(divmod);
  TH_BINARY(pow);
  TH_BINARY(arctan2);
  TH_BINARY(maximum);
  TH_BINARY(minimum);
  TH_BINARY(lt);
  TH_BINARY(le);
  TH_BINARY(gt);
  TH_BINARY(ge);
  TH_BINARY(eq);
  TH_BINARY(neq);
  TH_BINARY(logical_and);
  TH_BINARY(logical_or);
  TH_BINARY(complex);
  TH_BINARY(bitwise_and);
  TH_BINARY(bitwise_or);
  TH_BINARY(bitwise_xor);
  TH_UNARY(neg);
  TH_UNARY(abs);
  TH_UNARY(sign);
  TH_UNARY(sqr);
  TH_UNARY(sqrt);
  TH_UNARY(reciprocal);
  TH_UNARY(exp);
  TH_UNARY(exp2);
  TH_UNARY(expm1);
  TH_UNARY(log);
  TH_UNARY(log2);
  TH_UNARY(log10);
  TH_UNARY(log1p);
  TH_UNARY(floor);
  TH_UNARY(ceil);
  TH_UNARY(trunc);
  TH_UNARY(round);
  TH_UNARY(sin);
  TH_UNARY(cos);
  TH_UNARY(tan);
  TH_UNARY(arcsin);
  TH_UNARY(arccos);
  TH_UNARY(arctan);
  TH_UNARY(sinh);
  TH_UNARY(cosh);
  TH_UNARY(tanh);
  TH_UNARY(arcsinh);
  TH_UNARY(arccosh);
  TH_UNARY(arctanh);
  TH_UNARY(sigmoid);
  TH_UNARY(softplus);
  TH_UNARY(erf);
  TH_UNARY(erfc);
  TH_UNARY(erfcx);
  TH_UNARY(erfinv);
  TH_UNARY(erfcinv);
  TH_UNARY(gammaln);
  TH_UNARY(psi);
  TH_UNARY(gamma);
  TH_UNARY(j0);
  TH_UNARY(j1);
  TH_UNARY(trigamma);
  TH_UNARY(i0e);
  TH_UNARY(i1e);
  TH_UNARY(i0);
  TH_UNARY(i1);
  TH_UNARY(logit);
  TH_UNARY(log1mexp);
  TH_UNARY(xlogx);
  TH_UNARY(angle);
  TH_BINARY(xlogy0);
  TH_BINARY(complex_from_polar);
  TH_CALL(polygamma);
  TH_CALL(jv);
  TH_CALL(iv);
  TH_CALL(ive);
  TH_BINARY(gammainc);
  TH_BINARY(gammaincc);
  TH_BINARY(gammal);
  TH_BINARY(gammau);
  TH_BINARY(chi2sf);
  TH_UNARY(isnan);
  TH_UNARY(isinf);
  TH_UNARY(logical_not);
  TH_UNARY(bitwise_not);
  TH_UNARY(real);
  TH_UNARY(imag);
  TH_UNARY(conj);
  TH_OPERATOR(+);
  TH_OPERATOR(-);
  TH_OPERATOR(*);
  TH_OPERATOR(/);
  TH_OPERATOR(%);
  TH_OPERATOR(<);
  TH_OPERATOR(<=);
  TH_OPERATOR(>);
  TH_OPERATOR(>=);
  TH_ASSIGNMENT(+=);
  TH_ASSIGNMENT(-=);
  TH_ASSIGNMENT(*=);
  TH_ASSIGNMENT(/=);
  TH_ASSIGNMENT(%=);
  calls.push_back(garbage_call("operator-", [](const Expr& x) { return -x; }));
  TH_CALL(clip);
  TH_CALL(where);
  TH_CALL(switch_);
  calls.push_back(garbage_call("cast", [](const Operand& x, DType dtype) { return cast(x, dtype); }));
}

void add_reductions(std::vector<GarbageCall>& calls) {
  TH_REDUCTION(logsumexp);
  TH_REDUCTION(max_abs);
  TH_REDUCTION(sum);
  TH_REDUCTION(prod);
  TH_REDUCTION(mean);
  TH_REDUCTION(min);
  TH_REDUCTION(max);
  TH_REDUCTION(any);
  TH_REDUCTION(all);
  using Moment = const Operand&;
  calls.push_back(garbage_call(
      "var", [](Moment x, const Axes& axes, KeepDims keep, Ddof ddof) { return var(x, axes, keep, ddof); }));
  calls.push_back(garbage_call(
      "std", [](Moment x, const Axes& axes, KeepDims keep, Ddof ddof) { return thtrain::std(x, axes, keep, ddof); }));
  using Axis = ::std::optional<int64_t>;
  calls.push_back(garbage_call("argmin", [](Moment x, Axis axis, KeepDims keep) { return argmin(x, axis, keep); }));
  calls.push_back(garbage_call("argmax", [](Moment x, Axis axis, KeepDims keep) { return argmax(x, axis, keep); }));
  TH_CALL(cumsum);
  TH_CALL(cumprod);
  TH_CALL(cummax);
  TH_CALL(cummin);
  TH_CALL(sort);
  TH_CALL(argsort);
  TH_CALL(diff);
  calls.push_back(garbage_call("topk", [](Moment x, const Length& k, int64_t axis) { return topk(x, k, axis); }));
  calls.push_back(garbage_call("argtopk", [](Moment x, const Length& k, int64_t axis) { return argtopk(x, k, axis); }));
  calls.push_back(garbage_call("searchsorted", [](Moment in, Moment x) { return searchsorted(sort(in), x); }));
  calls.push_back(garbage_call("digitize", [](Moment x, Moment bins) { return digitize(x, bins); }));
  calls.push_back(garbage_call("bincount", [](Moment x, int64_t least) { return bincount(x, {}, least % 1000); }));
  calls.push_back(garbage_call("histogram", [](Moment x, int64_t bins) { return histogram(x, bins % 1000).counts; }));
  calls.push_back(garbage_call("unique", [](Moment x) { return unique(x).inverse; }));
}

void add_shapes(std::vector<GarbageCall>& calls) {
  calls.push_back(garbage_call(
      "subtensor", [](const Operand& x, const std::vector<Index>& indices) { return subtensor(x, indices); }));
  calls.push_back(garbage_call("ellipsis", [](const Expr& x) { return x[{ellipsis(), 0}]; }));
  calls.push_back(garbage_call("new_axis", [](const Expr& x) { return x[{new_axis(), ellipsis(), new_axis()}]; }));
  TH_CALL(rows);
  TH_CALL(slice_axis);
  TH_CALL(take);
  TH_CALL(take_along_axis);
  TH_CALL(scatter_add);
  TH_CALL(scatter_add_along_axis);
  TH_CALL(nonzero);
  TH_CALL(flatnonzero);
  TH_CALL(masked);
  TH_CALL(pick_rows);
  TH_CALL(scatter_add_rows);
  // Mostly of a part.
  calls.push_back(garbage_call("set_subtensor", [](const Expr& x, const std::vector<Index>& indices, const Operand& y) {
    return set_subtensor(subtensor(x, indices), y);
  }));
  calls.push_back(garbage_call("inc_subtensor", [](const Expr& x, const Operand& which, const Operand& y) {
    return inc_subtensor(take(x, which), y);
  }));
  TH_CALL(set_subtensor);
  TH_CALL(inc_subtensor);
  TH_CALL(dimshuffle);
  TH_UNARY(transpose);
  calls.push_back(
      garbage_call("transpose", [](const Operand& x, const std::vector<int64_t>& axes) { return transpose(x, axes); }));
  TH_CALL(expand_dims);
  TH_UNARY(squeeze);
  calls.push_back(
      garbage_call("squeeze", [](const Operand& x, const std::vector<int64_t>& axes) { return squeeze(x, axes); }));
  TH_CALL(reshape);
  TH_CALL(flatten);
  TH_CALL(broadcast_to);
  TH_CALL(broadcast_like);
  TH_CALL(length);
  calls.push_back(garbage_call("shape", [](const Operand& x) { return thtrain::shape(x); }));
  calls.push_back(garbage_call("shape_dims", [](const Operand& x) { return shape_dims(x); }));
  TH_UNARY(size);
  calls.push_back(garbage_call("computed_length", [](const Operand& n) { return zeros({computed_length(n)}); }));
  calls.push_back(garbage_call("all", [](const Expr& x) { return x[all()]; }));
  calls.push_back(garbage_call("join", [](int64_t axis, Operands values) { return join(axis, values); }));
  calls.push_back(garbage_call("concatenate", [](Operands values, int64_t axis) { return concatenate(values, axis); }));
  calls.push_back(garbage_call("stack", [](Operands values, int64_t axis) { return stack(values, axis); }));
  TH_CALL(split);
}

void add_networks(std::vector<GarbageCall>& calls) {
  TH_BINARY(dot);
  TH_BINARY(outer);
  TH_BINARY(matmul);
  TH_BINARY(batched_dot);
  TH_BINARY(kron);
  TH_UNARY(matrix_transpose);
  TH_UNARY(inverse);
  TH_UNARY(det);
  TH_BINARY(triangular_solve);
  TH_UNARY(eigvalsh);
  TH_UNARY(eigvals);
  TH_UNARY(svdvals);
  TH_UNARY(expm);
  TH_UNARY(nuclear_norm);
  TH_CALL(pinv);
  TH_CALL(matrix_rank);
  TH_CALL(cond);
  TH_CALL(lstsq);
  TH_CALL(cholesky_solve);
  TH_CALL(multi_dot);
  TH_CALL(tensorinv);
  TH_CALL(tensorsolve);
  calls.push_back(garbage_call("qr", [](const Operand& x) { return qr(x).q; }));
  calls.push_back(garbage_call("eigh", [](const Operand& x) { return eigh(x).vectors; }));
  calls.push_back(garbage_call("eig", [](const Operand& x) { return eig(x).vectors; }));
  calls.push_back(garbage_call("svd", [](const Operand& x) { return svd(x).u; }));
  TH_CALL(cholesky);
  TH_CALL(matrix_power);
  TH_CALL(trace);
  calls.push_back(garbage_call("lu", [](const Operand& x) { return lu(x).packed; }));
  calls.push_back(garbage_call("slogdet", [](const Operand& x) { return slogdet(x).log; }));
  for (MatrixKind kind : {MatrixKind::kGeneral, MatrixKind::kSymmetric, MatrixKind::kPositiveDefinite,
                          MatrixKind::kLower, MatrixKind::kUpper}) {
    calls.push_back(garbage_call("solve", [kind](const Operand& a, const Operand& b) { return solve(a, b, kind); }));
    calls.push_back(garbage_call("matrix_hint", [kind](const Operand& a) { return matrix_hint(a, kind); }));
  }
  using Axes = const std::vector<int64_t>&;
  calls.push_back(garbage_call("tensordot", [](const Operand& a, const Operand& b, Axes of_a, Axes of_b) {
    return tensordot(a, b, of_a, of_b);
  }));
  calls.push_back(garbage_call("tensordot",
                               [](const Operand& a, const Operand& b, int64_t axes) { return tensordot(a, b, axes); }));
  calls.push_back(garbage_call("batched_tensordot", [](const Operand& a, const Operand& b, Axes of_a, Axes of_b) {
    return batched_tensordot(a, b, of_a, of_b);
  }));
  TH_CALL(einsum);
  for (const char* subscripts : {"ij,jk->ik", "ii", "...i,...i->...", "bij,bjk", "i,j->ji", "a,ab,b", "->", "...->"})
    calls.push_back(garbage_call("einsum", [subscripts](Operands operands) { return einsum(subscripts, operands); }));
  TH_CALL(images_to_neighbours);
  TH_CALL(neighbours_to_images);
  TH_CALL(pad);
  TH_CALL(nearest_upsampling);
  calls.push_back(garbage_call("bilinear_upsampling",
                               [](const Operand& x, int64_t ratio) { return bilinear_upsampling(x, ratio); }));
  calls.push_back(garbage_call("bilinear_upsampling",
                               [](const Operand& x, const UpsamplingRatio& rows, const UpsamplingRatio& columns) {
                                 return bilinear_upsampling(x, rows, columns);
                               }));
  TH_CALL(bilinear_kernel_1d);
  TH_CALL(bilinear_kernel_2d);
  TH_CALL(windows);
  TH_CALL(conv);
  TH_CALL(conv1d);
  TH_CALL(conv2d);
  TH_CALL(conv3d);
  TH_CALL(causal_conv1d);
  TH_CALL(separable_conv2d);
  TH_CALL(separable_conv3d);
  TH_CALL(conv_transposed);
  TH_CALL(conv_weight_gradient);
  TH_CALL(categorical_crossentropy);
  TH_CALL(categorical_crossentropy_logits);
  TH_CALL(binary_crossentropy);
  TH_CALL(binary_crossentropy_logits);
  TH_CALL(batch_normalization_training);
  TH_CALL(batch_normalization_evaluation);
  TH_CALL(layer_normalization);
  TH_CALL(local_response_normalization);
  TH_CALL(softmax);
  TH_CALL(log_softmax);
  TH_CALL(pool);
  TH_CALL(global_pool);
  TH_CALL(print);
  TH_CALL(check);
  TH_CALL(stop_gradient);
  TH_CALL(zero_grad);
  TH_CALL(on_host);
  TH_CALL(on_device);
  TH_CALL(grad_clip);
  TH_CALL(grad_scale);
}

void add_derivatives(std::vector<GarbageCall>& calls) {
  // The cost is mostly one: what depends on the variables.
  auto cost_of = [](Exprs wrt, const Expr& other) {
    Expr out = other;
    for (const Expr& x : wrt)
      if (x.has_value() && is_float(x.dtype()))
        out = sum(x * x) + (out.has_value() && out.rank() == 0 ? out : Expr(sum(x)));
    return out;
  };
  calls.push_back(garbage_call("grad", [=](const Expr& cost, Exprs wrt, const GradOptions& options) {
    return grad(cost_of(wrt, cost), wrt, options);
  }));
  calls.push_back(garbage_call(
      "grad", [](const Expr& cost, const Expr& wrt, const GradOptions& options) { return grad(cost, wrt, options); }));
  calls.push_back(garbage_call("jacobian", [](const Expr& y, const Expr& x, const GradOptions& options) {
    return jacobian(x.has_value() && x.rank() > 0 ? x * y : y, x, options);
  }));
  calls.push_back(garbage_call("hessian", [=](const Expr& cost, Exprs wrt, const GradOptions& options) {
    return hessian(cost_of(wrt, cost), wrt, options);
  }));
  calls.push_back(
      garbage_call("hessian_vector_product", [=](const Expr& cost, Exprs wrt, Exprs v, const GradOptions& options) {
        return hessian_vector_product(cost_of(wrt, cost), wrt, v, options);
      }));
  calls.push_back(garbage_call("hessian_vector_product",
                               [=](const Expr& cost, const Expr& x, const Expr& v, const GradOptions& options) {
                                 return hessian_vector_product(cost_of({x}, cost), x, v, options);
                               }));
  using One = const Expr&;
  calls.push_back(garbage_call(
      "jvp", [](Exprs y, Exprs x, Exprs dx, const JvpOptions& options) { return jvp(y, x, dx, options); }));
  calls.push_back(garbage_call("jvp", [](One y, One x, One dx, const JvpOptions& options) {
    return jvp(x.has_value() ? x * y : y, x, dx, options);
  }));
  calls.push_back(
      garbage_call("vjp", [](Exprs y, Exprs x, Exprs u, const GradOptions& options) { return vjp(y, x, u, options); }));
  calls.push_back(garbage_call("vjp", [](One y, One x, One u, const GradOptions& options) {
    return vjp(x.has_value() ? x * y : y, x, u, options);
  }));
  calls.push_back(garbage_call("Rop", [](Exprs y, Exprs x, Exprs dx) { return Rop(y, x, dx); }));
  calls.push_back(garbage_call("Lop", [](Exprs y, Exprs x, Exprs u) { return Lop(y, x, u); }));
  calls.push_back(garbage_call(
      "vector_jacobian", [](Exprs y, Exprs u, Exprs x, Exprs constant) { return vector_jacobian(y, u, x, constant); }));
}

}  // namespace

void add_builders(std::vector<GarbageCall>& calls) {
  add_inputs(calls);
  add_elementwise(calls);
  add_reductions(calls);
  add_shapes(calls);
  add_networks(calls);
  add_derivatives(calls);
}

}  // namespace thtrain

// After PyTensor's tests/test_gradient.py: grad, its options, jacobian and hessian.
//
// 120 cases in gradient_test.cpp, rop_test.cpp and graph_ops_test.cpp. 17 tests are not written here:
// - derivatives with respect to integers, which are errors: test_grad_int, test_known_grads_integers, test_dxdx of an
//   integer (3); a known gradient of one in test_known_grads is left out;
// - NullType and DisconnectedType as values, which docs/limitations.md names: test_unimplemented_grad_func,
//   test_undefined_grad_func, test_undefined_grad_grad, test_undefined_cost_grad, test_disconnected_cost_grad,
//   test_undefined_grad_opt (6);
// - connection patterns that a user's op states: test_disconnected_nan, TestDisconnectedGrad.test_connection_pattern,
//   TestOpFromGraph.test_connection_pattern and test_connection_pattern_override (4);
// - a tangent of a user's own, which graph_calls_test.cpp has: TestOpFromGraph.test_rop_override (1); names of
//   gradients: test_grad_name (1);
// - tangents of lengths and of argmax, which are integers: TestRopLop.test_shape, test_argmax (2).
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::gradient_suite {
namespace {

using G = Given&;

Slice from(int64_t start) {
  return {.start = start};
}

Slice to(int64_t stop) {
  return {.stop = stop};
}

Tensor filled(const Shape& shape, double value) {
  return Tensor::of(std::vector<double>(static_cast<size_t>(element_count(shape)), value), shape);
}

/// Theano's op of a test: it gives `results` values and has `gradients` as its gradient, whatever it is given.
OpFromGraph op_with_gradients(size_t results, const All& gradients) {
  return OpFromGraph([results](const All& in) { return All(results, in[0] + 0 * in.back()); },
                     [gradients](const All&, const All&, const All&) { return gradients; });
}

/// What grad gives for an op of so many inputs and results, whose gradients are inputs of the function.
All gradients_of_op(G g, size_t inputs, size_t results) {
  All of_inputs, arguments;
  for (size_t k = 0; k < inputs; ++k) {
    of_inputs.push_back(g(spread({2, 3}, static_cast<int64_t>(k))));
    arguments.push_back(g(positive({2, 3})));
  }
  const All values = op_with_gradients(results, of_inputs)(arguments);
  return grad(sum(values.back()), arguments);
}

struct KnownGrads {  // test_known_grads: a cost, and what it is computed from on the way
  Expr x, coefficients, ct, p, y, cost;
  All wrt() const { return {coefficients, x}; }
  All from(const All& layer) const {
    std::vector<std::pair<Expr, Expr>> known;
    const All first = grad(cost, layer);
    for (size_t k = 0; k < layer.size(); ++k) known.emplace_back(layer[k], first[k]);
    return grad({}, wrt(), {.known_grads = known});
  }
};

KnownGrads known_grads(G g) {
  KnownGrads out;
  out.x = g(number(1.25));
  out.coefficients = g(spread({10}));
  const Expr t = g(Tensor(int64_t{3}));
  out.ct = out.coefficients[t];
  out.p = pow(out.x, cast(arange(10)[t], DType::kFloat64));
  out.y = out.ct * out.p;
  out.cost = sqr(out.y);
  return out;
}

TEST(GradientSuite, Grad) {
  expect_suite(
      "gradient", "grad",
      {
          {"TestGrad.test_grad_keep_type",
           [](G g) {
             const Expr x = g(spread({3, 4}));
             return All{grad(sum(x), x), grad(sum(x), All{x})[0]};
           }},
          {"TestGrad.test_zero_gradient_shape",
           [](G g) {
             return grad(g(number(2)), g(filled({3, 7}, 1)), {.disconnected = Disconnected::kZero});
           }},
          {"TestGrad.test_grad_duplicate_input",
           [](G g) {
             const Expr x = g(spread({2}));
             return grad(sum(x * x * make_constant(Tensor::vector({2.0, -3.0}))), x);
           }},
          {"TestGrad.test_grad_quadratic",
           [](G g) {
             const Expr x = g(spread({2})), a = g(spread({2, 2}, 1));
             return grad(dot(x, dot(a, x)), All{x, a});
           }},
          {"TestGrad.test_grad_quadratic_vector",
           [](G g) {
             const Expr x = g(spread({2})), a = g(spread({2, 2}, 1));
             return grad(sum(dot(x * x, a) * make_constant(Tensor::vector({2.0, -3.0}))), All{x, a});
           }},
          {"TestGrad.test_grad_cubic",
           [](G g) {
             const Expr x = g(spread({2})), a = g(spread({2, 2}, 1));
             return grad(dot(x * x, dot(a, x)), All{x, a});
           }},
          {"TestGrad.test_grad_grad_quadratic",
           [](G g) {
             const Expr x = g(spread({2})), a = g(spread({2, 2}, 1)), first = grad(dot(x, dot(a, x)), x);
             return grad(sum(first * make_constant(Tensor::vector({2.0, -3.0}))), All{x, a});
           }},
          {"TestGrad.test_grad_grad_cubic",
           [](G g) {
             const Expr x = g(spread({2})), a = g(spread({2, 2}, 1)), first = grad(dot(x * x, dot(a, x)), x);
             return grad(sum(first * make_constant(Tensor::vector({2.0, -3.0}))), All{x, a});
           }},
          {"TestGrad.test_grad_disconnected",
           [](G g) {
             const Expr x = g(spread({3}));
             return grad(sum(full({length(x, 0)}, sum(x) / length(x, 0))), x);
           }},
          {"TestGrad.test_downcast_dtype",
           [](G g) {
             const Expr x = g(Tensor(3.0F)), z = g(Tensor(int64_t{4}));
             return grad(x * 2 + z, x);
           }},
          {"TestGrad.test_grad_constant",
           [](G g) {
             const Expr x = g(number(2));
             return grad(x + g(number(0.5)), x, {.consider_constant = {x}});
           }},
          {"test_dxdx",
           [](G g) {
             const Expr x = g(number(12));
             return grad(x, x);
           }},
          {"test_known_grads[cost]",
           [](G g) {
             const KnownGrads all = known_grads(g);
             return all.from({all.cost});
           }},
          {"test_known_grads[y]",
           [](G g) {
             const KnownGrads all = known_grads(g);
             return all.from({all.y});
           }},
          {"test_known_grads[ct,p]",
           [](G g) {
             const KnownGrads all = known_grads(g);
             return all.from({all.ct, all.p});
           }},
          {"test_known_grads[ct,x]",
           [](G g) {
             const KnownGrads all = known_grads(g);
             return all.from({all.ct, all.x});
           }},
          {"test_known_grads[coeffs,x]",
           [](G g) {
             const KnownGrads all = known_grads(g);
             return all.from({all.coefficients, all.x});
           }},
          {"test_subgraph_grad",
           [](G g) {
             const Expr x = g.known(positive({3})), target = g.known(spread({2}));
             const Expr w1 = g.known(spread({3, 4}, 1)), w2 = g.known(spread({4, 2}, 2)), a1 = tanh(dot(x, w1));
             const Expr cost2 = sum(sqr(tanh(dot(a1, w2)) - target)) + sqr(sum(w2)), cost1 = sqr(sum(w1));
             const All last = grad(cost2, All{w2, a1});
             return All{last[0], grad(cost1, w1, {.known_grads = {{a1, last[1]}}})};
           }},
          {"TestConsiderConstant.test_grad[x,x]",
           [](G g) {
             const Expr x = g(spread({5, 5})), v = x * 1.0;
             return grad(sum(x * v), x, {.consider_constant = {v}});
           }},
          {"TestConsiderConstant.test_grad[x,exp]",
           [](G g) {
             const Expr x = g(spread({5, 5})), v = exp(x);
             return grad(sum(x * v), x, {.consider_constant = {v}});
           }},
          {"TestConsiderConstant.test_grad[x^2,exp]",
           [](G g) {
             const Expr x = g(spread({5, 5})), v = exp(x);
             return grad(sum(sqr(x) * v), x, {.consider_constant = {v}});
           }},
          {"TestZeroGrad.test_grad[x,x]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(x * zero_grad(x)), x);
           }},
          {"TestZeroGrad.test_grad[x,exp]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(x * zero_grad(exp(x))), x);
           }},
          {"TestZeroGrad.test_grad[alone]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(zero_grad(x)), x);
           }},
          {"TestZeroGrad.test_grad[x^2,x]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(pow(x, 2) * zero_grad(x)), x);
           }},
          {"TestZeroGrad.test_rop",
           [](G g) {
             const Expr x = g(spread({5}));
             return Rop(zero_grad(x), x, g(spread({5}, 1)));
           }},
          {"TestZeroGrad.test_op_removed",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return x * zero_grad(x);
           },
           1},
          {"TestDisconnectedGrad.test_grad[x,x]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(x * stop_gradient(x)), x);
           }},
          {"TestDisconnectedGrad.test_grad[x,exp]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(x * stop_gradient(exp(x))), x);
           }},
          {"TestDisconnectedGrad.test_grad[x^2,x]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(pow(x, 2) * stop_gradient(x)), x);
           }},
          {"TestDisconnectedGrad.test_disconnected_paths[x]",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return grad(sum(x + stop_gradient(x)), x);
           }},
          {"TestDisconnectedGrad.test_disconnected_paths[a]",
           [](G g) {
             const Expr a = g(spread({2, 2})), b = g(spread({2, 2}, 1));
             return grad(sum(a + stop_gradient(b)), a);
           }},
          {"TestDisconnectedGrad.test_op_removed",
           [](G g) {
             const Expr x = g(spread({5, 5}));
             return x * stop_gradient(x);
           },
           1},
          {"test_grad_clip",
           [](G g) {
             const Expr x = g(number(2));
             return All{grad(sqr(grad_clip(x, -1, 1)), x), grad(sqr(x), x)};
           }},
          {"test_grad_scale",
           [](G g) {
             const Expr x = g(number(2));
             return All{grad(sqr(grad_scale(x, 2)), x), grad(sqr(x), x)};
           }},
          {"TestGradSourcesInputs.test_1in_1out", [](G g) { return gradients_of_op(g, 1, 1); }},
          {"TestGradSourcesInputs.test_1in_Nout", [](G g) { return gradients_of_op(g, 1, 2); }},
          {"TestGradSourcesInputs.test_Nin_1out", [](G g) { return gradients_of_op(g, 2, 1); }},
          {"TestGradSourcesInputs.test_Nin_Nout", [](G g) { return gradients_of_op(g, 2, 2); }},
          {"TestGradSourcesInputs.test_some_None_ograds",
           [](G g) {
             const Expr wanted = g(spread({2, 3})), x = g(positive({2, 3})), y = g(positive({2, 3}));
             return grad(sum(op_with_gradients(1, {wanted, Expr()})({x, y})[0]), x);
           }},
          {"TestGradSourcesInputs.test_retNone1",
           [](G g) {
             const Expr x = g(positive({2, 3}));
             return grad(sum(op_with_gradients(1, {Expr()})({x})[0]), x, {.disconnected = Disconnected::kZero});
           }},
      });
}

TEST(GradientSuite, Jacobian) {
  expect_suite(
      "gradient", "jacobian",
      {
          {"test_jacobian_vector[one]",
           [](G g) {
             const Expr x = g(spread({10}));
             return jacobian(x * 2, x);
           }},
          {"test_jacobian_vector[list]",
           [](G g) {
             const Expr x = g(spread({10}));
             return jacobian(x * 2, All{x});
           }},
          {"test_jacobian_vector[two]",
           [](G g) {
             const Expr x = g(spread({10})), z = g(positive({10}));
             return jacobian(x * z, All{x, z});
           }},
          {"test_jacobian_matrix[one]",
           [](G g) {
             const Expr m = g(spread({4, 4}));
             return jacobian(2 * sum(m, 0), m);
           }},
          {"test_jacobian_matrix[list]",
           [](G g) {
             const Expr m = g(spread({4, 4}));
             return jacobian(2 * sum(m, 0), All{m});
           }},
          {"test_jacobian_matrix[two]",
           [](G g) {
             const Expr m = g(spread({4, 4})), n = g(positive({4, 4}));
             return jacobian(sum(m * n, 1), All{m, n});
           }},
          {"test_jacobian_scalar[one]",
           [](G g) {
             const Expr a = g(number(1.5));
             return jacobian(a * 2, a);
           }},
          {"test_jacobian_scalar[list]",
           [](G g) {
             const Expr a = g(number(1.5));
             return jacobian(a * 2, All{a});
           }},
          {"test_jacobian_scalar[two]",
           [](G g) {
             const Expr a = g(number(1.5)), b = g(number(-0.75));
             return jacobian(a * b, All{a, b});
           }},
          {"test_hessian",
           [](G g) {
             const Expr x = g(count({10}));
             return hessian(sum(pow(x, 2)), x);
           }},
          {"test_jacobian_disconnected_inputs[vector]",
           [](G g) { return jacobian(1 + g(count({4})), g(count({4})), {.disconnected = Disconnected::kZero}); }},
          {"test_jacobian_disconnected_inputs[scalar]",
           [](G g) { return jacobian(1 + g(number(1.5)), g(number(-0.75)), {.disconnected = Disconnected::kZero}); }},
          {"TestHessianVectorProduct.test_rosen",
           [](G g) {
             const Expr x = g(count({9})) / 8, p = g(count({9})) / 2, a = x[from(1)], b = x[to(-1)];
             return hessian_vector_product(sum(100 * sqr(a - sqr(b)) + sqr(1 - b)), x, p);
           }},
          {"TestHessianVectorProduct.test_multiple_wrt",
           [](G g) {
             const Expr x = g(spread({3})), y = g(spread({3}, 1));
             return hessian_vector_product(sum(sqr(x) - sqr(y)), All{x, y},
                                           {g(Tensor::vector({1.0, 2.0, 3.0})), g(Tensor::vector({3.0, 2.0, 1.0}))});
           }},
      });
}

}  // namespace
}  // namespace thtrain::gradient_suite

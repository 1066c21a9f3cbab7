// After PyTensor's tests/compile/test_builders.py: graphs as ops; and errors of differentiation.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::graph_ops_suite {
namespace {

using G = Given&;

Tensor filled(const Shape& shape, double value) {
  return Tensor::of(std::vector<double>(static_cast<size_t>(element_count(shape)), value), shape);
}

All joined(std::initializer_list<All> parts) {
  All out;
  for (const All& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

struct Matrices {  // of 1, of 3, of 5
  Expr x, y, z;
};

Matrices matrices(G g) {
  return {g(filled({2, 2}, 1)), g(filled({2, 2}, 3)), g(filled({2, 2}, 5))};
}

const OpFromGraph& fused() {
  static const OpFromGraph op([](const All& in) { return All{in[0] + in[1] * in[2]}; });
  return op;
}

TEST(GradientSuite, GraphsAsOps) {
  expect_suite("gradient", "graph",
               {
                   {"TestOpFromGraph.test_straightforward",
                    [](G g) {
                      const auto [x, y, z] = matrices(g);
                      return fused()({x, y, z})[0] - fused()({y, z, x})[0];
                    }},
                   {"TestOpFromGraph.test_size_changes",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{dot(in[0], in[1])}; });
                      return op({g(filled({2, 3}, 1)), op({g(filled({3, 4}, 3)), g(filled({4, 5}, 5))})[0]})[0];
                    }},
                   {"TestOpFromGraph.test_grad",
                    [](G g) {
                      const auto [x, y, z] = matrices(g);
                      const Expr f = fused()({x, y, z})[0];
                      return f - grad(sum(f), y);
                    }},
                   {"TestOpFromGraph.test_grad_grad",
                    [](G g) {
                      const auto [x, y, z] = matrices(g);
                      Expr f = fused()({x, y, z})[0];
                      f = f - grad(sum(f), y);
                      return f - grad(sum(f), y);
                    }},
                   {"TestOpFromGraph.test_shared",
                    [](G g) {
                      const auto [x, y, z] = matrices(g);
                      const Shared s(spread({2, 2}));
                      const OpFromGraph op([s](const All& in) { return All{in[0] + in[1] * in[2] + s}; });
                      return op({x, y, z})[0] - op({y, z, x})[0];
                    }},
                   {"TestOpFromGraph.test_shared_grad",
                    [](G g) {
                      const auto [x, y, z] = matrices(g);
                      const Shared s(spread({2, 2}));
                      const OpFromGraph op([s](const All& in) { return All{in[0] + in[1] * in[2] + s}; });
                      const Expr f = op({x, y, z})[0];
                      return All{f - grad(sum(f), y), f - grad(sum(f), s)};
                    }},
                   {"TestOpFromGraph.test_grad_override[two]",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{in[0] * in[1]}; },
                                           [](const All& in, const All&, const All& out) {
                                             return All{out[0] * in[1] * 2, out[0] * in[0] * 1.5};
                                           });
                      const Expr x = g(positive({16})), y = g(spread({16}));
                      return grad(sum(op({x, y})[0]), All{x, y});
                    }},
                   {"TestOpFromGraph.test_grad_override[three]",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{in[0] * in[1] + in[2]}; },
                                           [](const All& in, const All&, const All& out) {
                                             return All{out[0] * in[1] * 2, out[0] * in[0] * 1.5, out[0]};
                                           });
                      const Expr x = g(positive({16})), w = g(spread({16})), b = g(spread({16}, 1));
                      return grad(sum(op({x, w, b})[0]), All{x, w, b});
                    }},
                   {"TestOpFromGraph.test_lop_override",
                    [](G g) {
                      const OpFromGraph op(
                          [](const All& in) { return All{1 / (1 + exp(-in[0]))}; },
                          [](const All&, const All& y, const All& dy) { return All{2 * y[0] * (1 - y[0]) * dy[0]}; });
                      const Expr x = g(spread({16}));
                      return grad(sum(op({x})[0]), x);
                    }},
                   {"TestOpFromGraph.test_rop",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{dot(in[0], in[1])}; });
                      const Expr x = g(positive({16})), w = g(spread({16, 16}, 1));
                      return Rop(op({x, w})[0], x, g(spread({16})));
                    }},
                   {"TestOpFromGraph.test_nested",
                    [](G g) {
                      const OpFromGraph forth([](const All& in) { return All{in[0] + in[1], in[0] - in[1]}; });
                      const OpFromGraph back([&](const All& in) {
                        const All twice = forth(in);
                        return All{twice[0] / 2, twice[1] / 2};
                      });
                      return back(forth({g(positive({16})), g(spread({16}))}));
                    }},
                   {"TestOpFromGraph.test_infer_shape",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{in[0] + 2, in[1] * 3}; });
                      return op({g(positive({6, 6})), g(spread({7, 6}))});
                    }},
                   {"TestOpFromGraph.test_compute_test_value",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{pow(in[0], 2) * 3}; });
                      const Expr x = g(spread({16}));
                      return All{op({x})[0], grad(sum(op({x})[0]), x)};
                    }},
                   {"TestOpFromGraph.test_outputs_consistency",
                    [](G g) {
                      const OpFromGraph op([](const All& in) { return All{sum(exp(in[0])), in[0] * 2}; });
                      const Expr x = g(spread({16}));
                      const All y = op({x});
                      return joined({y, {grad(y[0] + sum(y[1]), x), grad(sum(y[1]), x)}});
                    }},
               });
}

TEST(GradientSuite, GoldenErrors) {
  expect_suite_errors(
      "gradient", "errors",
      {
          {"TestGrad.test_cost_is_scalar[vector]",
           [](G g) {
             const Expr v = g(spread({3}));
             return All{grad(v, v)};
           }},
          {"TestGrad.test_cost_is_scalar[matrix]",
           [](G g) {
             const Expr m = g(spread({2, 2}));
             return All{grad(m, m)};
           }},
          {"TestDisconnectedGrad.test_disconnected_paths[alone]",
           [](G g) {
             const Expr v = g(spread({3}));
             return All{grad(sum(stop_gradient(v)), v)};
           }},
          {"TestDisconnectedGrad.test_disconnected_paths[b]",
           [](G g) {
             const Expr v = g(spread({3})), w = g(spread({3}));
             return All{grad(sum(v + stop_gradient(w)), w)};
           }},
          {"TestRopLop.test_invalid_input",
           [](G g) {
             return All{Rop(make_constant(number(0)), g(spread({2, 2})), g(spread({2})))};
           }},
          {"test_jacobian_disconnected_inputs", [](G g) { return All{jacobian(1 + g(spread({3})), g(spread({3})))}; }},
          {"TestOpFromGraph.test_explicit_input_from_shared",
           [](G g) {
             const OpFromGraph op(
                 [](const All& in) {
                   return All{in.at(0) * 2, in.at(0)};
                 },
                 [](const All& in, const All&, const All&) {
                   return All{in[0], in[0]};
                 });
             const Expr x = g(spread({3}));
             return All{grad(sum(op({x})[0]), x)};
           }},
      });
}

}  // namespace
}  // namespace thtrain::graph_ops_suite

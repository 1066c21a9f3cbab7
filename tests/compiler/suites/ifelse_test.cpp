// After PyTensor's tests/test_ifelse.py: branches, their gradients, and errors.
//
// 52 cases. 6 tests, or parts of tests, cannot be expressed: test_lazy_if_on_generics (values that are no tensors),
// test_sparse_conversions (sparse matrices), test_str (the op's text), test_ifelse_lazy_c (linkers), two lengths of
// test_static_branch_shapes that only the call knows, and the error of test_dtype_mismatch: two dtypes are promoted.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::ifelse_suite {
namespace {

/// What the cases are written with; the condition is an input.
struct Branch {
  Expr c, x, y, p, q, ints, others, a, b;
  All t;
};

using B = const Branch&;

Branch branch(Given& g, bool holds) {
  Branch out{g(Tensor(holds)),
             g.known(spread({5})),
             g.known(spread({5}, 1)),
             g.known(spread({5}, 2)),
             g.known(spread({5}, 3)),
             g.known(whole({5}).cast(DType::kInt32)),
             g.known(whole({5}, 5).cast(DType::kInt32)),
             g.known(spread({5, 4})),
             g.known(spread({5, 4}, 1)),
             {}};
  for (const double value : {1.5, 2.5, -0.5, 3.0, 0.25, -2.0}) out.t.push_back(g(number(value)));
  return out;
}

Expr either(const Expr& condition, const Expr& then, const Expr& otherwise) {
  return if_else(
      condition, [&] { return then; }, [&] { return otherwise; });
}

All either(const Expr& condition, const All& then, const All& otherwise) {
  return if_else(
      condition, [&] { return then; }, [&] { return otherwise; });
}

TEST(IfElseSuite, Branches) {
  const std::vector<std::pair<std::string, All (*)(B)>> rows = {
      {"TestIfelse.test_lazy_if[#]", [](B o) { return All{either(o.c, o.x, o.y)}; }},
      {"TestIfelse.test_const_false_branch[#]",
       [](B o) { return All{either(o.c, o.x, make_constant(count({5}, 2)))}; }},
      {"TestIfelse.test_not_lazy_if_inplace[#]",
       [](B o) {
         Expr y = o.y;
         for (int k = 0; k < 200; ++k) y = y + k;
         return All{either(o.c, o.x, y)};
       }},
      {"TestIfelse.test_mixed_dtype[#]",
       [](B o) {
         return either(o.c, All{o.ints, o.x}, All{o.others, o.y});
       }},
      {"TestIfelse.test_grad_lazy_if[#]",
       [](B o) {
         return grad(sum(either(o.c, o.x, o.y)), All{o.x, o.y});
       }},
      {"TestIfelse.test_grad_lazy_if[#,of_functions]",
       [](B o) {
         return grad(sum(if_else(
                         o.c, [&] { return exp(o.x) * o.y; }, [&] { return o.x - o.y; })),
                     All{o.x, o.y});
       }},
      {"TestIfelse.test_multiple_out[#]",
       [](B o) {
         return either(o.c, All{o.x, o.p}, All{o.y, o.q});
       }},
      {"TestIfelse.test_multiple_out_grad[#]",
       [](B o) {
         const All z = either(o.c, All{o.x, o.p}, All{o.y, o.q});
         return grad(sum(z[0]) + sum(z[1]), All{o.x, o.p, o.y, o.q});
       }},
      {"TestIfelse.test_multiple_out_crash[#]",
       [](B o) {
         return either(o.c, All{o.a[-1], o.x * 2}, All{o.b[-1], o.y});
       }},
      {"TestIfelse.test_merge[#]",
       [](B o) { return All{either(o.c, o.x + 1, o.y + 1) + either(o.c, o.x + 2, o.y + 2)}; }},
      {"TestIfelse.test_remove_useless_inputs1[#]",
       [](B o) {
         return either(o.c, All{o.x, o.x}, All{o.y, o.y});
       }},
      {"TestIfelse.test_remove_useless_inputs2[#]",
       [](B o) {
         return either(o.c, All{o.x, o.x, o.x, o.p, o.p}, All{o.y, o.y, o.q, o.q, o.q});
       }},
      {"TestIfelse.test_pushout1[#]",
       [](B o) {
         const All f = either(o.c, All{o.t[0], o.t[1]}, All{o.t[2], o.t[3]});
         return All{f[0] * either(o.c, o.t[4], o.t[5]) * f[1]};
       }},
      {"TestIfelse.test_pushout2[#]",
       [](B o) {
         const All f = either(o.c, All{o.t[0], o.t[1]}, All{o.t[2], o.t[3]});
         return All{f[0] * either(f[0] > f[1], o.t[4], o.t[5]) * f[1]};
       }},
      {"TestIfelse.test_pushout3[#]",
       [](B o) {
         const All f = either(o.c, All{o.t[0], o.t[1]}, All{make_constant(number(2)), o.t[3]});
         return All{f[0] * either(o.c, make_constant(number(0.3)), make_constant(number(0.2))) * f[1]};
       }},
      {"TestIfelse.test_merge_ifs_true_false[#]",
       [](B o) {
         const Expr inner = either(o.c, o.t[0], o.t[1]) + either(o.c, o.t[2], o.t[3]);
         return All{either(o.c, inner + o.t[4], inner + o.t[5])};
       }},
      {"TestIfelse.test_grad_test_values[#]", [](B o) { return All{grad(either(o.c, o.t[0], o.t[0]), o.t[0])}; }},
      {"test_nested[#]",
       [](B o) {
         const Expr t1 = either(o.c, o.t[0], o.t[1]);
         return All{if_else(
             t1 > 2, [&] { return t1 * 10; },
             [&] {
               return o.t[0] + if_else(
                                   o.c, [&] { return t1; }, [&] { return o.t[5]; });
             })};
       }},
      {"TestIfelse.test_dtype_mismatch[#,cast]",
       [](B o) { return All{either(o.c, o.x, cast(o.ints, DType::kFloat64))}; }},
  };
  std::vector<SuiteCase> cases = {{"TestIfelse.test_grad_int_value", [](Given& g) {
                                     const Expr score = dot(g(spread({5})), g(spread({5}))) + g(number(0.5));
                                     return All{if_else(
                                                    score * g(number(1)) > 0, [] { return make_constant(number(0)); },
                                                    [] { return make_constant(number(1)); }),
                                                score};
                                   }}};
  for (const bool holds : {true, false}) {
    const std::string c = holds ? "[1," : "[0,";
    cases.push_back(made_case("TestIfelse.test_lazy_if" + c + "lengths]", [holds](Given& g) {
      return All{either(g(Tensor(holds)), g.known(spread({5})), g.known(spread({3}, 4)))};
    }));
    cases.push_back(made_case("TestIfelse.test_grad_lazy_if" + c + "lengths]", [holds](Given& g) {
      const Expr x = g.known(spread({5})), y = g.known(spread({3}, 4));
      return grad(sum(either(g(Tensor(holds)), x, y)), All{x, y});
    }));
    cases.push_back(made_case("TestIfelse.test_static_branch_shapes" + c + "1]", [holds](Given& g) {
      return All{either(g(Tensor(holds)), g.known(count({1})), g.known(spread({3}, 4)))};
    }));
    cases.push_back(made_case("TestIfelse.test_static_branch_shapes" + c + "matrix]", [holds](Given& g) {
      return All{either(g(Tensor(holds)), g.known(count({2, 1})), g.known(count({3, 1})))};
    }));
  }
  for (const auto& [name, build] : rows)
    for (const bool holds : {true, false}) {
      std::string text = name;
      text.replace(text.find('#'), 1, holds ? "1" : "0");
      cases.push_back(made_case(text, [build = build, holds](Given& g) { return build(branch(g, holds)); }));
    }
  expect_suite("ifelse", "branches", cases);
}

TEST(IfElseSuite, GoldenErrors) {
  using G = Given&;
  expect_suite_errors(
      "ifelse", "errors",
      {
          {"TestIfelse.test_ndim_mismatch[x,y]",
           [](G g) {
             return All{either(g(Tensor(true)), g(spread({5})), g(spread({5, 1})))};
           }},
          {"TestIfelse.test_ndim_mismatch[y,x]",
           [](G g) {
             return All{either(g(Tensor(true)), g(spread({5, 1})), g(spread({5})))};
           }},
          {"TestIfelse.test_broadcast_mismatch",
           [](G g) {
             return All{either(g(Tensor(true)), g(spread({5})), g(spread({1, 5})))};
           }},
          {"TestIfelse.test_nonscalar_condition",
           [](G g) { return All{either(g(bools({2}, "10")), g.known(spread({5})), g.known(spread({5}, 1)))}; }},
          {"TestIfelse.test_wrong_n_outs",
           [](G g) {
             const Expr x = g.known(spread({5})), y = g.known(spread({5}, 1));
             return either(g(Tensor(true)), All{x, y}, All{x});
           }},
      });
}

}  // namespace
}  // namespace thtrain::ifelse_suite

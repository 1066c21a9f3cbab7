// After PyTensor's tests/scan/test_basic.py and test_checkpoints.py: second derivatives and tangents of loops,
// gradients of loops that end by a condition or keep few states.
#include <gtest/gtest.h>

#include "tests/compiler/suites/loops.h"

namespace thtrain::scan_suite {
namespace {

struct Recurrent {  // h_t = tanh(W (u_t + h_{t-1})), its last value
  Expr u, h, w, eu, eh, ew;
  All tangents(const Expr& o) const { return {Rop(o, u, eu), Rop(o, h, eh), Rop(o, w, ew)}; }
};

Recurrent recurrent(G g) {
  return {g.known(spread({5, 3})),    g.known(spread({3}, 1)), g.known(spread({3, 3}, 2)),
          g.known(spread({5, 3}, 3)), g.known(spread({3}, 4)), g.known(spread({3, 3}, 5))};
}

TEST(ScanSuite, SecondDerivativesAndForwardMode) {
  std::vector<SuiteCase> cases = {
      {"TestScan.test_grad_grad_mitsot_sitsot",
       [](G g) {
         const Expr m = g.known(positive({2, 2})), v = g.known(positive({2}, 1));
         const All out = scan(
                             [](Expr m2, Expr m1, Expr one) {
                               const Expr total = pow(m2 + m1 + one, 1.05);
                               return All{total, total};
                             },
                             {.outputs_info = {{m, {-2, -1}}, v}, .n_steps = 5})
                             .outputs;
         const Expr firsts = sum(grad(sum(out[0]), m)) + sum(grad(sum(out[1]), v));
         return All{firsts, grad(firsts, m)};
       }},
      {"TestScan.test_verify_second_grad_sitsot",
       [](G g) {
         const Expr x = g(positive({3}));
         return sum(grad(sum(scan([](Expr x) { return x * 2; }, {.outputs_info = {x}, .n_steps = 5}).outputs), x));
       }},
      {"TestScan.test_verify_second_grad_mitsot1",
       [](G g) {
         const Expr m = g.known(positive({2, 3})), v = g.known(positive({3}, 1));
         const All out = scan(
                             [](Expr m2, Expr one) {
                               const Expr total = pow(m2 + one, 1.02);
                               return All{total, total};
                             },
                             {.outputs_info = {{m, {-2}}, v}, .n_steps = 3})
                             .outputs;
         const Expr firsts = sum(grad(sum(out[0]), m)) + sum(grad(sum(out[1]), v));
         return value_and(firsts, grad(firsts, All{m, v}));
       }},
      {"TestScan.test_rop",
       [](G g) {
         const Recurrent r = recurrent(g);
         return r.tangents(scan([](Expr u, Expr y, Expr w) { return tanh(dot(w, u + y)); },
                                {.sequences = {r.u}, .outputs_info = {r.h}, .non_sequences = {r.w}})
                               .outputs[-1]);
       }},
      {"TestScan.test_rop2",
       [](G g) {
         const Recurrent r = recurrent(g);
         const Expr o = scan(
                            [](Expr u, Expr y, Expr w) {
                              return All{tanh(dot(w, u + y)), u + y};
                            },
                            {.sequences = {r.u}, .outputs_info = {r.h, std::nullopt}, .non_sequences = {r.w}})
                            .outputs[0][-1];
         All out = r.tangents(o);
         out.push_back(o);
         return out;
       }},
      {"TestScan.test_rop_mitmot",
       [](G g) {
         const Expr p = g.known(spread({12})), target = g.known(spread({3, 2, 3}, 1));
         const Expr w1 = reshape(p[to(3)], {1, 3}), w2 = reshape(p[from(3)], {3, 3});
         const Expr hidden = reshape(dot(reshape(g.known(spread({3, 2, 1}, 3)), {6, 1}), w1), {3, 2, 3});
         const Expr rec = scan([&](Expr x, Expr h) { return sigmoid(dot(h, w2) + x); },
                               {.sequences = {hidden}, .outputs_info = {zeros({2, 3})}})
                              .outputs;
         return Rop(grad(mean(sqr(rec - target)), p), p, g.known(spread({12}, 2)));
       }},
      {"TestScan.test_hessian_bug_grad_grad_two_scans",
       [](G g) {
         const Expr w = g.known(filled({8}, 1));
         const Expr cost = scan(
                               [&](Expr total, Expr w) {
                                 return total + scan([](Expr t, Expr w) { return t + sum(pow(w, 2)); },
                                                     {.outputs_info = {0.0}, .non_sequences = {w}, .n_steps = 1})
                                                    .outputs[-1];
                               },
                               {.outputs_info = {0.0}, .non_sequences = {w}, .n_steps = 1})
                               .outputs[-1];
         return hessian(cost, w);
       }},
      {"TestGaussNewton.test_nobatch",
       [](G g) {
         const Expr w = g.known(spread({4}));
         const Expr out = scan(
                              [&](Expr u, Expr y) {
                                return tanh(dot(reshape(w, {2, 2}), u + y));
                              },
                              {.sequences = {g.known(spread({3, 2}))}, .outputs_info = {zeros({2})}})
                              .outputs;
         return hessian(sum(pow(out, 2)), w);
       }},
  };
  expect_suite("scan", "second", cases);
}

TEST(ScanSuite, GradientsOfConditionsAndCheckpoints) {
  std::vector<SuiteCase> cases = {
      {"TestGradUntil.test_grad_until",
       [](G g) {
         const Expr x = g(count({15}));
         const Expr out = scan([](Expr x, Expr u) { return std::pair(x * x, until(x > u)); },
                               {.sequences = {x}, .non_sequences = {g(Tensor(int64_t{5}))}})
                              .outputs;
         return All{out, grad(sum(out), x)};
       }},
      {"TestGradUntil.test_grad_until_ndim_greater_one",
       [](G g) {
         const Expr x = g(Tensor::of(
             [] {
               std::vector<double> out;
               for (int i = 0; i < 15; ++i) out.insert(out.end(), 5, i);
               return out;
             }(),
             {15, 5}));
         const Expr out = scan([](Expr x, Expr u) { return std::pair(x * x, until(all(x > u))); },
                               {.sequences = {x}, .non_sequences = {g(Tensor(int64_t{5}))}})
                              .outputs;
         return All{out, grad(sum(out), x)};
       }},
      {"TestGradUntil.test_grad_until_and_truncate",
       [](G g) {
         const Expr x = g(count({15}));
         const Expr out = scan([](Expr x, Expr u) { return std::pair(x * x, until(x > u)); },
                               {.sequences = {x}, .non_sequences = {g(Tensor(int64_t{5}))}, .truncate_gradient = 3})
                              .outputs;
         return All{out, grad(sum(out), x)};
       }},
      {"TestGradUntil.test_grad_until_and_truncate_sequence_taps",
       [](G g) {
         const Expr x = g(count({15}));
         const Expr out =
             scan([](Expr x, Expr y, Expr u) { return std::pair(x * y, until(y > u)); },
                  {.sequences = {{x, {-2, 0}}}, .non_sequences = {g(Tensor(int64_t{6}))}, .truncate_gradient = 3})
                 .outputs;
         return All{out, grad(sum(out), x)};
       }},
  };
  for (const int64_t save : {2, 3, 4}) {
    const auto last = [save](const Expr& a) {
      return checkpointed_scan([](Expr p, Expr a) { return p * a; },
                               {.outputs_info = {ones_like(a)}, .non_sequences = {a}, .n_steps = 10}, save)
          .outputs;
    };
    cases.push_back(made_case(str("TestScanCheckpoint.test_forward_pass[", save, "]"),
                              [last](G g) { return All{last(g(positive({3})))}; }));
    cases.push_back(made_case(str("TestScanCheckpoint.test_backward_pass[", save, "]"), [last](G g) {
      const Expr a = g(positive({3}));
      return All{grad(sum(last(a)), a)};
    }));
  }
  expect_suite("scan", "ends", cases);
}

}  // namespace
}  // namespace thtrain::scan_suite

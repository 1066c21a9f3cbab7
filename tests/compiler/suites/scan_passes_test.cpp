// After PyTensor's tests/scan/test_basic.py and test_rewriting.py: loops that end by a condition, loops that passes
// change, and errors.
#include <gtest/gtest.h>

#include "tests/compiler/suites/loops.h"

namespace thtrain::scan_suite {
namespace {

Expr flags(G g) {
  Tensor out = filled({50}, 0);
  out.data<double>()[23] = 4;
  return g(out);
}

Expr until_above_3(const Expr& x, int64_t more) {
  return scan([more](Expr x) { return std::pair(x + more, until(x > 3)); }, {.sequences = {x}}).outputs;
}

TEST(ScanSuite, Conditions) {
  std::vector<SuiteCase> cases = {
      {"TestScan.test_while0", [](G g) { return until_above_3(flags(g), 1); }},
      {"TestScan.test_while1",
       [](G g) {
         const Expr x = flags(g);
         return All{until_above_3(x, 1), scan([](Expr x) { return x + 2; }, {.sequences = {x}}).outputs};
       }},
      {"TestScan.test_while2",
       [](G g) {
         const Expr x = flags(g);
         return All{until_above_3(x, 1), until_above_3(x, 2)};
       }},
      {"TestScan.test_while_infershape", [](G g) { return length(until_above_3(flags(g), 1), 0); }},
      {"TestScan.test_savemem_does_not_duplicate_number_of_scan_nodes",
       [](G g) {
         return scan([](Expr x) { return std::pair(All{x}, until(x > 0)); },
                     {.outputs_info = {g(number(1))}, .n_steps = 2})
             .outputs[0];
       }},
      {"test_condition_hidden_inp",
       [](G g) {
         const Expr limit = g(Tensor(int64_t{100}));
         return scan(
                    [&](Expr a, Expr b) {
                      return std::pair(All{a + b, b + 1}, until(a + b > limit));
                    },
                    {.outputs_info = {0, 0}, .n_steps = g(Tensor(int64_t{100}))})
             .outputs;
       }},
  };
  for (int64_t k = -5; k < 5; ++k)
    cases.push_back(made_case(str("TestScan.test_infer_shape[", k, "]"), [k](G g) {
      const Expr x = g(number(static_cast<double>(k)));
      const Expr out =
          scan([](Expr a) { return std::pair(a + 1, until(a > 5)); }, {.outputs_info = {x}, .n_steps = 10}).outputs;
      return All{out, grad(sum(out), x)};
    }));
  expect_suite("scan", "conditions", cases);
}

Expr one_more(const Expr& x, std::optional<Operand> n_steps = {}, int64_t truncate = -1) {
  return scan([](Expr s) { return s + 1; }, {.sequences = {x}, .n_steps = n_steps, .truncate_gradient = truncate})
      .outputs;
}

Expr picked(G g, const std::function<Expr(const Expr& w, const Expr& v, const Expr& unused)>& build) {
  return build(g(spread({3, 3})), g(integers({1, 2})), g(spread({3, 3})));
}

TEST(ScanSuite, WhatPassesChange) {
  std::vector<SuiteCase> cases = {
      {"TestScan.test_merge[two]",
       [](G g) {
         return All{one_more(g(spread({6}))), one_more(g(spread({5}, 1)))};
       }},
      {"TestScan.test_merge[2,3]",
       [](G g) {
         return All{one_more(g(spread({6})), 2), one_more(g(spread({5}, 1)), 3)};
       }},
      {"TestScan.test_merge[4,4]",
       [](G g) {
         return All{one_more(g(spread({6})), 4), one_more(g(spread({5}, 1)), 4)};
       }},
      {"TestScan.test_merge[same]",
       [](G g) {
         const Expr x = g(spread({6}));
         return All{one_more(x), one_more(x)};
       },
       1},
      {"TestScan.test_merge[truncated]",
       [](G g) {
         const Expr x = g(spread({6}));
         return All{one_more(x), one_more(x, {}, 1)};
       }},
      {"TestScan.test_merge_3scans",
       [](G g) {
         const Expr x = g(spread({6})), y = g(spread({5}, 1));
         return All{one_more(2 * y + 2, 4), one_more(one_more(x, 4), 4)};
       }},
      {"TestScan.test_pushout_seqs",
       [](G g) {
         const Expr x = g.known(spread({10, 4})), star = g.known(spread({4}, 2)), hyp = g.known(spread({3, 5}, 3));
         const Expr s =
             make_constant(Tensor::of(std::vector<double>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 4}));
         const Expr rows = sum(x, 1);
         const Expr beta = scan(
                               [&](Expr i, Expr x) {
                                 return sum(expand_dims(rows, {1}) + expand_dims(rows, {0})) + i * x[{0, 0}];
                               },
                               {.sequences = {arange(3)}, .non_sequences = {x}})
                               .outputs;
         const Expr m = scan(
                            [](Expr i, Expr star, Expr s, Expr x, Expr beta, Expr hyp) {
                              const Expr h = hyp[i], scale = h[to(4)], inner = (x - star) * scale;
                              return (sum(inner * dot(inner, scale * s * scale)) + sum(beta)) * h[4];
                            },
                            {.sequences = {arange(3)}, .non_sequences = {star, s, x, beta, hyp}})
                            .outputs;
         const Expr slopes = scan([](Expr i, Expr m, Expr x) { return grad(m[i], x); },
                                  {.sequences = {arange(3)}, .non_sequences = {m, star}})
                                 .outputs;
         return All{m, jacobian(m, star), slopes};
       }},
      {"TestScan.test_alloc_inputs1",
       [](G g) {
         const Expr w2 = g(spread({3, 3}, 2));
         return scan([](Expr h, Expr a, Expr b) { return dot(h, a * b); },
                     {.outputs_info = {g.known(spread({3}))},
                      .non_sequences = {g.known(spread({3, 3}, 1)), zeros_like(w2)},
                      .n_steps = 5})
             .outputs;
       }},
      {"TestScan.test_alloc_inputs3",
       [](G g) {
         const Expr w1 = g.known(spread({3, 3}, 1)), w2 = g.known(spread({3, 3}, 2));
         return scan([](Expr a, Expr h, Expr b) { return a * dot(h, b); }, {.sequences = {zeros_like(w1)},
                                                                            .outputs_info = {g.known(spread({3}))},
                                                                            .non_sequences = {zeros_like(w2)},
                                                                            .n_steps = 3})
             .outputs;
       }},
      {"TestScan.test_save_mem",
       [](G g) {
         const Network n = network(g, false);
         const All out = scan(
                             [&](Expr a, Expr b, Expr x, Expr y1, Expr y3, Expr m) {
                               return All{y3 + 1, dot(a, m) + b * n.w_in2 + dot(x, n.w), y1 + dot(x, n.w_out)};
                             },
                             {.sequences = {g(spread({8, 2})), g(spread({8}, 1))},
                              .outputs_info = {std::nullopt, n.x0, {g(spread({3}, 8)), {-1, -3}}},
                              .non_sequences = {n.w_in1}})
                             .outputs;
         return All{out[0][-1], out[1][-1], out[2][-1]};
       }},
      {"TestScan.test_return_steps",
       [](G g) {
         const Network n = network(g, false);
         const All out = scan(
                             [&](Expr a, Expr b, Expr x, Expr y1, Expr y3, Expr m) {
                               return All{y3 + 1, dot(a, m) + b * n.w_in2 + dot(x, n.w), y1 + dot(x, n.w_out)};
                             },
                             {.sequences = {g(spread({8, 2})), g(spread({8}, 1))},
                              .outputs_info = {std::nullopt, n.x0, {g(spread({3}, 8)), {-1, -3}}},
                              .non_sequences = {n.w_in1}})
                             .outputs;
         return All{out[0][from(-3)], out[1][from(-2)], out[2][from(-4)]};
       }},
  };
  using Picked = std::function<Expr(const Expr& w, const Expr& v, const Expr& unused)>;
  const std::vector<Picked> with_non_sequences = {
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr w) { return take(w, i); }, {.sequences = {v}, .non_sequences = {w}}).outputs;
      },
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr, Expr w) { return take(w, i); }, {.sequences = {v}, .non_sequences = {w[0], w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr w, Expr) { return take(w, i); }, {.sequences = {v}, .non_sequences = {w, w[0]}})
            .outputs;
      },
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr, Expr, Expr w) { return take(w, i); },
                    {.sequences = {v}, .non_sequences = {w[0], w[0], w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr, Expr w, Expr) { return take(w, i); },
                    {.sequences = {v}, .non_sequences = {w[0], w, w[0]}})
            .outputs;
      },
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr w, Expr, Expr) { return take(w, i); },
                    {.sequences = {v}, .non_sequences = {w, w[0], w[0]}})
            .outputs;
      }};
  const std::vector<Picked> with_sequences = {
      with_non_sequences[0],
      [](Expr w, Expr v, Expr) {
        return scan([](Expr i, Expr, Expr w) { return take(w, i); }, {.sequences = {v, v}, .non_sequences = {w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr unused) {
        return scan([](Expr i, Expr, Expr w) { return take(w, i); },
                    {.sequences = {v, unused[0]}, .non_sequences = {w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr unused) {
        return scan([](Expr, Expr i, Expr w) { return take(w, i); },
                    {.sequences = {unused[0], v}, .non_sequences = {w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr unused) {
        return scan([](Expr, Expr i, Expr, Expr w) { return take(w, i); },
                    {.sequences = {unused, v, unused[0]}, .non_sequences = {w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr unused) {
        return scan([](Expr, Expr, Expr i, Expr w) { return take(w, i); },
                    {.sequences = {unused[0], unused, v}, .non_sequences = {w}})
            .outputs;
      },
      [](Expr w, Expr v, Expr unused) {
        return scan([](Expr, Expr i, Expr w, Expr, Expr) { return take(w, i); },
                    {.sequences = {unused[0], v}, .non_sequences = {w, w[0], w[0]}})
            .outputs;
      }};
  for (size_t k = 0; k < with_non_sequences.size(); ++k)
    cases.push_back(made_case(str("TestScan.test_remove_constants_and_unused_inputs_scan_non_seqs[", k + 1, "]"),
                              [build = with_non_sequences[k]](G g) { return All{picked(g, build)}; }));
  for (size_t k = 0; k < with_sequences.size(); ++k)
    cases.push_back(made_case(str("TestScan.test_remove_constants_and_unused_inputs_scan_seqs[", k + 1, "]"),
                              [build = with_sequences[k]](G g) { return All{picked(g, build)}; }));
  expect_suite("scan", "passes", cases);
}

All three_states(const Expr& x, const Expr& y, const Expr& z) {
  return scan(
             [](Expr x, Expr y, Expr) {
               return All{sqr(x), y, x + 1};
             },
             {.outputs_info = {x, y, z}, .n_steps = 4})
      .outputs;
}

TEST(ScanSuite, GoldenErrors) {
  expect_suite_errors(
      "scan", "errors",
      {
          {"test_outputs_taps_check[0]",
           [](G g) {
             const Expr x = g(spread({4})), y = g(spread({4}, 1));
             return All{scan([](Expr x, Expr) { return x; }, {.sequences = {x}, .outputs_info = {{y, {0}}}}).outputs};
           }},
          {"test_outputs_taps_check[-1,-1]",
           [](G g) {
             const Expr x = g(spread({4})), y = g(spread({4}, 1));
             return All{scan([](Expr x, Expr, Expr) { return x; }, {.sequences = {x}, .outputs_info = {{y, {-1, -1}}}})
                            .outputs};
           }},
          {"TestScan.test_grad_connectivity_matrix[y0]",
           [](G g) {
             const Expr x = g(spread({3})), y = g(spread({3})), z = g(spread({3}));
             return All{grad(sum(three_states(x, y, z)[0]), y)};
           }},
          {"TestScan.test_strict_mode",
           [](G g) {
             const Expr x = g(spread({4})), w = g(number(2));
             return All{scan([w](Expr x) { return x * w; }, {.sequences = {x}, .strict = true}).outputs};
           }},
          {"TestMissingInputError.test_raise_error",
           [](G) {
             const Expr free = scalar("free");
             return All{scan([free]() { return free + 1; }, {.n_steps = 20}).outputs};
           }},
      });
}

}  // namespace
}  // namespace thtrain::scan_suite

// After PyTensor's tests/scan/test_basic.py and test_rewriting.py: what loops compute.
#include <gtest/gtest.h>

#include "tests/compiler/suites/loops.h"

namespace thtrain::scan_suite {
namespace {

TEST(ScanSuite, StatesSequencesAndTaps) {
  expect_suite(
      "scan", "values",
      {
          {"TestScan.test_generator_one_output_scalar",
           [](G g) {
             return scan([](Expr x) { return 2 * x; },
                         {.outputs_info = {g(number(0.75))}, .n_steps = g(Tensor(int64_t{5}))})
                 .outputs;
           }},
          {"TestScan.test_subtensor_multiple_slices",
           [](G g) {
             const Expr out =
                 scan([](Expr x) { return 2 * x; }, {.outputs_info = {g(spread({3}))}, .n_steps = 4}).outputs;
             return All{reshape(out, {2, 2, 3})[to(-1)], out[to(-3)]};
           }},
          {"TestScan.test_only_nonseq_inputs",
           [](G g) {
             const Expr x = g(spread({2, 2}));
             const Expr out = scan([](Expr x) { return x; }, {.non_sequences = {x}, .n_steps = 2}).outputs;
             return All{out, grad(sum(out), x)};
           }},
          {"TestScan.test_one_sequence_one_output_weights", [](G g) { return linear(g).states(); }},
          {"TestScan.test_one_sequence_one_output_weights_shared",
           [](G g) {
             const Shared w_in(0.75), w(-0.25);
             return scan([](Expr u, Expr x, Expr a, Expr b) { return u * a + x * b; },
                         {.sequences = {g(spread({4}))}, .outputs_info = {g(number(0.5))}, .non_sequences = {w_in, w}})
                 .outputs;
           }},
          {"TestScan.test_backwards", [](G g) { return linear(g).states(true); }},
          {"TestScan.test_multiple_inputs_multiple_outputs", [](G g) { return network(g, false).two_states(); }},
          {"TestScan.test_multiple_outs_taps", [](G g) { return network(g, true).with_taps(true); }},
          {"TestScan.test_using_taps_sequence",
           [](G g) {
             return scan([](Expr x) { return x; }, {.sequences = {{g(count({5})), {-1}}}}).outputs;
           }},
          {"TestScan.test_using_negative_taps_sequence",
           [](G g) {
             return scan([](Expr x, Expr) { return x; }, {.sequences = {{g(count({5}, 1, DType::kFloat32)), {-2, -1}}}})
                 .outputs;
           }},
          {"TestScan.test_using_taps_input_output",
           [](G g) {
             const Shared w_in(0.75), w(-0.25);
             return scan([&](Expr u, Expr x1, Expr x2) { return u * w_in + x1 * w + x2; },
                         {.sequences = {{g(spread({4})), {-2}}}, .outputs_info = {{g(spread({2}, 1)), {-1, -2}}}})
                 .outputs;
           }},
          {"TestScan.test_past_future_taps_shared",
           [](G g) {
             const Shared w_in(0.75), w(-0.25);
             return scan([&](Expr a, Expr b, Expr x1, Expr x2) { return (a + b) * w_in + x1 * w + x2; },
                         {.sequences = {{g(spread({6})), {-2, 2}}}, .outputs_info = {{g(spread({2}, 1)), {-1, -2}}}})
                 .outputs;
           }},
          {"TestScan.test_inplace1",
           [](G g) {
             const Shared w_in(0.75), w(-0.25);
             return scan(
                        [&](Expr a, Expr b, Expr c, Expr x, Expr y) {
                          return All{a * w_in + x * w + b * c, a * w_in + y * w + b + c};
                        },
                        {.sequences = {g(spread({3}, 3)), g(spread({3}, 4)), g(spread({3}, 5))},
                         .outputs_info = {g(number(0.5)), g(number(-1.5))}})
                 .outputs;
           }},
          {"TestScan.test_inplace2",
           [](G g) {
             const Shared w_in(0.75), w(-0.25);
             return scan(
                        [&](Expr a, Expr b, Expr bn, Expr p, Expr q, Expr r, Expr x, Expr y) {
                          return All{a * w_in + x * w + b * bn, a * w_in + y * w + p + q + r};
                        },
                        {.sequences = {g(spread({3}, 3)), {g(spread({4}, 4)), {0, 1}}, {g(spread({5}, 5)), {-1, 0, 1}}},
                         .outputs_info = {g(number(0.5)), g(number(-1.5))}})
                 .outputs;
           }},
          {"TestScan.test_map_functionality",
           [](G g) { return scan([](Expr u) { return u + 3; }, {.sequences = {g(count({5}))}}).outputs; }},
          {"TestScan.test_map",
           [](G g) { return map([](Expr x) { return abs(x); }, {.sequences = {g(spread({10}))}}).outputs; }},
          {"TestScan.test_reduce",
           [](G g) {
             return reduce([](Expr x, Expr y) { return x + y; },
                           {.sequences = {g(spread({10}))}, .outputs_info = {g(number(0))}})
                 .outputs;
           }},
          {"TestScan.test_scan_output_padding",
           [](G g) {
             return scan([](Expr a) { return a + 1; }, {.outputs_info = {g(spread({4}))}, .n_steps = 1}).outputs;
           }},
          {"TestScan.test_reordering",
           [](G g) {
             const Network n = network(g, false);
             return scan(
                        [&](Expr a, Expr b, Expr x, Expr y1, Expr y3, Expr m) {
                          return All{y3 + 1, y3 + 2, dot(a, m) + b * n.w_in2 + dot(x, n.w), y1 + dot(x, n.w_out)};
                        },
                        {.sequences = {n.u1, n.u2},
                         .outputs_info = {std::nullopt, std::nullopt, n.x0, {g(spread({3}, 8)), {-1, -3}}},
                         .non_sequences = {n.w_in1}})
                 .outputs;
           }},
          {"TestScan.test_caching_nsteps_by_scan_op",
           [](G g) {
             const Expr w = g(filled({5, 5}, 1));
             const Expr h =
                 scan([](Expr x, Expr h, Expr w) { return dot(h, w) + x; },
                      {.sequences = {g(filled({10, 5}, 1))}, .outputs_info = {g(filled({5}, 0))}, .non_sequences = {w}})
                     .outputs;
             return grad(sum(h), w);
           }},
          {"TestScan.test_save_mem_reduced_number_of_steps",
           [](G g) {
             const Expr i = g(Tensor(int64_t{3})), j = g(Tensor(int64_t{15}));
             const All x = scan(
                               [](Expr u) {
                                 All out;
                                 for (int k = 1; k < 8; ++k) out.push_back(u + k);
                                 return out;
                               },
                               {.sequences = {g(spread({20}))}})
                               .outputs;
             return All{
                 x[0][to(2)], x[1][4], x[2][i], x[3][Slice{.stop = i}], x[4][-10], x[5][-j], x[6][Slice{.stop = -j}]};
           }},
          {"TestScan.test_save_mem_store_steps",
           [](G g) {
             const All x =
                 scan(
                     [](Expr u, Expr a1, Expr a3, Expr b1, Expr c2, Expr c1, Expr d1) {
                       return All{u + 1, u + 2, u + 3, a1 + a3 + b1 + c2 + c1 + d1, c2 + c1 + u, b1 + u, d1 * 0.5 + u};
                     },
                     {.sequences = {g(spread({20}))},
                      .outputs_info = {std::nullopt,
                                       std::nullopt,
                                       std::nullopt,
                                       {g(spread({3}, 1)), {-1, -3}},
                                       g(number(0.5)),
                                       {g(spread({2}, 2)), {-2, -1}},
                                       g(number(-1.5))}})
                     .outputs;
             return All{x[0][5], x[1][to(4)], x[2][-2], x[3][from(-2)], x[4][-1], x[5][from(-3)], x[6][2]};
           }},
          {"TestScan.test_use_scan_direct_output",
           [](G g) {
             const Expr x = g(number(5));
             return scan(
                        [](Expr a, Expr b, Expr c) {
                          return All{a + b, b + c};
                        },
                        {.sequences = {g(count({4}))}, .outputs_info = {x, zeros_like(x)}})
                 .outputs;
           }},
          {"TestScan.test_use_scan_direct_output2",
           [](G g) {
             const Expr x = g.known(count({4, 1}));
             return scan(
                        [](Expr a, Expr b, Expr c) {
                          return All{a + b, a + c};
                        },
                        {.sequences = {g(count({4, 1}, 4))}, .outputs_info = {x, zeros_like(x)}})
                 .outputs;
           }},
          {"TestScan.test_sequence_dict",
           [](G g) { return scan([](Expr a) { return a + 1; }, {.sequences = {g(spread({6}))}}).outputs; }},
          {"TestScan.test_reduce_memory_consumption",
           [](G g) {
             return reduce([](Expr v, Expr acc) { return acc + v; },
                           {.sequences = {g(spread({12}))}, .outputs_info = {g(number(0))}})
                 .outputs;
           }},
          {"TestScan.test_foldl_memory_consumption",
           [](G g) {
             const Expr v = g(spread({12}));
             const Expr out = foldl([](Expr v, Expr acc) { return acc * 0.5 + v; },
                                    {.sequences = {v}, .outputs_info = {g(number(0))}})
                                  .outputs;
             return All{out, grad(out, v)};
           }},
          {"TestScan.test_foldr_memory_consumption",
           [](G g) {
             const Expr v = g(spread({12}));
             const Expr out = foldr([](Expr v, Expr acc) { return acc * 0.5 + v; },
                                    {.sequences = {v}, .outputs_info = {g(number(0))}})
                                  .outputs;
             return All{out, grad(out, v)};
           }},
          {"TestScan.test_outputs_info_not_typed[sum]",
           [](G g) {
             return sum(scan([](Expr c, Expr p, Expr x) { return c * pow(x, p); },
                             {.sequences = {g(Tensor::vector({1.0, 0.0, 2.0})), arange(1000.0)},
                              .non_sequences = {g(number(3))}})
                            .outputs);
           }},
          {"TestScan.test_outputs_info_not_typed[state]",
           [](G g) {
             return scan([](Expr c, Expr p, Expr acc, Expr x) { return acc + c * pow(x, p); },
                         {.sequences = {g(Tensor::vector({1.0, 0.0, 2.0})), arange(1000.0)},
                          .outputs_info = {0.0},
                          .non_sequences = {g(number(3))}})
                 .outputs[-1];
           }},
          {"TestScan.test_bugFunctioProvidesIntermediateNodesAsInputs",
           [](G g) {
             const Expr v = g(spread({4, 2, 3})), w = g(spread({2, 3})) + 2;
             const Expr out = scan([](Expr v, Expr w) { return v + 1 + sum(w); },
                                   {.sequences = {v}, .outputs_info = {std::nullopt}, .non_sequences = {w}})
                                  .outputs;
             return sum(out) + sum(w);
           }},
          {"TestScan.test_infershape_nsteps_smaller_seq_length",
           [](G g) {
             const Expr x = g(spread({30}));
             const All out = scan(
                                 [](Expr x, Expr y) {
                                   return All{x + 1, y + x};
                                 },
                                 {.sequences = {x}, .outputs_info = {std::nullopt, x[0]}, .n_steps = 20})
                                 .outputs;
             return All{length(out[0], 0), length(out[1], 0)};
           }},
          {"TestScan.test_opt_order",
           [](G g) {
             return scan([](Expr x, Expr a) { return dot(x, a); },
                         {.non_sequences = {g(Tensor::matrix({{1.0, 1.0}, {2.0, 2.0}})),
                                            g(Tensor::matrix({{1.0, 1.0}, {1.0, 0.0}}))},
                          .n_steps = 2})
                 .outputs;
           }},
          {"TestScan.test_savemem_opt",
           [](G g) {
             return sum(scan(
                            [](Expr y) {
                              return All{y, y};
                            },
                            {.outputs_info = {{g(filled({2, 10}, 1)), {-2}}, std::nullopt}, .n_steps = 5})
                            .outputs[1]);
           }},
          {"TestScan.test_seq_tap_bug_jeremiah",
           [](G g) {
             return scan(
                        [](Expr x, Expr x4) {
                          return All{x, x4};
                        },
                        {.sequences = {g(count({10, 1}))},
                         .outputs_info = {{g(filled({4, 1}, 0)), {-4}}, std::nullopt}})
                 .outputs[1];
           }},
          {"TestScan.test_borrow_bug_jeremiah",
           [](G g) {
             const All out =
                 scan(
                     [](Expr x, Expr x4) {
                       return All{x, x4};
                     },
                     {.sequences = {g(count({10, 1}))}, .outputs_info = {{g(filled({4, 1}, 0)), {-4}}, std::nullopt}})
                     .outputs;
             return All{out[1], out[0][from(-1)]};
           }},
          {"TestScan.test_memory_reuse_with_outputs_as_inputs",
           [](G g) {
             return scan(
                        [](Expr a, Expr b, Expr c) {
                          return All{b, c * 1, stop_gradient(b), check(b, true, "never"), a + b + c};
                        },
                        {.outputs_info =
                             {std::nullopt, std::nullopt, std::nullopt, std::nullopt, {g(count({3, 3})), {-3, -2, -1}}},
                         .n_steps = 3})
                 .outputs;
           }},
          {"TestScan.test_dot_optimization",
           [](G g) {
             const Expr a = g.known(spread({4, 5})), b = g.known(spread({4, 3}, 1));
             return scan([](Expr a, Expr b, Expr acc) { return acc + dot(a, b); },
                         {.sequences = {expand_dims(a, {2}), expand_dims(b, {1})}, .outputs_info = {zeros({5, 3})}})
                 .outputs[-1];
           }},
          {"TestScan.test_pregreedy_optimizer",
           [](G g) {
             const Expr w = zeros({5, 4}), v = g.known(filled({3, 5}, 0));
             const All b = scan([](Expr) { return All{zeros({5}), zeros({4})}; }, {.sequences = {v}}).outputs;
             return scan([&](Expr x) { return dot(dot(x, w) + b[1], w.T()) + b[0]; },
                         {.outputs_info = {v}, .n_steps = 2})
                 .outputs;
           }},
          {"TestScan.test_constant_folding_n_steps",
           [](G) { return scan([](Expr x) { return x * 2; }, {.outputs_info = {1.0}, .n_steps = 10}).outputs; }},
          {"TestScan.test_compute_test_value",
           [](G g) {
             return scan([](Expr u, Expr v) { return u + v; }, {.sequences = {g(filled({3}, 1)), g(count({3}))}})
                 .outputs;
           }},
          {"test_mintap_onestep",
           [](G g) {
             return scan([](Expr a, Expr acc) { return acc + a; },
                         {.sequences = {{g(whole({20})), {2}}}, .outputs_info = {0}, .n_steps = 1})
                 .outputs;
           }},
      });
}

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

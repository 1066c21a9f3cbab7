// After PyTensor's tests/scan/test_basic.py and test_rewriting.py: what loops compute.
//
// 143 cases in the four files scan_*_test.cpp. 27 tests, or parts of tests, cannot be expressed:
// - clone_replace, which is no public function: the six test_cloning_..., test_clone, test_inplace3 (8);
// - the loop's own op, its hash, its storage and its mappings: test_pickling, test_inner_storage_leak, test_hash,
//   test_same, test_oinp_iinp_iout_oout_mappings, test_monitor_mode, test_speed, test_speed_rnn, test_speed_batchrnn
//   (9);
// - numbers of PyTensor's generators, which are not those of RandomState: test_simple_shared_random,
//   test_simple_shared_mrg_random, test_gibbs_chain, test_draw_as_input_to_scan, test_remove_stuff,
//   test_crash_nonseq_grad (6);
// - a length in the body that each step computes anew: test_infer_shape2 (1);
// - loops whose number is counted in PyTensor's graph: test_pushout_while, test_pushout_nomodif (2); the others of this
//   kind are here for their values;
// - the error of z0 in test_grad_connectivity_matrix: all steps of a state begin with its first value, and so depend on
//   it (1).
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

}  // namespace
}  // namespace thtrain::scan_suite

// After PyTensor's tests/scan/test_basic.py and test_rewriting.py: gradients of loops.
#include <gtest/gtest.h>

#include "tests/compiler/suites/loops.h"

namespace thtrain::scan_suite {
namespace {

TEST(ScanSuite, Gradients) {
  expect_suite(
      "scan", "gradients",
      {
          {"TestScan.test_connection_pattern",
           [](G g) {
             const Expr a = g(count({2})), b = g(count({2}));
             const All out = scan(
                                 [](Expr, Expr a1, Expr, Expr b1) {
                                   return All{a1 * 1, b1 * 1};
                                 },
                                 {.outputs_info = {{a, {-2, -1}}, {b, {-2, -1}}}, .n_steps = 2})
                                 .outputs;
             return grad(out[0][-1], a);
           }},
          {"TestScan.test_connection_pattern2",
           [](G g) {
             const Expr x = g(spread({2, 3})), seq = g(spread({4}, 1));
             const Expr out = scan([](Expr t, Expr old, Expr now) { return old * 2 + now + t; },
                                   {.sequences = {seq}, .outputs_info = {{x, {-2, -1}}}})
                                  .outputs;
             return value_and(out, grad(sum(out), All{seq, x}));
           }},
          {"TestScan.test_grad_two_scans",
           [](G g) {
             const Expr x = g.known(positive({3, 2, 2})), w = g.known(spread({2, 2}));
             const Expr labels = g.known(Tensor::of(std::vector<int64_t>{0, 1, 1, 1, 0, 0}, {3, 2}));
             const Expr y = scan([&](Expr x) { return softmax(dot(x, w)); }, {.sequences = {x}}).outputs;
             const Expr loss = mean(
                 scan([](Expr y, Expr t) { return -mean(log(pick_rows(y, t))); }, {.sequences = {y, labels}}).outputs);
             return All{loss, grad(loss, w)};
           }},
          {"TestScan.test_grad_dtype_change",
           [](G g) {
             const Expr c = g(Tensor(int32_t{0})), p = g(Tensor(1.0F)), q = g(Tensor(0.5F));
             const All out = scan(
                                 [](Expr c, Expr x, Expr y) {
                                   return All{cast(where(c, x, y), DType::kInt32), where(c, sigmoid(y * x), x),
                                              where(c, y, sigmoid(x))};
                                 },
                                 {.outputs_info = {c, p, q}, .n_steps = 10})
                                 .outputs;
             return grad(sum(out[1]), All{p, q});
           }},
          {"TestScan.test_grad_one_output",
           [](G g) {
             const Linear all = linear(g);
             return grad(weighted(g, {all.states()}, {{4}}), all.wrt());
           }},
          {"TestScan.test_grad_multiple_outs",
           [](G g) {
             const Network n = network(g, false);
             return grad(weighted(g, n.two_states(), {{3, 2}, {3}}), n.wrt(), {.disconnected = Disconnected::kZero});
           }},
          {"TestScan.test_grad_multiple_outs_taps",
           [](G g) {
             const Network n = network(g, true);
             return grad(weighted(g, n.with_taps(true), {{5, 2}, {5}, {5, 2}}), n.wrt());
           }},
          {"TestScan.test_grad_multiple_outs_taps_backwards",
           [](G g) {
             const Network n = network(g, true);
             return grad(weighted(g, n.with_taps(false, true), {{5, 2}, {5}}), n.wrt());
           }},
          {"TestScan.test_grad_multiple_outs_some_uncomputable",
           [](G g) {
             const Network n = network(g, true);
             const Expr numbers = g(Tensor::vector<int32_t>({1, 3, 4, 6, 8}));
             const All out =
                 scan(
                     [](Expr u, Expr n, Expr x, Expr w) {
                       return All{cast(n, DType::kFloat64) + dot(u, w) + x, 2 * n};
                     },
                     {.sequences = {n.u1, numbers}, .outputs_info = {n.x0, std::nullopt}, .non_sequences = {n.w_in1}})
                     .outputs;
             return value_and(out[1], grad(weighted(g, {out[0]}, {{5, 2}}), All{n.u1, n.x0, n.w_in1}));
           }},
          {"TestScan.test_grad_multiple_outs_some_truncate",
           [](G g) {
             const Network n = network(g, true);
             const Expr out =
                 scan([](Expr u, Expr x, Expr w) { return dot(u, w) + x; },
                      {.sequences = {n.u1}, .outputs_info = {n.x0}, .non_sequences = {n.w_in1}, .truncate_gradient = 3})
                     .outputs;
             return grad(weighted(g, {out}, {{5, 2}}), All{n.u1, n.x0, n.w_in1});
           }},
          {"TestScan.test_grad_multiple_outs_some_disconnected",
           [](G g) {
             const Expr x = g.known(spread({9, 1})), t = g.known(spread({9, 1}, 1)), h = g.known(spread({2, 3}, 2));
             const All w{g.known(spread({1, 3}, 3)) / 4, g.known(spread({3, 3}, 4)) / 4, g.known(spread({3}, 5)) / 4,
                         g.known(spread({3, 1}, 6)) / 4, g.known(spread({1}, 7)) / 4};
             const All out = scan(
                                 [](Expr x, Expr h2, Expr, Expr a, Expr b, Expr c, Expr d, Expr e) {
                                   const Expr h = tanh(dot(x, a) + dot(h2, b) + c);
                                   return All{h, dot(h, d) + e};
                                 },
                                 {.sequences = {x},
                                  .outputs_info = {{h, {-2, -1}}, std::nullopt},
                                  .non_sequences = {w[0], w[1], w[2], w[3], w[4]}})
                                 .outputs;
             const Expr cost = 0.5 * mean(sqr(out[1] - t)) + 0.5 * sqr(thtrain::std(out[1]) - thtrain::std(t));
             return value_and(cost, grad(cost, All{w[0], w[1], w[2], w[3], w[4], h}));
           }},
          {"TestScan.test_grad_of_shared",
           [](G g) {
             const Shared x(3.0);
             const Expr y = scan([&](Expr v) { return v * x; }, {.sequences = {g(Tensor::vector({2.0, 3.0}))}}).outputs;
             return grad(sum(y), x);
           }},
          {"TestScan.test_computing_gradient",
           [](G g) {
             const Expr x = g(number(3)), k = g(count({5}, 1)) * x;
             return scan([&](Expr i, Expr v) { return grad(take(k, i), v); },
                         {.sequences = {arange(length(k, 0))}, .non_sequences = {x}})
                 .outputs;
           }},
          {"TestScan.test_scan_extra_inputs_hessian",
           [](G g) {
             const Expr x = g.known(Tensor::vector({1.0, 1.0})), a = g.known(Tensor::matrix({{1.0, 1.0}, {1.0, 0.0}}));
             const Shared f1(0.5), f2(0.9);
             const Expr slope = grad(f1 * dot(x * x, dot(a, x)), x);
             return scan([&](Expr i, Expr slope, Expr x) { return grad(take(slope, i) * f2, x); },
                         {.sequences = {arange(2)}, .non_sequences = {slope, x}})
                 .outputs;
           }},
          {"TestScan.test_scan_as_tensor_on_gradients",
           [](G g) {
             const Expr x = g(spread({3})), seq = g(spread({4, 3}, 1)), f = g(number(1.5));
             const Expr out = scan([](Expr a, Expr b, Expr c) { return b + c * a; },
                                   {.sequences = {seq}, .outputs_info = {x}, .non_sequences = {f}})
                                  .outputs;
             return grad(sum(out), All{x, f}, {.consider_constant = {seq}});
           }},
          {"TestScan.test_grad_duplicate_outputs",
           [](G g) {
             const Expr seq = g(spread({10, 3})), init = g(spread({3, 3}, 1)), rest = g(spread({3}, 2));
             const All out =
                 scan(
                     [](Expr a, Expr b, Expr c) {
                       return All{a + b + c, a + b + c};
                     },
                     {.sequences = {seq}, .outputs_info = {std::nullopt, {init, {-3}}}, .non_sequences = {rest}})
                     .outputs;
             All gradients = grad(sum(out[0]), All{seq, init, rest});
             const All others = grad(sum(out[1]), All{seq, init, rest});
             gradients.insert(gradients.end(), others.begin(), others.end());
             return gradients;
           }},
          {"TestScan.test_grad_duplicate_outputs_connection_pattern",
           [](G g) {
             const All init{g(spread({2})), g(spread({2}, 1)), g(spread({2, 2}, 2)), g(spread({2, 2}, 3))};
             const All out =
                 scan(
                     [](Expr a, Expr b, Expr c, Expr d, Expr e, Expr f) { return All(6, (a + b + c + d + e + f) / 8); },
                     {.outputs_info =
                          {std::nullopt, std::nullopt, init[0], init[1], {init[2], {-2, -1}}, {init[3], {-2, -1}}},
                      .n_steps = 10})
                     .outputs;
             return grad(sum(out[0]), init);
           }},
          {"TestScan.test_grad_multiple_seqs_different_nsteps",
           [](G g) {
             const Expr x = g(number(2));
             const Expr p = sum(
                 scan([](Expr c, Expr p, Expr x) { return c * pow(x, p); },
                      {.sequences = {g(Tensor::vector({1.0, 2.0, -3.0, 4.0})), arange(1000.0)}, .non_sequences = {x}})
                     .outputs);
             return grad(p, x);
           }},
          {"TestScan.test_grad_of_grad_of_state",
           [](G g) {
             const Expr x = g(number(2));
             const Expr p = sum(
                 scan([](Expr c, Expr p, Expr x) { return c * pow(x, p); },
                      {.sequences = {g(Tensor::vector({1.0, 2.0, -3.0, 4.0})), arange(1000.0)}, .non_sequences = {x}})
                     .outputs);
             return grad(grad(p, x), x);
           }},
          {"TestScan.test_savemem_opt_0_step",
           [](G g) {
             const Expr x = g.known(spread({2, 2, 3})), w = g.known(spread({3, 3}, 1));
             const Expr out =
                 scan(
                     [](Expr x, Expr w) {
                       return scan([](Expr a, Expr h, Expr w) { return dot(h, w) + a; }, {.sequences = {x[from(1)]},
                                                                                          .outputs_info = {x[0]},
                                                                                          .non_sequences = {w},
                                                                                          .strict = true})
                           .outputs;
                     },
                     {.sequences = {x}, .non_sequences = {w}, .strict = true})
                     .outputs;
             return grad(sum(out), w);
           }},
          {"TestScan.test_grad_multiple_taps_state",
           [](G g) {
             const Expr x = g.known(spread({4, 2, 3})), w = g.known(spread({2, 3}, 1));
             const Expr out = scan([](Expr, Expr b, Expr w) { return w + b; },
                                   {.outputs_info = {{x, {-4, -1}}}, .non_sequences = {w}, .n_steps = 10})
                                  .outputs;
             return grad(sum(sqr(out[-1])), All{w, x});
           }},
          {"TestScan.test_grad_numeric_shared",
           [](G) {
             const Shared s(1.0F);
             const auto out = scan([&] { return std::vector<Update>{{s, s + 1.0F}}; }, {.n_steps = 10});
             return grad(updated(out.updates, s), s);
           }},
          {"TestScan.test_grad_connectivity_matrix",
           [](G g) {
             const Expr x = g(positive({3})) / 2, y = g(spread({3})), z = g(spread({3}, 1));
             const All out = scan(
                                 [](Expr x, Expr y, Expr) {
                                   return All{pow(x, 2), y, x + 1};
                                 },
                                 {.outputs_info = {x, y, z}, .n_steps = 4})
                                 .outputs;
             return grad(sum(out[0] + out[1] + out[2]), All{x, y});
           }},
          {"TestScan.test_disconnected_gradient",
           [](G g) {
             const Expr v = g(spread({7})), m = g(spread({3, 7}, 1));
             const All out = scan(
                                 [&](Expr, Expr u) {
                                   return All{u, v * 1};
                                 },
                                 {.sequences = {m}, .outputs_info = {zeros({7}), std::nullopt}})
                                 .outputs;
             return grad(sum(m * out[1]), v);
           }},
          {"TestScan.test_disconnected_gradient2",
           [](G g) {
             const Expr v = g.known(spread({7})), m = g.known(spread({3, 7}, 1));
             const All out = scan(
                                 [&](Expr x, Expr u) {
                                   return All{x + u, u + v};
                                 },
                                 {.sequences = {m}, .outputs_info = {zeros({7}), std::nullopt}})
                                 .outputs;
             return grad(sum(out[1]), m);
           }},
          {"TestScan.test_disconnected_gradient3",
           [](G g) {
             const Expr v = g(spread({5}));
             const All out = scan([](Expr a) { return All{a + 1, a + 1 + 1}; }, {.sequences = {v}}).outputs;
             return grad(sum(out[1]), v);
           }},
          {"TestScan.test_grad_bug_disconnected_input",
           [](G g) {
             const Expr w = g(spread({3, 3}));
             return grad(sum(scan([](Expr i, Expr w) { return take(w, i); },
                                  {.sequences = {g(integers({1, 2}))}, .non_sequences = {w}})
                                 .outputs),
                         w);
           }},
          {"TestScan.test_grad_find_input",
           [](G g) {
             const Expr w = g(Tensor(0.0F));
             return grad(
                 scan([&](Expr) { return w * 1; }, {.outputs_info = {g(Tensor(2.0F))}, .n_steps = 2}).outputs[-1], w);
           }},
          {"TestScan.test_compute_test_value[grad]",
           [](G g) {
             const Expr x = g(filled({3}, 1));
             return grad(sum(scan([](Expr u, Expr v) { return u + v; }, {.sequences = {x, g(count({3}))}}).outputs), x);
           }},
          {"TestScan.test_compute_test_value_nonseq",
           [](G g) {
             const Expr x = g(filled({3}, 1));
             return grad(
                 sum(scan([](Expr u, Expr v) { return u + v; }, {.sequences = {x}, .non_sequences = {g(count({3, 3}))}})
                         .outputs),
                 x);
           }},
          {"TestScan.test_compute_test_value_grad",
           [](G g) {
             const Expr flat =
                 g.known(Tensor::vector({1.0F, 2.0F, 1.0F, 3.0F, 4.0F, 1.0F, 5.0F, 6.0F, 1.0F, 7.0F, 8.0F, 1.0F}));
             const Expr w = reshape(flat, {2, 2, 3}), zero = g(Tensor(0.0F));
             const auto inner = [&](Expr, Expr total, Expr w) {
               return total + scan([](Expr, Expr acc, Expr w) { return sum(w) + acc; },
                                   {.sequences = {arange(2)}, .outputs_info = {zero}, .non_sequences = {w}})
                                  .outputs[-1];
             };
             const Expr loss =
                 scan(inner, {.sequences = {arange(2)}, .outputs_info = {zero}, .non_sequences = {w}}).outputs[-1];
             return grad(loss, flat);
           }},
          {"TestScan.test_compute_test_value_grad_cast",
           [](G g) {
             const Expr h = g(count({2, 4}, 1)), w = g(spread({4, 3}));
             return grad(sum(scan([](Expr i, Expr h, Expr w) { return dot(take(h, i % 2), w); },
                                  {.sequences = {arange(3)}, .non_sequences = {h, w}})
                                 .outputs),
                         w);
           }},
          {"test_default_value_broadcasted",
           [](G g) {
             const Expr x = g.known(spread({10, 2})), w = g.known(spread({2, 4}, 1));
             const Expr out = scan(
                                  [&](Expr x, Expr) {
                                    return dot(reshape(x, {1, 2}), w);
                                  },
                                  {.sequences = {x}, .outputs_info = {zeros({1, 4})}})
                                  .outputs;
             return All{mean(out), grad(mean(out), w)};
           }},
          {"TestInconsistentBroadcast.test_raise_error",
           [](G g) {
             const Expr x = g.known(spread({3, 1, 10}));
             return grad(sum(scan([](Expr x, Expr p) { return x + p; },
                                  {.sequences = {x}, .outputs_info = {g.known(filled({1, 10}, 0))}})
                                 .outputs),
                         x);
           }},
          {"TestPushOutDot.test_dot_nitsot_output",
           [](G g) {
             const Expr v = g(spread({4, 3})), w = g(spread({3, 5}));
             return grad(sum(sqr(scan([&](Expr v) { return tanh(dot(v, w)); }, {.sequences = {v}}).outputs)),
                         All{v, w});
           }},
          {"TestPushOutDot.test_dot_sitsot_output",
           [](G g) {
             const Expr v = g.known(spread({4, 3})), w = g.known(spread({3, 5}));
             const Expr a = g.known(spread({5, 5}, 2)), b = g.known(spread({5, 5}, 3));
             const Expr out = scan([&](Expr v, Expr p) { return dot(dot(v, w) + dot(p, a), b); },
                                   {.sequences = {v}, .outputs_info = {g.known(spread({5}))}})
                                  .outputs;
             return value_and(out, grad(sum(out[-1]), All{w, a, b}));
           }},
          {"TestPushOutSumOfDot.test_non_zero_init",
           [](G g) {
             const Expr x = g.known(spread({4, 5, 3})), w = g.known(spread({3, 5}));
             const Expr out = scan([](Expr v, Expr p, Expr w) { return p + dot(v, w); },
                                   {.sequences = {x}, .outputs_info = {zeros({5, 5})}, .non_sequences = {w}})
                                  .outputs;
             return All{out[-1], grad(sum(out[-1]), w)};
           }},
          {"TestPushOutSumOfDot.test_machine_translation",
           [](G g) {
             All w;
             for (int64_t k = 0; k < 6; ++k) w.push_back(g.known(spread({3, 3}, k)) / 4);
             const Expr out = scan(
                                  [&](Expr x, Expr h) {
                                    const Expr z = sigmoid(dot(x, w[0]) + dot(h, w[1]));
                                    const Expr r = sigmoid(dot(x, w[2]) + dot(h, w[3]));
                                    return (1 - z) * h + z * tanh(dot(x, w[4]) + dot(r * h, w[5]));
                                  },
                                  {.sequences = {g.known(spread({5, 2, 3}, 9))}, .outputs_info = {zeros({2, 3})}})
                                  .outputs;
             return value_and(out[-1], grad(sum(out[-1]), w));
           }},
      });
}

}  // namespace
}  // namespace thtrain::scan_suite

// on_host() and on_device(): what a program for a device computes where.
#include "compiler/ops/control/placement.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_text.h"
#include "tests/support/target_calls.h"

namespace thtrain::placement_test {
namespace {

FunctionOptions device(Mode mode = Mode::kNative) {
  return {.mode = mode, .target = device_under_test(), .name = "f"};
}

std::vector<Out> grad_outs(const Expr& cost, const std::vector<Expr>& wrt) {
  std::vector<Out> out;
  for (const Expr& one : grad(cost, wrt)) out.emplace_back(one);
  return out;
}

// Ops that run on the host, of a function that must have the values of the reference.
std::string host_steps(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                       const std::vector<Tensor>& values) {
  expect_equal(inputs, outputs, values, device());
  return join(function(inputs, outputs, {}, device()).info().reference_steps, ", ");
}

TEST(Placement, IsNothingForAProcessor) {
  const Expr x = f64("x", {4});
  const auto text = [&](const Expr& y) { return function({x}, {y}).explain().program; };
  EXPECT_EQ(text(on_device(exp(on_host(x)) * 2.0)), text(exp(x) * 2.0));
}

TEST(Placement, HoldsUpToAnotherOrAnOutput) {
  const Expr x = f64("x", {4}), y = f64("y", {4});
  const std::vector<Tensor> values = {numbers({4}), numbers({4})};
  EXPECT_EQ(host_steps({x, y}, {exp(x) + tanh(y)}, values), "");
  EXPECT_EQ(host_steps({x, y}, {exp(on_host(x)) + tanh(y)}, values), "fused");
  EXPECT_EQ(host_steps({x, y}, {tanh(on_device(exp(on_host(x)))) + y}, values), "fused, on_device");
  EXPECT_EQ(host_steps({x}, {sum(on_host(tanh(x)))}, {values[0]}), "sum");
  EXPECT_EQ(host_steps({x}, {on_host(x)}, {values[0]}), "on_device") << "a copy on the host";
  EXPECT_EQ(host_steps({x}, {on_device(tanh(x)), on_host(on_host(tanh(x)))}, {values[0]}), "on_device");
}

// Rows of a table are sent, and the table stays where it is.
TEST(Placement, ATableStaysOnTheHost) {
  const Shared table(numbers({50, 4}), "table"), w(numbers({4, 3}), "w");
  const Expr at = tensor("rows", {"n"}, DType::kInt64);
  for (const Expr& rows :
       {on_device(take(on_host(table), at)), on_device(on_host(table)[{at}]), on_device(on_host(table)[{Slice{2, 5}}]),
        on_device(on_host(table).T()[{Slice{}, Slice{1, 4}}].T())}) {
    Function f = function({{at, Tensor::vector({int64_t{7}, int64_t{0}, int64_t{49}})}}, {dot(rows, w)}, {},
                          {.target = device_under_test(), .unused_inputs = UnusedInputs::kAllowed});
    Function expected =
        function({at}, {dot(rows, w)}, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed});
    const Tensor given = Tensor::vector({int64_t{7}, int64_t{0}, int64_t{49}});
    EXPECT_FALSE(difference(f({})[0], expected({given})[0], 64));
    EXPECT_TRUE(table.storage().value.is_on_host());
    EXPECT_FALSE(w.storage().value.is_on_host());
  }
  Function f = function({at}, {on_device(take(on_host(table), at))}, {}, device());
  EXPECT_EQ(without_call(text_without_node([&] { f({Tensor::vector({int64_t{50}})}); })),
            "error: take: the index 50 is outside axis 0\n  expected: -50 <= index < 50");
}

// An update of what is placed on the host is made there, and so is one that a value on the host is given to.
TEST(Placement, AVariableOfTheHostIsUpdatedThere) {
  const Shared seen(Tensor::zeros(DType::kFloat64, {3}), "seen"), w(numbers({3}), "w"), last(numbers({3}), "last");
  const Expr x = f64("x", {3}), y = tanh(w * x);
  Function f = function({x}, {sum(y)}, {{seen, on_host(seen) + y}, {w, w + x}, {last, on_host(y)}}, device());
  Function g = function({x}, {sum(y)}, {{seen, seen + y}, {w, w + x}, {last, y}}, {.mode = Mode::kReference});
  const std::vector<Tensor> before = {seen.get_value(), w.get_value(), last.get_value()};
  std::vector<Tensor> results[2];
  for (Function* one : {&g, &f}) {
    seen.set_value(before[0]), w.set_value(before[1]), last.set_value(before[2]);
    for (int i = 0; i < 3; ++i) (*one)({numbers({3})});
    results[one == &f] = {seen.get_value(), w.get_value(), last.get_value()};
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(difference(results[1][i], results[0][i], 64)) << i;
  EXPECT_TRUE(seen.storage().value.is_on_host());
  EXPECT_TRUE(last.storage().value.is_on_host());
  EXPECT_FALSE(w.storage().value.is_on_host());
}

TEST(Placement, DerivativesPass) {
  const Expr x = f64("x", {3, 4}), w = f64("w", {4, 5});
  const std::vector<Tensor> values = {numbers({3, 4}), numbers({4, 5})};
  const Expr plain = sum(tanh(dot(exp(x), w))), placed = sum(tanh(dot(on_device(exp(on_host(x))), w)));
  Function expected = function({x, w}, grad_outs(plain, {x, w}), {}, {.mode = Mode::kReference}),
           cpu = function({x, w}, grad_outs(placed, {x, w})),
           got = function({x, w}, grad_outs(placed, {x, w}), {}, device());
  for (Function* f : {&cpu, &got})
    for (size_t i = 0; i < 2; ++i) EXPECT_FALSE(difference((*f)(values)[i], expected(values)[i], 64)) << i;
  // The derivatives are on the device again: nothing of the layer below is computed on the host.
  const Expr cost = sum(on_host(tanh(dot(x, w))) * 2.0);
  EXPECT_EQ(join(function({x, w}, {grad(cost, w)}, {}, device()).info().reference_steps, ", "), "");
  EXPECT_FALSE(
      difference(function({x, w}, {jvp({placed}, {x}, {x * 0.5})[0]}, {}, device())(values)[0],
                 function({x, w}, {jvp({plain}, {x}, {x * 0.5})[0]}, {}, {.mode = Mode::kReference})(values)[0], 64));
}

TEST(Placement, LoopsAndBranches) {
  const Expr x = f64("x", {5, 3}), h = f64("h", {3});
  const std::vector<Tensor> values = {numbers({5, 3}), numbers({3})};
  const auto loop = [&](const Expr& sequence, bool inside) {
    return scan(
               [&](const Expr& row, const Expr& state) {
                 const Expr next = tanh(row + state * 0.5);
                 return inside ? on_device(exp(on_host(next))) * 0.1 : next;
               },
               {.sequences = {sequence}, .outputs_info = {h}})
        .outputs;
  };
  EXPECT_EQ(host_steps({x, h}, {loop(on_host(x), false)}, values), "scan, on_device");
  EXPECT_EQ(host_steps({x, h}, {loop(x, true)}, values), "fused, on_device");
  const Expr positive = gt(sum(h), 0.0);
  const auto branch = [&](const Expr& condition) {
    return if_else(
        condition, [&] { return tanh(h); }, [&] { return exp(h); });
  };
  EXPECT_EQ(host_steps({h}, {branch(on_host(positive))}, {values[1]}), "if_else");
  EXPECT_EQ(host_steps({h}, {branch(on_device(gt(on_host(sum(h)), 0.0)))}, {values[1]}), "fused, on_device");
}

TEST(Placement, OfLengthsAndEffectsAndModes) {
  const Expr n = tensor("n", {}, DType::kInt64), x = f64("x", {6});
  const std::vector<In> inputs = {n, x};
  const std::vector<Out> outputs = {arange(on_host(n)) * 2, on_host(x)[on_host(x) > 0.0],
                                    on_device(sort(on_host(x))) * 3.0};
  const std::vector<Tensor> values = {Tensor(int64_t{4}), numbers({6})};
  for (const Mode mode : {Mode::kNative, Mode::kDebug, Mode::kNanGuard, Mode::kReference}) {
    const std::vector<Tensor> got = function(inputs, outputs, {}, device(mode))(values),
                              expected = function(inputs, outputs)(values);
    for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(difference(got[i], expected[i], 64)) << i;
  }
}

}  // namespace
}  // namespace thtrain::placement_test

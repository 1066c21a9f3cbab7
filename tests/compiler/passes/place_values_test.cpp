// Values that the user has placed, for a device and for a processor.
#include "compiler/passes/place_values.h"

#include <gtest/gtest.h>

#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/target.h"
#include "compiler/ops/control/placement.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain::place_values_test {
namespace {

const Expr x = tensor("x", {4}, DType::kFloat64), y = tensor("y", {4}, DType::kFloat64);

// What the pass makes of it, as it makes of what is written so.
void expect_becomes(const Expr& before, const Expr& after, const kernel::Target& target) {
  const auto text = [&](const Expr& value) {
    return graph_text({.inputs = {x, y}, .outputs = {value}, .updates = {}});
  };
  PassContext context;
  context.target = target;
  const Graph placed = place_values({.inputs = {x, y}, .outputs = {before}, .updates = {}}, context);
  EXPECT_EQ(graph_text(placed), text(after));
}

TEST(PlaceValues, ForADevice) {
  const auto expect_placed = [](const Expr& before, const Expr& after) {
    expect_becomes(before, after, kernel::emulated_cuda_target());
  };
  expect_placed(tanh(y) + on_host(x), on_host(tanh(y)) + on_host(x));
  expect_placed(on_host(exp(on_host(x))) * 2.0, exp(on_host(x)) * 2.0);
  expect_placed(on_device(tanh(x)), tanh(x));
  expect_placed(on_device(on_device(exp(on_host(x)))), on_device(exp(on_host(x))));
  expect_placed(tanh(on_device(exp(on_host(x)))) + y, tanh(on_device(exp(on_host(x)))) + y);
  expect_placed(on_host(x), on_device(on_host(x)));  // an output is a copy
  expect_placed(tanh(x) + y, tanh(x) + y);
}

TEST(PlaceValues, ForAProcessor) {
  expect_becomes(on_device(on_host(tanh(y)) + on_host(x)), tanh(y) + x, {});
  expect_becomes(tanh(x) + y, tanh(x) + y, {});
}

}  // namespace
}  // namespace thtrain::place_values_test

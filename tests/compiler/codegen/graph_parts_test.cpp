// What a device's program launches as one graph: the nodes that are told are those that calls launch.
#include "compiler/codegen/graph_parts.h"

#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/codegen/emit.h"
#include "tests/support/host_sort.h"
#include "tests/support/target_calls.h"

namespace thtrain::graph_parts_test {
namespace {

std::vector<std::string> parts_of(const Function& f) {
  std::vector<std::string> out;
  for (const GraphPart& part : emit_cpp(*f.explain().plan).graphs) out.push_back(text_of(part));
  return out;
}

FunctionOptions emulated() {
  return {.target = kernel::emulated_cuda_target()};
}

TEST(GraphParts, AreThoseOfCalls) {
  const Expr x = f64("x", {12, 12});
  const std::vector<Expr> looped = repeat(20, {x, x * 0.5}, [&](const std::vector<Expr>& s) {
    return std::vector<Expr>{tanh(dot(s[0], x) * 0.1), dot(s[1], s[0]) * 0.2};
  });
  Function f = function({x}, {looped[0], host_sort(looped[1]) * 2.0 + sum(x)}, {}, emulated());
  f({numbers({12, 12})});
  const std::vector<GraphPart> parts = emit_cpp(*f.explain().plan).graphs;
  const std::vector<GraphInfo> launched = f.info().graphs;
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(launched.size(), 2U);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(parts[i].nodes().value(), static_cast<int64_t>(launched[i].nodes)) << text_of(parts[i]);
  EXPECT_EQ(parts[0].end, "host_sort on the host");
  EXPECT_EQ(parts[1].end, "the end of the call");
}

TEST(GraphParts, SayWhatEndsThem) {
  const Expr x = f64("x", {12}), at = tensor("at", {5}, DType::kInt64);
  EXPECT_EQ(parts_of(function({x, at}, {take(x, at)}, {}, emulated())),
            std::vector<std::string>{"5 nodes (1 kernel, 3 copies, the word of failure), up to the end of the call"});
  const Expr chosen = if_else(
      gt(sum(x), 0.0), [&] { return tanh(x); }, [&] { return exp(x); });
  EXPECT_EQ(parts_of(function({x}, {chosen}, {}, emulated())),
            (std::vector<std::string>{"3 nodes (1 kernel, 2 copies), up to the condition of if_else",
                                      "at most 3 nodes (2 kernels, 1 copy), up to the end of the call"}));
  EXPECT_EQ(parts_of(function({x}, {nonzero(gt(x, 0.0))[0]}, {}, emulated())).size(), 2U);
}

TEST(GraphParts, AreToldBeforeTheKernels) {
  const Expr x = f64("x", {12});
  const Shared w(Tensor::vector({1.0, 2.0}), "w");
  const std::string text = function({x}, {host_sort(tanh(x))}, {{w, w * 2.0}}, emulated()).explain().device;
  EXPECT_EQ(text.substr(0, text.find("\n\n")), R"(// on the device: w
// on the host: x, output 0
// copied to the device: x
// copied to the host: fused
// steps of the host: host_sort
// graph 0: 3 nodes (1 kernel, 2 copies), up to host_sort on the host)");
}

}  // namespace
}  // namespace thtrain::graph_parts_test

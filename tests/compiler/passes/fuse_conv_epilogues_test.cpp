// Convolutions with the loops behind them: what is fused, what stays, values, the same bits as by steps of their own.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/fuse_epilogues.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/in_place.h"
#include "tests/support/always_chooser.h"
#include "tests/support/native_program.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_conv_epilogues_test {
namespace {

Expr input(DType dtype, Dims dims, const std::string& name) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}
Expr floats(Dims dims, const std::string& name) {
  return input(DType::kFloat32, std::move(dims), name);
}

Graph fused(const std::vector<Expr>& outputs, const std::string& candidate = "filters 4x2",
            const std::set<std::string>& without = {}) {
  const Always chooser(candidate);
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {.without = without, .chooser = &chooser});
  verify(after, "fuse_epilogues");
  return after;
}

Steps steps(const std::vector<Expr>& outputs, const std::string& candidate = "filters 4x2") {
  return steps_of(fused(outputs, candidate));
}

const ConvOptions kHalf{.padding = ConvPadding::half()};
const Expr x = floats({2, 3, 8, 9}, "x"), w = floats({3, 3, 3, 3}, "w"), b = floats({3}, "b"),
           r = floats({2, 3, 8, 9}, "r");
const Expr bias = reshape(b, {1, 3, 1, 1}), y = conv(x, w, kHalf), dx = conv_transposed(r, w, kHalf);

const Steps one{"fused_conv"}, two{"conv", "fused"};

TEST(FuseConvEpilogues, TakeInWhatFollows) {
  for (const char* candidate : {"filters 4x2", "rows 6x2", "winograd 2", "winograd 4"}) {
    EXPECT_EQ(steps({tanh(y + bias)}, candidate), one) << candidate;
    EXPECT_EQ(steps({maximum(y + bias + x, 0.0)}, candidate), one) << "the residual, which the convolution reads too";
    EXPECT_EQ(steps({dx * (1.0 - sqr(r))}, candidate), one) << "of what dx is computed from";
  }
  EXPECT_EQ(steps({y + bias, tanh(y + bias)}), one) << "two results";
  EXPECT_EQ(steps({conv(x, transpose(w, {1, 0, 2, 3}), kHalf) * r}), one) << "filters may be views";
  EXPECT_EQ(steps({dimshuffle(y, {1, 0, 2, 3}) + 1.0}), two) << "other axes";
}

TEST(FuseConvEpilogues, Stay) {
  const std::vector<Expr> layer{tanh(y + bias)};
  EXPECT_EQ(steps({y}), Steps{"conv"}) << "nothing behind it";
  for (const char* candidate : {"loops", "patches", "patches by slabs", "oneDNN", "FFT"})
    EXPECT_EQ(steps(layer, candidate), two) << candidate;
  EXPECT_EQ(steps_of(optimize({leaves_of(layer), layer, {}}, {})), two) << "nobody chooses";
  EXPECT_EQ(steps({tanh(conv(floats({"n", 3, 8, 9}, "xn"), w, kHalf) + bias)}), two) << "only the call knows how many";
  const Expr unshared = floats({3, 6, 7, 3, 3, 3}, "unshared");
  EXPECT_EQ(steps({tanh(conv(x, unshared, {.unshared = true}))}), two) << "filters of their own for every location";
  EXPECT_EQ(steps({sum(tanh(y), {0, 2, 3})}), (Steps{"conv", "fused_reduction"})) << "slices took the elements";
  EXPECT_EQ(steps({tanh(y + input(DType::kFloat64, {3, 1, 1}, "wide"))}), two) << "fewer lanes";
  EXPECT_EQ(steps({y + floats({4, 1, 3, 8, 9}, "stack")}), two) << "another domain";
  const Expr dw = conv_weight_gradient(x, r, {3, 3}, kHalf);
  EXPECT_EQ(steps({w - 0.1 * dw}), (Steps{"conv_weight_gradient", "fused"})) << "sums of parts come together behind";
  EXPECT_EQ(steps({y * dot(reshape(y, {48, 9}), floats({9, 1}, "v"))[0]}), (Steps{"conv", "dot", "fused"}))
      << "the loop needs what is computed from all of y";
}

TEST(FuseConvEpilogues, AreOneToAKernel) {
  EXPECT_EQ(steps({tanh(y) + tanh(dx)}), (Steps{"conv", "fused_conv"}));
  const Expr h = maximum(y + bias, 0.0);
  EXPECT_EQ(steps({maximum(conv(h, w, kHalf) + h, 0.0)}), (Steps{"fused_conv", "fused_conv"}));
}

TEST(FuseConvEpilogues, AskWhatTheLoweringWillAsk) {
  const Always chooser("rows 6x2");
  const std::vector<Expr> outputs{tanh(y + bias), dx * r};
  const Graph graph = optimize({leaves_of(outputs), outputs, {}}, {.chooser = &chooser});
  const std::vector<std::string> asked = chooser.asked;
  ASSERT_EQ(asked.size(), 2u);
  plan(graph, {}, {.chooser = &chooser});
  for (const std::string& question : chooser.asked)
    EXPECT_NE(std::find(asked.begin(), asked.end(), question), asked.end()) << question;
}

TEST(FuseConvEpilogues, TwiceChangesNothing) {
  const Always chooser("filters 4x2");
  const Graph once = fused({tanh(y + bias), dx * r});
  EXPECT_TRUE(same_graph(once, fuse_epilogues(once, {.chooser = &chooser})));
}

TEST(FuseConvEpilogues, WriteOverWhatIsReadByElementOnly) {
  const Graph graph = fused({tanh(y * x) + r});
  const Node& node = graph.outputs[0].node();
  std::vector<std::pair<std::string, bool>> may;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    may.emplace_back(is_view(node.inputs[i]) ? "a view" : node.inputs[i].name(), may_overwrite(node, 0, i));
  EXPECT_EQ(may,
            (std::vector<std::pair<std::string, bool>>{{"x", false}, {"a view", false}, {"x", true}, {"r", true}}));
}

TEST(FuseConvEpilogues, KernelsAreNamedAfterAllThatTheyCompute) {
  auto kernel = [](const char* candidate) {
    const Always chooser(candidate);
    const Graph graph = fused({tanh(y + bias)}, candidate);
    std::string last;
    for_each_step(plan(graph, {}, {.target = {.vector_bytes = 32}, .chooser = &chooser}).body,
                  [&](const Step& step) { last = std::get<kernel::KernelCall>(step.code).function->name; });
    return last;
  };
  EXPECT_EQ(kernel("filters 4x2"), "conv_filters_4x1_conv_add_tanh");
  EXPECT_EQ(kernel("rows 2x2"), "conv_rows_2x2_conv_add_tanh");
  EXPECT_EQ(kernel("winograd 2"), "winograd2_places_conv_add_tanh");
}

// ---- values --------------------------------------------------------------------------------------------------------

// Convolutions of x [2, c, ...] with f filters, and what may be around them.
struct Layer {
  Dims image, filters;
  ConvOptions options;
};

std::vector<Layer> layers() {
  return {
      {{2, 3, 9, 21}, {5, 3, 3, 4}, {}},
      {{1, 4, 6, 9}, {37, 4, 3, 3}, {.padding = ConvPadding::half()}},
      {{2, 4, 8, 19}, {6, 2, 3, 2}, {.padding = ConvPadding::zeros({{0, 2}, {3, 1}}), .stride = {2, 1}, .groups = 2}},
      {{2, 5, 6, 17}, {5, 1, 3, 3}, {.padding = ConvPadding::half(), .groups = 5}},
      {{1, 2, 8, 29}, {2, 2, 3, 2}, {.dilation = {2, 3}}},
      {{2, 3, 40}, {4, 3, 5}, {.padding = ConvPadding::full()}},
      {{1, 2, 4, 5, 4}, {3, 2, 2, 3, 2}, {.padding = ConvPadding::half()}},
      {{2, 3, 4, 1}, {17, 3, 2, 1}, {}},
      {{2, 3, 4, 5}, {3, 3, 4, 5}, {}},
  };
}

// Three kernels: with a bias, activations, a residual and several results; with what is repeated along other axes than
// a bias is, so that rows are taken one by one; and a gradient with the factor of an activation.
std::vector<Expr> everything(DType dtype, const Layer& layer, size_t number) {
  auto given = [&](Dims dims, const char* name) { return input(dtype, std::move(dims), str(name, number)); };
  const Expr x = given(layer.image, "x"), w = given(layer.filters, "w"), v = given(layer.filters, "v"),
             y = conv(x, w, layer.options);
  Dims bias(y.rank(), 1), column(y.rank(), 1);
  bias[1] = y.dims()[1];
  column[0] = y.dims()[0];
  column.back() = y.dims().back();
  const Expr b = given(bias, "b"), c = given(column, "c"), r = given(y.dims(), "r"), s = given(x.dims(), "s"),
             scale = given({}, "scale");
  const Expr z = y + b, g = conv_transposed(r, w, layer.options, Dims(x.dims().begin() + 2, x.dims().end()));
  return {tanh(z), maximum(scale * z + r, 0.0), tanh(conv(x, v, layer.options)) * c, 1.0 - sqr(tanh(z)),
          g * (1.0 - sqr(s)) + scale};
}

// For each dtype a tiling, so that each compiler has both dtypes and, for one of them, either form.
std::vector<std::pair<DType, std::string>> tilings_of(const Target& target) {
  const bool is_widest = target.vector_bytes == 64;
  if (target.compiler == "g++")
    return {{DType::kFloat32, is_widest ? "filters 6x4" : "filters 4x2"}, {DType::kFloat64, "rows 6x2"}};
  return {{DType::kFloat32, is_widest ? "rows 6x4" : "rows 3x3"}, {DType::kFloat64, "filters 12x1"}};
}

// For every width: values against the definition, and the bits of the same kernels with loops behind them.
class ConvEpilogues : public testing::TestWithParam<Target> {};

TEST_P(ConvEpilogues, AreTheLoopsBehindTheConvolution) {
  Target target = GetParam();
  if (const std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  for (const auto& [dtype, tiling] : tilings_of(target)) {
    std::vector<Expr> outputs;
    const std::vector<Layer> all = layers();
    for (size_t i = 0; i < all.size(); ++i)
      for (const Expr& e : everything(dtype, all[i], i)) outputs.push_back(e);
    const Graph graph = fused(outputs, tiling), apart = fused(outputs, tiling, {"fuse_epilogues"});
    const Steps names = steps_of(graph);
    EXPECT_EQ(std::count(names.begin(), names.end(), "fused"), 0);
    EXPECT_EQ(std::count(names.begin(), names.end(), "fused_conv"), 3 * static_cast<ptrdiff_t>(all.size()));
    std::vector<std::pair<Expr, Tensor>> bound;
    std::vector<Tensor> values;
    for (const Expr& leaf : graph.inputs) {
      values.push_back(numbers(leaf.type(), values.size()));
      bound.emplace_back(leaf, values.back());
    }
    const std::vector<Tensor> expected = evaluate(graph.outputs, bound);
    const Always chooser(tiling);
    target.chooser = &chooser;
    const std::vector<Tensor> got = NativeProgram(graph, target, false)(values),
                              behind = NativeProgram(apart, target, false)(values);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(difference(got[i], expected[i], 256), std::nullopt) << tiling << " " << i;
      EXPECT_EQ(std::memcmp(got[i].raw(), behind[i].raw(), got[i].bytes()), 0) << tiling << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ConvEpilogues, testing::ValuesIn(all_targets()),
                         [](const auto& info) { return info.param.text(); });

// Winograd's too, for every number of threads, through whole functions: parts of the range end within rows and blocks.
TEST(FuseConvEpilogues, BitsDependOnNeitherThreadsNorFusion) {
  for (const char* candidate : {"filters 6x2", "rows 6x2", "winograd 2", "winograd 4"})
    for (Dims image : {Dims{3, 20, 14, 15}, Dims{2, 3, 40, 37}}) {
      const Expr x = floats(image, "x"), w = floats({19, image[1], 3, 3}, "w"), b = floats({19, 1, 1}, "b");
      const Expr y = conv(x, w, kHalf), r = floats(y.dims(), "r"), out = tanh(y + b) + r;
      std::vector<Tensor> values;
      for (const Expr& e : {x, w, b, r}) values.push_back(numbers(e.type(), values.size()));
      auto run = [&](int threads, const std::set<std::string>& without) {
        Function f = function(
            {x, w, b, r}, {out}, {},
            {.threads = threads, .without = without, .tune = Tune::kNever, .candidates = {{"conv", candidate}}});
        EXPECT_EQ(f.explain().fused.find("fused_conv") != std::string::npos, without.empty());
        return f(values)[0];
      };
      const Tensor apart = run(1, {"fuse_epilogues"});
      for (int threads : {1, 2, 3})
        EXPECT_EQ(std::memcmp(run(threads, {}).raw(), apart.raw(), apart.bytes()), 0)
            << candidate << ", " << threads << " threads";
    }
}

// A step of training of a small network: by kernels, by the reference, and with every step checked against it.
TEST(FuseConvEpilogues, StepsOfTraining) {
  struct Step {
    Function run;
    Shared weights;
  };
  auto make = [&](Mode mode) {
    RandomState random(5);
    auto variable = [&](Shape shape, const char* name, double scale) {
      const auto size =
          static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
      return Shared(Tensor::of(random.normal(0, scale, size), shape).cast(DType::kFloat32), name);
    };
    Shared v = variable({4, 2, 3, 3}, "v", 0.3), a = variable({4}, "a", 0.1), u = variable({4, 4, 3, 3}, "u", 0.2);
    const Expr x = floats({5, 2, 10, 11}, "x"), h = tanh(conv(x, v, kHalf) + reshape(a, {1, 4, 1, 1})),
               z = maximum(conv(h, u, kHalf) + h, 0.0),
               cost = mean(sqr(z - 0.25)) + mean(sqr(pool(tanh(conv(x, v) + 0.5), {.window = {2, 3}}) - 0.5));
    const std::vector<Expr> g = grad(cost, {v, a, u});
    return Step{function({x}, {cost}, {{v, v - 0.5 * g[0]}, {a, a - 0.5 * g[1]}, {u, u - 0.5 * g[2]}},
                         {.mode = mode, .threads = 2, .tune = Tune::kNever}),
                v};
  };
  Step native = make(Mode::kNative), reference = make(Mode::kReference), checked = make(Mode::kDebug);
  EXPECT_NE(native.run.explain().fused.find("fused_conv"), std::string::npos);
  const Tensor data = numbers({.dtype = DType::kFloat32, .dims = {5, 2, 10, 11}}, 9);
  checked.run({data});
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(difference(native.run({data})[0], reference.run({data})[0], 1024), std::nullopt);
  EXPECT_EQ(difference(native.weights.get_value(), reference.weights.get_value(), 4096), std::nullopt);
}

}  // namespace
}  // namespace thtrain::fuse_conv_epilogues_test

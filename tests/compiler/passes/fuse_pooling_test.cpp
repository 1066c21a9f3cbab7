// Convolutions that are pooled in their kernels: what is fused, what stays, values, the same bits as in two steps, and
// who chooses.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/api.h"
#include "compiler/cpu/pool/conv_pooling.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/verify.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/evaluate.h"
#include "compiler/passes/fuse_pooling.h"
#include "compiler/passes/pipeline.h"
#include "compiler/tuning/candidate_trials.h"
#include "tests/support/always_chooser.h"
#include "tests/support/native_program.h"
#include "tests/support/numbers.h"
#include "tests/support/steps.h"

namespace thtrain::fuse_pooling_test {
namespace {

// Gives convolutions to one candidate, and says of each that is pooled how.
struct Pools : Always {
  explicit Pools(std::string tiling, std::string how_ = kOneKernel) : Always(std::move(tiling)), how(std::move(how_)) {}
  std::string choose(const kernel::ChoiceKey& key) const override {
    const std::string other = Always::choose(key);
    if (key.computation == "pool") return "columns";
    return key.computation == "pooled_conv" ? how : other;
  }
  std::string how;
};

Expr input(DType dtype, Dims dims, const std::string& name) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}
Expr floats(Dims dims, const std::string& name) {
  return input(DType::kFloat32, std::move(dims), name);
}

Graph fused(const std::vector<Expr>& outputs, const kernel::Chooser& chooser,
            const std::set<std::string>& without = {}) {
  Graph after = optimize({leaves_of(outputs), outputs, {}}, {.without = without, .chooser = &chooser});
  verify(after, "fuse_pooling");
  return after;
}

Steps steps(const std::vector<Expr>& outputs, const std::string& candidate = "filters 4x2",
            const std::string& how = kOneKernel) {
  return steps_of(fused(outputs, Pools(candidate, how)));
}

const PoolOptions kSquares{.window = {2, 2}},
    kAverages{.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}, .mode = PoolMode::kAverage};
const Expr x = floats({2, 3, 8, 9}, "x"), w = floats({3, 3, 3, 3}, "w"), b = floats({3, 1, 1}, "b"),
           r = floats({2, 3, 8, 9}, "r");
const ConvOptions kHalf{.padding = ConvPadding::half()};
const Expr y = conv(x, w, kHalf);

const Steps one{"pooled_conv"};

TEST(FusePooling, TakesInWhatSurroundsIt) {
  for (const char* candidate : {"filters 4x2", "rows 6x2"}) {
    EXPECT_EQ(steps({pool(y, kSquares)}, candidate), one) << candidate;
    EXPECT_EQ(steps({tanh(pool(y, kSquares) + b)}, candidate), one) << "behind";
    EXPECT_EQ(steps({pool(tanh(y + b), kSquares)}, candidate), one) << "pooled first by a rule";
    EXPECT_EQ(steps({pool(tanh(y + b), kAverages)}, candidate), one) << "before";
    EXPECT_EQ(steps({1.0 - pool(maximum(y * b + r, 0.0), kAverages)}, candidate), one) << "both";
    EXPECT_EQ(steps({pool(y + x, kAverages)}, candidate), one) << "what the convolution reads too";
  }
  const Expr p = pool(y, kSquares);
  EXPECT_EQ(steps({p, tanh(p + b)}), one) << "two results";
  EXPECT_EQ(steps({pool(conv(p, w, kHalf), kSquares)}), (Steps{"pooled_conv", "pooled_conv"}));
}

TEST(FusePooling, Stays) {
  const Steps two{"conv", "max_pool"};
  EXPECT_EQ(steps({pool(y, kSquares)}, "filters 4x2", kApart), two) << "the chooser says so";
  for (const char* candidate : {"loops", "patches", "winograd 2", "oneDNN", "FFT"})
    EXPECT_EQ(steps({pool(y, kSquares)}, candidate), two) << candidate;
  const std::vector<Expr> layer{pool(y, kSquares)};
  EXPECT_EQ(steps_of(optimize({leaves_of(layer), layer, {}}, {})), two) << "nobody chooses";
  EXPECT_EQ(steps({pool(y, kSquares), y}), two) << "the image is wanted";
  EXPECT_EQ(steps({pool(y, kSquares), pool(y, {.window = {4, 4}})}), (Steps{"conv", "max_pool", "max_pool"}))
      << "two readers";
  EXPECT_EQ(steps({pool(conv(floats({"n", 3, 8, 9}, "xn"), w, kHalf), kSquares)}), two)
      << "only the call knows how many";
  EXPECT_EQ(steps({pool(y, {.window = {3, 2, 2}})}), two) << "windows over filters";
  EXPECT_EQ(steps({pool(conv(floats({1, 2, 4, 5, 4}, "x3"), floats({3, 2, 2, 3, 2}, "w3")), {.window = {2, 2}})}), two)
      << "three axes";
  EXPECT_EQ(steps({pool(reshape(y, {2, 9, 8, 3}), kSquares)}), two) << "other axes";
  const Steps training = steps({grad(sum(sqr(pool(y, kSquares))), w)});
  EXPECT_EQ(std::count(training.begin(), training.end(), "pooled_conv"), 0) << "the gradient reads the image";
}

TEST(FusePooling, AsksWhatTheLoweringWillAsk) {
  const Pools chooser("rows 6x2");
  const Graph graph = fused({tanh(pool(y, kSquares) + b)}, chooser);
  const std::vector<std::string> asked = chooser.asked;
  EXPECT_EQ(asked,
            (std::vector<std::string>{
                "conv float32 b2 i3x8x9 k3x3x3 p1:1x1:1",
                "pooled_conv float32 b2 i3x8x9 k3x3x3 p1:1x1:1 then max_pool float32 2x3x8x9 w2x2 s2x2 p0:0x0:0"}));
  plan(graph, {}, {.chooser = &chooser});
  for (const std::string& question : chooser.asked)
    EXPECT_NE(std::find(asked.begin(), asked.end(), question), asked.end()) << question;
}

TEST(FusePooling, TwiceChangesNothing) {
  const Pools chooser("filters 4x2");
  const Graph once = fused({tanh(pool(tanh(y), kAverages) + b)}, chooser);
  EXPECT_TRUE(same_graph(once, fuse_pooling(once, {.chooser = &chooser})));
}

TEST(FusePooling, KeysAreReadBack) {
  const std::string text =
      "float64 b2 i4x9x19 k6x3x2 s1x2 g2 then sum_pool float64 2x6x7x9 w2x4 s3x4 p0:0x1:0 border inside";
  const std::optional<ConvPooling> known = conv_pooling_of({"pooled_conv", text});
  ASSERT_TRUE(known);
  EXPECT_EQ(key_of(*known).text(), "pooled_conv " + text);
  for (const char* wrong : {"", " then ", "float64 b2 i4x9x19 k6x3x2 s1x2 g2",
                            "float64 b2 i4x9x19 k6x3x2 s1x2 g2 then sum_pool float64 2x6x7x8 w2x4 s3x4 p0:0x1:0 inside",
                            "float64 b2 i4x9x19 k6x3x2 s1x2 g2 then max_pool float32 2x6x7x9 w2x4 s3x4 p0:0x1:0",
                            "float64 b2 i4x9x19 k6x3x2 s1x2 g2 then max_pool_pick float64 2x6x7x9 w2x4 s3x4 p0:0x1:0"})
    EXPECT_FALSE(conv_pooling_of({"pooled_conv", wrong})) << wrong;
}

// ---- values --------------------------------------------------------------------------------------------------------

struct Layer {
  Dims image, filters;
  ConvOptions options;
  PoolOptions windows;
};

std::vector<Layer> layers() {
  return {
      {{2, 3, 9, 21}, {5, 3, 3, 4}, {}, {.window = {2, 2}}},
      {{1, 4, 6, 9}, {37, 4, 3, 3}, {.padding = ConvPadding::half()}, {.window = {3, 2}, .stride = {2, 1}}},
      {{2, 4, 8, 19},
       {6, 2, 3, 2},
       {.padding = ConvPadding::zeros({{0, 2}, {3, 1}}), .stride = {2, 1}, .groups = 2},
       {.window = {2, 4}, .ignore_border = false}},
      {{2, 5, 7, 37}, {5, 1, 3, 3}, {.padding = ConvPadding::half(), .groups = 5}, {.window = {5, 5}}},
      {{1, 2, 8, 77}, {2, 2, 3, 2}, {.dilation = {2, 3}}, {.window = {1, 3}, .stride = {2, 5}}},
      {{2, 3, 70}, {4, 3, 5}, {.padding = ConvPadding::full()}, {.window = {3}, .stride = {2}, .padding = {{2, 1}}}},
      {{2, 3, 24, 20}, {20, 3, 3, 3}, {}, {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}},
      {{1, 2, 9, 10},
       {3, 2, 2, 3},
       {},
       {.window = {4, 4}, .stride = {3, 3}, .padding = {{3, 2}, {0, 3}}, .ignore_border = false}},
      {{2, 3, 4, 5}, {17, 3, 3, 4}, {}, {.window = {2, 2}}},
      {{1, 2, 20, 45}, {3, 2, 2, 2}, {}, {.window = {19, 20}, .stride = {1, 4}}},
      {{1, 1, 64, 300}, {2, 1, 3, 3}, {}, {.window = {2, 3}, .stride = {1, 1}}},
  };
}

// Of each layer maxima, and sums or averages; values behind them and before them in turn.
std::vector<Expr> everything(DType dtype, const Layer& layer, size_t number) {
  auto given = [&](Dims dims, const char* name) { return input(dtype, std::move(dims), str(name, number)); };
  const Expr x = given(layer.image, "x");
  std::vector<Expr> out;
  // Filters of their own, so that each convolution has one reader.
  auto convolved = [&] { return conv(x, given(layer.filters, str("w", out.size(), "_").c_str()), layer.options); };
  const Dims positions = convolved().dims();
  Dims bias(positions.size(), 1), column(positions.size(), 1);
  bias[1] = positions[1];
  column[0] = positions[0];
  column.back() = positions.back();
  PoolOptions windows = layer.windows;
  out.push_back(number % 2 == 0 ? pool(convolved(), windows) : tanh(pool(convolved(), windows) + given(bias, "b")));
  if (number % 4 == 1)
    out.push_back(maximum(pool(maximum(convolved() + given(positions, "r"), 0.0), windows) - given({}, "s"), 0.0));
  windows.mode = std::vector{PoolMode::kSum, PoolMode::kAverage, PoolMode::kAveragePadded}[number % 3];
  out.push_back(number % 2 == 0 ? pool(tanh(convolved() * given(column, "c")), windows)
                                : pool(convolved(), windows) * given(bias, "b"));
  return out;
}

class PooledConvs : public testing::TestWithParam<Target> {};

TEST_P(PooledConvs, AreTheTwoSteps) {
  Target target = GetParam();
  if (const std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  const bool is_widest = target.vector_bytes == 64;
  const std::vector<std::pair<DType, std::string>> tilings =
      target.compiler == "g++"
          ? std::vector<std::pair<DType, std::string>>{{DType::kFloat32, is_widest ? "filters 6x4" : "filters 4x2"},
                                                       {DType::kFloat64, "rows 6x2"}}
          : std::vector<std::pair<DType, std::string>>{{DType::kFloat32, is_widest ? "rows 6x4" : "rows 3x3"},
                                                       {DType::kFloat64, "filters 12x1"}};
  for (const auto& [dtype, tiling] : tilings) {
    std::vector<Expr> outputs;
    const std::vector<Layer> all = layers();
    for (size_t i = 0; i < all.size(); ++i)
      for (const Expr& e : everything(dtype, all[i], i))
        if (const ConvOptions& o = all[i].options; tiling[0] == 'f' || o.stride.empty() || o.stride.back() == 1)
          outputs.push_back(e);
    const Pools chooser(tiling), other(tiling, kApart);
    const Graph graph = fused(outputs, chooser), apart = fused(outputs, other);
    const Steps names = steps_of(graph);
    EXPECT_EQ(names, Steps(outputs.size(), "pooled_conv")) << tiling;
    std::vector<std::pair<Expr, Tensor>> bound;
    std::vector<Tensor> values;
    for (const Expr& leaf : graph.inputs) {
      values.push_back(numbers(leaf.type(), values.size()));
      bound.emplace_back(leaf, values.back());
    }
    const std::vector<Tensor> expected = evaluate(graph.outputs, bound);
    target.chooser = &chooser;
    const std::vector<Tensor> got = NativeProgram(graph, target, false)(values);
    target.chooser = &other;
    const std::vector<Tensor> behind = NativeProgram(apart, target, false)(values);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(difference(got[i], expected[i], 512), std::nullopt) << tiling << " " << i;
      EXPECT_EQ(std::memcmp(got[i].raw(), behind[i].raw(), got[i].bytes()), 0) << tiling << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, PooledConvs, testing::ValuesIn(all_targets()),
                         [](const auto& info) { return info.param.text(); });

Function built(const std::vector<Expr>& in, const std::vector<Expr>& out, const std::string& tiling,
               const std::string& how, int threads = 1) {
  Function f =
      function(std::vector<In>(in.begin(), in.end()), std::vector<Out>(out.begin(), out.end()), {},
               {.threads = threads, .tune = Tune::kNever, .candidates = {{"conv", tiling}, {"pooled_conv", how}}});
  EXPECT_EQ(f.explain().fused.find("pooled_conv") != std::string::npos, how == kOneKernel);
  return f;
}

// For every number of threads: parts of the range end within rows, blocks and windows.
TEST(FusePooling, BitsDependOnNeitherThreadsNorFusion) {
  for (const char* tiling : {"filters 6x2", "rows 6x2"})
    for (Dims image : {Dims{3, 20, 14, 15}, Dims{2, 3, 40, 37}})
      for (const PoolOptions& windows : {kSquares, kAverages}) {
        const Expr x = floats(image, "x"), w = floats({19, image[1], 3, 3}, "w"), b = floats({19, 1, 1}, "b");
        const Expr out = pool(sqr(conv(x, w, kHalf) + b), windows) + b;
        std::vector<Tensor> values;
        for (const Expr& e : {x, w, b}) values.push_back(numbers(e.type(), values.size()));
        const Tensor apart = built({x, w, b}, {out}, tiling, kApart)(values)[0];
        for (int threads : {1, 2, 3})
          EXPECT_EQ(std::memcmp(built({x, w, b}, {out}, tiling, kOneKernel, threads)(values)[0].raw(), apart.raw(),
                                apart.bytes()),
                    0)
              << tiling << ", " << threads << " threads";
      }
}

// A filter of one tap makes the image what is pooled: a NaN anywhere in a window is its maximum, wherever it is;
// padding never is, also where all elements are -inf; no other window is touched.
TEST(FusePooling, NanAndInfinities) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const char* tiling : {"filters 6x2", "rows 6x2"})
    for (const PoolOptions& windows :
         {PoolOptions{.window = {2, 2}}, PoolOptions{.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}},
          PoolOptions{.window = {2, 3}, .ignore_border = false}}) {
      const Expr x = floats({1, 1, 7, 9}, "x"), w = floats({3, 1, 1, 1}, "w"), out = pool(conv(x, w), windows);
      Function walk = built({x, w}, {out}, tiling, kOneKernel), apart = built({x, w}, {out}, tiling, kApart);
      const Tensor ones = Tensor::of(std::vector<double>{1, 1, 1}, {3, 1, 1, 1}).cast(DType::kFloat32);
      for (double planted : {static_cast<double>(NAN), inf, -inf})
        for (int64_t position = 0; position < 63; ++position) {
          std::vector<double> image(63, planted == -inf ? -inf : -3.0);
          image[static_cast<size_t>(position)] = planted == -inf ? 2 : planted;
          const Tensor values = Tensor::of(image, {1, 1, 7, 9}).cast(DType::kFloat32);
          const Tensor got = walk({values, ones})[0], wanted = apart({values, ones})[0];
          const Tensor defined = evaluate(std::vector{out}, std::vector{std::pair(x, values), std::pair(w, ones)})[0];
          ASSERT_EQ(std::memcmp(got.raw(), wanted.raw(), got.bytes()), 0)
              << tiling << ", " << planted << " at " << position;
          for (int64_t i = 0; i < got.size(); ++i)
            ASSERT_TRUE(got.as_double(i) == defined.as_double(i) ||
                        (std::isnan(got.as_double(i)) && std::isnan(defined.as_double(i))))
                << tiling << ", " << planted << " at " << position << ", element " << i;
        }
    }
}

TEST(FusePooling, NoImages) {
  const Expr none = floats({0, 3, 8, 9}, "none");
  Function f = function({none, w}, {pool(conv(none, w, kHalf), kSquares)}, {}, {.tune = Tune::kNever});
  EXPECT_EQ(f({Tensor::zeros(DType::kFloat32, {0, 3, 8, 9}), numbers(w.type(), 1)})[0].shape(), (Shape{0, 3, 4, 4}));
}

// ---- the choice

TEST(FusePooling, TheRuleTakesOneWalkWhereTheModelExpectsLess) {
  const kernel::Target target;
  auto rule = [&](const std::string& conv, const std::string& pool, double tolerance = 0) {
    return find_computation("pooled_conv")->rule({"pooled_conv", conv + " then " + pool}, target, 1, tolerance);
  };
  EXPECT_EQ(rule("float32 b500 i1x28x28 k20x5x5", "max_pool float32 500x20x24x24 w2x2 s2x2 p0:0x0:0"), kOneKernel);
  EXPECT_EQ(rule("float32 b4 i3x224x224 k64x7x7 s2x2 p3:3x3:3", "max_pool float32 4x64x112x112 w3x3 s2x2 p1:1x1:1"),
            kOneKernel);
  EXPECT_EQ(rule("float32 b1 i3x224x224 k64x7x7 s2x2 p3:3x3:3", "max_pool float32 1x64x112x112 w99x3 s1x2 p0:0x0:0"),
            kApart)
      << "nearly all rows would be computed twice";
  const std::string padded = "float32 b16 i64x56x56 k64x3x3 p1:1x1:1",
                    squares = "max_pool float32 16x64x56x56 w2x2 s2x2 p0:0x0:0";
  EXPECT_EQ(rule(padded, squares), kOneKernel);
  EXPECT_EQ(rule(padded, squares, 1e-2), kApart) << "Winograd's is faster than both";
}

TEST(FusePooling, BothAreTimed) {
  const kernel::ChoiceKey key{"pooled_conv",
                              "float32 b2 i3x8x9 k3x3x3 p1:1x1:1 then max_pool float32 2x3x8x9 w2x2 s2x2 p0:0x0:0"};
  const std::vector<CandidateTrial> trials = time_candidates(key, candidates_of(key, {}), 1);
  std::set<std::string> names;
  for (const CandidateTrial& trial : trials) {
    names.insert(trial.candidate);
    EXPECT_GT(trial.seconds, 0);
  }
  EXPECT_EQ(names, (std::set<std::string>{kOneKernel, kApart}));
}

}  // namespace
}  // namespace thtrain::fuse_pooling_test

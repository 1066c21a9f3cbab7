// The forms of pooling's kernels: the same bits, for windows of all kinds that both can do, with ties and NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/api.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/pooling.h"

namespace thtrain {
namespace {

struct Row {
  Shape image;
  PoolOptions options;
};

// Rows of fewer windows than a vector has, of as many, of more; columns and rows behind the last window, rows between
// windows; one to three axes.
std::vector<Row> rows() {
  return {{{2, 4, 6}, {.window = {2, 2}}},       {{1, 5, 75}, {.window = {2, 2}}},
          {{3, 6, 64}, {.window = {2, 2}}},      {{2, 9, 143}, {.window = {4, 4}}},
          {{2, 3, 12}, {.window = {3, 4}}},      {{3, 21}, {.window = {2}}},
          {{2, 4, 4, 6}, {.window = {2, 2, 2}}}, {{2, 9, 40}, {.window = {3, 2}, .stride = {4, 2}}},
          {{2, 4, 2}, {.window = {2, 2}}},       {{4, 2, 2}, {.window = {2, 2}}}};
}

// Few different values, so that windows have several maxima; some are NaN, where they may be, or negative zeros.
Tensor pattern(const Shape& shape, DType dtype, bool has_nan = true) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    double value = static_cast<double>((i * 7 + i / 5) % 5 - 2);
    if (is_float(dtype) && has_nan && i % 23 == 11) value = NAN;
    if (is_float(dtype) && i % 3 == 0 && value == 0) value = -0.0;
    out.data<double>()[i] = value;
  }
  return out.cast(dtype);
}

Tensor filled(const Shape& shape, double value, DType dtype) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = value;
  return out.cast(dtype);
}

std::vector<Tensor> by(const std::string& form, const std::vector<Expr>& in, const std::vector<Expr>& out,
                       const std::vector<Tensor>& values) {
  const FunctionOptions options{.tune = Tune::kNever, .candidates = {{"pool", form}}};
  Function f = function(std::vector<In>(in.begin(), in.end()), std::vector<Out>(out.begin(), out.end()), {}, options);
  EXPECT_FALSE(f.info().choices.empty());
  for (const kernel::Choice& choice : f.info().choices) EXPECT_EQ(choice.candidate, form) << choice.key.text();
  return f(values);
}

void expect_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t o = 0; o < a.size(); ++o) {
    ASSERT_EQ(a[o].shape(), b[o].shape());
    const size_t size = size_of(a[o].dtype());
    for (int64_t i = 0; i < a[o].size(); ++i) {
      // Which NaN it is may differ.
      if (std::isnan(a[o].as_double(i)) && std::isnan(b[o].as_double(i))) continue;
      const auto at = static_cast<size_t>(i) * size;
      ASSERT_EQ(std::memcmp(static_cast<const char*>(a[o].raw()) + at, static_cast<const char*>(b[o].raw()) + at, size),
                0)
          << what << ", output " << o << ", element " << i << ": " << a[o].as_double(i) << " and " << b[o].as_double(i);
    }
  }
}

TEST(PoolCandidates, SumNegativeZerosToZero) {
  const Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 4, 6}}, "x");
  const Tensor zeros = Tensor::of(std::vector<double>(48, -0.0), {2, 4, 6}).cast(DType::kFloat32);
  for (const char* form : {"columns", "taps"}) {
    const Tensor sums = by(form, {x}, {pool(x, {.window = {2, 2}, .mode = PoolMode::kSum})}, {zeros})[0];
    for (int64_t i = 0; i < sums.size(); ++i) EXPECT_FALSE(std::signbit(sums.as_double(i))) << form << " " << i;
  }
}

TEST(PoolCandidates, HaveTheSameBits) {
  for (const Row& row : rows())
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Dims dims(row.image.begin(), row.image.end());
      const Expr x = make_input({.dtype = dtype, .dims = dims}, "x"),
                 g = make_input({.dtype = dtype, .dims = dims}, "g");
      std::vector<Expr> out;
      for (PoolMode mode : {PoolMode::kMax, PoolMode::kSum, PoolMode::kAverage}) {
        PoolOptions options = row.options;
        options.mode = mode;
        const Expr y = pool(x, options);
        out.insert(out.end(), {y, grad(sum(y * pool(g, options)), x)});
        if (mode == PoolMode::kMax) out.push_back(jvp(y, x, g));
      }
      const std::vector<Tensor> values = {
          pattern(row.image, dtype),
          Tensor::of(RandomState(3).normal(0, 1, element_count(row.image)), row.image).cast(dtype)};
      expect_same_bits(by("columns", {x, g}, out, values), by("taps", {x, g}, out, values),
                       str(name_of(dtype), " ", join(row.image, "x"), " by ", join(row.options.window, "x")));
    }
}

// Windows that share rows, columns or both; padding on both sides, or that the windows reach on one only; images in one
// block and in several; rows shorter and longer than a vector; steps of 1, 2 and 4.
TEST(PoolCandidates, PositionsHaveTheSameBits) {
  const std::vector<Row> all = {{{2, 7, 9}, {.window = {3, 3}, .stride = {2, 2}}},
                                {{2, 8, 8}, {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}},
                                {{1, 56, 56}, {.window = {3, 3}, .stride = {1, 1}, .padding = {{1, 1}, {1, 1}}}},
                                {{2, 61, 45}, {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}},
                                {{1, 112, 112}, {.window = {3, 3}, .stride = {2, 2}, .padding = {{1, 1}, {1, 1}}}},
                                {{2, 9, 256}, {.window = {2, 2}, .stride = {1, 1}}},
                                {{1, 40, 50}, {.window = {5, 5}, .stride = {1, 1}, .padding = {{2, 2}, {2, 2}}}},
                                {{1, 30, 37}, {.window = {5, 5}, .stride = {1, 2}, .padding = {{4, 3}, {4, 4}}}},
                                {{2, 20, 41}, {.window = {3, 6}, .stride = {5, 4}, .padding = {{0, 0}, {3, 5}}}},
                                {{2, 20, 41}, {.window = {6, 3}, .stride = {4, 4}, .padding = {{2, 0}, {0, 1}}}},
                                {{1, 33, 21}, {.window = {4, 1}, .stride = {1, 2}}},
                                {{2, 7, 8}, {.window = {3, 3}, .stride = {2, 2}, .ignore_border = false}},
                                {{3, 40}, {.window = {5}, .stride = {2}, .padding = {{4, 3}}}},
                                {{2, 3, 3}, {.window = {3, 3}, .stride = {1, 1}, .padding = {{2, 2}, {2, 2}}}},
                                {{4, 1, 1}, {.window = {3, 3}, .stride = {1, 1}, .padding = {{2, 2}, {1, 1}}}}};
  for (const Row& row : all)
    for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
      const Dims dims(row.image.begin(), row.image.end());
      const Expr x = make_input({.dtype = dtype, .dims = dims}, "x"), y = pool(x, row.options),
                 dy = make_input({.dtype = dtype, .dims = y.dims()}, "dy"), dx = vjp(y, x, dy);
      Shape pooled;
      for (const Dim& length : y.dims()) pooled.push_back(length.value());
      const Tensor lowest = filled(row.image, -INFINITY, dtype), negative_zeros = filled(pooled, -0.0, dtype);
      const Tensor normal = Tensor::of(RandomState(3).normal(0, 1, element_count(pooled)), pooled).cast(dtype);
      const std::string what = str(name_of(dtype), " ", join(row.image, "x"), " by ", join(row.options.window, "x"));
      for (const Tensor& image : {pattern(row.image, dtype), pattern(row.image, dtype, false), lowest})
        for (const Tensor& given : {normal, negative_zeros}) {
          const std::vector<Tensor> by_positions = by("positions", {x, dy}, {dx}, {image, given});
          expect_same_bits(by("columns", {x, dy}, {dx}, {image, given}), by_positions, what);
          const Tensor reference = function({x, dy}, {dx}, {}, {.mode = Mode::kReference})({image, given})[0];
          for (int64_t i = 0; i < reference.size(); ++i)
            ASSERT_NEAR(by_positions[0].as_double(i), reference.as_double(i), dtype == DType::kFloat32 ? 2e-6 : 4e-15)
                << what << ", element " << i;
        }
    }
}

TEST(PoolCandidates, MaximaOfIntegersAreTheSame) {
  for (DType dtype : {DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64}) {
    const Expr x = make_input({.dtype = dtype, .dims = {2, 4, 70}}, "x"), y = pool(x, {.window = {2, 2}});
    const std::vector<Tensor> values = {pattern({2, 4, 70}, dtype)};
    expect_same_bits(by("columns", {x}, {y}, values), by("taps", {x}, {y}, values), std::string(name_of(dtype)));
  }
}

TEST(PoolKeys, AreReadBack) {
  for (const char* text :
       {"max_pool float32 16x64x56x56 w2x2 s2x2 p0:0x0:0", "max_pool_gradient float64 3x40 w5 s2 p4:3",
        "max_pool_pick float32 4x6 w3x3 s1x1 p1:0x0:2 border",
        "sum_pool float64 2x5x5x5 w3x3x3 s2x2x2 p1:1x1:1x1:1 inside",
        "sum_pool_gradient float32 4x6 w2x2 s2x2 p0:0x0:0 border padded"}) {
    const std::optional<Pooling> p = pooling_of({"pool", text});
    ASSERT_TRUE(p) << text;
    EXPECT_EQ(key_of(*p).properties, text);
    const Computation& pool = *find_computation("pool");
    const Graph graph = pool.example(text).value();
    EXPECT_EQ(key_of(known_pooling(graph.outputs[0].node()).value()).properties, text);
  }
  for (const char* text :
       {"", "max_pool", "mean_pool float32 4x6 w2x2 s2x2 p0:0x0:0", "max_pool float33 4x6 w2x2 s2x2 p0:0x0:0",
        "max_pool float32 4x0 w2x2 s2x2 p0:0x0:0", "max_pool float32 4x6 w2x2 s2 p0:0x0:0",
        "max_pool float32 4x6 w2x2 s2x2 p0:0", "max_pool float32 4x6 w2x2 s2x2 p2:0x0:0",
        "max_pool float32 4x6 w5x2 s2x2 p0:0x0:0", "max_pool float32 4x6 w2x2 s2x2 p0:0x0:0 one",
        "sum_pool float32 4x6 w2x2 s2x2 p0:0x0:0", "max_pool float32 6 w2x2 s2x2 p0:0x0:0"})
    EXPECT_FALSE(pooling_of({"pool", text})) << text;
}

TEST(PoolRule, TakesPositionsForTheGradientOfMaximaThatShare) {
  auto rule = [](const char* text) { return find_computation("pool")->rule({"pool", text}, {}, 1, 0); };
  for (const char* shared :
       {"max_pool_gradient float32 16x64x56x56 w3x3 s2x2 p1:1x1:1",
        "max_pool_gradient float64 16x64x56x56 w3x3 s1x1 p1:1x1:1",
        "max_pool_gradient float32 4x5x9 w2x2 s1x2 p0:0x0:0", "max_pool_gradient float32 4x512 w5 s4 p0:0",
        "max_pool_gradient float32 4x6x7 w3x3 s2x2 p0:0x0:0 border"})
    EXPECT_EQ(rule(shared), "positions") << shared;
  for (const char* other :
       {"max_pool float32 16x64x56x56 w3x3 s2x2 p1:1x1:1", "max_pool_pick float32 16x64x56x56 w3x3 s2x2 p1:1x1:1",
        "sum_pool_gradient float32 16x64x56x56 w3x3 s2x2 p1:1x1:1 one", "max_pool_gradient float32 4x513 w5 s4 p0:0",
        "max_pool_gradient float64 4x257 w5 s4 p0:0", "max_pool_gradient float32 4x9x9 w4x4 s3x3 p0:0x0:0",
        "max_pool_gradient float32 4x9x9 w3x9 s2x2 p0:0x0:0",
        "max_pool_gradient float32 4x9x9x9 w3x3x1 s2x2x2 p0:0x0:0x0:0"})
    EXPECT_EQ(rule(other), "columns") << other;
}

// Of arrays that the last cache does not hold lines far from each other take longer than rows that are written twice:
// of images of more than a page, where each row is in two rows of windows at most.
TEST(PoolRule, TakesColumnsWherePositionsWouldReadMemoryApart) {
  auto rule = [](const char* text, int64_t last_cache) {
    return find_computation("pool")->rule({"pool", text}, {.last_cache_bytes = last_cache}, 1, 0);
  };
  for (const int64_t large : {int64_t{0}, int64_t{32} << 20})
    EXPECT_EQ(rule("max_pool_gradient float32 60x5x46x46 w3x3 s2x2 p1:1x1:1", large), "positions");
  EXPECT_EQ(rule("max_pool_gradient float32 60x5x46x46 w3x3 s2x2 p1:1x1:1", 4 << 20), "columns");
  EXPECT_EQ(rule("max_pool_gradient float32 60x5x46x46 w3x3 s1x1 p1:1x1:1", 4 << 20), "positions");
  EXPECT_EQ(rule("max_pool_gradient float32 60x20x24x24 w3x3 s2x2 p1:1x1:1", 4 << 20), "positions");
}

// Gradients of sums: by taps a short row is stored in parts of vectors, and what lies behind its last window apart.
TEST(PoolRule, CountsTheStoresOfShortRows) {
  auto rule = [](int length, int vector_bytes) {
    const std::string text = str("sum_pool_gradient float32 8x9x", length, "x", length, " w2x2 s2x2 p0:0x0:0 inside");
    return find_computation("pool")->rule(
        {"pool", text}, {.isa = vector_bytes == 64 ? "avx512" : "avx2", .vector_bytes = vector_bytes}, 1, 0);
  };
  for (int length : {13, 15, 19, 21, 27}) EXPECT_EQ(rule(length, 64), "columns") << length;
  for (int length : {10, 17, 33, 36, 64}) EXPECT_EQ(rule(length, 64), "taps") << length;
  for (int length : {13, 15, 19, 21, 27, 33, 36, 64}) EXPECT_EQ(rule(length, 32), "taps") << length;
}

TEST(PoolRule, TakesTapsWhereWindowsLieSideBySide) {
  auto rule = [](const char* text) { return find_computation("pool")->rule({"pool", text}, {}, 1, 0); };
  EXPECT_EQ(rule("max_pool float32 500x20x24x24 w2x2 s2x2 p0:0x0:0"), "taps");
  EXPECT_EQ(rule("max_pool_gradient float32 500x20x24x24 w2x2 s2x2 p0:0x0:0"), "taps");
  EXPECT_EQ(rule("max_pool float32 4x5x9 w2x2 s1x2 p0:0x0:0"), "taps");
  for (const char* other :
       {"max_pool float32 4x6x9 w3x3 s3x3 p0:0x0:0", "max_pool float32 4x6x9 w3x2 s2x1 p0:0x0:0",
        "max_pool float32 4x6x8 w2x2 s2x2 p1:1x0:0", "max_pool float32 4x6x7 w2x2 s2x2 p0:0x0:0 border",
        "max_pool float32 4x60x80 w5x4 s5x4 p0:0x0:0"})
    EXPECT_EQ(rule(other), "columns") << other;
}

}  // namespace
}  // namespace thtrain

// The generated matrix products against their definition: transposes, dtypes, widths of vectors, odd sizes, factors.
#include "compiler/ops/linalg/gemm_kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/printer.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/linalg/linalg.h"
#include "tests/support/gemm_candidates.h"
#include "tests/support/golden_text.h"

namespace thtrain::gemm_kernel_test {
namespace {

struct Factors {
  double alpha, beta;
};

ThContext context_of(int threads) {
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = threads;
  context.parallel_for = parallel_for;
  return context;
}

template <class T>
std::vector<T> numbers(int64_t count, uint64_t seed) {
  std::vector<double> values = RandomState(seed).normal(0, 1, static_cast<size_t>(count));
  return {values.begin(), values.end()};
}

// Every candidate's C within the error of adding k rounded products, and the same bits for every number of threads.
template <class T>
void expect_product(const MatrixProduct& p, Factors f, const std::vector<std::string>& tilings, int vector_bytes) {
  SCOPED_TRACE(str(name_of(p.dtype), " ", p.m, "x", p.k, "x", p.n, p.trans_a ? " T" : " N", p.trans_b ? "T" : "N",
                   ", alpha ", f.alpha, ", beta ", f.beta, ", ", vector_bytes, " bytes"));
  GemmCandidates candidates(p, tilings, f.alpha, f.beta, vector_bytes);
  const int64_t count = std::max<int64_t>(p.count, 1);
  std::vector<T> a = numbers<T>(count * p.m * p.k, 1), b = numbers<T>(count * p.k * p.n, 2),
                 c = numbers<T>(count * p.m * p.n, 3);
  if (f.beta == 0) c.assign(c.size(), std::numeric_limits<T>::quiet_NaN());  // not to be read
  for (size_t t = 0; t < tilings.size(); ++t) {
    std::vector<T> one = c;
    ThContext context = context_of(1);
    candidates.run(t, context, a.data(), b.data(), one.data());
    for (int threads : {2, 3}) {
      std::vector<T> many = c;
      context = context_of(threads);
      candidates.run(t, context, a.data(), b.data(), many.data());
      ASSERT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)), 0) << tilings[t] << ", " << threads;
    }
    for (int64_t row = 0; row < count * p.m; ++row)
      for (int64_t j = 0; j < p.n; ++j) {
        const int64_t i = row % p.m;
        const T *x = a.data() + row / p.m * p.m * p.k, *y = b.data() + row / p.m * p.k * p.n;
        double sum = 0, size = 0, old = f.beta == 0 ? 0 : f.beta * static_cast<double>(c[row * p.n + j]);
        for (int64_t l = 0; l < p.k; ++l) {
          double product = static_cast<double>(p.trans_a ? x[l * p.m + i] : x[i * p.k + l]) *
                           static_cast<double>(p.trans_b ? y[j * p.k + l] : y[l * p.n + j]);
          sum += product;
          size += std::fabs(product);
        }
        double bound = (static_cast<double>(p.k) + 4) * std::numeric_limits<T>::epsilon() *
                       (std::fabs(f.alpha) * size + std::fabs(old));
        ASSERT_NEAR(one[row * p.n + j], f.alpha * sum + old, bound) << tilings[t] << " at " << row << ", " << j;
      }
  }
}

void expect_product(const MatrixProduct& p, Factors f, const std::vector<std::string>& tilings, int vector_bytes) {
  if (p.dtype == DType::kFloat32)
    expect_product<float>(p, f, tilings, vector_bytes);
  else
    expect_product<double>(p, f, tilings, vector_bytes);
}

TEST(GemmKernel, IsTheDefinition) {
  struct Lengths {
    int64_t m, k, n;
  };
  const Lengths all[] = {{1, 1, 1}, {7, 1, 7}, {13, 31, 17}, {60, 10, 130}, {60, 50, 10}, {29, 200, 65}};
  const Factors factors[] = {{1, 0}, {-0.01, 1}, {0.5, 0.25}, {2, 0}};
  const int widths[] = {64, 32, 16};
  size_t iteration = 0;  // walks through dtypes, widths and factors besides the shapes and transposes
  for (const Lengths& n : all)
    for (bool trans_a : {false, true})
      for (bool trans_b : {false, true}) {
        DType dtype = iteration % 2 == 0 ? DType::kFloat32 : DType::kFloat64;
        Factors f = factors[(iteration / 2 + iteration / 8) % 4];
        MatrixProduct p{dtype, n.m, n.n, n.k, trans_a, trans_b, f.beta != 0};
        expect_product(p, f, {"tile 6x2x64", "tile 4x3x7", "rows 6x2", "rows 4x3"}, widths[iteration % 3]);
        ++iteration;
      }
}

TEST(GemmKernel, IsTheDefinitionOfABatch) {
  const int widths[] = {64, 32, 16};
  size_t iteration = 0;
  for (const auto& [count, m, k, n] :
       {std::array<int64_t, 4>{37, 4, 4, 4}, {3, 13, 31, 17}, {5, 20, 9, 70}, {1, 1, 5, 1}})
    for (bool trans_a : {false, true})
      for (bool trans_b : {false, true}) {
        const DType dtype = iteration % 2 == 0 ? DType::kFloat32 : DType::kFloat64;
        expect_product({dtype, m, n, k, trans_a, trans_b, false, count}, {1, 0}, {"tile 6x2x64", "tile 4x3x7"},
                       widths[iteration++ % 3]);
      }
}

// The sums wrap around as the products do.
template <class T>
void expect_integers(MatrixProduct p, int vector_bytes) {
  p.dtype = dtype_of<T>();
  SCOPED_TRACE(str(name_of(p.dtype), ", ", vector_bytes, " bytes"));
  const std::vector<std::string> tilings = {"tile 6x2x64", "tile 4x3x7", "rows 6x2"};
  GemmCandidates candidates(p, tilings, 1, 0, vector_bytes);
  auto drawn = [](int64_t count, uint64_t seed) {
    const std::vector<int64_t> values = RandomState(seed).integers(0, int64_t{1} << 62, static_cast<size_t>(count));
    return std::vector<T>(values.begin(), values.end());
  };
  const std::vector<T> a = drawn(p.m * p.k, 1), b = drawn(p.k * p.n, 2);
  for (size_t t = 0; t < tilings.size(); ++t) {
    std::vector<T> c(static_cast<size_t>(p.m * p.n), 1);
    ThContext context = context_of(2);
    candidates.run(t, context, a.data(), b.data(), c.data());
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        uint64_t sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += static_cast<uint64_t>(p.trans_a ? a[l * p.m + i] : a[i * p.k + l]) *
                 static_cast<uint64_t>(p.trans_b ? b[j * p.k + l] : b[l * p.n + j]);
        ASSERT_EQ(c[i * p.n + j], static_cast<T>(sum)) << tilings[t] << " at " << i << ", " << j;
      }
  }
}

TEST(GemmKernel, IntegersWrapAround) {
  int iteration = 0;
  for (const int width : {64, 32, 16}) {
    const MatrixProduct p{.m = 13, .n = 70, .k = 31, .trans_a = iteration % 2 == 1, .trans_b = ++iteration % 2 == 0};
    expect_integers<int8_t>(p, width);
    expect_integers<uint16_t>(p, width);
    expect_integers<int32_t>(p, width);
    expect_integers<int64_t>(p, width);
  }
}

TEST(GemmKernel, IsTheDefinitionOfTheLargeProductsOfAnMlp) {
  expect_product({DType::kFloat32, 60, 500, 784, false, false, false}, {1, 0}, {"tile 6x4x392", "tile 8x3x196"}, 64);
  expect_product({DType::kFloat64, 784, 500, 60, true, false, true}, {-0.01, 1}, {"tile 6x4x60", "rows 4x6"}, 64);
  expect_product({DType::kFloat32, 60, 140, 330, false, true, false}, {1, 0}, {"tile 6x4x330", "tile 6x4x165"}, 64);
}

TEST(GemmKernel, FactorsMayBeKnownToTheCallOnly) {
  Expr c = tensor("c", {20, 40}, DType::kFloat32), a = tensor("a", {20, 9}, DType::kFloat32),
       b = tensor("b", {9, 40}, DType::kFloat32), alpha = tensor("alpha", {}, DType::kFloat32),
       beta = tensor("beta", {}, DType::kFloat32);
  Function f = function({c, alpha, a, b, beta}, {apply(gemm_op(), {c, alpha, a, b, beta})}, {},
                        {.threads = 1, .tune = Tune::kNever});
  auto tensor_of = [](std::vector<float> values, Shape shape) {
    return Tensor::of(std::move(values), std::move(shape));
  };
  std::vector<float> va = numbers<float>(180, 1), vb = numbers<float>(360, 2), vc = numbers<float>(800, 3);
  auto call = [&](float x, float y, const std::vector<float>& old) {
    return f({tensor_of(old, {20, 40}), Tensor(x), tensor_of(va, {20, 9}), tensor_of(vb, {9, 40}), Tensor(y)})[0];
  };
  Tensor sum = call(1, 0, vc), both = call(2, 3, vc);
  // A factor of 0 that only the call knows loses no NaN; a literal one would (docs/semantics.md).
  std::vector<float> with_nan = vc;
  with_nan[123] = std::numeric_limits<float>::quiet_NaN();
  with_nan[321] = std::numeric_limits<float>::infinity();
  Tensor over_nan = call(1, 0, with_nan);
  for (size_t i = 0; i < 800; ++i) {
    double expected = 0;
    for (size_t l = 0; l < 9; ++l) expected += double{va[i / 40 * 9 + l]} * double{vb[l * 40 + i % 40]};
    ASSERT_NEAR(sum.data<float>()[i], expected, 1e-5);
    if (i == 123 || i == 321)
      ASSERT_TRUE(std::isnan(over_nan.data<float>()[i]));
    else
      ASSERT_EQ(over_nan.data<float>()[i], sum.data<float>()[i]);
    ASSERT_NEAR(both.data<float>()[i], 2 * expected + 3 * double{vc[i]}, 2e-5);
  }
}

// One step for a scaled product and a scaled addend: ours reads the addend where it lies, a library's is copied once.
TEST(GemmKernel, AScaledProductAndAScaledAddendAreOneStep) {
  Expr a = tensor("a", {40, 30}, DType::kFloat64), b = tensor("b", {30, 50}, DType::kFloat64),
       z = tensor("z", {40, 50}, DType::kFloat64), t = tensor("t", {50, 40}, DType::kFloat64);
  Expr m = matrix("m"), n = matrix("n"), c = matrix("c");
  struct Row {
    std::string name;
    Expr value;
    int gemms, copies;
  };
  const Row rows[] = {
      {"2 a.b + z / 2", 2 * dot(a, b) + .5 * z, 1, 0},
      {"z - a.b / 10", z - .1 * dot(a, b), 1, 0},
      {"a.b + z", dot(a, b) + z, 1, 0},
      {"of a transposed addend", 2 * dot(a, b) + .5 * transpose(t), 1, 1},
      {"of lengths that the call knows", 2 * dot(m, n) + .5 * c, 1, 1},
      {"of these, not scaled", c - .1 * dot(m, n), 1, 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    std::vector<In> inputs{a, b, z, t, m, n, c};
    const FunctionOptions options{.unused_inputs = UnusedInputs::kAllowed, .tune = Tune::kNever};
    Function f = function(inputs, {row.value}, {}, options);
    Function g = function(inputs, {row.value}, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed});
    const std::string program = f.explain().program;
    auto count = [&](const std::string& what) {
      int out = 0;
      for (size_t at = program.find(what); at != std::string::npos; at = program.find(what, at + 1)) ++out;
      return out;
    };
    EXPECT_EQ(count("-- gemm_f64") + count("-- kernel gemm_"), row.gemms) << program;
    EXPECT_EQ(count("-- kernel copy"), row.copies) << program;
    EXPECT_EQ(count("  -- "), row.gemms + row.copies) << program;
    auto values = [](Shape shape, uint64_t seed) {
      return Tensor::of(numbers<double>(element_count(shape), seed), shape);
    };
    const std::vector<Tensor> arguments{values({40, 30}, 1), values({30, 50}, 2), values({40, 50}, 3),
                                        values({50, 40}, 4), values({7, 5}, 5),   values({5, 9}, 6),
                                        values({7, 9}, 7)};
    const Tensor got = f(arguments)[0], want = g(arguments)[0];
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.as_double(i), want.as_double(i), 1e-11) << i;
  }
}

// What is added is read from where it lies by the first slab; the others add to what that wrote.
TEST(GemmKernel, TheFirstSlabReadsTheAddend) {
  MatrixProduct p{DType::kFloat32, 4, 16, 20, false, false, true};
  Expr z = tensor("z", {p.m, p.n}, p.dtype), a = tensor("a", {p.m, p.k}, p.dtype), b = tensor("b", {p.k, p.n}, p.dtype);
  auto number = [](float x) { return make_constant(Tensor(x)); };
  Expr c = apply(gemm_op(), {z, number(1), a, b, number(1)});
  auto operand = [](int index, const Expr& e) { return kernel::Operand{index, e.type(), row_major(e.dims())}; };
  for (int64_t depth : {20, 10}) {
    kernel::StepBuilder builder(
        c.node(), {operand(0, z), operand(1, number(1)), operand(2, a), operand(3, b), operand(4, number(1))},
        {operand(5, c)}, kernel::Target{});
    GemmCall call{p, builder.input(2), builder.input(3), builder.output(), p.k, p.n, p.n, 1.0, 1.0};
    call.addend = &builder.input(0);
    lower_gemm(builder, call, {4, 1, depth});
    kernel::Helpers helpers;
    const std::string code = kernel::print_function(*std::get<kernel::KernelCall>(builder.take().front()).function,
                                                    kernel::dialect_of({.vector_bytes = 64}), helpers)
                                 .named("f");
    EXPECT_NE(code.find("load_f32x16((const float*)(in0"), std::string::npos) << code;
    EXPECT_EQ(code.find("load_f32x16((const float*)(out0") != std::string::npos, depth == 10) << code;
  }
}

// Two rows of one vector at a time, and a panel of the right factor with them.
TEST(GoldenCode, ATileOfAProduct) {
  const kernel::Target target{.vector_bytes = 16};
  MatrixProduct p{DType::kFloat32, 5, 6, 3, false, false, false};
  Expr a = tensor("a", {p.m, p.k}, p.dtype), b = tensor("b", {p.k, p.n}, p.dtype), c = dot(a, b);
  kernel::StepBuilder builder(c.node(), {{0, a.type(), row_major(a.dims())}, {1, b.type(), row_major(b.dims())}},
                              {{2, c.type(), row_major(c.dims())}}, target);
  lower_gemm(builder, {p, builder.input(0), builder.input(1), builder.output(), p.k, p.n, p.n}, {2, 1, 3});
  kernel::Helpers helpers;
  const kernel::FunctionText text = kernel::print_function(
      *std::get<kernel::KernelCall>(builder.take().front()).function, kernel::dialect_of(target), helpers);
  expect_golden(str(helpers.text(), "\n", text.named("product")), "code/tile_of_a_product.txt");
}

// Takes the square root of the sums.
class SquareRoots : public KernelEpilogue {
 public:
  explicit SquareRoots(kernel::StepBuilder& builder) : builder_(builder) {}
  std::string name() const override { return "sqrt"; }
  std::string comment() const override { return "out0 = sqrt(sums)"; }
  void begin() override {}
  void write(const kernel::Term& sum, const std::vector<kernel::Term>& index,
             const kernel::Term& count) const override {
    builder_.store(builder_.output(), index[0] * kernel::Term(16) + index[1], sqrt(sum), 1, count);
  }
  bool reads_elements() const override { return false; }
  void prefetch(const std::vector<kernel::Term>&) const override {}
  bool is_flat_from(size_t) const override { return true; }

 private:
  kernel::StepBuilder& builder_;
};

// An epilogue is written once for all vectors, and runs when all products are there.
TEST(GemmKernel, EndsWithItsEpilogue) {
  MatrixProduct p{DType::kFloat32, 4, 16, 20, false, false, false};
  Expr a = tensor("a", {p.m, p.k}, p.dtype), b = tensor("b", {p.k, p.n}, p.dtype), c = dot(a, b);
  auto text = [&](int64_t depth) {
    kernel::StepBuilder builder(c.node(), {{0, a.type(), row_major(a.dims())}, {1, b.type(), row_major(b.dims())}},
                                {{2, c.type(), row_major(c.dims())}}, kernel::Target{});
    SquareRoots epilogue(builder);
    GemmCall call{p, builder.input(0), builder.input(1), builder.output(), p.k, p.n, p.n};
    call.epilogue = &epilogue;
    lower_gemm(builder, call, {4, 1, depth});
    kernel::Helpers helpers;
    return kernel::print_function(*std::get<kernel::KernelCall>(builder.take().front()).function,
                                  kernel::dialect_of({.vector_bytes = 64}), helpers)
        .named("f");
  };
  auto count = [](const std::string& in, const std::string& what) {
    int out = 0;
    for (size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++out;
    return out;
  };
  for (int64_t depth : {20, 10}) {
    const std::string code = text(depth);
    EXPECT_EQ(count(code, "sqrt_f32x16("), 1) << depth;
    EXPECT_EQ(count(code, "store_f32x16((float*)(out0"), 1) << depth;
    EXPECT_EQ(count(code, "store_f32x16((float*)(sums"), depth == 20 ? 4 : 5) << "cleared, and added to by each slab";
  }
}

// Fewer rows where the first cache holds the panel; else no more than a quarter.
TEST(GemmKernel, HasBlocksOfOneHeightWhereTheyCostLittle) {
  const kernel::Target target{.first_cache_bytes = 32 << 10};
  const auto rows = [&](const GemmTiling& tiling, int64_t m, int64_t k, int64_t vectors, int64_t n = 300) {
    return rows_of_block(tiling, {DType::kFloat32, m, n, k, false, false, false}, vectors, target);
  };
  EXPECT_EQ(rows({6, 4, 50}, 784, 50, 4), 4);
  EXPECT_EQ(rows({6, 4, 392}, 784, 784, 4), 6);
  EXPECT_EQ(rows({6, 4, 10}, 50, 10, 3), 5);
  EXPECT_EQ(rows({6, 4, 392}, 50, 784, 3), 5);  // the last tile of five
  EXPECT_EQ(rows({6, 4, 392}, 50, 784, 3, /*n=*/240), 8);
  EXPECT_EQ(rows({6, 4, 392}, 50, 784, 4), 5);
  EXPECT_EQ(rows({6, 4, 10}, 53, 10, 4), 6);
}

TEST(GemmKernel, NamesOfTilings) {
  GemmTiling tiling{6, 4, 392};
  EXPECT_EQ(name_of(tiling), "tile 6x4x392");
  EXPECT_EQ(gemm_tiling_named("tile 6x4x392"), tiling);
  for (const char* wrong :
       {"", "rows", "rows 6x", "rows 6x4x60", "tile", "tile 6x4", "tile 6x4x", "tile 6x4x392 ", "tile 0x4x392",
        "tile -6x4x392", "tile 6x4x392x1", "Tile 6x4x392", "tile 6x4x9999999", "library"})
    EXPECT_FALSE(gemm_tiling_named(wrong)) << wrong;
  GemmTiling by_rows{4, 6, 1 << 20, true};
  EXPECT_EQ(name_of(by_rows), "rows 4x6");
  EXPECT_EQ(gemm_tiling_named("rows 4x6"), by_rows);
  const MatrixProduct p{DType::kFloat32, 784, 500, 60, true, false, true};
  const kernel::Target avx512, avx2{.isa = "avx2", .vector_bytes = 32};
  EXPECT_TRUE(is_possible({6, 4, 392}, p, avx512));
  EXPECT_FALSE(is_possible({6, 4, 392}, p, avx2));     // 24 accumulators of 16 registers
  EXPECT_FALSE(is_possible({6, 4, 4000}, p, avx512));  // a panel of a megabyte
  EXPECT_TRUE(is_possible(by_rows, p, avx512));
  EXPECT_TRUE(is_possible({6, 4, 30}, p, avx512, true));
  EXPECT_FALSE(
      is_possible({6, 4, 30}, {DType::kFloat32, 1025, 500, 60, true, false, true}, avx512, true));  // their sums
  EXPECT_TRUE(is_possible({6, 4, 60}, {DType::kFloat32, 1025, 500, 60, true, false, true}, avx512, true));  // one slab
  EXPECT_FALSE(is_possible(by_rows, {DType::kFloat32, 784, 5000, 60, true, false, true}, avx512));  // 1.2 MB of panels
}

}  // namespace
}  // namespace thtrain::gemm_kernel_test

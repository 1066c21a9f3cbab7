// The special values of every mathematical function, as the C standard's Annex F gives them: at each width, in every
// lane of a vector, in its tail, and alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>

#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "tests/support/native_program.h"

namespace thtrain::vector_maths_test {
namespace {

// f(x), or f(x, y), is `value` bit by bit; NaN stands for every NaN.
template <class T>
struct Point {
  T x, value, y = 0;
};
template <class T>
struct Triple {
  T x, y, value;
  operator Point<T>() const { return {x, value, y}; }
};
template <class T>
struct Function {
  std::string name;
  std::function<Expr(const Expr& x, const Expr& y)> build;
  std::vector<Point<T>> points;
};

template <class T>
struct Numbers {
  using L = std::numeric_limits<T>;
  static constexpr T inf = L::infinity(), nan = L::quiet_NaN(), max = L::max(), min = L::min(),
                     tiny = 3 * L::denorm_min();
  static constexpr bool f32 = sizeof(T) == 4;
  static constexpr T pi = std::numbers::pi_v<T>;
  // The last numbers, to two digits after the point, before and the first after an exponential leaves the range.
  static constexpr T exp_over = f32 ? T(88.73) : T(709.79), exp_under = f32 ? T(-103.98) : T(-745.14);
  static constexpr T exp2_over = f32 ? 128 : 1024, exp2_under = f32 ? T(-150.01) : T(-1075.01);
  static constexpr T cosh_over = f32 ? T(89.42) : T(710.48);
};

template <Expr (*f)(const Operand&)>
Expr of_one(const Expr& x, const Expr&) {
  return f(x);
}
template <Expr (*f)(const Operand&, const Operand&)>
Expr of_two(const Expr& x, const Expr& y) {
  return f(x, y);
}

// Odd functions that keep 0 and its sign, and what is so small that f(x) rounds to x.
template <class T>
std::vector<Point<T>> keeps_zero(std::vector<Point<T>> more) {
  constexpr T tiny = Numbers<T>::tiny, min = Numbers<T>::min;
  std::vector<Point<T>> out = {{T(0), T(0)},   {T(-0.0), T(-0.0)}, {tiny, tiny},
                               {-tiny, -tiny}, {min, min},         {-min, -min}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

template <class T>
std::vector<Function<T>> exponentials() {
  using N = Numbers<T>;
  constexpr T inf = N::inf, tiny = N::tiny;
  return {
      {"exp",
       of_one<exp>,
       {{0, 1},
        {T(-0.0), 1},
        {tiny, 1},
        {-tiny, 1},
        {inf, inf},
        {-inf, 0},
        {N::exp_over, inf},
        {N::max, inf},
        {N::exp_under, 0},
        {-N::max, 0}}},
      {"exp2",
       of_one<exp2>,
       {{0, 1},
        {T(-0.0), 1},
        {tiny, 1},
        {-tiny, 1},
        {inf, inf},
        {-inf, 0},
        {N::exp2_over, inf},
        {N::max, inf},
        {N::exp2_under, 0},
        {-N::max, 0},
        {10, 1024},
        {-3, T(0.125)}}},
      {"expm1", of_one<expm1>,
       keeps_zero<T>({{inf, inf}, {-inf, -1}, {N::exp_over, inf}, {N::max, inf}, {-50, -1}, {-N::max, -1}})},
      {"log",
       of_one<log>,
       {{1, 0}, {0, -inf}, {T(-0.0), -inf}, {-1, N::nan}, {-tiny, N::nan}, {-inf, N::nan}, {inf, inf}}},
      {"log2",
       of_one<log2>,
       {{1, 0},
        {0, -inf},
        {T(-0.0), -inf},
        {-1, N::nan},
        {-tiny, N::nan},
        {-inf, N::nan},
        {inf, inf},
        {1024, 10},
        {T(0.125), -3}}},
      {"log10",
       of_one<log10>,
       {{1, 0}, {0, -inf}, {T(-0.0), -inf}, {-1, N::nan}, {-tiny, N::nan}, {-inf, N::nan}, {inf, inf}}},
      {"log1p", of_one<log1p>,
       keeps_zero<T>({{-1, -inf}, {T(-1.001), N::nan}, {-N::max, N::nan}, {-inf, N::nan}, {inf, inf}})},
      {"sigmoid",
       of_one<sigmoid>,
       {{0, T(0.5)}, {T(-0.0), T(0.5)}, {inf, 1}, {-inf, 0}, {N::max, 1}, {-N::max, 0}, {50, 1}, {N::exp_under, 0}}},
      {"softplus",
       of_one<softplus>,
       {{inf, inf}, {-inf, 0}, {N::max, N::max}, {-N::max, 0}, {N::exp_under, 0}, {50, 50}}},
      {"erf",
       of_one<erf>,
       {{0, 0},
        {T(-0.0), T(-0.0)},
        {tiny, tiny},
        {-tiny, -tiny},
        {inf, 1},
        {-inf, -1},
        {N::max, 1},
        {-N::max, -1},
        {10, 1},
        {-10, -1}}},
      {"erfc",
       of_one<erfc>,
       {{0, 1},
        {T(-0.0), 1},
        {tiny, 1},
        {-tiny, 1},
        {inf, 0},
        {-inf, 2},
        {N::max, 0},
        {-N::max, 2},
        {-10, 2},
        {30, 0}}}};
}

template <class T>
std::vector<Function<T>> trigonometry() {
  using N = Numbers<T>;
  constexpr T inf = N::inf, nan = N::nan, tiny = N::tiny;
  return {
      {"sin", of_one<sin>, keeps_zero<T>({{inf, nan}, {-inf, nan}})},
      {"cos", of_one<cos>, {{0, 1}, {T(-0.0), 1}, {tiny, 1}, {-tiny, 1}, {inf, nan}, {-inf, nan}}},
      {"tan", of_one<tan>, keeps_zero<T>({{inf, nan}, {-inf, nan}})},
      {"arcsin", of_one<arcsin>,
       keeps_zero<T>({{T(1.001), nan}, {T(-1.001), nan}, {N::max, nan}, {inf, nan}, {-inf, nan}})},
      {"arccos", of_one<arccos>, {{1, 0}, {T(1.001), nan}, {T(-1.001), nan}, {N::max, nan}, {inf, nan}, {-inf, nan}}},
      {"arctan", of_one<arctan>, keeps_zero<T>({{inf, N::pi / 2}, {-inf, -N::pi / 2}, {N::max, N::pi / 2}})},
      {"sinh", of_one<sinh>,
       keeps_zero<T>(
           {{inf, inf}, {-inf, -inf}, {N::cosh_over, inf}, {-N::cosh_over, -inf}, {N::max, inf}, {-N::max, -inf}})},
      {"cosh",
       of_one<cosh>,
       {{0, 1},
        {T(-0.0), 1},
        {tiny, 1},
        {-tiny, 1},
        {inf, inf},
        {-inf, inf},
        {N::cosh_over, inf},
        {-N::cosh_over, inf},
        {N::max, inf},
        {-N::max, inf}}},
      {"tanh", of_one<tanh>, keeps_zero<T>({{inf, 1}, {-inf, -1}, {N::max, 1}, {-N::max, -1}, {30, 1}, {-30, -1}})},
      {"arcsinh", of_one<arcsinh>, keeps_zero<T>({{inf, inf}, {-inf, -inf}})},
      {"arccosh",
       of_one<arccosh>,
       {{1, 0}, {T(0.999), nan}, {0, nan}, {T(-0.0), nan}, {-1, nan}, {-N::max, nan}, {-inf, nan}, {inf, inf}}},
      {"arctanh", of_one<arctanh>,
       keeps_zero<T>({{1, inf}, {-1, -inf}, {T(1.001), nan}, {-2, nan}, {N::max, nan}, {inf, nan}, {-inf, nan}})}};
}

template <class T>
std::vector<Triple<T>> powers() {
  using N = Numbers<T>;
  constexpr T inf = N::inf, nan = N::nan, minus_zero = T(-0.0), half = T(0.5);
  std::vector<Triple<T>> out = {{0, -3, inf},
                                {minus_zero, -3, -inf},
                                {0, 3, 0},
                                {minus_zero, 3, minus_zero},
                                {-1, inf, 1},
                                {-1, -inf, 1},
                                {-2, half, nan},
                                {-N::max, T(1.5), nan},
                                {-2, 3, -8},
                                {-2, -3, T(-0.125)},
                                {-2, 2, 4},
                                {-inf, -3, minus_zero},
                                {-inf, 3, -inf},
                                {-inf, -2, 0},
                                {-inf, T(-2.5), 0},
                                {-inf, 2, inf},
                                {-inf, T(2.5), inf},
                                {inf, -1, 0},
                                {inf, N::tiny, inf},
                                {10, N::max, inf},
                                {10, -N::max, 0},
                                {half, N::max, 0},
                                {half, -N::max, inf},
                                {-2, N::max, inf},
                                {nan, 1, nan},
                                {2, nan, nan},
                                {-2, nan, nan},
                                {0, nan, nan},
                                {inf, nan, nan}};
  for (T zero : {T(0), minus_zero})
    for (T even : {T(2), T(2.5), half, inf}) out.insert(out.end(), {{zero, even, 0}, {zero, -even, inf}});
  for (T any : {T(0), minus_zero, T(-2), T(3), inf, -inf, nan, N::max, N::tiny})
    out.insert(out.end(), {{1, any, 1}, {any, 0, 1}, {any, minus_zero, 1}});
  for (T small : {half, -half, T(0), N::tiny}) out.insert(out.end(), {{small, inf, 0}, {small, -inf, inf}});
  for (T large : {T(2), T(-2), inf, -inf, N::max}) out.insert(out.end(), {{large, inf, inf}, {large, -inf, 0}});
  return out;
}

template <class T>
std::vector<Triple<T>> angles() {
  using N = Numbers<T>;
  constexpr T inf = N::inf, nan = N::nan, pi = N::pi, three_quarters = T(3 * std::numbers::pi / 4);
  std::vector<Triple<T>> out = {{nan, 1, nan}, {1, nan, nan}, {nan, inf, nan}, {inf, nan, nan}, {0, nan, nan}};
  for (T sign : {T(1), T(-1)}) {
    for (T x : {T(0), N::tiny, T(1), N::max, inf})
      out.insert(out.end(), {{sign * 0, x, sign * 0}, {sign * 0, -x, sign * pi}});
    for (T y : {N::tiny, T(1), N::max}) {
      out.insert(out.end(), {{sign * y, 0, sign * pi / 2}, {sign * y, T(-0.0), sign * pi / 2}});
      out.insert(out.end(), {{sign * y, inf, sign * 0}, {sign * y, -inf, sign * pi}});
    }
    for (T x : {T(0), T(-1), T(1), N::max}) out.push_back({sign * inf, x, sign * pi / 2});
    out.insert(out.end(), {{sign * inf, inf, sign * pi / 4}, {sign * inf, -inf, sign * three_quarters}});
  }
  return out;
}

template <class T>
std::vector<Function<T>> functions() {
  std::vector<Function<T>> out = exponentials<T>(), more = trigonometry<T>();
  out.insert(out.end(), more.begin(), more.end());
  for (Function<T>& f : out)
    f.points.insert(f.points.end(), {{Numbers<T>::nan, Numbers<T>::nan}, {-Numbers<T>::nan, Numbers<T>::nan}});
  std::vector<Triple<T>> of_pow = powers<T>(), of_arctan2 = angles<T>();
  out.push_back({"pow", of_two<pow>, {of_pow.begin(), of_pow.end()}});
  out.push_back({"arctan2", of_two<arctan2>, {of_arctan2.begin(), of_arctan2.end()}});
  return out;
}

template <class T>
bool same(T a, T b) {
  return std::isnan(b) ? std::isnan(a) : std::memcmp(&a, &b, sizeof a) == 0;
}

// All functions as one program of inputs of this rank, 0 or 1.
template <class T>
class Program {
 public:
  Program(const Target& target, size_t rank) : functions_(functions<T>()), rank_(rank), native_(compiled(target)) {}

  size_t most_points() const {
    size_t out = 0;
    for (const Function<T>& f : functions_) out = std::max(out, f.points.size());
    return out;
  }

  // Every function of points[which(i, number of its points)], i < n.
  void expect_values(size_t n, size_t (*which)(size_t i, size_t points, size_t call), size_t call,
                     const char* where) const {
    std::vector<Tensor> arguments;
    Shape shape(rank_, static_cast<int64_t>(n));
    for (const Function<T>& f : functions_) {
      Tensor x = Tensor::empty(dtype_of<T>(), shape), y = Tensor::empty(dtype_of<T>(), shape);
      for (size_t i = 0; i < n; ++i) {
        const Point<T>& p = f.points[which(i, f.points.size(), call)];
        x.template data<T>()[i] = p.x;
        y.template data<T>()[i] = p.y;
      }
      arguments.insert(arguments.end(), {x, y});
    }
    std::vector<Tensor> got = native_(arguments);
    for (size_t k = 0; k < functions_.size(); ++k)
      for (size_t i = 0; i < n; ++i) {
        const Function<T>& f = functions_[k];
        const Point<T>& p = f.points[which(i, f.points.size(), call)];
        T value = got[k].template data<T>()[i];
        EXPECT_TRUE(same(value, p.value)) << where << ": " << f.name << " of " << p.x << ", " << p.y << " at " << i
                                          << " is " << value << ", not " << p.value;
      }
  }

 private:
  NativeProgram compiled(const Target& target) const {
    Graph graph;
    for (const Function<T>& f : functions_) {
      Dims dims = rank_ == 0 ? Dims{} : Dims{"n"};
      Expr x = tensor(f.name + "_x", dims, dtype_of<T>()), y = tensor(f.name + "_y", dims, dtype_of<T>());
      graph.inputs.insert(graph.inputs.end(), {x, y});
      graph.outputs.push_back(f.build(x, y));
    }
    return NativeProgram(graph, target, false);
  }

  std::vector<Function<T>> functions_;
  size_t rank_;
  NativeProgram native_;
};

class VectorMaths : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (std::string reason = why_not(target_); !reason.empty()) GTEST_SKIP() << reason;
  }

  template <class T>
  void expect_in_every_location() {
    Program<T> vectors(target_, 1);
    // An odd period takes every point through all 16 lanes.
    vectors.expect_values(
        16 * (vectors.most_points() + 1), [](size_t i, size_t points, size_t) { return i % (points | 1) % points; }, 0,
        "in vectors");
    auto all_one = [](size_t, size_t points, size_t call) { return call % points; };
    for (size_t call = 0; call < vectors.most_points(); ++call) vectors.expect_values(1, all_one, call, "in a tail");
    Program<T> scalars(target_, 0);
    for (size_t call = 0; call < scalars.most_points(); ++call) scalars.expect_values(1, all_one, call, "alone");
  }

  Target target_{"g++", GetParam()};
};

TEST_P(VectorMaths, SpecialValuesOfFloat32AreTheStandards) {
  expect_in_every_location<float>();
}
TEST_P(VectorMaths, SpecialValuesOfFloat64AreTheStandards) {
  expect_in_every_location<double>();
}

// With a float64 a float32 is in narrower vectors; libmvec's widths differ in last bits.
TEST_P(VectorMaths, BitsDoNotDependOnTheVectorsOfTheKernel) {
  constexpr int64_t kCount = 2000;
  Tensor values = Tensor::empty(DType::kFloat32, {kCount});
  for (int64_t i = 0; i < kCount; ++i) values.data<float>()[i] = -5 + 0.005f * static_cast<float>(i);
  Expr x = tensor("x", {"n"}, DType::kFloat32);
  Graph alone{{x}, {}, {}}, with_float64{{x}, {}, {}};
  std::vector<Function<float>> all = functions<float>();
  for (const Function<float>& f : all) {
    Expr y = f.build(x, x);
    alone.outputs.push_back(y);
    with_float64.outputs.push_back(cast(y, DType::kFloat64) * 2);
  }
  std::vector<Tensor> expected = NativeProgram(alone, target_, false)({values});
  std::vector<Tensor> got = NativeProgram(with_float64, target_)({values});
  for (size_t k = 0; k < all.size(); ++k)
    for (int64_t i = 0; i < kCount; ++i)
      EXPECT_TRUE(same<double>(got[k].data<double>()[i] / 2, expected[k].data<float>()[i]))
          << all[k].name << " of " << values.data<float>()[i];
}

// Of what kernels compute themselves. AVX-512 scales by an instruction, others by two factors, which is the same where
// results are subnormal, too.
TEST(ComputedMaths, HasTheSameBitsAtEveryWidth) {
  const Target narrow{"g++", 32}, wide{"g++", 64};
  if (std::string reason = why_not(wide); !reason.empty()) GTEST_SKIP() << reason;
  const auto expect_same = [&]<class T>(T step) {
    constexpr int64_t kCount = 150'000;
    Tensor values = Tensor::empty(dtype_of<T>(), {kCount});
    for (int64_t i = 0; i < kCount; ++i) values.data<T>()[i] = step * static_cast<T>(i - kCount / 2);
    Expr x = tensor("x", {"n"}, dtype_of<T>());
    const Graph graph{{x}, {exp(x), tanh(x), tanh(x * T(0.001))}, {}};
    std::vector<Tensor> got = NativeProgram(graph, narrow, false)({values});
    std::vector<Tensor> expected = NativeProgram(graph, wide, false)({values});
    for (size_t k = 0; k < got.size(); ++k)
      EXPECT_EQ(std::memcmp(got[k].data<T>(), expected[k].data<T>(), kCount * sizeof(T)), 0) << "output " << k;
  };
  expect_same(0.0015f);  // from below -104 to above 89
  expect_same(0.01);     // from below -746 to above 710
}

INSTANTIATE_TEST_SUITE_P(Width, VectorMaths, testing::Values(16, 32, 64), testing::PrintToStringParamName());

}  // namespace
}  // namespace thtrain::vector_maths_test

// MRG31k3p: the published numbers, the layout of streams, and what is made of uniform numbers.
#include "compiler/runtime/mrg_streams.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"
#include "tests/support/error_text.h"

namespace thtrain::mrg_streams_test {
namespace {

std::vector<double> published() {
  std::ifstream file(source_path("tests/golden/mrg31k3p.txt"));
  std::vector<double> out;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) out.push_back(std::stod(line));
  return out;
}

constexpr int64_t kStreams = 12, kSubstreams = 7, kNumbers = 5;

TEST(Mrg31k3p, JumpsAsFarAsItSays) {
  Mrg31k3p one({12345, 12345, 12345, 12345, 12345, 12345}), other = one;
  for (int i = 0; i < 32; ++i) one.next();
  other.jump(5);
  EXPECT_EQ(one.state(), other.state());
}

TEST(Mrg31k3p, RefusesSeedsThatAreNoStates) {
  const auto text = [](Mrg31k3p::State seed) { return text_without_node([&] { MrgRandomStreams rng(seed); }); };
  EXPECT_EQ(text({0, 0, 0, 1, 2, 3}),
            "error: the seed of MRG31k3p is out of range\n"
            "  expected: 3 integers from 0 to 2147483646, then 3 from 0 to 2147462578, of each 3 one that is not 0\n"
            "  got:      0, 0, 0, 1, 2, 3");
  EXPECT_EQ(text({1, 2, 3, 2147462579, 2, 3}),
            "error: the seed of MRG31k3p is out of range\n"
            "  expected: 3 integers from 0 to 2147483646, then 3 from 0 to 2147462578, of each 3 one that is not 0\n"
            "  got:      1, 2, 3, 2147462579, 2, 3");
  EXPECT_EQ(text_without_node([] { MrgRandomStreams rng(0); }),
            "error: the seed of MRG31k3p is out of range\n"
            "  expected: an integer from 1 to 2147462578\n"
            "  got:      0");
}

class MrgStreamsIn : public testing::TestWithParam<Mode> {};

// One variable for each stream, a column for each substream.
TEST_P(MrgStreamsIn, GivesThePublishedNumbers) {
  const std::vector<double> expected = published();
  ASSERT_EQ(expected.size(), static_cast<size_t>(kStreams * kSubstreams * kNumbers));
  const MrgRandomStreams rng(12345);
  std::vector<Out> outputs;
  for (int64_t s = 0; s < kStreams; ++s)
    outputs.emplace_back(rng.uniform({kNumbers, kSubstreams}, 0.0, 1.0, DType::kFloat64, kSubstreams));
  for (const std::vector<Tensor>& got = function({}, outputs, {}, {.mode = GetParam()})({});
       const int64_t s : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
    for (int64_t j = 0; j < kSubstreams; ++j)
      for (int64_t k = 0; k < kNumbers; ++k)
        EXPECT_EQ(got[static_cast<size_t>(s)].at<double>({k, j}),
                  expected[static_cast<size_t>((s * kSubstreams + j) * kNumbers + k)])
            << s << ", " << j << ", " << k;
}

// The same numbers, a call for each row, or of several rows and a part.
TEST_P(MrgStreamsIn, GoesOnInItsStreams) {
  const MrgRandomStreams all(99), rows(99), parts(99);
  Function whole = function({}, {all.uniform({6, 37}, 0.0, 1.0, DType::kFloat64, 37)}, {}, {.mode = GetParam()});
  Function row = function({}, {rows.uniform({37}, 0.0, 1.0, DType::kFloat64, 37)}, {}, {.mode = GetParam()});
  const Tensor expected = whole({})[0];
  for (int64_t r = 0; r < 6; ++r) EXPECT_TRUE(same_bits(row({})[0], expected.rows(r, 1).reshape({37})));
  // 50 numbers: the first 13 streams give two, and are one number further than the others then.
  Function part = function({}, {parts.uniform({50}, 0.0, 1.0, DType::kFloat64, 37)}, {}, {.mode = GetParam()});
  const Tensor first = part({})[0], second = part({})[0];
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(first.as_double(i), expected.as_double(i));
    const int64_t s = i % 37, number = i / 37 + (s < 13 ? 2 : 1);
    EXPECT_EQ(second.as_double(i), expected.at<double>({number, s}));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, MrgStreamsIn, testing::Values(Mode::kNative, Mode::kReference, Mode::kDebug),
                         [](const auto& info) {
                           return info.param == Mode::kNative      ? "native"
                                  : info.param == Mode::kReference ? "reference"
                                                                   : "debug";
                         });

TEST(MrgStreams, GivesTheSameOnAnyNumberOfThreads) {
  const MrgRandomStreams one(7), two(7);
  Function f = function({}, {one.uniform({1000, 333}, -1, 2)}, {}, {.threads = 1});
  Function g = function({}, {two.uniform({1000, 333}, -1, 2)}, {}, {.threads = 2});
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_bits(f({})[0], g({})[0]));
  EXPECT_TRUE(same_bits(one.states()[0].get_value(), two.states()[0].get_value()));
}

TEST(MrgStreams, TakesAsManyStreamsAsTheSizeSays) {
  const MrgRandomStreams rng(7);
  const Expr x = vector("x");
  rng.uniform({}), rng.uniform({6}), rng.uniform({10, 10}), rng.uniform({1000, 1000}), rng.uniform(x.dims());
  rng.uniform({100}, 0, 1, {}, 3), rng.uniform({0});
  std::vector<int64_t> streams;
  for (const Shared& state : rng.states()) streams.push_back(state.type().dims[1].value());
  EXPECT_EQ(streams, (std::vector<int64_t>{1, 6, 16, 15360, 15360, 3, 1}));
}

TEST(MrgStreams, SeedBringsTheNumbersBack) {
  const MrgRandomStreams rng(234);
  Function f = function({}, {rng.uniform({10}), rng.normal({5})});
  const std::vector<Tensor> first = f({}), second = f({});
  rng.seed(234);
  const std::vector<Tensor> again = f({}), after = f({});
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_TRUE(same_bits(first[k], again[k]));
    EXPECT_TRUE(same_bits(second[k], after[k]));
  }
  rng.seed(23);
  EXPECT_FALSE(same_bits(first[0], f({})[0]));
}

TEST(MrgStreams, NumbersOfFloat32AreNeverOne) {
  // The state before the largest z: found by running one stream backwards is not needed, its factor tells.
  EXPECT_LT(static_cast<float>(Mrg31k3p::kModulus1) * 4.6566126e-10f, 1.0f);
  const MrgRandomStreams rng(5);
  const Tensor u = function({}, {rng.uniform({200000}, 0, 1, DType::kFloat32)})({})[0];
  for (int64_t i = 0; i < u.size(); ++i) ASSERT_TRUE(u.as_double(i) > 0 && u.as_double(i) < 1) << i;
}

TEST(MrgStreams, NormalNumbersAreThoseOfBoxAndMuller) {
  for (const Shape& shape : {Shape{1}, Shape{3}, Shape{4, 5}, Shape{}, Shape{0}}) {
    const int64_t n = element_count(shape), half = (n + 1) / 2;
    const MrgRandomStreams rng(11), other(11);
    const Expr z = rng.normal(shape, 2.0, 3.0, DType::kFloat64);
    const Expr uniform = other.uniform({2 * half}, 0, 1, DType::kFloat64);
    const std::vector<Tensor> got = function({}, {z, uniform})({});
    for (int64_t i = 0; i < n; ++i) {
      const double u = got[1].as_double(i % half), v = 2 * std::numbers::pi * got[1].as_double(half + i % half);
      const double expected = std::sqrt(-2 * std::log(u)) * (i < half ? std::cos(v) : std::sin(v));
      EXPECT_NEAR(got[0].as_double(i), 2 + 3 * expected, 1e-12) << shape_text(shape) << " " << i;
    }
    EXPECT_EQ(got[0].shape(), shape);
  }
}

TEST(MrgStreams, LengthsMayBeThoseOfAnInput) {
  const Expr x = matrix("x");
  const MrgRandomStreams rng(7), other(7);
  Function f = function({x}, {x + rng.normal(x.dims()), rng.binomial(x.dims(), 1, 0.5)});
  Function g = function({}, {other.normal({3, 5}, 0, 1, {}, 15360)});
  const std::vector<Tensor> got = f({Tensor::zeros(DType::kFloat64, {3, 5})});
  EXPECT_TRUE(same_bits(got[0], g({})[0]));
  EXPECT_EQ(got[1].shape(), (Shape{3, 5}));
  EXPECT_EQ(f({Tensor::zeros(DType::kFloat64, {0, 5})})[0].size(), 0);
}

TEST(MrgStreams, TruncatedNumbersStayWithinTwoDeviations) {
  constexpr double kDeviation = 0.87962566103423978;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const MrgRandomStreams rng(3);
    Function f = function({}, {rng.truncated_normal({20001}, 1.0, 2.0, dtype)});
    for (int call = 0; call < 2; ++call) {
      const Tensor x = f({})[0];
      ASSERT_EQ(x.shape(), (Shape{20001}));
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        const double one = x.as_double(i) - 1;
        ASSERT_LE(std::fabs(one), 4 / kDeviation * (1 + 1e-6));
        sum += one;
        squares += one * one;
      }
      EXPECT_NEAR(sum / 20001, 0, 4 * 2 / std::sqrt(20001));
      EXPECT_NEAR(std::sqrt(squares / 20001), 2, 0.04);
    }
  }
}

TEST(MrgStreams, DerivativesGoThroughTheParameters) {
  const Expr a = scalar("a"), b = vector("b", {4});
  const MrgRandomStreams rng(7);
  const Expr u = rng.uniform({4}, a, b), z = rng.normal({4}, a, b);
  const std::vector<Expr> by = grad(sum(u) + sum(z), {a, b});
  const Tensor at = Tensor::vector({0.5, 0.25, 2.0, 3.0});
  const std::vector<Tensor> got = function({a, b}, {u, z, by[0], by[1]})({Tensor(-1.0), at});
  double of_a = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const double position = (got[0].as_double(i) + 1) / (at.as_double(i) + 1);
    of_a += 1 - position + 1;
    EXPECT_NEAR(got[3].as_double(i), position + (got[1].as_double(i) + 1) / at.as_double(i), 1e-12);
  }
  EXPECT_NEAR(got[2].as_double(), of_a, 1e-12);
}

TEST(MrgStreams, ChoicesAreDifferentAndCountsAddUp) {
  const MrgRandomStreams rng(7);
  const Expr p = matrix("p");
  Function f = function({p}, {rng.choice(p, 3), rng.multinomial(p, 5)});
  const std::vector<Tensor> got = f({Tensor::matrix({{0.1, 0.2, 0.3, 0.4}, {0.0, 0.5, 0.25, 0.25}})});
  ASSERT_EQ(got[0].shape(), (Shape{2, 3}));
  ASSERT_EQ(got[1].shape(), (Shape{2, 4}));
  for (int64_t r = 0; r < 2; ++r) {
    std::vector<int> seen(4);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(++seen.at(static_cast<size_t>(got[0].at<int64_t>({r, i}))), 1);
    int64_t total = 0;
    for (int64_t k = 0; k < 4; ++k) total += got[1].at<int64_t>({r, k});
    EXPECT_EQ(total, 5);
  }
  EXPECT_NE(got[0].at<int64_t>({1, 0}), 0);
  EXPECT_EQ(got[1].at<int64_t>({1, 0}), 0);
}

}  // namespace
}  // namespace thtrain::mrg_streams_test

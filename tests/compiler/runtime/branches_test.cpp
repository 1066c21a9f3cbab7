// Branches whose sides give values of different dtypes and lengths.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain::branches_test {
namespace {

using Values = std::vector<Expr>;

// The same text in every mode.
std::vector<std::string> texts(const std::vector<Expr>& inputs, const Values& outputs,
                               const std::vector<Tensor>& values) {
  std::vector<std::string> out;
  for (const Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug}) {
    std::vector<std::string> got;
    for (const Tensor& value : function({inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, {},
                                        {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(values))
      got.push_back(value.text());
    if (mode == Mode::kReference) out = got;
    EXPECT_EQ(got, out);
  }
  return out;
}

const Expr c = scalar("c"), x = vector("x", {"n"});
const Tensor kYes(1.0), kNo(-1.0), kAt = Tensor::vector({1.0, -2.0, 3.0, 4.0});

TEST(Branches, TwoDtypesGiveTheOneThatBothPromoteTo) {
  const Expr i = make_input({.dtype = DType::kInt32, .dims = {2}}, "i"),
             f = make_input({.dtype = DType::kFloat32, .dims = {2}}, "f"),
             d = make_input({.dtype = DType::kFloat64, .dims = {2}}, "d");
  const Values v = if_else(
      gt(c, 0),
      [&] {
        return Values{i, f};
      },
      [&] {
        return Values{f, d};
      });
  EXPECT_EQ(v[0].dtype(), DType::kFloat32);
  EXPECT_EQ(v[1].dtype(), DType::kFloat64);
  const Values outputs{v[0], v[1], grad(sum(sqr(v[1])), f), grad(sum(sqr(v[0])), f), grad(sum(sqr(v[1])), d)};
  const std::vector<Tensor> at{kYes, Tensor::vector<int32_t>({1, 2}), Tensor::vector<float>({0.5, 3}),
                               Tensor::vector({0.25, 8.0})};
  EXPECT_EQ(texts({c, i, f, d}, outputs, at),
            (std::vector<std::string>{"[1, 2]", "[0.5, 3]", "[1, 6]", "[0, 0]", "[0, 0]"}));
  std::vector<Tensor> other = at;
  other[0] = kNo;
  EXPECT_EQ(texts({c, i, f, d}, outputs, other),
            (std::vector<std::string>{"[0.5, 3]", "[0.25, 8]", "[0, 0]", "[1, 6]", "[0.5, 16]"}));
}

TEST(Branches, TwoLengthsGiveOneThatTheDataDecides) {
  const Expr positive = x[gt(x, 0)], large = x[gt(x, 2.0)];
  const Expr v = if_else(
      gt(c, 0), [&] { return positive * 2; }, [&] { return x; });
  EXPECT_TRUE(is_data_dependent(v.dims()));
  const Values outputs{v, v + 1, grad(sum(sqr(v)), x), jvp(v, x, x), length(v, 0)};
  EXPECT_EQ(texts({c, x}, outputs, {kYes, kAt}),
            (std::vector<std::string>{"[2, 6, 8]", "[3, 7, 9]", "[8, 0, 24, 32]", "[2, 6, 8]", "3"}));
  EXPECT_EQ(texts({c, x}, outputs, {kNo, kAt}),
            (std::vector<std::string>{"[1, -2, 3, 4]", "[2, -1, 4, 5]", "[2, -4, 6, 8]", "[1, -2, 3, 4]", "4"}));
  // Of two masks, and nothing at all.
  const Expr masked = if_else(
      gt(c, 0), [&] { return positive; }, [&] { return large; });
  EXPECT_EQ(texts({c, x}, {masked}, {kYes, kAt})[0], "[1, 3, 4]");
  EXPECT_EQ(texts({c, x}, {masked}, {kNo, kAt})[0], "[3, 4]");
  EXPECT_EQ(texts({c, x}, {masked}, {kNo, Tensor::vector({-1.0})})[0], "[]");
}

TEST(Branches, LengthsThatAreKnownToDiffer) {
  const Expr a = matrix("a", {2, 3}), b = matrix("b", {4, 1});
  const Values v = if_else(
      gt(c, 0),
      [&] {
        return Values{a, sqr(a)};
      },
      [&] {
        return Values{b, exp(b * 0)};
      });
  const Values outputs{v[0], v[0] + v[1], grad(sum(v[0] * v[1]), a), grad(sum(v[0] * v[1]), b)};
  const std::vector<Tensor> at{kYes, Tensor::of(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}),
                               Tensor::of(std::vector{7.0, 8.0, 9.0, 10.0}, {4, 1})};
  EXPECT_EQ(texts({c, a, b}, outputs, at),
            (std::vector<std::string>{"[[1, 2, 3], [4, 5, 6]]", "[[2, 6, 12], [20, 30, 42]]",
                                      "[[3, 12, 27], [48, 75, 108]]", "[[0], [0], [0], [0]]"}));
  EXPECT_EQ(texts({c, a, b}, outputs, {kNo, at[1], at[2]}),
            (std::vector<std::string>{"[[7], [8], [9], [10]]", "[[8], [9], [10], [11]]", "[[0, 0, 0], [0, 0, 0]]",
                                      "[[1], [1], [1], [1]]"}));
}

TEST(Branches, OtherLengthsMustBeEqual) {
  const Expr y = vector("y", {"m"});
  const Expr v = if_else(
      gt(c, 0), [&] { return x; }, [&] { return y; });
  EXPECT_EQ(v.dims(), x.dims()) << "a length that only a call knows";
  EXPECT_EQ(texts({c, x, y}, {v}, {kNo, kAt, kAt})[0], kAt.text());
  EXPECT_TRUE(text_without_node([&] {
                function({c, x, y}, {v})(std::vector{kYes, kAt, Tensor::vector({1.0})});
              }).starts_with("error: if_else: value 0"));
}

TEST(Branches, WhatHasNoCommonTypeIsRefused) {
  const Expr i = make_input({.dtype = DType::kInt64, .dims = {2}}, "i"),
             n = make_input({.dtype = DType::kUInt64, .dims = {2}}, "n");
  auto branch = [&](const Expr& a, const Expr& b) {
    return text_without_node([&] {
      if_else(
          gt(c, 0), [&] { return a; }, [&] { return b; });
    });
  };
  EXPECT_EQ(
      branch(i, n),
      "error: if_else: value 0 has two types\n"
      "  expected: one type on both sides, got int64[2] and uint64[2]\n  got:      bool[], i int64[2], n uint64[2]");
  EXPECT_TRUE(branch(x, sum(x)).starts_with("error: if_else: value 0 has two types")) << branch(x, sum(x));
  EXPECT_TRUE(text_without_node([&] {
                repeat(2, {sum(x)}, [&](const Values& s) {
                  return Values{s[0] + sum(if_else(
                                           gt(s[0], 0), [&] { return x[Slice{.stop = 2}]; },
                                           [&] { return zeros({1}, DType::kFloat64); }))};
                });
              }).starts_with("no error"))
      << "min(n, 2) and 1 may be equal";
}

}  // namespace
}  // namespace thtrain::branches_test

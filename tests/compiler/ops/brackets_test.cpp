// x[i] against NumPy's: the comments have what NumPy prints for x = arange(12).reshape(3, 4), v = x[0].
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

class Brackets : public testing::Test {
 protected:
  Expr x = tensor("x", {3, 4}, DType::kInt64), i = iscalar("i"), which = ivector("which");

  std::string value(const Expr& part) {
    std::vector<int64_t> numbers;
    for (int64_t n = 0; n < 12; ++n) numbers.push_back(n);
    Function f =
        function({x, i, which}, {part}, {}, {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed});
    return f({Tensor::of(numbers, {3, 4}), Tensor(int64_t{-2}), Tensor::vector<int64_t>({2, -1, 0})})[0].text();
  }
};

TEST_F(Brackets, Integers) {
  EXPECT_EQ(value(x[0]), "[0, 1, 2, 3]");                                   // x[0]
  EXPECT_EQ(value(x[-1]), "[8, 9, 10, 11]");                                // x[-1]
  EXPECT_EQ(value(x[1][2]), "6");                                           // x[1][2]
  EXPECT_EQ(value(x[{1, -1}]), "7");                                        // x[1, -1]
  EXPECT_EQ(value(x[{}]), "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]");  // x[()]
}

TEST_F(Brackets, IntegerScalars) {
  EXPECT_EQ(value(x[i]), "[4, 5, 6, 7]");                   // x[-2]
  EXPECT_EQ(value(x[{i, i + 1}]), "7");                     // x[-2, -1]
  EXPECT_EQ(value(x[length(x, 0) - 1]), "[8, 9, 10, 11]");  // x[len(x) - 1]
}

TEST_F(Brackets, Slices) {
  EXPECT_EQ(value(x[Slice{.start = 1}]), "[[4, 5, 6, 7], [8, 9, 10, 11]]");  // x[1:]
  EXPECT_EQ(value(x[Slice{.stop = -1}]), "[[0, 1, 2, 3], [4, 5, 6, 7]]");    // x[:-1]
  EXPECT_EQ(value(x[{all(), 1}]), "[1, 5, 9]");                              // x[:, 1]
  EXPECT_EQ(value(x[{-1, Slice{.start = 1, .stop = 3}}]), "[9, 10]");        // x[-1, 1:3]
  EXPECT_EQ(value(x[0][Slice{.step = -1}]), "[3, 2, 1, 0]");                 // x[0][::-1]
  EXPECT_EQ(value(x[{all(), Slice{.start = 9}}]), "[[], [], []]");           // x[:, 9:]
}

TEST_F(Brackets, IntegerVectors) {
  EXPECT_EQ(value(x[which]), "[[8, 9, 10, 11], [8, 9, 10, 11], [0, 1, 2, 3]]");  // x[[2, -1, 0]]
  EXPECT_EQ(value(x[1][which]), "[6, 7, 4]");                                    // x[1][[2, -1, 0]]
}

TEST_F(Brackets, SeveralIntegerTensorsNameElements) {
  const Expr column = dimshuffle(which, {0, -1});
  EXPECT_EQ(value(x[{which, which}]), "[10, 11, 0]");                             // x[[2, -1, 0], [2, -1, 0]]
  EXPECT_EQ(value(x[{which, 1}]), "[9, 9, 1]");                                   // x[[2, -1, 0], 1]
  EXPECT_EQ(value(x[{i, which}]), "[6, 7, 4]");                                   // x[-2, [2, -1, 0]]
  EXPECT_EQ(value(x[{column, which}]), "[[10, 11, 8], [10, 11, 8], [2, 3, 0]]");  // x[[[2], [-1], [0]], [2, -1, 0]]
  const std::vector<Expr> large = nonzero(x > 6);
  EXPECT_EQ(value(x[{large[0], large[1]}]), "[7, 8, 9, 10, 11]");  // x[np.nonzero(x > 6)]
  EXPECT_EQ(value(inc_subtensor(x[{which, 0}], 100)), "[[100, 1, 2, 3], [4, 5, 6, 7], [208, 9, 10, 11]]");
}

TEST_F(Brackets, OfSharedVariablesAndWritten) {
  Shared w(Tensor::matrix<double>({{1, 2}, {3, 4}}), "w");
  function({}, {}, {{w, set_subtensor(w[{0, 1}], 7)}})({});
  EXPECT_EQ(w.get_value().text(), "[[1, 7], [3, 4]]");
  EXPECT_EQ(function({}, {w[-1]})({})[0].text(), "[3, 4]");
  Expr d = grad(sum(sqr(w[1])), w.expr());
  EXPECT_EQ(function({}, {d})({})[0].text(), "[[0, 0], [6, 8]]");
}

TEST_F(Brackets, WhatIsRefused) {
  EXPECT_EQ(text_without_node([&] { x[3]; }),
            "error: subtensor: the index 3 is outside axis 0\n  expected: -3 <= index < 3\n  got:      x int64[3, 4]");
  EXPECT_EQ(text_without_node([&] {
              x[{which, which, 0}];
            }),
            "error: subtensor: 3 indices are given\n  expected: at most 2\n  got:      x int64[3, 4]");
  EXPECT_EQ(text_without_node([&] {
              x[{0, 0, 0}];
            }),
            "error: subtensor: 3 indices are given\n  expected: at most 2\n  got:      x int64[3, 4]");
  EXPECT_EQ(text_without_node([&] { x[cast(i, DType::kFloat64)]; }),
            "error: subtensor: an index is neither integers nor bools\n"
            "  expected: integers, slices, integer tensors, masks with axes, an ellipsis or new axes\n"
            "  got:      float64[]");
  try {
    x[3];
  } catch (const UserError& error) {
    EXPECT_NE(error.messages()[0].node.find("brackets_test.cpp:"), std::string::npos) << error.what();
  }
}

// take and pick_rows agree about negative numbers; the losses take labels, which are none.
TEST_F(Brackets, PickedRowsCountFromTheEndAsTakeDoes) {
  Expr rows = tensor("rows", {3}, DType::kInt64), p = tensor("p", {3, 4}, DType::kFloat64);
  for (Mode mode : {Mode::kNative, Mode::kReference}) {
    const FunctionOptions options{.mode = mode, .unused_inputs = UnusedInputs::kAllowed};
    Tensor numbers = Tensor::matrix<double>({{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}});
    Function f =
        function({p, rows}, {pick_rows(p, rows), grad(sum(pick_rows(p, rows)), p), take(p, rows, 1)}, {}, options);
    std::vector<Tensor> got = f({numbers, Tensor::vector({-1, 0, -4})});
    EXPECT_EQ(got[0].text(), "[4, 5, 9]");  // p[arange(3), [-1, 0, -4]]
    EXPECT_EQ(got[1].text(), "[[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]]");
    EXPECT_EQ(text_without_node([&] {
                f({numbers, Tensor::vector({0, -5, 0})});
              }),
              "error: pick_rows: the index of row 1 is -5\n  expected: -4 <= index < 4");
    Function loss = function({p, rows}, {categorical_crossentropy(p, rows)}, {}, options);
    EXPECT_EQ(text_without_node([&] {
                loss({numbers, Tensor::vector({0, -1, 0})});
              }),
              "error: pick_rows: the label of row 1 is -1\n  expected: 0 <= label < 4");
  }
}

}  // namespace
}  // namespace thtrain

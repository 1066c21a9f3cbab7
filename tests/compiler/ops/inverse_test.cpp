// The inverse of a matrix: values, the workspace, and the error of a singular one.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/variables.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

Function inverse_function_of(DType dtype, Mode mode, const Dims& lengths = {"n", "n"}) {
  const Expr x = tensor("x", lengths, dtype);
  return function({x}, {inverse(x)}, {}, {.mode = mode});
}

// numpy.linalg.inv of NumPy 1.24.2.
TEST(Inverse, IsThatOfNumPy) {
  const Tensor x = Tensor::matrix({{0.2, 0.83, -0.84}, {0.04, 1.57, 1.59}, {-1.5, -1.17, -1.79}});
  const double expected[] = {0.2346252540744528, -0.6096551996660912, -0.6516407714478354,
                             0.5713495397640411, 0.3996038537815417,  0.08683604140271325,
                             -0.570065275215423, 0.2496906651255492,  -0.0693502856253751};
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    const Tensor out = inverse_function_of(DType::kFloat64, mode)({x})[0];
    for (int64_t i = 0; i < 9; ++i) EXPECT_NEAR(out.as_double(i), expected[i], 1e-15) << i;
  }
}

TEST(Inverse, TakesItsWorkspaceFromTheArena) {
  Function f = inverse_function_of(DType::kFloat32, Mode::kNative, {8, 8});
  EXPECT_TRUE(f.info().reference_steps.empty());
  EXPECT_GE(f.info().arena_bytes, 8 * 64 * 4 + 8 * 4);
  const std::string program = f.explain().program;
  EXPECT_NE(program.find("-- inverse_f32"), std::string::npos) << program;
  EXPECT_NE(program.find("uses   workspace"), std::string::npos) << program;
}

TEST(Inverse, ASingularMatrixIsALocatedError) {
  Tensor singular = Tensor::matrix({{1, 2, 3}, {2, 4, 6}, {1, 0, 1}});
  for (Mode mode : {Mode::kNative, Mode::kReference, Mode::kDebug}) {
    Function f = inverse_function_of(DType::kFloat64, mode);
    EXPECT_EQ(text_without_node([&] { f({singular}); }),
              "error: inverse: the matrix is singular\n"
              "  expected: pivots other than 0, found 0 as pivot 2 of the LU factorization");
    try {
      f({singular});
    } catch (const UserError& error) {
      EXPECT_NE(error.messages()[0].node.find("inverse_test.cpp"), std::string::npos) << error.what();
    }
    EXPECT_EQ(f({Tensor::matrix({{2, 0}, {0, 4}})})[0].as_double(0), 0.5) << "the next call is a call like any other";
  }
}

TEST(Inverse, WantsASquareMatrixOfFloats) {
  EXPECT_NE(text_without_node([] {
              inverse(tensor("x", {2, 3}, DType::kFloat32));
            }).find("rows and columns differ"),
            std::string::npos);
  EXPECT_NE(text_without_node([] { inverse(tensor("x", {2}, DType::kFloat32)); }).find("no matrix of floats"),
            std::string::npos);
  EXPECT_NE(text_without_node([] {
              inverse(tensor("x", {2, 2}, DType::kInt32));
            }).find("no matrix of floats"),
            std::string::npos);
}

}  // namespace
}  // namespace thtrain

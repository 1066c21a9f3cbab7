// Errors of the functions of derivatives name the function that the user called, and the line of the call.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "tests/support/datasets_support.h"

namespace thtrain::derivative_errors_test {
namespace {

constexpr const char* kZeros =
    "\n  hint:     leave it out of wrt, or ask for zeros with GradOptions{.disconnected = Disconnected::kZero}";

std::string node_of(int built, const char* name, int called) {
  return str("\n  node:     built at ", __FILE__, ":", built, "; ", name, " is called at ", __FILE__, ":", called);
}

TEST(DerivativeErrors, ADisconnectedValueNamesTheFunctionThatWasCalled) {
  const int built = __LINE__ + 1;
  const Expr x = vector("x", {2}), y = vector("y", {2}), cost = sum(sqr(x));
  int line = 0;
  std::string got;
  auto text = [&](const char* name, const char* depends, const char* end) {
    return str("error: ", name, ": ", depends, " y float64[2]\n  got:      no path of the graph leads from y to ", end,
               node_of(built, name, line), kZeros);
  };
  got = error_text([&] { line = __LINE__, grad(cost, y); });
  EXPECT_EQ(got, text("grad", "the cost does not depend on", "the cost"));
  got = error_text([&] { line = __LINE__, vjp(exp(x), y, x); });
  EXPECT_EQ(got, text("vjp", "no output depends on", "the outputs"));
  got = error_text([&] { line = __LINE__, Lop(exp(x), y, x); });
  EXPECT_EQ(got, text("vjp", "no output depends on", "the outputs"));
  got = error_text([&] { line = __LINE__, jacobian(exp(x), y); });
  EXPECT_EQ(got, text("jacobian", "the value does not depend on", "the value"));
  got = error_text([&] { line = __LINE__, hessian(cost, y); });
  EXPECT_EQ(got, text("hessian", "the cost does not depend on", "the cost"));
  got = error_text([&] { line = __LINE__, hessian_vector_product(cost, y, x); });
  EXPECT_EQ(got, text("hessian_vector_product", "the cost does not depend on", "the cost"));
  got = error_text([&] { line = __LINE__, jvp({exp(x)}, {x, y}, {x, x}); });
  EXPECT_EQ(got,
            str("error: jvp: no output depends on y float64[2]\n  got:      no path of the graph leads from y to the "
                "outputs",
                node_of(built, "jvp", line),
                "\n  hint:     leave it out of wrt, or ask for zeros with JvpOptions{.disconnected = "
                "Disconnected::kZero}"));
}

TEST(DerivativeErrors, AVectorOfAnotherTypeNamesTheFunctionThatWasCalled) {
  const int built = __LINE__ + 1;
  const Expr x = vector("x", {2}), d = vector("d", {3}), cost = sum(sqr(x));
  int line = 0;
  std::string got;
  auto text = [&](const char* name, const char* what, const char* value) {
    return str("error: ", name, ": ", what, " must have the type of its value\n  expected: ", value,
               " float64[2]\n  got:      d float64[3]", node_of(built, name, line));
  };
  got = error_text([&] { line = __LINE__, jvp(exp(x), x, d); });
  EXPECT_EQ(got, text("jvp", "a tangent", "x"));
  got = error_text([&] { line = __LINE__, vjp(exp(x), x, d); });
  EXPECT_EQ(got, text("vjp", "a cotangent", "exp"));
  got = error_text([&] { line = __LINE__, grad({}, x, {.known_grads = {{sqr(x), d}}}); });
  EXPECT_EQ(got, text("grad", "a known gradient", "sqr"));
  got = error_text([&] { line = __LINE__, hessian_vector_product(cost, x, d); });
  EXPECT_EQ(got, text("hessian_vector_product", "a tangent", "x"));
}

TEST(DerivativeErrors, TooFewVectorsNameTheLineOfTheCall) {
  const Expr x = vector("x", {2});
  int line = 0;
  std::string got;
  auto text = [&](const char* name, const char* what) {
    return str("error: ", name, ": there must be as many ", what, "\n  expected: 2\n  got:      1\n  node:     ", name,
               " is called at ", __FILE__, ":", line);
  };
  got = error_text([&] { line = __LINE__, jvp({exp(x)}, {x, x}, {x}); });
  EXPECT_EQ(got, text("jvp", "tangents as values in wrt"));
  got = error_text([&] { line = __LINE__, vjp({exp(x), x}, std::vector{x}, {x}); });
  EXPECT_EQ(got, text("vjp", "cotangents as outputs"));
}

TEST(DerivativeErrors, AnOpWithoutARuleNamesTheFunctionThatWasCalled) {
  static const Op op{.name = "ruleless",
                     .doc = "x",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(0)}; },
                     .reference = [](const ReferenceArgs& a) { return std::vector<Tensor>{a.inputs[0].copy()}; }};
  const int built = __LINE__ + 1;
  const Expr x = vector("x", {2}), y = apply(op, {x});
  int line = 0;
  std::string got;
  auto text = [&](const char* name, const char* missing) {
    return str("error: ", name, ": the op ruleless has ", missing,
               "\n  got:      ruleless float64[2], on which the derivative depends", node_of(built, name, line),
               "\n  hint:     give the op a gradient, or a connection that is false where a result has no derivative; "
               "stop_gradient(x) takes x as constant");
  };
  const char *no_gradient = "no rule for its gradient",
             *neither = "neither a rule of forward mode nor one for its gradient";
  got = error_text([&] { line = __LINE__, grad(sum(y), x); });
  EXPECT_EQ(got, text("grad", no_gradient));
  got = error_text([&] { line = __LINE__, vjp(y, x, x); });
  EXPECT_EQ(got, text("vjp", no_gradient));
  got = error_text([&] { line = __LINE__, jacobian(y, x); });
  EXPECT_EQ(got, text("jacobian", no_gradient));
  got = error_text([&] { line = __LINE__, hessian(sum(y), x); });
  EXPECT_EQ(got, text("hessian", no_gradient));
  got = error_text([&] { line = __LINE__, jvp(y, x, x); });
  EXPECT_EQ(got, text("jvp", neither));
}

}  // namespace
}  // namespace thtrain::derivative_errors_test

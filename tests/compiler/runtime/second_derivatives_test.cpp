// Derivatives of derivatives through bodies: native and debug mode give what the reference gives of the same formula
// written out.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/numbers.h"

namespace thtrain::second_derivatives_test {
namespace {

using Values = std::vector<Expr>;

const Expr u = vector("u", {3}), w = matrix("w", {3, 3});
const Expr kZero = make_constant(Tensor(0.0));

Expr formula(const Expr& a, const Expr& b) {
  return sum(sin(dot(sum(b * a, 1), b)));
}
Expr step_of(const Expr& s) {
  return sin(dot(sum(w * s, 1), w));
}

// The gradient of a smooth function of the gradient.
Expr second(const Expr& y) {
  return grad(sum(sin(grad(sum(sqr(y)), w))), w, {.disconnected = Disconnected::kZero});
}

struct Body {
  std::string name;
  Expr looped, plain;
};

std::vector<Body> bodies() {
  const Expr stepped = step_of(step_of(u));
  return {
      {"op_from_graph", OpFromGraph([](const Values& in) { return Values{formula(in[0], in[1])}; })({u, w})[0],
       formula(u, w)},
      {"if_else",
       if_else(
           gt(sum(u), -9), [] { return formula(u, w); }, [] { return sum(w); }),
       formula(u, w)},
      {"repeat", repeat(2, {u}, [](const Values& s) { return Values{step_of(s[0])}; })[0], stepped},
      {"repeat_until",
       repeat_until(5, {u, kZero},
                    [](const Values& s) {
                      return Iteration{{step_of(s[0]), s[1] + 1}, ge(s[1] + 1, 2)};
                    })
           .state[0],
       stepped},
      {"scan", scan([](const Expr& s) { return step_of(s); }, {.outputs_info = {u}, .n_steps = 2}).outputs[-1],
       stepped},
      {"reduce until",
       reduce(
           [](const Expr& s, const Expr& n) {
             return std::pair(Values{step_of(s), n + 1}, until(ge(n + 1, 2)));
           },
           {.outputs_info = {u, kZero}, .n_steps = 5})
           .outputs[0],
       stepped},
      {"checkpointed_scan",
       checkpointed_scan([](const Expr& s) { return step_of(s); }, {.outputs_info = {u}, .n_steps = 2}, 1).outputs,
       stepped},
  };
}

TEST(SecondDerivatives, ThroughEveryBodyAreThoseOfTheFormulaWrittenOut) {
  const std::vector<Tensor> at{Tensor::vector({0.25, -0.5, 1.0}),
                               Tensor::of(std::vector{0.5, -1.0, 0.25, 2.0, 0.75, -0.125, 0.1, 0.3, -0.6}, {3, 3})};
  for (const Body& body : bodies()) {
    SCOPED_TRACE(body.name);
    const Tensor wanted = function({u, w}, {second(body.plain)}, {},
                                   {.mode = Mode::kReference, .unused_inputs = UnusedInputs::kAllowed})(at)[0];
    for (const Mode mode : {Mode::kReference, Mode::kNative, Mode::kDebug}) {
      const Tensor got =
          function({u, w}, {second(body.looped)}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(at)[0];
      for (int64_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(got.as_double(i), wanted.as_double(i), 1e-12) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace thtrain::second_derivatives_test

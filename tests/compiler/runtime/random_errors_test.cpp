// Bad parameters of random draws: what is known when the draw is built is refused then, the rest by a call.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

// What a call says, by the reference; native code adds that variables may have changed, since it writes the state in
// position. The state of the variable that was made last is as it was.
std::string call_text(const std::vector<Expr>& inputs, const Expr& sample, const RandomStreams& rng,
                      const std::vector<Tensor>& values) {
  std::vector<In> ins(inputs.begin(), inputs.end());
  const Shared state = rng.states().back();
  const Tensor before = state.get_value();
  auto text = [&](Mode mode) {
    Function f = function(ins, {sample}, {}, {.mode = mode});
    const std::string out = text_without_node([&] { f(values); });
    EXPECT_TRUE(same_bits(before, state.get_value()));
    return out;
  };
  const std::string out = text(Mode::kReference);
  EXPECT_EQ(text(Mode::kNative),
            out + "\n  hint:     shared variables that this call updates may have changed already");
  return out;
}

TEST(RandomErrors, KnownParametersAreCheckedWhenTheDrawIsBuilt) {
  const RandomStreams rng(1);
  EXPECT_EQ(text_without_node([&] { rng.normal({3}, 0.0, -1.0); }),
            "error: normal: a parameter is out of range\n"
            "  expected: deviation >= 0\n"
            "  got:      mean 0, deviation -1");
  EXPECT_EQ(text_without_node([&] { rng.binomial({3}, 5, 1.5); }),
            "error: binomial: a parameter is out of range\n"
            "  expected: n >= 0 and 0 <= p <= 1\n"
            "  got:      n 5, p 1.5");
  EXPECT_EQ(text_without_node([&] { rng.randint({3}, 5, 5); }),
            "error: randint: a parameter is out of range\n"
            "  expected: low < high\n"
            "  got:      low 5, high 5");
  EXPECT_EQ(text_without_node([&] { rng.geometric({3}, 0.0); }),
            "error: geometric: a parameter is out of range\n"
            "  expected: 0 < p <= 1\n"
            "  got:      p 0");
  EXPECT_EQ(rng.states().size(), 0u);  // what was refused took no seed
}

TEST(RandomErrors, ACallChecksTheOthersBeforeItDraws) {
  const RandomStreams rng(1);
  const Expr a = vector("a", {3}), p = vector("p", {2});
  const Tensor bad = Tensor::vector({0.5, -2.0, 1.0});
  EXPECT_EQ(call_text({a}, rng.normal({3}, 0.0, a), rng, {bad}),
            "error: normal: a parameter is out of range\n"
            "  expected: deviation >= 0; it is not so for element 2 of the result, counted from 1");
  EXPECT_EQ(call_text({a}, rng.poisson({3}, a), rng, {bad}),
            "error: poisson: a parameter is out of range\n"
            "  expected: rate >= 0, and below 9.2e18; it is not so for element 2 of the result, counted from 1");
  EXPECT_EQ(call_text({a}, rng.gamma({3}, a), rng, {bad}),
            "error: gamma: a parameter is out of range\n"
            "  expected: finite shape >= 0 and scale >= 0; it is not so for element 2 of the result, counted from 1");
  const std::string choice =
      "error: choice: the probabilities are none\n"
      "  expected: numbers of at least 0 whose sum is 1; without replacement as many that are not 0 as are drawn";
  EXPECT_EQ(call_text({p}, rng.choice({3}, 2, true, p), rng, {Tensor::vector({0.5, 0.4})}), choice);
  EXPECT_EQ(call_text({p}, rng.choice({2}, 2, false, p), rng, {Tensor::vector({1.0, 0.0})}), choice);
  EXPECT_EQ(call_text({p}, rng.multinomial({2}, 5, p), rng, {Tensor::vector({1.5, 0.0})}),
            "error: multinomial: a parameter is out of range\n"
            "  expected: n >= 0, probabilities from 0 to 1, of which all but the last have a sum of 1 at most; it is "
            "not so for row 1 of the result, counted from 1");
}

TEST(RandomErrors, MatricesThatAreNoCovariances) {
  const RandomStreams rng(1);
  const Expr c = matrix("c", {2, 2}), mean = vector("mean", {2});
  const Expr x = rng.multivariate_normal({3}, mean, c);
  const std::string expected =
      "error: multivariate_normal: the matrix is no covariance\n"
      "  expected: a symmetric matrix without negative eigenvalues";
  const Tensor zero = Tensor::vector({0.0, 0.0});
  for (const Tensor& bad : {Tensor::matrix({{1.0, 2.0}, {2.0, 1.0}}), Tensor::matrix({{1.0, 0.5}, {0.0, 1.0}}),
                            Tensor::matrix({{1.0, 0.0}, {0.0, -1.0}})})
    for (const Mode mode : {Mode::kNative, Mode::kReference}) {
      // Natively the state has moved on by then.
      const std::string hint =
          mode == Mode::kNative ? "\n  hint:     shared variables that this call updates may have changed already" : "";
      EXPECT_EQ(text_without_node([&] { function({c, mean}, {x}, {}, {.mode = mode})({bad, zero}); }), expected + hint);
    }
  EXPECT_EQ(text_without_node([&] { rng.multivariate_normal({3}, c, mean); }),
            "error: multivariate_normal: the parameters are no vector and no matrix\n"
            "  expected: a mean [n], covariance [n, n]\n"
            "  got:      c float64[2, 2] and mean float64[2]");
}

TEST(RandomErrors, ShapesAndDtypesThatDoNotFit) {
  const RandomStreams rng(1);
  const MrgRandomStreams mrg(1);
  const Expr x = vector("x", {4}), f = scalar("f");
  EXPECT_EQ(text_without_node([&] { rng.normal({3}, x, 1.0); }),
            "error: normal: axis 0 has length 4 and cannot be repeated to 3\n"
            "  expected: [3] equal to the lengths of x, except where those are 1\n"
            "  got:      x float64[4]");
  EXPECT_EQ(text_without_node([&] { rng.uniform({Length(f)}); }),
            "error: a length is not an integer scalar\n"
            "  expected: an integer without axes\n"
            "  got:      f float64[]");
  EXPECT_EQ(text_without_node([&] { rng.binomial({3}, f, 0.5); }),
            "error: binomial: the parameter n has another dtype\n"
            "  expected: integers\n"
            "  got:      f float64[]");
  EXPECT_EQ(text_without_node([&] { rng.uniform({3}, 0, 1, DType::kInt32); }),
            "error: mt_uniform: the numbers have another dtype\n"
            "  expected: float32 or float64\n"
            "  got:      random/0 uint32[628], float64[], float64[]");
  EXPECT_EQ(text_without_node([&] { rng.choice({3}, 2, false); }),
            "error: choice: more are taken without replacement than there are\n"
            "  expected: at most 2\n"
            "  got:      3");
  EXPECT_EQ(text_without_node([&] { rng.choice({3}, x, true, vector("p", {3})); }),
            "error: choice: the number of probabilities differs\n"
            "  expected: 4\n"
            "  got:      p float64[3]");
  EXPECT_EQ(text_without_node([&] { mrg.uniform({3}, 0, 1, {}, 0); }),
            "error: MRG31k3p: the number of streams is not positive\n"
            "  expected: 1 or more\n"
            "  got:      0");
  EXPECT_EQ(text_without_node([&] { mrg.multinomial(x, 2); }),
            "error: multinomial: the probabilities are no matrix of floats\n"
            "  expected: one row for each draw\n"
            "  got:      x float64[4]");
  EXPECT_EQ(text_without_node([&] {
              mrg.choice(matrix("p", {5, 3}), 4);
            }),
            "error: choice: so many different results are not there\n"
            "  expected: from 1 to 3\n"
            "  got:      4");
}

TEST(RandomErrors, DrawsByName) {
  const Shared state = mt_state(1, "state");
  EXPECT_EQ(text_without_node([&] {
              draw("norml", state, {3}, {0.0, 1.0});
            }),
            "error: draw: there is no such distribution\n"
            "  expected: uniform, normal, lognormal, exponential, laplace, logistic, gamma, beta, chisquare, poisson, "
            "binomial, geometric, randint, random_integers\n"
            "  got:      norml");
  EXPECT_EQ(text_without_node([&] { draw("normal", state, {3}, {0.0}); }),
            "error: normal: the number of parameters differs\n"
            "  expected: 2: mean, deviation\n"
            "  got:      1");
  EXPECT_EQ(text_without_node([&] {
              draw("normal", vector("x", {3}), {3}, {0.0, 1.0});
            }),
            "error: mt_normal: the first input is no state of a generator\n"
            "  expected: uint32[628]\n"
            "  got:      x float64[3], float64[], float64[]");
}

TEST(RandomErrors, SeedsOutOfRange) {
  EXPECT_EQ(text_without_node([] { RandomStreams rng(-1); }),
            "error: the seed of a random generator is out of range\n"
            "  expected: an integer from 0 to 4294967295\n"
            "  got:      -1");
  EXPECT_EQ(text_without_node([] { RandomStreams rng(std::vector<int64_t>{}); }),
            "error: the seed of a random generator is an empty list\n"
            "  expected: one number or more");
}

// Each iteration would see the same state.
TEST(RandomErrors, DrawsInTheBodyOfALoop) {
  const RandomStreams rng(1);
  const Expr start = scalar("start"), u = rng.uniform();
  auto sum = [&] {
    return repeat(3, {start}, [&](const std::vector<Expr>& s) { return std::vector{s[0] + rng.uniform()}; });
  };
  const Expr total = sum()[0];
  EXPECT_EQ(text_without_node([&] { function({start}, {total}); }),
            "error: function: a random draw in the body of a loop or a branch reads random/1, and would give the same "
            "numbers in every iteration\n"
            "  expected: draws outside of bodies, or generators that are states of the loop\n"
            "  hint:     scan() draws anew in every step; repeat() takes numbers that were drawn before the loop");
  Function same = function({start}, {total}, {}, {.no_default_updates = true});
  EXPECT_EQ(same({Tensor(0.0)})[0].as_double(), same({Tensor(0.0)})[0].as_double());
  // What was drawn before is a value like any other.
  const Expr outside = repeat(3, {start}, [&](const std::vector<Expr>& s) { return std::vector{s[0] + u}; })[0];
  Function f = function({start}, {outside, u});
  const std::vector<Tensor> got = f({Tensor(0.0)});
  EXPECT_NEAR(got[0].as_double(), 3 * got[1].as_double(), 1e-12);
}

}  // namespace
}  // namespace thtrain

// Random variables give the numbers of NumPy's RandomState (tests/golden/random_streams.py), in every mode.
#include "compiler/runtime/random_streams.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "compiler/api.h"
#include "tests/support/datasets_support.h"

namespace thtrain::random_streams_test {
namespace {

using Strings = std::vector<std::string>;
struct Golden {
  Strings first, second;  // of two calls
};

std::map<std::string, Golden> golden() {
  std::ifstream file(source_path("tests/golden/random_streams.txt"));
  std::map<std::string, Golden> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    Golden& one = out[name];
    int call = 0;
    for (std::string word; words >> word;)
      if (word == "=")
        ++call;
      else
        (call == 1 ? one.first : one.second).push_back(word);
  }
  return out;
}

constexpr int64_t kSeed = 1234;
constexpr DType kF32 = DType::kFloat32;
const std::vector<double> kA{0.25, 1.0, 3.5}, kB{0.5, 2.0}, kP{0.1, 0.5, 0.9}, kQ{0.02, 0.75};
Expr constant(const std::vector<double>& values) {
  return make_constant(Tensor::of(values, {static_cast<int64_t>(values.size())}));
}
Expr column(const std::vector<double>& values) {
  return make_constant(Tensor::of(values, {static_cast<int64_t>(values.size()), 1}));
}
Expr whole(const std::vector<int64_t>& values) {
  return make_constant(Tensor::of(values, {static_cast<int64_t>(values.size())}));
}

using Make = std::function<Expr(const RandomStreams&)>;
std::map<std::string, Make> cases() {
  const Expr a = constant(kA), b = column(kB), p = constant(kP), q = column(kQ), n = whole({1, 60, 1000});
  const Expr choices = constant({0.1, 0.3, 0.0, 0.4, 0.2}), others = constant({0.1, 0.3, 0.05, 0.3, 0.2, 0.05});

  using R = const RandomStreams&;
  std::map<std::string, Make> out{
      {"random_sample",
       [](R r) {
         return r.random_sample({2, 3});
       }},
      {"random_sample_crc", [](R r) { return r.random_sample({100001}); }},
      {"uniform", [](R r) { return r.uniform({5}, -0.5, 2.25); }},
      {"uniform_arrays",
       [=](R r) {
         return r.uniform({2, 3}, -a, b);
       }},
      {"uniform_float32_crc", [](R r) { return r.uniform({5001}, -2, 3, kF32); }},
      {"normal", [](R r) { return r.normal({7}, 0.5, 3.0); }},
      {"normal_arrays", [=](R r) { return r.normal({}, a, b); }},
      {"normal_crc", [](R r) { return r.normal({70001}, 0.5, 3.0); }},
      {"normal_float32_crc", [](R r) { return r.normal({5001}, 0.5, 3.0, kF32); }},
      {"standard_normal_crc",
       [](R r) {
         return r.standard_normal({71, 3});
       }},
      {"lognormal", [](R r) { return r.lognormal({5}, 0.5, 0.25); }},
      {"lognormal_arrays",
       [=](R r) {
         return r.lognormal({2, 3}, a, b);
       }},
      {"exponential", [](R r) { return r.exponential({5}, 2.5); }},
      {"exponential_arrays", [=](R r) { return r.exponential({}, a); }},
      {"laplace", [](R r) { return r.laplace({5}, 0.5, 2.0); }},
      {"laplace_arrays",
       [=](R r) {
         return r.laplace({2, 3}, a, b);
       }},
      {"logistic", [](R r) { return r.logistic({5}, 0.5, 2.0); }},
      {"logistic_arrays",
       [=](R r) {
         return r.logistic({2, 3}, a, b);
       }},
      {"gamma_arrays_crc",
       [=](R r) {
         return r.gamma({2, 3}, a, b);
       }},
      {"gamma_crc", [](R r) { return r.gamma({3000}, 2.5, 2.0); }},
      {"beta_arrays",
       [=](R r) {
         return r.beta({2, 3}, a, b);
       }},
      {"beta_crc", [](R r) { return r.beta({3000}, 0.4, 0.7); }},
      {"chisquare", [](R r) { return r.chisquare({5}, 3.0); }},
      {"chisquare_arrays", [=](R r) { return r.chisquare({}, a); }},
      {"poisson_arrays",
       [=](R r) {
         return r.poisson({2, 3}, a * b);
       }},
      {"poisson_crc", [](R r) { return r.poisson({3000}, 31.5); }},
      {"binomial_arrays",
       [=](R r) {
         return r.binomial({2, 3}, n, q);
       }},
      {"binomial_crc", [](R r) { return r.binomial({3000}, 500, 0.4); }},
      {"geometric_arrays", [=](R r) { return r.geometric({}, p); }},
      {"randint_arrays", [=](R r) { return r.randint({}, -n, n); }},
      {"random_integers", [](R r) { return r.random_integers({7}, -3, 8); }},
      {"choice_of_count", [](R r) { return r.choice({7}, 11); }},
      {"choice_of_vector",
       [=](R r) {
         return r.choice({2, 4}, a);
       }},
      {"choice_with_p",
       [=](R r) {
         return r.choice({2, 4}, 5, true, choices);
       }},
      {"choice_with_p_crc", [=](R r) { return r.choice({3000}, 5, true, choices); }},
      {"choice_without_replacement",
       [](R r) {
         return r.choice({2, 3}, 11, false);
       }},
      {"choice_without_replacement_with_p", [=](R r) { return r.choice({4}, 6, false, others); }},
      {"permutation", [](R r) { return r.permutation(12); }},
      {"permutation_rows", [](R r) { return r.permutation(5, {3}); }},
      {"permutation_crc", [](R r) { return r.permutation(5000); }},
      {"shuffle",
       [](R r) {
         return r.shuffle(reshape(arange(15), {5, 3}));
       }},
      {"shuffle_row_elements",
       [](R r) {
         return r.shuffle_row_elements(reshape(arange(12, DType::kFloat64), {3, 4}));
       }},
      {"multinomial",
       [](R r) {
         return r.multinomial({3}, 40, constant({0.2, 0.3, 0.1, 0.4}));
       }},
      {"multivariate_normal",
       [](R r) {
         const Tensor c = Tensor::matrix({{2.0, 0.5, -0.25}, {0.5, 1.0, 0.125}, {-0.25, 0.125, 3.0}});
         return r.multivariate_normal({2, 2}, constant({1.0, -2.0, 0.5}), make_constant(c));
       }},
      {"multivariate_normal_large",
       [](R r) {
         Tensor c = Tensor::empty(DType::kFloat64, {40, 40});
         for (int64_t i = 0; i < 40; ++i)
           for (int64_t j = 0; j < 40; ++j)
             c.at<double>({i, j}) =
                 std::pow(0.5, static_cast<double>(std::abs(i - j))) + (i == j ? static_cast<double>(i) / 8 : 0);
         return r.multivariate_normal({2}, arange(40, DType::kFloat64), make_constant(c));
       }},
      {"multinomial_zero",
       [](R r) {
         return r.multinomial({3}, 40, constant({0.2, 0.0, 0.4, 0.4}));
       }},
      {"multinomial_rows",
       [](R r) {
         const Expr rows = make_constant(Tensor::matrix({{0.2, 0.8}, {0.5, 0.5}, {1.0, 0.0}}));
         return r.multinomial({}, whole({5, 0, 900}), rows);
       }},
  };
  auto add = [&](const std::string& name, Make make) { out.emplace(name, std::move(make)); };
  for (const auto& [text, shape] : {std::pair("0.0", 0.0), {"0.3", 0.3}, {"1.0", 1.0}, {"2.5", 2.5}})
    add(str("gamma_", text), [shape](R r) { return r.gamma({5}, shape, 2.0); });
  add("beta_0.4_0.7", [](R r) { return r.beta({5}, 0.4, 0.7); });
  add("beta_2.0_0.7", [](R r) { return r.beta({5}, 2.0, 0.7); });
  add("beta_3.0_4.0", [](R r) { return r.beta({5}, 3.0, 4.0); });
  for (const auto& [text, rate] :
       {std::pair("0.0", 0.0), {"0.5", 0.5}, {"9.5", 9.5}, {"10.0", 10.0}, {"1000000.0", 1e6}})
    add(str("poisson_", text), [rate](R r) { return r.poisson({6}, rate); });
  struct Trials {
    int64_t n;
    const char* text;
    double p;
  };
  for (const Trials& t : {Trials{0, "0.5", 0.5},
                          {10, "0.0", 0},
                          {10, "0.25", 0.25},
                          {10, "1.0", 1},
                          {1000, "0.25", 0.25},
                          {1000, "0.75", 0.75},
                          {1000000, "0.5", 0.5}})
    add(str("binomial_", t.n, "_", t.text), [t](R r) { return r.binomial({6}, t.n, t.p); });
  for (const auto& [text, chance] : {std::pair("0.01", 0.01), {"0.3", 0.3}, {"0.34", 0.34}, {"1.0", 1.0}})
    add(str("geometric_", text), [chance](R r) { return r.geometric({6}, chance); });
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();
  for (const auto& [low, high] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1}, {0, 10}, {-7, 6}, {0, 4294967296}, {0, 4294967301}, {kLow, kHigh}})
    add(str("randint_", low, "_", high), [low, high](R r) { return r.randint({5}, low, high); });
  return out;
}

std::string element_text(const Tensor& x, int64_t i) {
  if (is_int(x.dtype())) return std::to_string(x.as_int(i));
  char text[64];
  std::snprintf(text, sizeof text, "%a", x.as_double(i));
  return text;
}

void expect_golden(const std::string& name, const Tensor& got, const Strings& expected) {
  if (name.ends_with("_crc")) {
    const uLong crc = crc32_z(0, static_cast<const Bytef*>(got.raw()), got.bytes());
    EXPECT_EQ(std::to_string(crc), expected.at(0)) << name;
    return;
  }
  ASSERT_EQ(static_cast<size_t>(got.size()), expected.size()) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string text = element_text(got, static_cast<int64_t>(i));
    const double want = std::strtod(expected[i].c_str(), nullptr), have = std::strtod(text.c_str(), nullptr);
    const bool is_close = std::fabs(have - want) <= 1e-12 * std::max(1.0, std::fabs(want));
    const bool same = name.starts_with("multivariate") ? is_close
                      : is_int(got.dtype())            ? text == expected[i]
                                                       : have == want;
    EXPECT_TRUE(same) << name << " [" << i << "]: " << text << ", expected " << expected[i];
  }
}

class RandomStreamsIn : public testing::TestWithParam<Mode> {};

TEST_P(RandomStreamsIn, GivesNumPysNumbers) {
  const std::map<std::string, Golden> expected = golden();
  std::vector<std::string> names;
  std::vector<Out> outputs;
  for (const auto& [name, make] : cases()) {
    ASSERT_TRUE(expected.count(name)) << name;
    names.push_back(name);
    outputs.emplace_back(make(RandomStreams(kSeed, name)));
  }
  EXPECT_EQ(names.size() + 3, expected.size());  // three that are tests of their own
  Function f = function({}, outputs, {}, {.mode = GetParam()});
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> got = f({});
    for (size_t i = 0; i < names.size(); ++i) {
      const Golden& one = expected.at(names[i]);
      expect_golden(names[i], got[i], call == 0 ? one.first : one.second);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomStreamsIn, testing::Values(Mode::kNative, Mode::kReference, Mode::kDebug),
                         [](const auto& info) {
                           return info.param == Mode::kNative      ? "native"
                                  : info.param == Mode::kReference ? "reference"
                                                                   : "debug";
                         });

TEST(RandomStreams, SeedsItsVariablesOneAfterTheOther) {
  const Golden expected = golden().at("two_variables");
  const RandomStreams rng(kSeed);
  const Expr u = rng.random_sample({2}), z = rng.normal({3});
  const std::vector<Tensor> got = function({}, {u, z})({});
  expect_golden("first", got[0], expected.first);
  expect_golden("second", got[1], expected.second);
}

TEST(RandomStreams, TakesAListOfWordsAsItsSeed) {
  const Golden expected = golden().at("seeded_by_words");
  Function f = function({}, {RandomStreams(std::vector<int64_t>{1, 2, 3, 4294967295}).random_sample({3})});
  expect_golden("first", f({})[0], expected.first);
  expect_golden("second", f({})[0], expected.second);
}

// The functional layer: states are threaded by hand.
TEST(RandomStreams, DrawsFromAStateOfTheUsers) {
  const Golden expected = golden().at("raw");
  const Shared state = mt_state(kSeed, "state");
  const Drawn u = draw("uniform", state, {3}, {0.0, 1.0}), z = draw("normal", u.next, {3}, {0.0, 1.0});
  Function f = function({}, {u.sample, z.sample}, {{state, z.next}});
  const std::vector<Tensor> first = f({}), second = f({});
  expect_golden("uniform", first[0], expected.first);
  expect_golden("normal", first[1], expected.second);
  EXPECT_NE(second[0].as_double(), first[0].as_double());
  // Without the update every call gives the same.
  state.set_value(tensor_of(RandomState(kSeed)));
  Function pure = function({}, {u.sample});
  expect_golden("uniform", pure({})[0], expected.first);
  expect_golden("uniform", pure({})[0], expected.first);
}

TEST(RandomStreams, MovesOnOncePerCall) {
  const RandomStreams rng(7), other(7);
  const Expr u = rng.uniform({4}), alone = other.uniform({4});
  Function f = function({}, {u + u, u, 2 * u}), g = function({}, {alone});
  for (int call = 0; call < 3; ++call) {
    const std::vector<Tensor> got = f({});
    const Tensor expected = g({})[0];
    EXPECT_TRUE(same_bits(got[1], expected));
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(got[0].as_double(i), 2 * expected.as_double(i));
  }
}

TEST(RandomStreams, FunctionsOfOneVariableGoOnWhereTheOtherStopped) {
  const RandomStreams rng(7), other(7);
  const Expr u = rng.uniform({4}), v = other.uniform({4});
  Function f = function({}, {u}), g = function({}, {u + 0.0}), h = function({}, {v});
  EXPECT_TRUE(same_bits(f({})[0], h({})[0]));
  EXPECT_TRUE(same_bits(g({})[0], h({})[0]));
  EXPECT_TRUE(same_bits(f({})[0], h({})[0]));
}

TEST(RandomStreams, NoDefaultUpdatesLeavesStatesAlone) {
  const RandomStreams rng(7);
  const Expr u = rng.uniform({4}), v = rng.uniform({4});
  Function none = function({}, {u, v}, {}, {.no_default_updates = true});
  const std::vector<Tensor> first = none({}), second = none({});
  EXPECT_TRUE(same_bits(first[0], second[0]));
  EXPECT_TRUE(same_bits(first[1], second[1]));
  Function one = function({}, {u, v}, {}, {.no_default_updates = std::vector<Expr>{rng.states()[0]}});
  const std::vector<Tensor> third = one({}), fourth = one({});
  EXPECT_TRUE(same_bits(third[0], fourth[0]));
  EXPECT_FALSE(same_bits(third[1], fourth[1]));
}

TEST(RandomStreams, UpdatesOfTheCallerComeFirst) {
  const RandomStreams rng(7);
  const Expr u = rng.uniform({4});
  const Shared state = rng.states()[0];
  Function f = function({}, {u}, {{state, state}});
  EXPECT_TRUE(same_bits(f({})[0], f({})[0]));
}

TEST(RandomStreams, GivensReachTheDrawThatMovesOn) {
  const Expr mean = scalar("mean");
  const RandomStreams rng(7), other(7);
  const Expr z = rng.normal({3}, mean, 1.0), plain = other.normal({3}, 5.0, 1.0);
  Function f = function({}, {z}, {}, {.givens = {{mean, make_constant(Tensor(5.0))}}}), g = function({}, {plain});
  for (int call = 0; call < 2; ++call) EXPECT_TRUE(same_bits(f({})[0], g({})[0]));
}

TEST(RandomStreams, NamedVariablesMoveOn) {
  const RandomStreams rng(7);
  const Expr u = named(rng.uniform({4}), "u");
  Function f = function({}, {u});
  EXPECT_FALSE(same_bits(f({})[0], f({})[0]));
}

TEST(RandomStreams, SeedBringsTheNumbersBack) {
  const RandomStreams rng(7);
  const Expr u = rng.uniform({4}), z = rng.normal({3});
  Function f = function({}, {u, z});
  const std::vector<Tensor> first = f({}), second = f({});
  rng.seed(7);
  const std::vector<Tensor> again = f({}), after = f({});
  for (size_t k = 0; k < 2; ++k) {
    EXPECT_TRUE(same_bits(first[k], again[k]));
    EXPECT_TRUE(same_bits(second[k], after[k]));
  }
  rng.seed(8);
  EXPECT_FALSE(same_bits(first[0], f({})[0]));
}

TEST(RandomStreams, StatesAreKeptAndPutBack) {
  const RandomStreams rng(7);
  Function f = function({}, {rng.normal({3})});  // an odd number: the state holds one back
  f({});
  const Tensor kept = rng.states()[0].get_value();
  const Tensor next = f({})[0];
  rng.states()[0].set_value(kept);
  EXPECT_TRUE(same_bits(next, f({})[0]));
  EXPECT_EQ(rng.states()[0].name(), "random/0");
  EXPECT_EQ(random_state_of(kept).to_bytes().size(), RandomState::kStateBytes);
}

TEST(RandomStreams, LengthsMayBeThoseOfAnInput) {
  const Expr x = matrix("x");
  const RandomStreams rng(7), other(7);
  Function f = function({x}, {x + rng.normal(x.dims())}), g = function({}, {other.normal({2, 5})});
  EXPECT_TRUE(same_bits(f({Tensor::zeros(DType::kFloat64, {2, 5})})[0], g({})[0]));
  EXPECT_EQ(f({Tensor::zeros(DType::kFloat64, {0, 5})})[0].size(), 0);
}

TEST(RandomStreams, DerivativesGoThroughTheParameters) {
  const Expr a = scalar("a"), b = vector("b", {3});
  const RandomStreams rng(7);
  const Expr z = rng.normal({3}, a, b), u = rng.uniform({3}, a, b), e = rng.lognormal({3}, a, b);
  const Expr cost = sum(z) + 2 * sum(u) + sum(e);
  const std::vector<Expr> by = grad(cost, {a, b});
  Function f = function({a, b}, {z, u, e, by[0], by[1]});
  const Tensor at = Tensor::vector({0.5, 0.25, 2.0});
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> got = f({Tensor(1.0), at});
    double of_a = 0;
    for (int64_t i = 0; i < 3; ++i) {
      const double deviation = at.as_double(i), normal = (got[0].as_double(i) - 1) / deviation;
      const double position = (got[1].as_double(i) - 1) / (deviation - 1), exponential = got[2].as_double(i);
      const double log_normal = (std::log(exponential) - 1) / deviation;
      of_a += 1 + 2 * (1 - position) + exponential;
      EXPECT_NEAR(got[4].as_double(i), normal + 2 * position + exponential * log_normal, 1e-9);
    }
    EXPECT_NEAR(got[3].as_double(), of_a, 1e-9);
  }
  // A count has no derivative.
  EXPECT_THROW(grad(sum(cast(rng.poisson({3}, a), DType::kFloat64)), {a}), UserError);
}

}  // namespace
}  // namespace thtrain::random_streams_test

// Random numbers: generators, streams and draws.
#include "tests/fuzz/garbage_calls.h"

namespace thtrain {

template <>
RandomStreams Garbage::draw<RandomStreams>() {
  return RandomStreams(static_cast<int64_t>(below(1000)));
}
template <>
MrgRandomStreams Garbage::draw<MrgRandomStreams>() {
  return MrgRandomStreams(1 + static_cast<int64_t>(below(1000)));
}
template <>
RandomState Garbage::draw<RandomState>() {
  return RandomState(static_cast<int64_t>(below(1000)));
}

namespace {

using Size = const LengthList&;
using Number = const Operand&;
using DTypeOrNone = std::optional<DType>;

// The generator is made of a seed that is mostly one.
int64_t seed_of(int64_t number) {
  return number < 0 ? number : number % 1000;
}

void add_numpy_streams(std::vector<GarbageCall>& calls) {
#define TH_STREAM(name, parameters, arguments)                                                                 \
  calls.push_back(garbage_call("RandomStreams." #name, [](const RandomStreams& streams TH_UNPACK parameters) { \
    return streams.name arguments;                                                                             \
  }));
#define TH_UNPACK(...) __VA_OPT__(, ) __VA_ARGS__
  TH_STREAM(uniform, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(random_sample, (Size n, DTypeOrNone t), (n, t))
  TH_STREAM(normal, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(standard_normal, (Size n, DTypeOrNone t), (n, t))
  TH_STREAM(lognormal, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(exponential, (Size n, Number a, DTypeOrNone t), (n, a, t))
  TH_STREAM(laplace, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(logistic, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(gamma, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(beta, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(chisquare, (Size n, Number a, DTypeOrNone t), (n, a, t))
  TH_STREAM(poisson, (Size n, Number a, DTypeOrNone t), (n, a, t))
  TH_STREAM(binomial, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(geometric, (Size n, Number a, DTypeOrNone t), (n, a, t))
  TH_STREAM(randint, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(random_integers, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(choice, (Size n, Number a, bool replace, const std::optional<Operand>& p), (n, a, replace, p))
  TH_STREAM(permutation, (const Length& n, Size size), (n, size))
  TH_STREAM(shuffle, (Number x), (x))
  TH_STREAM(shuffle_row_elements, (Number x), (x))
  TH_STREAM(multinomial, (Size n, Number a, Number b), (n, a, b))
  TH_STREAM(multivariate_normal, (Size n, Number a, Number b, DTypeOrNone t), (n, a, b, t))
  TH_STREAM(seed, (int64_t seed), (seed))
#undef TH_STREAM
  calls.push_back(garbage_call("RandomStreams.RandomStreams", [](int64_t seed, const std::string& name) {
    (void)RandomStreams(seed, name).states();
  }));
  calls.push_back(garbage_call(
      "RandomStreams.RandomStreams",
      [](const std::vector<int64_t>& seeds, const std::string& name) { (void)RandomStreams(seeds, name); }));
  calls.push_back(garbage_call("RandomStreams.states", [](const RandomStreams& streams, Size n) {
    (void)streams.uniform(n);
    for (const Shared& state : streams.states()) (void)state.get_value();
  }));
  calls.push_back(
      garbage_call("mt_state", [](int64_t seed, const std::string& name) { return mt_state(seed, name).expr(); }));
}

void add_mrg_streams(std::vector<GarbageCall>& calls) {
  using Count = std::optional<int64_t>;
#define TH_STREAM(name, parameters, arguments)                                                                       \
  calls.push_back(garbage_call("MrgRandomStreams." #name, [](const MrgRandomStreams& streams TH_UNPACK parameters) { \
    return streams.name arguments;                                                                                   \
  }));
  TH_STREAM(uniform, (Size n, Number a, Number b, DTypeOrNone t, Count c), (n, a, b, t, c))
  TH_STREAM(normal, (Size n, Number a, Number b, DTypeOrNone t, Count c), (n, a, b, t, c))
  TH_STREAM(truncated_normal, (Size n, Number a, Number b, DTypeOrNone t, Count c), (n, a, b, t, c))
  TH_STREAM(binomial, (Size n, int64_t a, Number b, DTypeOrNone t, Count c), (n, a, b, t, c))
  TH_STREAM(multinomial, (Number p, int64_t n, DTypeOrNone t, Count c), (p, n, t, c))
  TH_STREAM(choice, (Number p, int64_t n, DTypeOrNone t, Count c), (p, n, t, c))
  TH_STREAM(seed, (int64_t seed), (seed))
#undef TH_STREAM
  calls.push_back(garbage_call("MrgRandomStreams.MrgRandomStreams",
                               [](int64_t seed, const std::string& name) { (void)MrgRandomStreams(seed, name); }));
  calls.push_back(garbage_call("MrgRandomStreams.MrgRandomStreams", [](int32_t a, int32_t b, int32_t c) {
    (void)MrgRandomStreams(Mrg31k3p::State{a, b, c, a, b, c});
  }));
  calls.push_back(
      garbage_call("MrgRandomStreams.states", [](const MrgRandomStreams& streams) { (void)streams.states(); }));
}

void add_draws(std::vector<GarbageCall>& calls) {
  auto state = [](int64_t seed, const Expr& other) { return seed > 1 ? mt_state(seed_of(seed)).expr() : other; };
  calls.push_back(garbage_call("draw", [=](int64_t which, int64_t seed, const Expr& other, Size size,
                                           const std::vector<Operand>& parameters, DTypeOrNone t) {
    constexpr const char* kNames[] = {"uniform", "normal", "gamma", "poisson", "binomial", "randint", "no such one"};
    return draw(kNames[static_cast<size_t>(which & 7) % std::size(kNames)], state(seed, other), size, parameters, t);
  }));
  calls.push_back(garbage_call("draw_permutation", [=](int64_t seed, const Expr& other, Size size, const Length& n) {
    return draw_permutation(state(seed, other), size, n);
  }));
  calls.push_back(garbage_call("draw_choice", [=](int64_t seed, const Expr& other, Size size, Number p, bool replace) {
    return draw_choice(state(seed, other), size, p, replace);
  }));
  calls.push_back(garbage_call("draw_multinomial", [=](int64_t seed, const Expr& other, Size size, Number n, Number p) {
    return draw_multinomial(state(seed, other), size, n, p);
  }));
  calls.push_back(garbage_call(
      "draw_mrg_uniform", [](Number state, Size size, DTypeOrNone t) { return draw_mrg_uniform(state, size, t); }));
}

void add_generator(std::vector<GarbageCall>& calls) {
#define TH_RANDOM(name, parameters, arguments)       \
  calls.push_back(garbage_call("RandomState." #name, \
                               [](RandomState random TH_UNPACK parameters) { (void)random.name arguments; }));
  TH_RANDOM(uniform, (double low, double high), (low, high))
  TH_RANDOM(uniform, (double low, double high, size_t n), (low, high, n))
  TH_RANDOM(normal, (double mean, double deviation), (mean, deviation))
  TH_RANDOM(normal, (double mean, double deviation, size_t n), (mean, deviation, n))
  TH_RANDOM(integer, (int64_t low, int64_t high), (low, high))
  TH_RANDOM(integers, (int64_t low, int64_t high, size_t n), (low, high, n))
  TH_RANDOM(interval, (uint64_t most), (most))
  TH_RANDOM(whole_numbers, (int64_t low, int64_t most, std::vector<int64_t> x), (low, most, x.data(), x.size()))
  TH_RANDOM(permutation, (int64_t n), (n))
  TH_RANDOM(next_uint32, (), ())
  TH_RANDOM(next_uint64, (), ())
  TH_RANDOM(random_sample, (), ())
  TH_RANDOM(standard_normal, (), ())
  TH_RANDOM(state, (), ())
  TH_RANDOM(to_bytes, (), ())
  TH_RANDOM(shuffle, (std::vector<double> x), (std::span(x)))
#undef TH_RANDOM
#undef TH_UNPACK
  calls.push_back(garbage_call("RandomState.RandomState", [](int64_t seed) { (void)RandomState(seed).next_uint32(); }));
  calls.push_back(garbage_call("RandomState.RandomState", [](const std::vector<int64_t>& seeds) {
    (void)RandomState(std::span<const int64_t>(seeds));
  }));
  calls.push_back(garbage_call("RandomState.from_bytes", [](const std::string& bytes, bool whole) {
    (void)RandomState::from_bytes(whole ? std::string(RandomState::kStateBytes, '\x7f') : bytes).random_sample();
  }));
}

}  // namespace

void add_streams(std::vector<GarbageCall>& calls) {
  add_numpy_streams(calls);
  add_mrg_streams(calls);
  add_draws(calls);
  add_generator(calls);
}

}  // namespace thtrain

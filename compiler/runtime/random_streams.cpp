#include "compiler/runtime/random_streams.h"

#include "compiler/ir/default_updates.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/runtime/covariance_root.h"

namespace thtrain {

struct RandomStreams::Made {
  RandomState seeds;
  std::string name;
  std::vector<Shared> states;
};

namespace {

// What Theano's streams seed their variables with.
int64_t next_seed(RandomState& seeds) {
  return seeds.integer(0, int64_t{1} << 30);
}

}  // namespace

Shared mt_state(int64_t seed, std::string name, std::source_location where) {
  return Shared(located(where, [&] { return tensor_of(RandomState(seed)); }), std::move(name), true, where);
}

RandomStreams::RandomStreams(int64_t seed, std::string name, std::source_location where)
    : made_(std::make_shared<Made>(Made{located(where, [&] { return RandomState(seed); }), std::move(name), {}})) {}

RandomStreams::RandomStreams(const std::vector<int64_t>& seeds, std::string name, std::source_location where)
    : made_(std::make_shared<Made>(
          Made{located(where, [&] { return RandomState(std::span<const int64_t>(seeds)); }), std::move(name), {}})) {}

Expr RandomStreams::made(const std::function<Drawn(const Expr&)>& draw, const std::source_location& where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  Made& m = *made_;
  RandomState seeds = m.seeds;  // a draw that is refused takes no seed
  const Shared state = mt_state(next_seed(seeds), str(m.name, "/", m.states.size()), where);
  give_default_updates(state);
  const Drawn drawn = draw(state);
  m.seeds = seeds;
  m.states.push_back(state);
  return drawn.sample;
}

Expr RandomStreams::one(const char* distribution, const LengthList& size, const std::vector<Operand>& parameters,
                        std::optional<DType> dtype, const std::source_location& where) const {
  return made([&](const Expr& state) { return draw(distribution, state, size, parameters, dtype, where); }, where);
}

Expr RandomStreams::uniform(const LengthList& size, const Operand& low, const Operand& high, std::optional<DType> dtype,
                            std::source_location where) const {
  return one("uniform", size, {low, high}, dtype, where);
}

Expr RandomStreams::random_sample(const LengthList& size, std::optional<DType> dtype,
                                  std::source_location where) const {
  return one("uniform", size, {0.0, 1.0}, dtype, where);
}

Expr RandomStreams::normal(const LengthList& size, const Operand& mean, const Operand& deviation,
                           std::optional<DType> dtype, std::source_location where) const {
  return one("normal", size, {mean, deviation}, dtype, where);
}

Expr RandomStreams::standard_normal(const LengthList& size, std::optional<DType> dtype,
                                    std::source_location where) const {
  return one("normal", size, {0.0, 1.0}, dtype, where);
}

Expr RandomStreams::lognormal(const LengthList& size, const Operand& mean, const Operand& sigma,
                              std::optional<DType> dtype, std::source_location where) const {
  return one("lognormal", size, {mean, sigma}, dtype, where);
}

Expr RandomStreams::exponential(const LengthList& size, const Operand& scale, std::optional<DType> dtype,
                                std::source_location where) const {
  return one("exponential", size, {scale}, dtype, where);
}

Expr RandomStreams::laplace(const LengthList& size, const Operand& location, const Operand& scale,
                            std::optional<DType> dtype, std::source_location where) const {
  return one("laplace", size, {location, scale}, dtype, where);
}

Expr RandomStreams::logistic(const LengthList& size, const Operand& location, const Operand& scale,
                             std::optional<DType> dtype, std::source_location where) const {
  return one("logistic", size, {location, scale}, dtype, where);
}

Expr RandomStreams::gamma(const LengthList& size, const Operand& shape, const Operand& scale,
                          std::optional<DType> dtype, std::source_location where) const {
  return one("gamma", size, {shape, scale}, dtype, where);
}

Expr RandomStreams::beta(const LengthList& size, const Operand& a, const Operand& b, std::optional<DType> dtype,
                         std::source_location where) const {
  return one("beta", size, {a, b}, dtype, where);
}

Expr RandomStreams::chisquare(const LengthList& size, const Operand& freedom, std::optional<DType> dtype,
                              std::source_location where) const {
  return one("chisquare", size, {freedom}, dtype, where);
}

Expr RandomStreams::poisson(const LengthList& size, const Operand& rate, std::optional<DType> dtype,
                            std::source_location where) const {
  return one("poisson", size, {rate}, dtype, where);
}

Expr RandomStreams::binomial(const LengthList& size, const Operand& n, const Operand& p, std::optional<DType> dtype,
                             std::source_location where) const {
  return one("binomial", size, {n, p}, dtype, where);
}

Expr RandomStreams::geometric(const LengthList& size, const Operand& p, std::optional<DType> dtype,
                              std::source_location where) const {
  return one("geometric", size, {p}, dtype, where);
}

Expr RandomStreams::randint(const LengthList& size, const Operand& low, const Operand& high, std::optional<DType> dtype,
                            std::source_location where) const {
  return one("randint", size, {low, high}, dtype, where);
}

Expr RandomStreams::random_integers(const LengthList& size, const Operand& low, const Operand& high,
                                    std::optional<DType> dtype, std::source_location where) const {
  return one("random_integers", size, {low, high}, dtype, where);
}

Expr RandomStreams::choice(const LengthList& size, const Operand& a, bool replace, const std::optional<Operand>& p,
                           std::source_location where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  const Expr from = a.expr();
  const bool is_count = from.rank() == 0;
  if (from.rank() > 1 || (is_count && !is_int(from.dtype())))
    fail_build(where, "choice: there is nothing to choose from", "a vector, or the integer below which numbers are",
               value_text(from));
  const Dim count = is_count ? Length(from, where).dim() : from.dims()[0];
  if (p && p->expr().rank() == 1 && count.is_known() && p->expr().dims()[0].is_known() &&
      !(p->expr().dims()[0] == count))
    fail_build(where, "choice: the number of probabilities differs", count.text(), value_text(p->expr()));
  Expr locations;
  if (p) {
    locations = made([&](const Expr& state) { return draw_choice(Operand(state, where), size, *p, replace); }, where);
  } else if (replace) {
    const Expr below = is_count ? from : length(Operand(from, where), 0);
    locations = randint(size, 0, Operand(below, where), {}, where);
  } else {
    const Dim taken = product(size.dims);
    if (taken.is_known() && count.is_known() && taken.value() > count.value())
      fail_build(where, "choice: more are taken without replacement than there are", str("at most ", count.value()),
                 taken.text());
    locations = reshape(split(permutation(count, {}, where), {taken, count - taken})[0], size);
  }
  return is_count ? locations : take(from, locations);
}

Expr RandomStreams::permutation(const Length& n, const LengthList& size, std::source_location where) const {
  return made([&](const Expr& state) { return draw_permutation(Operand(state, where), size, n); }, where);
}

Expr RandomStreams::shuffle(const Operand& x) const {
  const Origin origin = Origin::here(x.where());
  const InheritOrigin inherit(origin);
  const Expr value = x.expr();
  if (value.rank() == 0)
    fail_build(x.where(), "shuffle: a scalar has no order", "a value with axes", value_text(value));
  return take(value, permutation(value.dims()[0], {}, x.where()));
}

Expr RandomStreams::shuffle_row_elements(const Operand& x) const {
  const Origin origin = Origin::here(x.where());
  const InheritOrigin inherit(origin);
  const Expr value = x.expr();
  if (value.rank() == 0)
    fail_build(x.where(), "shuffle_row_elements: a scalar has no order", "a value with axes", value_text(value));
  const Dims outer(value.dims().begin(), value.dims().end() - 1);
  const Dim& n = value.dims().back();
  const Expr order = reshape(permutation(n, outer, x.where()), {product(outer), n});
  const Expr first = arange(length(order, 0)) * length(order, 1);
  return reshape(take(flatten(value), order + expand_dims(first, {1})), value.dims());
}

Expr RandomStreams::multinomial(const LengthList& size, const Operand& n, const Operand& p,
                                std::source_location where) const {
  return made([&](const Expr& state) { return draw_multinomial(Operand(state, where), size, n, p); }, where);
}

Expr RandomStreams::multivariate_normal(const LengthList& size, const Operand& mean, const Operand& covariance,
                                        std::optional<DType> dtype, std::source_location where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  const Expr centre = cast(mean, DType::kFloat64);
  if (centre.rank() != 1 || covariance.expr().rank() != 2)
    fail_build(where, "multivariate_normal: the parameters are no vector and no matrix",
               "a mean [n], covariance [n, n]", str(value_text(mean.expr()), " and ", value_text(covariance.expr())));
  Dims dims = size.dims;
  dims.push_back(centre.dims()[0]);
  const Expr root = covariance_root(covariance);
  const Expr z = one("normal", {product(size.dims), centre.dims()[0]}, {0.0, 1.0}, DType::kFloat64, where);
  return cast(reshape(dot(z, root) + centre, dims), dtype.value_or(floatX()));
}

void RandomStreams::seed(int64_t seed, std::source_location where) const {
  RandomState seeds = located(where, [&] { return RandomState(seed); });
  for (const Shared& state : made_->states) state.set_value(tensor_of(RandomState(next_seed(seeds))));
}

std::vector<Shared> RandomStreams::states() const {
  return made_->states;
}

}  // namespace thtrain

#include "datasets/sources/ratings.h"

#include <cmath>

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"
#include "datasets/split_mix.h"

namespace thtrain {

MatrixElements generate_ratings(int64_t n, const RatingsShape& shape, int64_t seed, int64_t part) {
  RandomState random(seed);
  const auto normals = [&](int64_t count, double deviation) {
    std::vector<double> out(static_cast<size_t>(count));
    for (double& v : out) v = deviation * random.normal();
    return out;
  };
  // The product of two numbers of deviation s, summed over the factors, has the deviation s^2 sqrt(factors).
  const double of_factor = std::pow(static_cast<double>(shape.factors), -0.25);
  const std::vector<double> user_bias = normals(shape.users, 0.5), item_bias = normals(shape.items, 0.5),
                            users = normals(shape.users * shape.factors, of_factor),
                            items = normals(shape.items * shape.factors, of_factor);
  RandomState noise(seed + 1 + part);
  ElementList out(shape.users, shape.items);
  for (int64_t i = 0; i < n; ++i) {
    SplitMix draw = SplitMix::of(static_cast<uint64_t>(seed), static_cast<uint64_t>(part), static_cast<uint64_t>(i));
    const auto user = static_cast<int64_t>(draw.below(static_cast<uint64_t>(shape.users))),
               item = static_cast<int64_t>(draw.below(static_cast<uint64_t>(shape.items)));
    double rating = 3 + user_bias[static_cast<size_t>(user)] + item_bias[static_cast<size_t>(item)];
    for (int64_t k = 0; k < shape.factors; ++k)
      rating +=
          users[static_cast<size_t>(user * shape.factors + k)] * items[static_cast<size_t>(item * shape.factors + k)];
    out.add(user, item, rating + shape.noise * noise.normal());
  }
  return out.take();
}

void RatingsConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [shape = static_cast<const RatingsShape&>(*this)](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"ratings\", seed ", options.seed);
    require_fits(options, origin, 4 * (options.train + options.valid + options.test), DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      MatrixElements made = generate_ratings(n, shape, options.seed, part);
      return Split({.raw = outline(DType::kFloat64, {n, shape.users + shape.items}),
                    .source = std::move(made.x),
                    .origin = origin,
                    .where = options.where},
                   {.raw = made.y, .origin = origin, .where = options.where}, Targets::kValues, 1);
    };
    return SourceData{.train = set(options.train, 0),
                      .valid = set(options.valid, 1),
                      .test = set(options.test, 2),
                      .streamed = false};
  };
}

void RatingsConfig::describe(Fields<RatingsConfig>& f) {
  f.about(
      "Some elements of a matrix of ratings, values to approximate: biases of users and of items, a product of low "
      "rank, "
      "and noise. An example is 1 at its user and, behind all users, at its item, else 0, and only these are kept: the "
      "layer `factorization` learns the rest of the matrix.");
  f.field("users", &RatingsConfig::users)
      .range(between(1, 1000000))
      .unit("rows")
      .help("Users, the rows of the matrix.");
  f.field("items", &RatingsConfig::items).range(between(1, 1000000)).unit("columns").help("Items, its columns.");
  f.field("factors", &RatingsConfig::factors).range(between(1, 1000)).help("Rank of the product.");
  f.field("noise", &RatingsConfig::noise).range(at_least(0)).help("Standard deviation of the noise.");
  f.field("standardize_targets", &RatingsConfig::standardize_targets)
      .help("The same as `standardize` for the ratings; predictions are in their units.");
  describe_generator(f);
  f.check([](const RatingsConfig& c, Findings& findings) { check_sparse(c, findings); });
}

Kind<DataConfig> ratings_source() {
  return kind<RatingsConfig, DataConfig>();
}

}  // namespace thtrain

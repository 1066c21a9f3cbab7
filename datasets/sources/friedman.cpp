#include "datasets/sources/friedman.h"

#include <cmath>
#include <numbers>

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"

namespace thtrain {

Friedman generate_friedman(int64_t n, double noise, int64_t seed, int64_t part) {
  RandomState seeds(seed);
  for (int64_t i = 0; i < part; ++i) seeds.next_uint32();
  RandomState random(seeds.next_uint32());
  Friedman out{Tensor::empty(DType::kFloat64, {n, 10}), Tensor::empty(DType::kFloat64, {n})};
  double *x = out.x.data<double>(), *y = out.y.data<double>();
  for (int64_t i = 0; i < 10 * n; ++i) x[i] = random.random_sample();
  for (int64_t i = 0; i < n; ++i, x += 10)
    y[i] = 10 * std::sin(std::numbers::pi * x[0] * x[1]) + 20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4] +
           noise * random.normal();
  return out;
}

void FriedmanConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [noise = noise](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"friedman\", seed ", options.seed);
    require_fits(options, origin, 11 * (options.train + options.valid + options.test), DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      Friedman made = generate_friedman(n, noise, options.seed, part);
      return Split({.raw = made.x, .origin = origin, .where = options.where},
                   {.raw = made.y, .origin = origin, .where = options.where}, Targets::kValues, 1);
    };
    return SourceData{.train = set(options.train, 0), .valid = set(options.valid, 1), .test = set(options.test, 2)};
  };
}

void FriedmanConfig::describe(Fields<FriedmanConfig>& f) {
  f.about(
      "Friedman's first function of ten numbers in [0, 1), values to approximate: y = 10 sin(pi x1 x2) + 20 (x3 - "
      "0.5)^2 "
      "+ 10 x4 + 5 x5 + noise.");
  f.field("noise", &FriedmanConfig::noise).range(at_least(0)).help("Standard deviation of the noise.");
  f.field("standardize_targets", &FriedmanConfig::standardize_targets)
      .help("The same as `standardize` for y; predictions are in its units.");
  describe_generator(f);
}

Kind<DataConfig> friedman_source() {
  return kind<FriedmanConfig, DataConfig>();
}

}  // namespace thtrain

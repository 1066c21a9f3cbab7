#include "datasets/sources/adding.h"

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"

namespace thtrain {

Adding generate_adding(int64_t n, int64_t steps, int64_t seed, int64_t part) {
  TH_CHECK(steps >= 2, steps, " steps, of which two are marked");
  RandomState seeds(seed);
  for (int64_t i = 0; i < part; ++i) seeds.next_uint32();
  RandomState random(seeds.next_uint32());
  Adding out{Tensor::zeros(DType::kFloat64, {n, steps, 2}), Tensor::empty(DType::kFloat64, {n, 1})};
  for (int64_t i = 0; i < n; ++i) {
    double* x = out.x.data<double>() + i * steps * 2;
    for (int64_t t = 0; t < steps; ++t) x[2 * t] = random.random_sample();
    const int64_t first = random.integer(0, steps / 2), second = random.integer(steps / 2, steps);
    x[2 * first + 1] = x[2 * second + 1] = 1;
    out.y.data<double>()[i] = x[2 * first] + x[2 * second];
  }
  return out;
}

void AddingConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.targets = Targets::kValues;
  out.read = [steps = steps](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"adding\", seed ", options.seed);
    require_fits(options, origin, 2 * steps * (options.train + options.valid + options.test), DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      Adding made = generate_adding(n, steps, options.seed, part);
      return Split({.raw = made.x, .origin = origin, .where = options.where},
                   {.raw = made.y, .origin = origin, .where = options.where}, Targets::kValues, 1, Sequences{});
    };
    return SourceData{.train = set(options.train, 0), .valid = set(options.valid, 1), .test = set(options.test, 2)};
  };
}

void AddingConfig::describe(Fields<AddingConfig>& f) {
  f.about(
      "The adding problem: sequences of two numbers at each step, one from 0 to 1 and a mark, which is 1 at one step "
      "of the first half and at one of the second half and else 0. The target, one value for each sequence, is the sum "
      "of the two marked numbers. A model that always gives the mean has a mean squared error of 1/6.");
  f.field("steps", &AddingConfig::steps).range(between(2, 1000000)).unit("steps").help("Steps of each sequence.");
  f.field("standardize_targets", &AddingConfig::standardize_targets)
      .help("Subtract the mean of the training targets and divide by their standard deviation.");
  describe_generator(f);
}

Kind<DataConfig> adding_source() {
  return kind<AddingConfig, DataConfig>();
}

}  // namespace thtrain

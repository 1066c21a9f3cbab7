#include "datasets/sources/moons.h"

#include <cmath>
#include <numbers>

#include "compiler/base/random_state.h"
#include "datasets/data_fields.h"

namespace thtrain {

Moons generate_moons(int64_t n, double noise, int64_t seed, int64_t part) {
  RandomState seeds(seed);
  for (int64_t i = 0; i < part; ++i) seeds.next_uint32();
  RandomState random(seeds.next_uint32());
  Moons out{Tensor::empty(DType::kFloat64, {n, 2}), Tensor::empty(DType::kInt64, {n})};
  const int64_t above = n / 2, below = n - above;
  auto add = [&](int64_t count, int64_t label) {
    for (int64_t i = 0; i < count; ++i) {
      const double angle = count > 1 ? std::numbers::pi * static_cast<double>(i) / static_cast<double>(count - 1) : 0;
      const int64_t row = i < above ? 2 * i + label : n - 1;
      double* x = out.x.data<double>() + 2 * row;
      x[0] = label == 0 ? std::cos(angle) : 1 - std::cos(angle);
      x[1] = label == 0 ? std::sin(angle) : 0.5 - std::sin(angle);
      x[0] += noise * random.normal();
      x[1] += noise * random.normal();
      out.y.data<int64_t>()[row] = label;
    }
  };
  add(above, 0);
  add(below, 1);
  return out;
}

void MoonsConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [noise = noise](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"moons\", seed ", options.seed);
    require_fits(options, origin, 3 * (options.train + options.valid + options.test), DType::kFloat64, floatx);
    auto set = [&](int64_t n, int64_t part) {
      Moons made = generate_moons(n, noise, options.seed, part);
      return Split({.raw = made.x, .origin = origin, .where = options.where},
                   {.raw = made.y, .origin = origin, .where = options.where}, Targets::kClasses, 1);
    };
    return SourceData{.train = set(options.train, 0), .valid = set(options.valid, 1), .test = set(options.test, 2)};
  };
}

void MoonsConfig::describe(Fields<MoonsConfig>& f) {
  f.about(
      "Points of two half circles that reach into each other: two numbers, and two classes that no line separates.");
  f.field("noise", &MoonsConfig::noise)
      .range(at_least(0))
      .help("Standard deviation of the noise; the circles have radius 1.");
  describe_generator(f);
}

Kind<DataConfig> moons_source() {
  return kind<MoonsConfig, DataConfig>();
}

}  // namespace thtrain

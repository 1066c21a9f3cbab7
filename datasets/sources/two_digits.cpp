#include "datasets/sources/two_digits.h"

#include <algorithm>

#include "datasets/data_fields.h"
#include "datasets/digits_generator.h"

namespace thtrain {

constexpr int64_t kDigitSide = 28, kClasses = 10;

TwoDigits generate_two_digits(int64_t n, int64_t seed, int64_t part) {
  Digits digits = generate_digits(2 * n, static_cast<uint64_t>(seed), static_cast<uint64_t>(part));
  TwoDigits out{Tensor::empty(DType::kUInt8, {n, kDigitSide, 2 * kDigitSide}),
                Tensor::zeros(DType::kUInt8, {n, kClasses})};
  const auto* from = digits.images.data<uint8_t>();
  auto* into = out.images.data<uint8_t>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t row = 0; row < kDigitSide; ++row)
      for (int64_t side = 0; side < 2; ++side, into += kDigitSide)
        std::copy_n(from + ((2 * i + side) * kDigitSide + row) * kDigitSide, kDigitSide, into);
  for (int64_t i = 0; i < 2 * n; ++i)
    out.labels.data<uint8_t>()[i / 2 * kClasses + digits.labels.data<uint8_t>()[i]] = 1;
  return out;
}

void TwoDigitsConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = [](const DatasetOptions& options, DType floatx) {
    const std::string origin = str("the generator \"two_digits\", seed ", options.seed);
    require_fits(options, origin, 2 * kDigitSide * kDigitSide * (options.train + options.valid + options.test),
                 DType::kUInt8, floatx);
    auto set = [&](int64_t n, int64_t part) {
      TwoDigits made = generate_two_digits(n, options.seed, part);
      return Split({.raw = made.images, .origin = origin, .where = options.where},
                   {.raw = made.labels, .origin = origin, .where = options.where}, Targets::kLabels, options.scale);
    };
    return SourceData{.train = set(options.train, 0), .valid = set(options.valid, 1), .test = set(options.test, 2)};
  };
}

void TwoDigitsConfig::describe(Fields<TwoDigitsConfig>& f) {
  f.about(
      "The built-in generator of pictures of 28x56 pixels, in which two handwritten-like digits are side by side; "
      "the "
      "labels are ten, one for each digit that may be there.");
  f.field("scale", &TwoDigitsConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_generator(f);
}

Kind<DataConfig> two_digits_source() {
  return kind<TwoDigitsConfig, DataConfig>();
}

}  // namespace thtrain

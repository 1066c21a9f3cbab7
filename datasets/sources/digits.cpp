#include "datasets/sources/digits.h"

#include <algorithm>

#include "compiler/base/file.h"
#include "datasets/data_fields.h"
#include "datasets/digits_generator.h"
#include "datasets/memory.h"

namespace thtrain {

// The largest of the three numbers is blamed.
static void check_digits_fit(const DatasetOptions& options, int64_t train, int64_t valid, int64_t test, DType floatx) {
  double pixels = 28 * 28, one = pixels + pixels * static_cast<double>(size_of(floatx)) + 1 + sizeof(int64_t);
  double needed = one * (static_cast<double>(train) + static_cast<double>(valid) + static_cast<double>(test));
  auto most = static_cast<double>(usable_memory());
  if (needed <= most) return;
  int64_t largest = std::max({train, valid, test});
  throw UserError({.what = "so many digits do not fit in memory",
                   .expected = str("at most ", bytes_text(most), ", the memory that there is: about ",
                                   static_cast<int64_t>(most / one), " digits"),
                   .got = str(bytes_text(needed), " for ", largest,
                              largest == train   ? " training"
                              : largest == valid ? " validation"
                                                 : " test",
                              " digits and the others"),
                   .config = position_of(options, largest == train   ? options.train_where
                                                  : largest == valid ? options.valid_where
                                                                     : options.test_where)});
}

ReadSource digits_reader() {
  return [](const DatasetOptions& options, DType floatx) {
    const DigitsConfig defaults;
    auto size = [](int64_t wanted, int64_t otherwise) { return wanted < 0 ? otherwise : wanted; };
    const int64_t train = size(options.train, defaults.n_train), valid = size(options.valid, defaults.n_valid),
                  test = size(options.test, defaults.n_test);
    check_digits_fit(options, train, valid, test, floatx);
    const std::string origin = str("the generator of digits, seed ", options.seed);
    auto part = [&](int64_t n, uint64_t number) {
      Digits digits = generate_digits(n, static_cast<uint64_t>(options.seed), number);
      return Split({.raw = digits.images, .origin = origin, .where = options.where},
                   {.raw = digits.labels, .origin = origin, .where = options.where}, options.targets,
                   scale_or(options, kPixelScale));
    };
    return SourceData{.train = part(train, 0), .valid = part(valid, 1), .test = part(test, 2), .classes = 10};
  };
}

void DigitsConfig::fill(DatasetOptions& out) const {
  GeneratorConfig::fill(out);
  out.read = digits_reader();
}

void DigitsConfig::describe(Fields<DigitsConfig>& f) {
  f.about(
      "The built-in generator of handwritten-like digits of 28x28 pixels: the same seed gives the same digits "
      "everywhere.");
  describe_sizes(f);
  f.field("scale", &DigitsConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_common(f);
}

Kind<DataConfig> digits_source() {
  return kind<DigitsConfig, DataConfig>();
}

}  // namespace thtrain

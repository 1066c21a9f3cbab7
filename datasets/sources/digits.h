// The built-in generator of handwritten-like digits (datasets/digits_generator.h) as a source.
#pragma once

#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

/// Images of 28x28 pixels and their classes. UserError for more of them than the memory holds.
ReadSource digits_reader();

struct DigitsConfig : GeneratorConfig {
  static constexpr std::string_view kName = "digits";
  DigitsConfig() { scale = kPixelScale; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<DigitsConfig>& f);
};

}  // namespace thtrain

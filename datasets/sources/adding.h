// The adding problem, a built-in problem of memory over many steps.
//
// S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural Computation 9, 1997, section 5.4, with numbers and
// targets as Q. V. Le, N. Jaitly, G. E. Hinton, "A simple way to initialize recurrent networks of rectified linear
// units", 2015, section 4.1 have them.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct Adding {
  Tensor x;  // float64 [n, steps, 2]: a number, and 1 where it is marked, else 0
  Tensor y;  // float64 [n, 1]: the sum of the two marked numbers
};

/// `n` sequences. Numbers are from [0, 1), all with equal chances; one of the first `steps` / 2 (rounded down) is
/// marked, and one of the others, each with equal chances. So the targets have the mean 1 and the variance 1/6, which
/// is the mean squared error of a model that always gives 1. For each sequence in turn the numbers are those of
/// random.random_sample(steps), random.randint(0, steps // 2) and random.randint(steps // 2, steps) of random =
/// RandomState(s), where s is the number `part` (from 0) that RandomState(seed).next_uint32() gives. InternalError
/// unless steps is at least 2.
Adding generate_adding(int64_t n, int64_t steps, int64_t seed, int64_t part);

struct AddingConfig : GeneratorConfig {
  static constexpr std::string_view kName = "adding";
  int64_t steps = 100;
  AddingConfig() { target = Targets::kValues; }
  bool has_sequences() const override { return true; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<AddingConfig>& f);
};

}  // namespace thtrain

#include "compiler/ops/case_inputs.h"

#include <algorithm>
#include <random>

namespace thtrain {

Shape case_shape(const Type& type, int64_t length) {
  Shape out;
  for (const Dim& dim : type.dims) out.push_back(dim.evaluate([&](const std::string&) { return length; }));
  return out;
}

double share_of_true(const Shape& shape, uint64_t seed) {
  int64_t longest = 2;
  for (int64_t length : shape) longest = std::max(longest, length);
  const double few = 1 / static_cast<double>(longest);
  return seed % 3 == 0 ? 0.5 : seed % 3 == 1 ? few : 1 - few;
}

std::vector<Tensor> make_values(const OpCase& c, const std::vector<Type>& types, int64_t length, uint64_t seed) {
  std::vector<Tensor> out;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> chance(0, 1);
  int64_t int_low = length < kCaseLength ? std::max(c.int_low, -length) : c.int_low;
  int64_t int_high = length < kCaseLength ? std::min(c.int_high, std::max<int64_t>(length, 1)) : c.int_high;
  int_high = std::max(int_high, int_low + 1);
  for (const Type& type : types) {
    const Shape shape = case_shape(type, length);
    Tensor value = Tensor::empty(type.dtype, shape);
    const bool truths = is_bool(type.dtype) || (int_low == 0 && int_high == 2);
    const double share = share_of_true(shape, seed);
    visit(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* x = value.data<T>();
      for (int64_t k = 0; k < value.size(); ++k) {
        double u = std::uniform_real_distribution<double>(c.low, c.high)(random);
        int64_t n = std::uniform_int_distribution<int64_t>(int_low, int_high - 1)(random);
        if constexpr (std::is_integral_v<T>)
          x[k] = truths ? static_cast<T>(chance(random) < share) : static_cast<T>(n);
        else if constexpr (is_complex_v<T>)
          x[k] = T(static_cast<typename T::value_type>(u), static_cast<typename T::value_type>(-u / 2));
        else if constexpr (std::is_floating_point_v<T>)
          x[k] = static_cast<T>(u);
      }
    });
    out.push_back(value);
  }
  return out;
}

CaseInputs make_inputs(const OpCase& c, const std::string& prefix, uint64_t seed) {
  CaseInputs out;
  for (size_t i = 0; i < c.inputs.size(); ++i) out.variables.push_back(make_input(c.inputs[i], str(prefix, i)));
  out.values = make_values(c, c.inputs, kCaseLength, seed);
  return out;
}

}  // namespace thtrain

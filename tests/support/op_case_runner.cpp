#include "tests/support/op_case_runner.h"

#include <algorithm>
#include <random>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {

constexpr int64_t kLength = 5;  // a named length, unless a test wants another: no case may depend on which

std::vector<Tensor> make_values(const OpCase& c, const std::vector<Type>& types, int64_t length, uint64_t seed) {
  std::vector<Tensor> out;
  std::mt19937_64 random(seed);
  int64_t int_low = length < kLength ? std::max(c.int_low, -length) : c.int_low;
  int64_t int_high = length < kLength ? std::min(c.int_high, std::max<int64_t>(length, 1)) : c.int_high;
  for (const Type& type : types) {
    Shape shape;
    for (const Dim& dim : type.dims) shape.push_back(dim.evaluate([&](const std::string&) { return length; }));
    Tensor value = Tensor::empty(type.dtype, shape);
    visit(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* x = value.data<T>();
      for (int64_t k = 0; k < value.size(); ++k) {
        double u = std::uniform_real_distribution<double>(c.low, c.high)(random);
        int64_t n = std::uniform_int_distribution<int64_t>(int_low, int_high - 1)(random);
        if constexpr (std::is_same_v<T, bool>)
          x[k] = (n & 1) != 0;
        else if constexpr (is_complex_v<T>)
          x[k] = T(static_cast<typename T::value_type>(u), static_cast<typename T::value_type>(-u / 2));
        else if constexpr (std::is_floating_point_v<T>)
          x[k] = static_cast<T>(u);
        else
          x[k] = static_cast<T>(n);
      }
    });
    out.push_back(value);
  }
  return out;
}

CaseInputs make_inputs(const OpCase& c, const std::string& prefix, uint64_t seed) {
  CaseInputs out;
  for (size_t i = 0; i < c.inputs.size(); ++i) out.variables.push_back(make_input(c.inputs[i], str(prefix, i)));
  out.values = make_values(c, c.inputs, kLength, seed);
  return out;
}

Expr projection(const std::vector<Expr>& outputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  Expr total;
  for (const Expr& out : outputs) {
    if (out.type().kind != TypeKind::kTensor || !is_float(out.dtype())) continue;
    Tensor weights = Tensor::empty(DType::kFloat64, out.type().known_shape());
    for (int64_t i = 0; i < weights.size(); ++i)
      weights.data<double>()[i] = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    Expr part = sum(out * make_constant(weights.cast(out.dtype())));
    total = total ? total + part : part;
  }
  return total;
}

}  // namespace thtrain

// Reductions over every set of axes against NumPy: with lengths that are known, and with ones that only a call decides.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/max_abs.h"
#include "compiler/ops/reduce/reduce.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

// The golden file's pairs of numbers as complex ones.
Tensor read(const GoldenLine& line, DType dtype) {
  if (!is_complex(dtype)) return line.result(dtype);
  bool narrow = dtype == DType::kComplex64;
  Tensor pairs = line.result(narrow ? DType::kFloat32 : DType::kFloat64);
  Shape shape(pairs.shape().begin(), pairs.shape().end() - 1);
  Tensor out = Tensor::empty(dtype, shape);
  std::copy_n(static_cast<const char*>(pairs.raw()), pairs.bytes(), static_cast<char*>(out.raw()));
  return out;
}

Expr reduce(const GoldenLine& line, const Expr& x) {
  const std::string &name = line.name, &axes_text = line.arguments[1];
  bool keepdims = line.arguments[2] == "1";
  Axes axes = axes_text == "all" ? Axes() : Axes(parse_list(axes_text));
  std::optional<int64_t> axis;
  if (axes_text != "all") axis = axes.given()[0];
  if (name == "sum") return sum(x, axes, keepdims);
  if (name == "prod") return prod(x, axes, keepdims);
  if (name == "mean") return mean(x, axes, keepdims);
  if (name == "var") return var(x, axes, keepdims, Ddof(0));
  if (name == "var1") return var(x, axes, keepdims, Ddof(1));
  if (name == "std") return thtrain::std(x, axes, keepdims, Ddof(0));
  if (name == "min") return min(x, axes, keepdims);
  if (name == "max") return max(x, axes, keepdims);
  if (name == "any") return any(x, axes, keepdims);
  if (name == "all") return all(x, axes, keepdims);
  if (name == "max_abs") return max_abs(x, axes, keepdims);
  if (name == "cumsum") return cumsum(x, axis);
  if (name == "argmin") return argmin(x, axis, keepdims);
  if (name == "argmax") return argmax(x, axis, keepdims);
  throw std::runtime_error("an unknown reduction: " + line.text);
}

template <class T>
bool close(T got, T want) {
  if constexpr (is_complex_v<T>) {
    return std::abs(got - want) <= 4 * std::numeric_limits<typename T::value_type>::epsilon() * std::abs(want);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(want)) return std::isnan(got);
    return got == want || std::abs(got - want) <= 4 * std::numeric_limits<T>::epsilon() * std::abs(want);
  } else {
    return got == want;
  }
}

void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.type_text(), want.type_text());
  visit(want.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(close(got.data<T>()[i], want.data<T>()[i])) << "element " << i << " of " << got.text();
  });
}

void compare_all(bool known) {
  std::map<std::string, Tensor> inputs;
  int compared = 0, errors = 0;
  for (const GoldenLine& line : golden_lines("reductions.txt")) {
    if (line.name == "input") {
      inputs[line.arguments[0]] = read(line, *dtype_named(line.arguments[1]));
      continue;
    }
    SCOPED_TRACE(line.text);
    const Tensor& value = inputs.at(line.arguments[0]);
    Type type = type_of(value);
    if (!known)
      for (size_t i = 0; i < type.rank(); ++i)
        if (!type.dims[i].is(1)) type.dims[i] = Dim::named(str("n", i));
    Expr x = make_input(type, "x");
    if (line.is_error) {
      EXPECT_THROW(evaluate({reduce(line, x)}, {{x, value}}), UserError);
      ++errors;
      continue;
    }
    Expr y = reduce(line, x);
    Tensor want = read(line, *dtype_named(line.arguments[3]));
    EXPECT_EQ(y.dtype(), want.dtype());
    expect_close(evaluate({y}, {{x, value}})[0], want);
    ++compared;
  }
  EXPECT_GT(compared, 1000);
  EXPECT_GT(errors, 20);
}

TEST(Reductions, GiveNumPysValuesWithKnownLengths) {
  compare_all(true);
}
TEST(Reductions, GiveNumPysValuesWithNamedLengths) {
  compare_all(false);
}

}  // namespace
}  // namespace thtrain

// Casts between all dtypes of real numbers, at the bounds of each: Tensor::cast, the reference, native code at every
// vector width, C99 and kernels of a device give the numbers that docs/semantics.md says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/device_under_test.h"
#include "tests/support/dtypes.h"
#include "tests/support/native_program.h"

namespace thtrain::value_casts_test {
namespace {

std::vector<DType> real_dtypes() {
  std::vector<DType> out;
  for (DType dtype : kAllDTypes)
    if (!is_complex(dtype)) out.push_back(dtype);
  return out;
}

// Bounds of every integer dtype, and what is next to them.
template <class T>
std::vector<T> values_at_bounds() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> out;
  if constexpr (std::is_same_v<T, bool>) {
    out = {false, true};
  } else {
    std::set<T> all{T(0), T(1), T(3)};
    for (int bits : {7, 8, 15, 16, 24, 31, 32, 53, 63, 64})
      for (double sign : {-1.0, 1.0})
        for (double more : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
          const double x = sign * std::ldexp(1.0, bits) + more;
          if constexpr (std::is_floating_point_v<T>) {
            const T at = static_cast<T>(x);
            all.insert({at, std::nextafter(at, T(0)), std::nextafter(at, 2 * at)});
          } else if (x >= static_cast<double>(Limits::min()) && x < std::ldexp(1.0, Limits::digits)) {
            all.insert(static_cast<T>(x));
          }
        }
    all.insert({Limits::lowest(), Limits::max()});
    if constexpr (std::is_floating_point_v<T>)
      all.insert({T(-0.5), T(0.99), T(-0.99), T(-1), T(-1.5), T(-3), Limits::infinity(), -Limits::infinity()});
    out.assign(all.begin(), all.end());
    if constexpr (std::is_floating_point_v<T>)
      out.insert(out.end(), {T(-0.0), Limits::quiet_NaN(), -Limits::quiet_NaN()});
  }
  out.push_back(out[out.size() / 2]);  // longer than vectors, and no multiple of them
  while (out.size() < 67) out.push_back(out[out.size() % 7]);
  return out;
}

template <class To, class From>
To expected_of(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(x)) return 0;
    const long double whole = std::trunc(static_cast<long double>(x)), low = std::numeric_limits<To>::min(),
                      high = std::numeric_limits<To>::max();
    return static_cast<To>(std::fmin(std::fmax(whole, low), high));
  } else {
    return static_cast<To>(x);
  }
}

struct Casts {
  std::vector<Expr> variables, outputs;
  std::vector<Tensor> values, expected;
  std::vector<std::string> names;

  Casts() {
    for (DType from : real_dtypes()) {
      visit(from, [&](auto zero) {
        using From = decltype(zero);
        if constexpr (!is_complex_v<From>) {
          const std::vector<From> all = values_at_bounds<From>();
          Tensor value = Tensor::empty(from, {static_cast<int64_t>(all.size())});
          std::copy(all.begin(), all.end(), value.data<From>());
          add(from, value);
        }
      });
    }
  }

  void expect(const std::vector<Tensor>& got, const std::string& by) const {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); ++k)
      for (int64_t i = 0; i < got[k].size(); ++i)
        if (got[k].as_int(i) != expected[k].as_int(i) || !is_same(got[k].as_double(i), expected[k].as_double(i))) {
          ADD_FAILURE() << by << ", " << names[k] << ": " << input_of(k).as_double(i) << " is " << got[k].as_double(i)
                        << ", expected " << expected[k].as_double(i);
          break;
        }
  }

 private:
  void add(DType from, const Tensor& value) {
    const Expr x = tensor(str("x_", name_of(from)), {value.size()}, from);
    for (DType to : real_dtypes()) {
      if (to == from) continue;
      outputs.push_back(cast(x, to));
      names.push_back(str(name_of(from), " to ", name_of(to)));
      of_.push_back(values.size());
      Tensor wanted = Tensor::empty(to, value.shape());
      visit(from, [&](auto from_zero) {
        visit(to, [&](auto to_zero) {
          using From = decltype(from_zero);
          using To = decltype(to_zero);
          if constexpr (!is_complex_v<From> && !is_complex_v<To>)
            for (int64_t i = 0; i < value.size(); ++i) wanted.data<To>()[i] = expected_of<To>(value.data<From>()[i]);
        });
      });
      expected.push_back(wanted);
    }
    variables.push_back(x);
    values.push_back(value);
  }
  const Tensor& input_of(size_t output) const { return values[of_[output]]; }
  static bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  std::vector<size_t> of_;  // of each output its input
};

TEST(Casts, OfTensorsAndOfTheReference) {
  const Casts casts;
  std::vector<Tensor> cast_alone;
  std::vector<std::pair<Expr, Tensor>> bound;
  for (size_t i = 0; i < casts.variables.size(); ++i) bound.emplace_back(casts.variables[i], casts.values[i]);
  for (size_t i = 0; i < casts.values.size(); ++i)
    for (DType to : real_dtypes())
      if (to != casts.values[i].dtype()) cast_alone.push_back(casts.values[i].cast(to));
  casts.expect(cast_alone, "Tensor::cast");
  casts.expect(evaluate(casts.outputs, bound), "the reference");
}

TEST(Casts, OfNativeCodeOfEveryWidth) {
  const Casts casts;
  for (const Target& target : all_targets()) {
    if (target.compiler != "g++" || !why_not(target).empty()) continue;
    casts.expect(NativeProgram({casts.variables, casts.outputs, {}}, target)(casts.values), target.text());
  }
}

TEST(Casts, OfC99AndOfADevice) {
  const Casts casts;
  for (const auto& [name, target] : {std::pair{"C99", kernel::c99_target()}, {"the device", device_under_test()}})
    casts.expect(function({casts.variables.begin(), casts.variables.end()},
                          {casts.outputs.begin(), casts.outputs.end()}, {}, {.target = target})(casts.values),
                 name);
}

// Known when the program is built: the same numbers.
TEST(Casts, OfConstants) {
  const Casts casts;
  std::vector<Out> outputs;
  for (size_t i = 0; i < casts.values.size(); ++i)
    for (DType to : real_dtypes())
      if (to != casts.values[i].dtype()) outputs.emplace_back(cast(make_constant(casts.values[i]), to));
  casts.expect(function({}, outputs)({}), "folded");
}

}  // namespace
}  // namespace thtrain::value_casts_test

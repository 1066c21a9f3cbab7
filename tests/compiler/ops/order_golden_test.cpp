// Sorting, searching, counting and running extrema against NumPy: with lengths that are known, and with ones that only
// a call decides.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/api.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/golden_lines.h"

namespace thtrain::order_golden_test {
namespace {

class OrderCase {
 public:
  OrderCase(const GoldenLine& line, const std::map<std::string, Tensor>& values, bool known)
      : line_(line), values_(values), known_(known) {}

  Expr build() {
    const std::string& name = line_.name;
    const Expr x = input(line_.arguments[0]);
    if (name.starts_with("complex_")) return of_complex(x);
    if (name.starts_with("unique_along")) return part_of(unique(x, number(1)));
    if (name.starts_with("unique")) return part_of(unique(x));
    if (name.starts_with("histogram")) return of_histogram(x);
    const std::string& first = line_.arguments[1];
    if (name == "searchsorted")
      return searchsorted(x, input(first), line_.arguments[2] == "left" ? Side::kLeft : Side::kRight);
    if (name == "digitize") return digitize(x, input(first), line_.arguments[2] == "1" ? Side::kRight : Side::kLeft);
    if (name == "take_along_axis") return take_along_axis(x, input(first), number(2));
    if (name == "bincount") return bincount(x, {}, number(1));
    if (name == "bincount_weights") return bincount(x, Operand(input("weights")), number(1));
    if (name == "diff") return diff(x, number(1), number(2));
    if (name == "argtopk")
      return argtopk(x, number(2), number(1), line_.arguments[3] == "1" ? Extreme::kSmallest : Extreme::kLargest);
    const std::optional<int64_t> axis = first == "all" ? std::nullopt : std::optional(number(1));
    if (name == "sort") return sort(x, axis);
    if (name == "argsort") return argsort(x, axis);
    if (name == "cumsum") return cumsum(x, axis);
    if (name == "cumprod") return cumprod(x, axis);
    if (name == "cummax") return cummax(x, axis);
    if (name == "cummin") return cummin(x, axis);
    throw std::runtime_error("an unknown case: " + line_.text);
  }

  Tensor evaluate(const Expr& result) { return thtrain::evaluate({result}, inputs_)[0]; }

 private:
  int64_t number(size_t i) const { return std::stoll(line_.arguments[i]); }

  Expr part_of(const Unique& found) const {
    const std::string& name = line_.name;
    return name.ends_with("_index")     ? found.index
           : name.ends_with("_inverse") ? found.inverse
           : name.ends_with("_counts")  ? found.counts
                                        : found.values;
  }

  // Of numbers whose parts lie along the last axis; so do those of the result.
  Expr of_complex(const Expr& x) {
    const std::string &name = line_.name, &dtype = line_.arguments[1];
    const Expr parts = dtype == "complex64" ? cast(x, DType::kFloat32) : x;
    const Expr z = complex(parts[{ellipsis(), 0}], parts[{ellipsis(), 1}]);
    const auto axis = [&]() -> std::optional<int64_t> {
      return line_.arguments[2] == "all" ? std::nullopt : std::optional(number(2));
    };
    const Expr out = name == "complex_sort"                     ? sort(z, axis())
                     : name == "complex_argsort"                ? argsort(z, axis())
                     : name.starts_with("complex_unique_along") ? part_of(unique(z, axis()))
                                                                : part_of(unique(z));
    return is_complex(out.dtype()) ? stack({real(out), imag(out)}, -1) : out;
  }

  Expr of_histogram(const Expr& x) {
    const std::string& name = line_.name;
    if (name == "histogram_of_edges") return histogram(x, input(line_.arguments[1])).counts;
    HistogramOptions options;
    if (name == "histogram_range") options.range = {Operand(-1.5), Operand(2.5)};
    if (name == "histogram_weights") options.weights = Operand(x * x);
    options.density = name == "histogram_density";
    const Histogram out = histogram(x, number(1), options);
    return name == "histogram_edges" ? out.edges : out.counts;
  }

  Expr input(const std::string& name) {
    const Tensor& value = values_.at(name);
    Type type = type_of(value);
    if (!known_)
      for (size_t i = 0; i < type.rank(); ++i)
        if (!type.dims[i].is(1)) type.dims[i] = Dim::named(str(name, ".", i));
    inputs_.emplace_back(make_input(type, name), value);
    return inputs_.back().first;
  }

  const GoldenLine& line_;
  const std::map<std::string, Tensor>& values_;
  bool known_;
  std::vector<std::pair<Expr, Tensor>> inputs_;
};

// Equal, zeros with their signs; sums, products, edges and densities within a few roundings. Of zeros of both signs
// NumPy's unique gives any.
void expect_values(const Tensor& got, const Tensor& want, bool is_rounded) {
  ASSERT_EQ(got.type_text(), want.type_text());
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = got.as_double(i), b = want.as_double(i);
    if (is_float(want.dtype()) && is_rounded)
      EXPECT_TRUE(a == b || (a != a && b != b) || std::abs(a - b) <= 1e-6 * std::abs(b)) << a << ", not " << b;
    else if (is_float(want.dtype()))
      EXPECT_TRUE((a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b)) << a << ", not " << b;
    else
      EXPECT_EQ(got.as_int(i), want.as_int(i)) << "element " << i;
  }
}

void compare_all(bool known) {
  std::map<std::string, Tensor> values;
  int compared = 0, errors = 0;
  for (const GoldenLine& line : golden_lines("order_ops.txt")) {
    if (line.name == "input") {
      values[line.arguments[0]] = line.result(*dtype_named(line.arguments[1]));
      continue;
    }
    SCOPED_TRACE(line.text);
    OrderCase test(line, values, known);
    if (line.is_error) {
      EXPECT_THROW(test.evaluate(test.build()), UserError);
      ++errors;
      continue;
    }
    const bool is_rounded = line.name.starts_with("cum") || line.name.starts_with("histogram") ||
                            line.name.find("unique") != std::string::npos;
    const DType dtype = *dtype_named(line.arguments.back());
    Tensor got;
    ASSERT_NO_THROW(got = test.evaluate(test.build()));
    expect_values(line.name == "histogram_density" ? got.cast(dtype) : got, line.result(dtype), is_rounded);
    ++compared;
  }
  EXPECT_GT(compared, 1000);
  EXPECT_EQ(errors, 3);
}

TEST(OrderValues, AreNumPysWithKnownLengths) {
  compare_all(true);
}
TEST(OrderValues, AreNumPysWithNamedLengths) {
  compare_all(false);
}

}  // namespace
}  // namespace thtrain::order_golden_test

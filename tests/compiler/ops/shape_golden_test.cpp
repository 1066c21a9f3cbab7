// Ops on shapes against NumPy, with known and with named lengths.
#include <gtest/gtest.h>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/shape/shape.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

class ShapeCase {
 public:
  ShapeCase(const GoldenLine& line, bool lengths_are_known) : line_(line), known_(lengths_are_known) {}

  Tensor evaluate() {
    Expr result = build();
    return thtrain::evaluate({result}, inputs_)[0];
  }

 private:
  std::vector<int64_t> list(size_t i) const { return parse_list(line_.arguments[i]); }
  int64_t number(size_t i) const { return std::stoll(line_.arguments[i]); }

  Expr input(const Shape& shape, int64_t start = 0) {
    Tensor value = counting(shape, start);
    Type type = type_of(value);
    for (size_t i = 0; i < type.rank() && !known_; ++i)
      if (shape[i] != 1) type.dims[i] = Dim::named(str("x", inputs_.size(), ".", i));
    inputs_.emplace_back(make_input(type, str("x", inputs_.size())), value);
    return inputs_.back().first;
  }

  // An integer: itself, or a scalar input.
  Operand bound(size_t i) {
    if (known_) return number(i);
    inputs_.emplace_back(make_input({.dtype = DType::kInt64}, "bound"), Tensor(number(i)));
    return inputs_.back().first;
  }

  std::vector<Operand> values() {
    std::vector<Operand> out;
    for (size_t i = 1; i < line_.arguments.size(); ++i)
      out.emplace_back(input(list(i), 100 * static_cast<int64_t>(i - 1)));
    return out;
  }

  Expr build() {
    const std::string& name = line_.name;
    if (name == "transpose") return transpose(input(list(0)), list(1));
    if (name == "expand_dims") return expand_dims(input(list(0)), list(1));
    if (name == "squeeze") return squeeze(input(list(0)), list(1));
    if (name == "reshape") return reshape(input(list(0)), list(1));
    if (name == "reshape_transposed") return reshape(transpose(input(list(0))), list(1));
    if (name == "broadcast_to") return broadcast_to(input(list(0)), list(1));
    if (name == "join") return join(number(0), values());
    if (name == "stack") return stack(values(), number(0));
    if (name == "eye") return eye(number(0), number(1), number(2), DType::kInt64);
    if (name == "arange") return arange(bound(0), bound(1), number(2));
    auto real = [&](size_t i) { return std::strtod(line_.arguments[i].c_str(), nullptr); };
    return arange(real(0), real(1), real(2), dtype());
  }

 public:
  DType dtype() const {
    return line_.name == "arange_float32"   ? DType::kFloat32
           : line_.name == "arange_float64" ? DType::kFloat64
                                            : DType::kInt64;
  }

 private:
  const GoldenLine& line_;
  bool known_;
  std::vector<std::pair<Expr, Tensor>> inputs_;
};

void check_all(bool lengths_are_known) {
  for (const GoldenLine& line : golden_lines("shape_ops.txt")) {
    SCOPED_TRACE(line.text);
    ShapeCase test(line, lengths_are_known);
    if (line.is_error) {
      EXPECT_THROW(test.evaluate(), UserError);
      continue;
    }
    Tensor result;
    ASSERT_NO_THROW(result = test.evaluate());
    EXPECT_TRUE(same_bits(result, line.result(test.dtype()))) << result.type_text() << " " << result.text();
  }
}

TEST(ShapeGolden, KnownLengths) {
  check_all(true);
}
TEST(ShapeGolden, NamedLengths) {
  check_all(false);
}

}  // namespace
}  // namespace thtrain

// Slices, integers, integer vectors and masks as indices, against NumPy: with lengths and ends that are known, and with
// ones that only a call decides.
#include <gtest/gtest.h>

#include <sstream>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/index.h"
#include "tests/support/golden_lines.h"
#include "tests/support/slice_text.h"

namespace thtrain {
namespace {

// What of a case is known when it is built.
enum class Known { kAll, kNoLengths, kNothing, kOnlyData };

class IndexCase {
 public:
  IndexCase(const GoldenLine& line, Known known) : line_(line), known_(known) {
    shape_ = parse_list(line.arguments[0]);
    x_ = input(counting(shape_), "x");
  }

  Tensor evaluate() {
    Expr result = build();
    return thtrain::evaluate({result}, inputs_)[0];
  }

 private:
  Expr build() {
    const auto& arguments = line_.arguments;
    if (line_.name == "get") return subtensor(x_, indices(arguments[1]));
    if (line_.name == "set") return set_subtensor(subtensor(x_, indices(arguments[1])), y(parse_list(arguments[2])));
    if (line_.name == "inc") return inc_subtensor(subtensor(x_, indices(arguments[1])), y(parse_list(arguments[2])));
    if (line_.name == "pick" || line_.name == "inc_pick") {
      std::vector<int64_t> labels = parse_list(arguments[1]);
      Expr which = input(Tensor::of(labels, {static_cast<int64_t>(labels.size())}), "labels");
      Expr part = pick_rows(x_, which);
      return line_.name == "pick" ? part : inc_subtensor(part, y({shape_[0]}));
    }
    if (line_.name.ends_with("at")) {
      std::vector<Expr> named;
      for (size_t k = 1; k < arguments.size(); k += 2)
        named.push_back(input(Tensor::of(parse_list(arguments[k + 1]), parse_list(arguments[k])), str("i", k)));
      const Expr part = named.size() == 2 ? x_[{named[0], named[1]}] : x_[{named[0], named[1], named[2]}];
      if (line_.name == "at") return part;
      return inc_subtensor(part, y(shape_at()));
    }
    if (line_.name.ends_with("_mask")) {
      Expr mask = input(Tensor::of(parse_list(arguments[2]), parse_list(arguments[1])), "mask");
      Expr part = masked(x_, neq(mask, 0));
      if (line_.name == "get_mask") return part;
      Expr value = y(parse_list(arguments[3]));
      return line_.name == "set_mask" ? set_subtensor(part, value) : inc_subtensor(part, value);
    }
    int64_t axis = std::stoll(arguments[1]);
    Shape index_shape = parse_list(arguments[2]);
    Expr which = input(Tensor::of(parse_list(arguments[3]), index_shape), "which");
    Expr part = take(x_, which, axis);
    if (line_.name == "take") return part;
    size_t at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape_.size()) : axis);
    Shape y_shape = shape_;
    y_shape.erase(y_shape.begin() + static_cast<std::ptrdiff_t>(at));
    y_shape.insert(y_shape.begin() + static_cast<std::ptrdiff_t>(at), index_shape.begin(), index_shape.end());
    return inc_subtensor(part, y(y_shape));
  }

  // The shape of x[{i, j, ...}].
  Shape shape_at() const {
    const auto& arguments = line_.arguments;
    Shape out;
    for (size_t k = 1; k < arguments.size(); k += 2) {
      const Shape now = parse_list(arguments[k]);
      if (now.size() > out.size()) out.insert(out.begin(), now.size() - out.size(), 1);
      for (size_t i = 0; i < now.size(); ++i)
        if (int64_t& length = out[out.size() - now.size() + i]; length == 1) length = now[i];
    }
    out.insert(out.end(), shape_.begin() + static_cast<std::ptrdiff_t>(arguments.size() / 2), shape_.end());
    return out;
  }

  Expr input(const Tensor& value, const std::string& name) {
    Type type = type_of(value);
    if (known_ != Known::kAll)
      for (size_t i = 0; i < type.rank(); ++i)
        if (!type.dims[i].is(1)) type.dims[i] = Dim::named(str(name, ".", i));
    inputs_.emplace_back(make_input(type, name), value);
    return inputs_.back().first;
  }

  Expr y(const Shape& shape) { return input(counting(shape, -1, -1), "y"); }

  Operand number(const std::string& text) {
    int64_t value = std::stoll(text);
    if (known_ != Known::kNothing) return value;
    inputs_.emplace_back(make_input({.dtype = DType::kInt64}, "number"), Tensor(value));
    return inputs_.back().first;
  }

  // A number that has to be computed to be known.
  Expr from_data(const std::string& text) {
    Expr numbers = input(Tensor::vector({std::stoll(text)}), "data");
    return take(numbers, 0);
  }

  std::vector<Index> indices(const std::string& text) {
    std::vector<Index> out;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
      if (part.find(':') == std::string::npos) {
        if (known_ == Known::kAll || known_ == Known::kNoLengths)
          out.emplace_back(std::stoll(part));
        else
          out.emplace_back(known_ == Known::kOnlyData ? from_data(part) : number(part).expr());
        continue;
      }
      out.emplace_back(slice_of(part, [&](const std::string& end) { return number(end); }));
    }
    return out;
  }

  const GoldenLine& line_;
  Known known_;
  Shape shape_;
  Expr x_;
  std::vector<std::pair<Expr, Tensor>> inputs_;
};

void check_all(Known known) {
  for (const GoldenLine& line : golden_lines("index_ops.txt")) {
    SCOPED_TRACE(line.text);
    IndexCase test(line, known);
    if (line.is_error) {
      EXPECT_THROW(test.evaluate(), UserError);
      continue;
    }
    Tensor result;
    ASSERT_NO_THROW(result = test.evaluate());
    EXPECT_TRUE(same_bits(result, line.result(DType::kInt64))) << result.type_text() << " " << result.text();
  }
}

TEST(IndexGolden, KnownLengths) {
  check_all(Known::kAll);
}
TEST(IndexGolden, NamedLengths) {
  check_all(Known::kNoLengths);
}
TEST(IndexGolden, NumbersFromInputs) {
  check_all(Known::kNothing);
}
TEST(IndexGolden, IntegersFromData) {
  check_all(Known::kOnlyData);
}

}  // namespace
}  // namespace thtrain

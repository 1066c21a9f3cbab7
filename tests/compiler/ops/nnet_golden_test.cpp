// softmax, log-softmax and cross-entropies against NumPy: with lengths that are known, and with named ones.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/softmax.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

// Within so many units in the last place of the greatest finite value.
void expect_close(const Tensor& got, const Tensor& want, double units) {
  ASSERT_EQ(got.type_text(), want.type_text());
  double epsilon =
      want.dtype() == DType::kFloat32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  double greatest = 0;
  for (int64_t i = 0; i < want.size(); ++i)
    if (std::isfinite(want.as_double(i))) greatest = std::max(greatest, std::abs(want.as_double(i)));
  for (int64_t i = 0; i < want.size(); ++i) {
    double a = got.as_double(i), b = want.as_double(i);
    bool equal = std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) <= units * epsilon * greatest;
    EXPECT_TRUE(equal) << "element " << i << ": " << a << " and not " << b;
  }
}

class Cases {
 public:
  explicit Cases(bool known) : known_(known) {
    for (const GoldenLine& line : golden_lines("nnet_ops.txt")) {
      if (line.name == "input") {
        values_[line.arguments[0]] = line.result(*dtype_named(line.arguments[1]));
        continue;
      }
      SCOPED_TRACE(line.text);
      bound_.clear();
      Expr y = build(line);
      // A reference rounds once; what is composed of several, or subtracts, rounds a few times more.
      bool one_op = line.name.find("softmax") != std::string::npos;
      expect_close(evaluate({y}, bound_)[0], line.result(y.dtype()), one_op ? 1 : 4);
      ++compared_;
    }
  }
  int compared() const { return compared_; }

 private:
  Expr input(const std::string& name) {
    const Tensor& value = values_.at(name);
    Type type = type_of(value);
    if (!known_)
      for (size_t i = 0; i < type.rank(); ++i)
        if (!type.dims[i].is(1)) type.dims[i] = Dim::named(str("n", i, "_", value.dim(i)));
    bound_.emplace_back(make_input(type, name), value);
    return bound_.back().first;
  }

  Expr build(const GoldenLine& line) {
    const std::vector<std::string>& words = line.arguments;
    if (line.name == "softmax") return softmax(input(words[0]), std::stoll(words[1]));
    if (line.name == "log_softmax") return log_softmax(input(words[0]), std::stoll(words[1]));
    Expr x = input(words[0]), t = input(words[1]);
    if (line.name == "categorical") return categorical_crossentropy(x, t);
    if (line.name == "categorical_logits") return categorical_crossentropy_logits(x, t);
    if (line.name == "binary") return binary_crossentropy(x, t);
    if (line.name == "binary_logits") return binary_crossentropy_logits(x, t);
    throw std::runtime_error("an unknown case: " + line.text);
  }

  bool known_;
  std::map<std::string, Tensor> values_;
  std::vector<std::pair<Expr, Tensor>> bound_;
  int compared_ = 0;
};

TEST(Nnet, GivesNumPysValuesWithKnownLengths) {
  EXPECT_GT(Cases(true).compared(), 80);
}
TEST(Nnet, GivesNumPysValuesWithNamedLengths) {
  EXPECT_GT(Cases(false).compared(), 80);
}

}  // namespace
}  // namespace thtrain

// Builders that are made of several ops against NumPy, with known and with named lengths, by reference and natively;
// their gradients; and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "compiler/api.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"

namespace thtrain::builders_test {
namespace {

constexpr DType kDouble = DType::kFloat64;

DType dtype_of(const std::string& name) {
  for (DType dtype : kAllDTypes)
    if (name == name_of(dtype)) return dtype;
  throw std::runtime_error("no dtype " + name);
}

// dtype[shape]:values
Tensor operand_of(const std::string& text) {
  const size_t bracket = text.find('['), colon = text.find(':');
  GoldenLine line{.text = text, .shape = parse_list(text.substr(bracket, colon - bracket))};
  std::istringstream in(text.substr(colon + 1));
  for (std::string number; std::getline(in, number, ',');) line.values.push_back(number);
  return line.result(dtype_of(text.substr(0, bracket)));
}

// A line, whose first argument is the dtype of the result: operands are inputs, other arguments stay texts.
struct Case {
  const GoldenLine* line;
  std::vector<Expr> x = {};
  std::vector<Tensor> values = {};
  std::vector<std::string> words = {};

  DType dtype() const { return dtype_of(line->arguments[0]); }
  int64_t integer(size_t i) const { return std::stoll(words[i]); }
  double real(size_t i) const { return std::strtod(words[i].c_str(), nullptr); }
  std::vector<int64_t> list(size_t i) const { return parse_list(words[i]); }
  std::optional<int64_t> axis(size_t i) const {
    return words[i] == "none" ? std::optional<int64_t>() : std::optional(integer(i));
  }
  Axes axes(size_t i) const { return axis(i) ? Axes(*axis(i)) : Axes(); }
  // The words 1 and 2.
  ReduceDTypes dtypes() const {
    const auto given = [&](size_t i) { return words[i] == "none" ? std::optional<DType>() : dtype_of(words[i]); };
    return {.dtype = given(1), .acc_dtype = given(2)};
  }
  std::vector<Operand> operands(size_t from = 0) const { return {x.begin() + static_cast<int64_t>(from), x.end()}; }
  // The first operand and i times the second.
  Expr complex() const { return x[0] + x[1] * make_constant(Tensor(std::complex<double>(0, 1))); }
  OutOfRange out_of_range(size_t i) const { return static_cast<OutOfRange>(integer(i)); }
  // Three numbers for each slice, behind the number of the result.
  std::vector<Slice> slices() const {
    std::vector<Slice> out;
    const std::vector<int64_t> numbers = list(1);
    for (size_t i = 0; i < numbers.size(); i += 3)
      out.push_back({.start = numbers[i], .stop = numbers[i + 1], .step = numbers[i + 2]});
    return out;
  }
  Expr one_of(const std::vector<Expr>& results) const { return results[static_cast<size_t>(integer(0))]; }
};

using Build = std::function<Expr(const Case&)>;

// Of these each element of the result is a multiple of one of the inputs, or 0.
const std::map<std::string, Build> kLinear{
    {"tril", [](const Case& c) { return tril(c.x[0], c.integer(0)); }},
    {"triu", [](const Case& c) { return triu(c.x[0], c.integer(0)); }},
    {"diag", [](const Case& c) { return diag(c.x[0], c.integer(0)); }},
    {"diagonal", [](const Case& c) { return diagonal(c.x[0], c.integer(0), c.integer(1), c.integer(2)); }},
    {"fill_diagonal", [](const Case& c) { return fill_diagonal(c.x[0], c.x[1], c.integer(0)); }},
    {"swapaxes", [](const Case& c) { return swapaxes(c.x[0], c.integer(0), c.integer(1)); }},
    {"moveaxis",
     [](const Case& c) {
       const std::vector<int64_t> from = c.list(0), to = c.list(1);
       return from.size() == 1 ? moveaxis(c.x[0], from[0], to[0]) : moveaxis(c.x[0], from, to);
     }},
    {"shape_padleft", [](const Case& c) { return shape_padleft(c.x[0], c.integer(0)); }},
    {"shape_padright", [](const Case& c) { return shape_padright(c.x[0], c.integer(0)); }},
    {"atleast_nd", [](const Case& c) { return atleast_nd(c.x[0], c.integer(0)); }},
    {"hstack", [](const Case& c) { return hstack(c.operands()); }},
    {"vstack", [](const Case& c) { return vstack(c.operands()); }},
    {"flip", [](const Case& c) { return flip(c.x[0], c.list(0)); }},
    {"roll", [](const Case& c) { return roll(c.x[0], c.integer(0), c.axis(1)); }},
    {"tile", [](const Case& c) { return tile(c.x[0], Shape(c.list(0))); }},
};

const std::map<std::string, Build> kOthers{
    {"tri", [](const Case& c) { return tri(c.integer(0), c.integer(1), c.integer(2), kDouble); }},
    {"identity_like", [](const Case& c) { return identity_like(c.x[0]); }},
    {"bartlett", [](const Case& c) { return bartlett(c.integer(0), kDouble); }},
    {"ogrid", [](const Case& c) { return c.one_of(ogrid(c.slices())); }},
    {"mgrid", [](const Case& c) { return c.one_of(mgrid(c.slices())); }},
    // By the largest of the shift, which only the graph knows.
    {"roll_by", [](const Case& c) { return roll(c.x[0], max(expand_dims(c.x[1], {0})), c.axis(0)); }},
    {"repeat_elements", [](const Case& c) { return repeat_elements(c.x[0], c.x[1], c.axis(0)); }},
    {"isclose", [](const Case& c) { return isclose(c.x[0], c.x[1], c.real(0), c.real(1), c.integer(2) != 0); }},
    {"allclose", [](const Case& c) { return allclose(c.x[0], c.x[1], c.real(0), c.real(1), c.integer(2) != 0); }},
    {"inopenrange", [](const Case& c) { return inopenrange(c.x[0], c.x[1], c.x[2]); }},
    {"inclosedrange", [](const Case& c) { return inclosedrange(c.x[0], c.x[1], c.x[2]); }},
    {"logical_xor", [](const Case& c) { return logical_xor(c.x[0], c.x[1]); }},
    {"&", [](const Case& c) { return c.x[0] & c.x[1]; }},
    {"|", [](const Case& c) { return c.x[0] | c.x[1]; }},
    {"^", [](const Case& c) { return c.x[0] ^ c.x[1]; }},
    {"~", [](const Case& c) { return ~c.x[0]; }},
    {"ceil_intdiv", [](const Case& c) { return ceil_intdiv(c.x[0], c.x[1]); }},
    {"round_half_away", [](const Case& c) { return round_half_away(c.x[0]); }},
    {"deg2rad", [](const Case& c) { return deg2rad(c.x[0]); }},
    {"rad2deg", [](const Case& c) { return rad2deg(c.x[0]); }},
    {"sign_real", [](const Case& c) { return real(sign(c.complex())); }},
    {"sign_imag", [](const Case& c) { return imag(sign(c.complex())); }},
    {"cov_real", [](const Case& c) { return real(cov(c.complex())); }},
    {"cov_imag", [](const Case& c) { return imag(cov(c.complex())); }},
    {"max_and_argmax",
     [](const Case& c) {
       const auto [largest, position] = max_and_argmax(c.x[0], c.axis(1));
       return c.integer(0) == 0 ? largest : position;
     }},
    {"ptp", [](const Case& c) { return ptp(c.x[0], c.axis(0) ? Axes(*c.axis(0)) : Axes()); }},
    {"norm",
     [](const Case& c) {
       return norm(c.x[0], c.words[0] == "none" ? std::optional<double>() : std::optional(c.real(0)), Axes(c.list(1)));
     }},
    {"cov", [](const Case& c) { return cov(c.x[0], Ddof(c.integer(0))); }},
    {"compress", [](const Case& c) { return compress(c.x[0], c.x[1], c.axis(0)); }},
    {"permute_row_elements", [](const Case& c) { return permute_row_elements(c.x[0], c.x[1]); }},
    {"inverse_permutation", [](const Case& c) { return inverse_permutation(c.x[0]); }},
    {"choose", [](const Case& c) { return choose(c.x[0], c.operands(1), c.out_of_range(0)); }},
    {"unravel_index", [](const Case& c) { return c.one_of(unravel_index(c.x[0], Shape(c.list(1)))); }},
    {"relu", [](const Case& c) { return relu(c.x[0]); }},
    {"relu_slope", [](const Case& c) { return relu(c.x[0], c.real(0)); }},
    {"elu", [](const Case& c) { return c.real(0) == 1 ? elu(c.x[0]) : elu(c.x[0], c.real(0)); }},
    {"selu", [](const Case& c) { return selu(c.x[0]); }},
    {"gelu", [](const Case& c) { return gelu(c.x[0]); }},
    {"gelu_tanh", [](const Case& c) { return gelu_tanh(c.x[0]); }},
    {"swish", [](const Case& c) { return swish(c.x[0]); }},
    {"softsign", [](const Case& c) { return softsign(c.x[0]); }},
    {"hard_sigmoid", [](const Case& c) { return hard_sigmoid(c.x[0], static_cast<HardSigmoid>(c.integer(0))); }},
    {"ultra_fast_sigmoid", [](const Case& c) { return ultra_fast_sigmoid(c.x[0]); }},
    {"multiclass_hinge", [](const Case& c) { return multiclass_hinge(c.x[0], c.x[1], c.real(0)); }},
    {"confusion_matrix",
     [](const Case& c) {
       const ConfusionCounts matrix = confusion_matrix(c.x[0], c.x[1]);
       return c.integer(0) == 0 ? matrix.counts : matrix.classes;
     }},
    {"h_softmax",
     [](const Case& c) {
       return h_softmax(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.integer(0));
     }},
    {"h_softmax_of_labels",
     [](const Case& c) {
       return h_softmax(c.x[0], {c.x[1], c.x[2], c.x[3], c.x[4]}, c.x[5]);
     }},
    {"sum_in", [](const Case& c) { return sum(c.x[0], c.axes(0), false, c.dtypes()); }},
    {"prod_in", [](const Case& c) { return prod(c.x[0], c.axes(0), false, c.dtypes()); }},
    {"mean_in", [](const Case& c) { return mean(c.x[0], c.axes(0), false, c.dtypes()); }},
    {"ravel_multi_index",
     [](const Case& c) { return ravel_multi_index(c.operands(), Shape(c.list(0)), c.out_of_range(1)); }},
};

Case case_of(const GoldenLine& line, size_t number, bool is_known) {
  Case out{.line = &line};
  for (size_t i = 1; i < line.arguments.size(); ++i) {
    const std::string& text = line.arguments[i];
    if (text.find(':') == std::string::npos) {
      out.words.push_back(text);
      continue;
    }
    const Tensor value = operand_of(text);
    Type type = type_of(value);
    const std::string name = str("x", number, "_", i);
    for (size_t axis = 0; axis < type.rank() && !is_known; ++axis)
      if (value.dim(axis) != 1) type.dims[axis] = Dim::named(str(name, ".", axis));
    out.x.push_back(make_input(type, name));
    out.values.push_back(value);
  }
  return out;
}

Expr result_of(const Case& c) {
  const auto found = kLinear.find(c.line->name);
  return found != kLinear.end() ? found->second(c) : kOthers.at(c.line->name)(c);
}

// Equal, or within rounding of sums and powers.
bool agree(double got, double expected) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected || std::abs(got - expected) <= 1e-14 * std::max(1.0, std::abs(expected));
}

class BuildersOfNumPy : public ::testing::TestWithParam<bool> {};

TEST_P(BuildersOfNumPy, AreOurs) {
  const std::vector<GoldenLine> lines = golden_lines("builders.txt");
  for (size_t begin = 0; begin < lines.size(); begin += 60) {
    std::vector<Case> cases;
    std::vector<In> inputs;
    std::vector<Out> outputs;
    std::vector<Tensor> values;
    for (size_t i = begin; i < std::min(begin + 60, lines.size()); ++i) {
      SCOPED_TRACE(lines[i].text);
      const Case& c = cases.emplace_back(case_of(lines[i], i, GetParam()));
      inputs.insert(inputs.end(), c.x.begin(), c.x.end());
      values.insert(values.end(), c.values.begin(), c.values.end());
      outputs.emplace_back(result_of(c));
    }
    for (Mode mode : {Mode::kReference, Mode::kNative}) {
      const std::vector<Tensor> got = function(
          inputs, outputs, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed, .tune = Tune::kNever})(values);
      for (size_t i = 0; i < cases.size(); ++i) {
        const Tensor expected = cases[i].line->result(cases[i].dtype());
        ASSERT_EQ(got[i].shape(), expected.shape()) << cases[i].line->text;
        ASSERT_EQ(got[i].dtype(), expected.dtype()) << cases[i].line->text;
        for (int64_t k = 0; k < expected.size(); ++k)
          ASSERT_PRED2(agree, got[i].as_double(k), expected.as_double(k)) << cases[i].line->text << " at " << k;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BuildersOfNumPy, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "KnownLengths" : "NamedLengths"; });

TEST(Builders, TheCasesAreOfAllOfThem) {
  std::set<std::string> seen;
  for (const GoldenLine& line : golden_lines("builders.txt")) seen.insert(line.name);
  EXPECT_EQ(seen.size(), kLinear.size() + kOthers.size());
}

// Where the value is linear, u . f(x) is the sum of x . gradient of u . f(x), whatever u is; the numbers are integers.
TEST(Builders, GradientsOfLinearOnes) {
  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<Tensor> values;
  std::vector<std::string> texts;
  const std::vector<GoldenLine> lines = golden_lines("builders.txt");
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto found = kLinear.find(lines[i].name);
    if (found == kLinear.end() || lines[i].arguments[0] != "float64") continue;
    const Case c = case_of(lines[i], i, true);
    const Expr y = found->second(c);
    const Expr cost = sum(y * reshape(mod(arange(size(y)) * 5 + 3, 7), y.dims()));
    Expr by_gradients;
    for (const Expr& x : c.x) {
      const Expr part = sum(x * grad(cost, x, {.disconnected = Disconnected::kZero}));
      by_gradients = by_gradients.has_value() ? by_gradients + part : part;
    }
    outputs.emplace_back(cost - by_gradients);
    inputs.insert(inputs.end(), c.x.begin(), c.x.end());
    values.insert(values.end(), c.values.begin(), c.values.end());
    texts.push_back(lines[i].text);
  }
  EXPECT_GT(texts.size(), 90u);
  const std::vector<Tensor> got = function(inputs, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(got[i].as_double(), 0) << texts[i];
}

Expr of_shape(const char* name, Dims dims, DType dtype = kDouble) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}

TEST(Builders, MistakesAreTold) {
  const Expr s = of_shape("s", {}), v = of_shape("v", {3}), a = of_shape("a", {2, 3}), t = of_shape("t", {2, 3, 4}),
             i = of_shape("i", {3}, DType::kInt64), k = of_shape("k", {2, 3}, DType::kInt64);
  struct Row {
    std::function<Expr()> build;
    std::string text;
  };
  const Row rows[] = {
      {[&] { return identity_like(v); },
       "error: identity_like: no matrix\n  expected: 2 axes\n  got:      v float64[3]"},
      {[&] { return tril(v); }, "error: tril: no matrix\n  expected: 2 axes or more\n  got:      v float64[3]"},
      {[&] { return triu(s); }, "error: triu: no matrix\n  expected: 2 axes or more\n  got:      s float64[]"},
      {[&] { return diag(t); },
       "error: diag: neither a vector nor a matrix\n  expected: 1 axis, or 2\n  got:      t float64[2, 3, 4]\n  hint:  "
       "   diagonal(x, offset, axis1, axis2) takes more axes"},
      {[&] { return diagonal(v); }, "error: diagonal: no matrix\n  expected: 2 axes or more\n  got:      v float64[3]"},
      {[&] { return diagonal(a, 0, 1, -1); },
       "error: diagonal: both axes are axis 1\n  expected: different axes\n  got:      a float64[2, 3]"},
      {[&] { return fill_diagonal(t, 1.0); },
       "error: fill_diagonal: no matrix\n  expected: 2 axes\n  got:      t float64[2, 3, 4]"},
      {[&] { return fill_diagonal(k, 1.5); },
       "error: fill_diagonal: the value is no scalar that the matrix can hold\n  expected: a scalar that int64 holds\n "
       " got:      float64[] for k int64[2, 3]"},
      {[&] { return fill_diagonal(a, v); },
       "error: fill_diagonal: the value is no scalar that the matrix can hold\n  expected: a scalar that float64 "
       "holds\n  got:      v float64[3] for a float64[2, 3]"},
      {[&] { return bartlett(s); },
       "error: bartlett: the number of points is no integer\n  expected: an integer scalar\n  got:      s float64[]"},
      {[&] {
         return ogrid({Slice{.stop = 3}, Slice{.start = 1}})[0];
       },
       "error: ogrid: axis 1 has no stop\n  expected: Slice{.stop = n}"},
      {[&] { return swapaxes(a, 0, 2); },
       "error: swapaxes: there is no axis 2\n  expected: an axis from -2 to 1\n  got:      a float64[2, 3]"},
      {[&] {
         return moveaxis(t, {0, 1}, {1});
       },
       "error: moveaxis: 2 axes and 1 positions\n  expected: as many of both\n  got:      t float64[2, 3, 4]"},
      {[&] {
         return moveaxis(t, {0, -3}, {1, 2});
       },
       "error: moveaxis: an axis or a position is named twice\n  expected: different ones\n  got:      t float64[2, 3, "
       "4]"},
      {[&] {
         return moveaxis(t, {0, 1}, {2, 2});
       },
       "error: moveaxis: an axis or a position is named twice\n  expected: different ones\n  got:      t float64[2, 3, "
       "4]"},
      {[&] { return shape_padleft(a, -1); },
       "error: shape_padleft: -1 axes are asked for\n  expected: from 0 to 64\n  got:      a float64[2, 3]"},
      {[&] { return shape_padright(a, 65); },
       "error: shape_padright: 65 axes are asked for\n  expected: from 0 to 64\n  got:      a float64[2, 3]"},
      {[&] { return atleast_nd(a, 1000); },
       "error: atleast_nd: 1000 axes are asked for\n  expected: from 0 to 64\n  got:      a float64[2, 3]"},
      {[&] { return hstack(std::vector<Operand>{}); }, "error: join: no values are given\n  expected: at least one"},
      {[&] {
         return vstack({a, t});
       },
       "error: join: value 1 has another number of axes\n  expected: 2 axes\n  got:      a float64[2, 3], t float64[2, "
       "3, 4]"},
      {[&] {
         return flip(a, {0, -2});
       },
       "error: flip: axis -2 is named twice\n  expected: each axis once\n  got:      a float64[2, 3]"},
      {[&] { return roll(a, 1.5, 0); },
       "error: roll: the shift is no integer\n  expected: an integer scalar\n  got:      float64[]"},
      {[&] { return roll(a, 1, 2); },
       "error: roll: there is no axis 2\n  expected: an axis from -2 to 1\n  got:      a float64[2, 3]"},
      {[&] {
         return tile(a, {2, -1});
       },
       "error: tile: -1 copies are asked for\n  expected: 0 or more\n  got:      a float64[2, 3]"},
      {[&] { return repeat_elements(a, -1, 0); },
       "error: repeat_elements: -1 copies are asked for\n  expected: 0 or more\n  got:      a float64[2, 3]"},
      {[&] { return repeat_elements(a, s, 0); },
       "error: repeat_elements: the count is neither an integer nor a vector of integers\n  expected: how often each "
       "element comes\n  got:      s float64[]"},
      {[&] { return repeat_elements(a, i, 0); },
       "error: repeat_elements: 3 counts for 2 elements\n  expected: a count for each element\n  got:      a "
       "float64[2, 3], counts i int64[3]"},
      {[&] { return norm(a, 3); },
       "error: norm: there is no order 3 over 2 axes\n  expected: 1, -1, 2, -2, inf, -inf, or no order\n  got:      a "
       "float64[2, 3]"},
      {[&] { return norm(t, 1); },
       "error: norm: there is no order 1 over 3 axes\n  expected: one axis or two, or no order\n  got:      t "
       "float64[2, 3, 4]"},
      {[&] { return norm(s, 1); },
       "error: norm: there is no order 1 over 0 axes\n  expected: one axis or two, or no order\n  got:      s "
       "float64[]"},
      {[&] { return cov(t); },
       "error: cov: neither a vector nor a matrix\n  expected: 1 axis, or 2\n  got:      t float64[2, 3, 4]"},
      {[&] { return compress(a, v); },
       "error: compress: the condition is no vector\n  expected: 1 axis\n  got:      a float64[2, 3]"},
      {[&] { return permute_row_elements(t, k); },
       "error: permute_row_elements: the indices are neither of all rows nor of each\n  expected: a vector, or as many "
       "axes as the values have\n  got:      t float64[2, 3, 4], indices k int64[2, 3]"},
      {[&] { return permute_row_elements(v, v); },
       "error: permute_row_elements: the indices are no integers\n  expected: integers\n  got:      v float64[3]"},
      {[&] { return inverse_permutation(k); },
       "error: inverse_permutation: no vector\n  expected: 1 axis\n  got:      k int64[2, 3]"},
      {[&] { return inverse_permutation(v); },
       "error: inverse_permutation: the indices are no integers\n  expected: integers\n  got:      v float64[3]"},
      {[&] { return choose(i, {}); }, "error: choose: there are no choices\n  expected: one or more"},
      {[&] {
         return choose(v, {a, a});
       },
       "error: choose: the indices are no integers\n  expected: integers\n  got:      v float64[3]"},
      {[&] {
         return unravel_index(v, {2, 3})[0];
       },
       "error: unravel_index: the indices are no integers\n  expected: integers\n  got:      v float64[3]"},
      {[&] {
         return ravel_multi_index({i, i}, {2});
       },
       "error: ravel_multi_index: 2 indices for 1 axes\n  expected: an index for each axis"},
      {[&] { return ravel_multi_index({}, {}); },
       "error: ravel_multi_index: 0 indices for 0 axes\n  expected: an index for each axis"},
      {[&] { return v & i; },
       "error: bitwise_and: is not defined for these dtypes\n  expected: bool, integers\n  got:      v float64[3], i "
       "int64[3]"},
      {[&] { return ~v; },
       "error: bitwise_not: is not defined for these dtypes\n  expected: bool, integers\n  got:      v float64[3]"},
  };
  for (const Row& row : rows) EXPECT_EQ(text_without_node(row.build), row.text);
}

// What only a call can know.
TEST(Builders, MistakesOfACallAreTold) {
  const Expr i = of_shape("i", {2}, DType::kInt64), x = of_shape("x", {2});
  const Tensor outside = Tensor::vector({int64_t{1}, int64_t{7}}), negative = Tensor::vector({int64_t{-1}, int64_t{1}});
  struct Row {
    Expr value;
    Tensor index;
    std::string text;
  };
  const Row rows[] = {
      {unravel_index(i, {2, 3})[0], outside,
       "error: check: unravel_index: an index is outside of the array\n  expected: a condition that holds"},
      {ravel_multi_index({i}, {7}), outside,
       "error: check: ravel_multi_index: an index is outside of axis 0\n  expected: a condition that holds"},
      {choose(i, {x, x + 1}), negative,
       "error: check: choose: an index names no choice\n  expected: a condition that holds"},
      {repeat_elements(x, i, 0), negative,
       "error: check: repeat_elements: a count is negative\n  expected: a condition that holds"},
  };
  for (const Row& row : rows)
    for (Mode mode : {Mode::kReference, Mode::kNative})
      EXPECT_EQ(text_without_node([&] {
                  function({i, x}, {row.value}, {}, {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(
                      {row.index, Tensor::vector({1.0, 2.0})});
                }),
                row.text);
}

}  // namespace
}  // namespace thtrain::builders_test

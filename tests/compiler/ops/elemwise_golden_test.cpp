// Every elementwise op, its reference and its code in the loop language, against NumPy's values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "tests/support/golden_lines.h"
#include "tests/support/term_interpreter.h"

namespace thtrain {
namespace {

struct GoldenCase {
  std::string line;
  const Op* op;
  std::vector<Tensor> inputs, outputs;  // vectors of one length
};

std::vector<std::string> split_text(const std::string& text, const std::string& separator) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size())
    out.push_back(text.substr(begin, end - begin));
  out.push_back(text.substr(begin));
  return out;
}

template <class T>
T parse_number(const std::string& text) {
  if constexpr (is_complex_v<T>) {
    using Part = typename T::value_type;
    size_t comma = text.find(',');
    return T(parse_number<Part>(text.substr(0, comma)), parse_number<Part>(text.substr(comma + 1)));
  } else if constexpr (std::is_same_v<T, float>) {
    return std::strtof(text.c_str(), nullptr);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::strtod(text.c_str(), nullptr);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
  } else {
    return static_cast<T>(std::strtoull(text.c_str(), nullptr, 10));
  }
}

Tensor parse_vector(const std::string& text, DType dtype) {
  std::vector<std::string> words = split_text(text, " ");
  Tensor out = Tensor::empty(dtype, {static_cast<int64_t>(words.size())});
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < words.size(); ++i) out.data<T>()[i] = parse_number<T>(words[i]);
  });
  return out;
}

GoldenCase parse_case(const std::string& line) {
  std::vector<std::string> fields = split_text(line, " ; ");
  GoldenCase out{.line = fields[0] + " of " + fields[1], .op = nullptr, .inputs = {}, .outputs = {}};
  for (const Op* op : elementwise_ops())
    if (op->name == fields[0]) out.op = op;
  std::vector<std::string> in = split_text(fields[1], " "), results = split_text(fields[2], " ");
  for (size_t i = 0; i < in.size(); ++i) out.inputs.push_back(parse_vector(fields[4 + i], *dtype_named(in[i])));
  for (size_t i = 0; i < results.size(); ++i)
    out.outputs.push_back(parse_vector(fields[5 + in.size() + i], *dtype_named(results[i])));
  if (fields[3] == "outer") {
    int64_t n = out.inputs[0].size(), m = out.inputs[1].size();
    out.inputs[0] = out.inputs[0].view({n, m}, {1, 0}, 0).copy().reshape({n * m});
    out.inputs[1] = out.inputs[1].view({n, m}, {0, 1}, 0).copy().reshape({n * m});
  }
  return out;
}

const std::vector<GoldenCase>& golden_cases() {
  static const std::vector<GoldenCase> cases = [] {
    std::vector<GoldenCase> out;
    std::ifstream file(THTRAIN_SOURCE_DIR "/tests/golden/elemwise.txt");
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#') out.push_back(parse_case(line));
    return out;
  }();
  return cases;
}

// How far apart two floats are, counted in floats between them.
template <class T>
double ulps_between(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INFINITY;
  if (a == b) return 0;
  if (std::isinf(a) || std::isinf(b)) return INFINITY;
  T step = std::max(std::nextafter(std::abs(b), T(INFINITY)) - std::abs(b), std::numeric_limits<T>::denorm_min());
  return static_cast<double>(std::abs(a - b)) / static_cast<double>(step);
}

// `bound` in units of the last place; 0 asks for the same value, and the same sign of zero where `zero_signs`.
template <class T>
bool agrees(T value, T expected, double bound, bool zero_signs) {
  if constexpr (is_complex_v<T>) {
    using Part = typename T::value_type;
    if (!std::isfinite(expected.real()) || !std::isfinite(expected.imag()))
      return agrees(value.real(), expected.real(), bound, false) && agrees(value.imag(), expected.imag(), bound, false);
    return std::abs(value - expected) <= 8 * std::numeric_limits<Part>::epsilon() * std::abs(expected);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (zero_signs && expected == 0 && value == 0) return std::signbit(value) == std::signbit(expected);
    return ulps_between(value, expected) <= bound;
  } else {
    return value == expected;
  }
}

// Counts and shows the elements that differ.
void expect_values(const GoldenCase& c, const std::vector<Tensor>& values, double bound) {
  bool zero_signs = c.op->name != "maximum" && c.op->name != "minimum" && c.op->name != "clip";
  for (size_t o = 0; o < values.size(); ++o) {
    ASSERT_EQ(values[o].type_text(), c.outputs[o].type_text()) << c.line;
    visit(values[o].dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (int64_t i = 0; i < values[o].size(); ++i) {
        if (agrees(values[o].data<T>()[i], c.outputs[o].data<T>()[i], bound, zero_signs)) continue;
        std::string at = join(c.inputs, ", ", [&](const Tensor& x) { return x.view({}, {}, i).text(); });
        ADD_FAILURE() << c.line << ": output " << o << " at (" << at << ") is " << values[o].view({}, {}, i).text()
                      << ", NumPy gives " << c.outputs[o].view({}, {}, i).text();
      }
    });
  }
}

Props props_of(const GoldenCase& c) {
  return c.op->name == "cast" ? Props{{"dtype", c.outputs[0].dtype()}} : Props{};
}

// NumPy's own functions and the C library's may each be some units off; so may a complex number's modulus.
double bound_of(const GoldenCase& c) {
  return c.op->scalar->ulps > 0 || is_complex(c.inputs[0].dtype()) ? 3 : 0;
}

TEST(ElemwiseGolden, EveryOpHasCases) {
  std::set<const Op*> seen;
  for (const GoldenCase& c : golden_cases()) {
    ASSERT_NE(c.op, nullptr) << c.line;
    seen.insert(c.op);
  }
  std::set<std::string> special;  // compared with mpmath: special_functions_test.cpp
  for (const GoldenLine& line : golden_lines("special_functions.txt")) special.insert(line.name);
  for (const Op* op : elementwise_ops()) EXPECT_TRUE(seen.count(op) || special.count(op->name)) << op->name;
  EXPECT_GE(golden_cases().size(), 500u);
}

TEST(ElemwiseGolden, ReferencesGiveNumPysValues) {
  for (const GoldenCase& c : golden_cases()) {
    std::vector<Expr> inputs;
    std::vector<std::pair<Expr, Tensor>> bound;
    for (const Tensor& x : c.inputs) {
      inputs.push_back(make_input(type_of(x), "x"));
      bound.emplace_back(inputs.back(), x);
    }
    Expr first = elementwise(*c.op, inputs, props_of(c), std::source_location::current());
    std::vector<Expr> outputs;
    for (size_t o = 0; o < c.outputs.size(); ++o) outputs.push_back(Expr(first.node_ptr(), o));
    expect_values(c, evaluate(outputs, bound), bound_of(c));
  }
}

// The code of a case on variables x0, x1, ...; the imaginary part of a complex one is y0, y1, ...
struct CaseCode {
  Signature signature;
  std::vector<Parts> results;
};

CaseCode code_of_case(const GoldenCase& c, int lanes) {
  std::vector<DType> dtypes;
  for (const Tensor& x : c.inputs) dtypes.push_back(x.dtype());
  CaseCode out{*c.op->scalar->signature(dtypes, props_of(c)), {}};
  std::vector<Parts> arguments;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const DType dtype = out.signature.inputs[i];
    const kernel::TermType type{real_dtype(dtype), lanes, is_bool(dtype) && lanes > 1 ? 4 : 0};
    arguments.emplace_back(kernel::variable(str("x", i), type),
                           is_complex(dtype) ? kernel::variable(str("y", i), type) : kernel::Term());
  }
  out.results = code_of(*c.op->scalar, arguments, out.signature);
  return out;
}

// The value of a term or of two, for the inputs' elements number i.
Tensor interpreted(const GoldenCase& c, const CaseCode& code, const Parts& result, int64_t i) {
  std::map<std::string, Tensor> variables;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const Tensor x = c.inputs[k].view({}, {}, i).copy().cast(code.signature.inputs[k]);
    if (!is_complex(x.dtype())) {
      variables.emplace(str("x", k), x);
      continue;
    }
    const Tensor wide = x.cast(DType::kComplex128);
    const std::complex<double> z = *wide.data<std::complex<double>>();
    variables.emplace(str("x", k), Tensor(z.real()).cast(real_dtype(x.dtype())));
    variables.emplace(str("y", k), Tensor(z.imag()).cast(real_dtype(x.dtype())));
  }
  const Tensor re = interpret(result.re, variables);
  if (!result.is_complex()) return re;
  const std::complex<double> z(re.as_double(), interpret(result.im, variables).as_double());
  return Tensor(z).cast(re.dtype() == DType::kFloat32 ? DType::kComplex64 : DType::kComplex128);
}

TEST(ElemwiseGolden, CodeGivesNumPysValues) {
  for (const GoldenCase& c : golden_cases()) {
    const CaseCode code = code_of_case(c, 1);
    if (code.results.empty()) continue;
    ASSERT_EQ(code.results.size(), c.outputs.size()) << c.line;
    std::vector<Tensor> values;
    for (const Tensor& expected : c.outputs) values.push_back(Tensor::empty(expected.dtype(), expected.shape()));
    for (int64_t i = 0; i < c.outputs[0].size(); ++i)
      for (size_t o = 0; o < code.results.size(); ++o) {
        const Tensor value = interpreted(c, code, code.results[o], i);
        ASSERT_EQ(value.dtype(), code.signature.outputs[o]) << c.line;
        values[o].view({}, {}, i).assign(value);
      }
    expect_values(c, values, bound_of(c));
  }
}

// The code is written once for any number of lanes.
TEST(ElemwiseGolden, CodeTakesVectors) {
  for (const GoldenCase& c : golden_cases()) {
    const CaseCode code = code_of_case(c, 8);
    const bool is_constant = c.op->name == "isnan" || c.op->name == "isinf" || c.op->name == "cast";
    for (size_t o = 0; o < code.results.size(); ++o) {
      const Parts& result = code.results[o];
      EXPECT_EQ(result.re.dtype(), real_dtype(code.signature.outputs[o])) << c.line;
      EXPECT_EQ(result.is_complex(), is_complex(code.signature.outputs[o])) << c.line;
      EXPECT_TRUE(result.re.lanes() == 8 || is_constant) << c.line;
    }
  }
}

TEST(ElemwiseGolden, OnlyTheseHaveNoCode) {
  std::set<std::string> without;
  for (const GoldenCase& c : golden_cases()) {
    const CaseCode code = code_of_case(c, 1);
    if (code.results.empty())
      without.insert(str(c.op->name, is_int(code.signature.inputs[0]) ? " of integers" : " of other numbers"));
  }
  EXPECT_EQ(join(without, ", "), "pow of integers");
}

}  // namespace
}  // namespace thtrain

#include "tests/compiler/suites/suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "compiler/ir/variables.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/function.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_lines.h"
#include "tests/support/golden_text.h"

namespace thtrain {

Expr Given::operator()(const Tensor& value) {
  const std::string name = str("i", inputs.size());
  Dims lengths;
  for (size_t k = 0; k < value.rank(); ++k)
    lengths.push_back(value.dim(k) == 1 ? Dim(1) : Dim::named(str(name, "_", k)));
  inputs.push_back(tensor(name, lengths, value.dtype()));
  values.push_back(value);
  return inputs.back();
}

Expr Given::known(const Tensor& value) {
  inputs.push_back(tensor(str("i", inputs.size()), Dims(value.shape().begin(), value.shape().end()), value.dtype()));
  values.push_back(value);
  return inputs.back();
}

namespace {

using Lines = std::map<std::string, std::vector<GoldenLine>>;

Lines lines_of(const std::string& file, const std::string& group) {
  Lines out;
  for (GoldenLine& line : golden_lines("suite_" + file + ".txt"))
    if (line.arguments.at(0) == group) out[line.name].push_back(std::move(line));
  return out;
}

void expect_value(const Tensor& got, const GoldenLine& line) {
  const DType dtype = dtype_named(line.arguments.at(1)).value();
  EXPECT_EQ(name_of(got.dtype()), name_of(dtype));
  ASSERT_EQ(shape_text(got.shape()), shape_text(line.shape));
  const Tensor wanted = line.result(dtype);
  const double tolerance = dtype == DType::kFloat32 ? 2e-5 : is_float(dtype) ? 1e-9 : 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double x = wanted.as_double(i), y = got.as_double(i);
    if (std::isnan(x) ? std::isnan(y) : x == y) continue;
    ASSERT_NEAR(y, x, tolerance * std::max(1.0, std::abs(x))) << "element " << i << " of " << line.text.substr(0, 300);
  }
}

struct BuiltCase {
  const SuiteCase* source;
  All outputs;
};

std::vector<Tensor> call(const Given& given, const All& outputs, Mode mode) {
  return function(std::vector<In>(given.inputs.begin(), given.inputs.end()),
                  std::vector<Out>(outputs.begin(), outputs.end()), {},
                  {.mode = mode, .unused_inputs = UnusedInputs::kAllowed})(given.values);
}

void compare(const std::vector<BuiltCase>& cases, const std::vector<Tensor>& results, const Lines& lines,
             const char* mode) {
  size_t next = 0;
  for (const BuiltCase& one : cases) {
    SCOPED_TRACE(str(one.source->name, ", ", mode));
    for (const GoldenLine& line : lines.at(one.source->name)) expect_value(results.at(next++).contiguous(), line);
  }
}

void run(const std::vector<BuiltCase>& cases, const Given& given, const Lines& lines, Mode mode, const char* name) {
  All outputs;
  for (const BuiltCase& one : cases) outputs.insert(outputs.end(), one.outputs.begin(), one.outputs.end());
  try {
    compare(cases, call(given, outputs, mode), lines, name);
  } catch (const std::exception& error) {
    if (cases.size() == 1) {
      ADD_FAILURE() << cases[0].source->name << ", " << name << ": " << error.what();
      return;
    }
    for (const BuiltCase& one : cases) run({one}, given, lines, mode, name);
  }
}

void expect_steps(const BuiltCase& one) {
  Graph graph;
  graph.outputs = one.outputs;
  graph.inputs = leaves_of(graph.outputs);
  const CanonicalGraph canonical = canonical_lengths(graph);
  const Program program = plan(optimize(canonical.graph, {}), canonical.value_checks, {});
  std::set<const Node*> computed;  // a node may have a step that copies an operand, and one that computes
  for_each_step(program.body, [&](const Step& step) {
    if (step.node) computed.insert(step.node);
  });
  EXPECT_LE(static_cast<int>(computed.size()), one.source->steps) << one.source->name << "\n" << program_text(program);
}

}  // namespace

void expect_suite(const std::string& file, const std::string& group, const std::vector<SuiteCase>& cases) {
  const Lines lines = lines_of(file, group);
  Given given;
  std::vector<BuiltCase> built;
  for (const SuiteCase& one : cases) {
    const auto found = lines.find(one.name);
    if (found == lines.end()) {
      ADD_FAILURE() << one.name << " has no line in suite_" << file << ".txt, group " << group;
      continue;
    }
    try {
      built.push_back({&one, one.build(given)});
    } catch (const std::exception& error) {
      ADD_FAILURE() << one.name << ": " << error.what();
      continue;
    }
    EXPECT_EQ(built.back().outputs.size(), found->second.size()) << one.name;
    if (built.back().outputs.size() != found->second.size()) {
      built.pop_back();
      continue;
    }
    if (one.steps >= 0) expect_steps(built.back());
  }
  run(built, given, lines, Mode::kReference, "reference");
  run(built, given, lines, Mode::kNative, "native");
  std::set<std::string> names;
  for (const SuiteCase& one : cases) EXPECT_TRUE(names.insert(one.name).second) << one.name << " is listed twice";
  for (const auto& [name, values] : lines) EXPECT_TRUE(names.contains(name)) << name << " has no case";
}

void expect_suite_errors(const std::string& file, const std::string& group, const std::vector<SuiteError>& cases) {
  const Lines lines = lines_of(file, group);
  std::set<std::string> names;
  std::string texts;
  for (const SuiteError& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_TRUE(names.insert(one.name).second) << "is there twice";
    const auto found = lines.find(one.name);
    EXPECT_TRUE(found != lines.end() && found->second.at(0).is_error) << "no error in PyTensor";
    const std::string text = text_without_node([&] {
      Given given;
      const All outputs = one.build(given);
      call(given, outputs, Mode::kReference);
    });
    EXPECT_NE(text, "no error");
    static const std::regex line(R"(tests/compiler/suites/\w+\.cpp:\d+)");
    texts += str("# ", one.name, "\n", std::regex_replace(text, line, "LINE"), "\n\n");
  }
  for (const auto& [name, values] : lines) EXPECT_TRUE(names.contains(name)) << name << " has no case";
  expect_golden(texts, "suite_" + file + "_errors.txt");
}

void expect_suite_value(const std::string& file, const std::string& group, const std::string& name, const Tensor& got) {
  SCOPED_TRACE(name);
  expect_value(got, lines_of(file, group).at(name).at(0));
}

Tensor count(const Shape& shape, double start, DType dtype) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = start + static_cast<double>(i);
  return out.cast(dtype);
}

Tensor whole(const Shape& shape, int64_t start) {
  return counting(shape, start);
}

Tensor spread(const Shape& shape, int64_t seed) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = static_cast<double>((i * 37 + seed * 11) % 41 - 20) / 8;
  return out;
}

Tensor positive(const Shape& shape, int64_t seed) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = static_cast<double>((i * 37 + seed * 11) % 41 + 1) / 16;
  return out;
}

Tensor integers(const std::vector<int64_t>& elements) {
  return Tensor::of(elements, {static_cast<int64_t>(elements.size())});
}

Tensor number(double value) {
  return Tensor(value);
}

Tensor bools(const Shape& shape, const std::string& ones_and_zeros) {
  Tensor out = Tensor::empty(DType::kBool, shape);
  for (size_t i = 0; i < ones_and_zeros.size(); ++i) out.data<bool>()[i] = ones_and_zeros[i] == '1';
  return out;
}

}  // namespace thtrain

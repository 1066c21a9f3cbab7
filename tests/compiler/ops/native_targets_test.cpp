// Native code by both compilers and at every vector width: equal to the reference, the same bits from both compilers,
// and an element's value wherever it is.
#include <gtest/gtest.h>

#include <random>

#include "compiler/ir/compare.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/fused.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/registry.h"
#include "tests/support/native_program.h"
#include "tests/support/op_case_runner.h"

namespace thtrain::native_targets_test {
namespace {

bool is_elementwise(const Op& op) {
  return (op.scalar || &op == &fused_op()) && !op.calls_reference;
}

// ---- native equals reference ---------------------------------------------------------------------------------------

// The outputs of many cases of several ops, to be compiled at once.
struct Batch {
  std::vector<Expr> variables, outputs;
  std::vector<Tensor> values;
  std::vector<std::pair<std::string, double>> names;  // of each output: its case and bound

  void add(const Op& op, uint64_t seed) {
    for (const OpCase& c : op.cases()) {
      CaseInputs in = make_inputs(c, str(op.name, "_", c.name, "_"), seed++);
      std::vector<Expr> made = c.build(in.variables);
      if (!is_all_native({in.variables, made, {}})) continue;
      for (const Expr& out : made) {
        if (out.type().kind != TypeKind::kTensor) continue;
        outputs.push_back(out);
        names.emplace_back(str(op.name, " ", c.name), c.bound);
      }
      variables.insert(variables.end(), in.variables.begin(), in.variables.end());
      values.insert(values.end(), in.values.begin(), in.values.end());
    }
  }

  void expect_equal(const Target& target) const {
    if (outputs.empty()) return;
    std::vector<std::pair<Expr, Tensor>> bound;
    for (size_t i = 0; i < variables.size(); ++i) bound.emplace_back(variables[i], values[i]);
    std::vector<Tensor> expected = evaluate(outputs, bound);
    std::vector<Tensor> got = NativeProgram({variables, outputs, {}}, target, false)(values);
    for (size_t i = 0; i < got.size(); ++i) {
      auto where = difference(got[i], expected[i], names[i].second);
      EXPECT_FALSE(where) << names[i].first << " at " << *where << "\n" << expr_text(outputs[i]);
    }
  }
};

void expect_native_equals_reference(const Target& target, bool (*wanted)(const Op&)) {
  Batch batch;
  uint64_t seed = 1;
  for (const Op* op : all_ops()) {
    if (!op->cases || !wanted(*op)) continue;
    batch.add(*op, seed++);
    if (batch.outputs.size() < 150) continue;  // compile time grows faster than the text
    batch.expect_equal(target);
    batch = {};
  }
  batch.expect_equal(target);
}

TEST(NativeTargets, EveryOpByClang) {
  Target target = usual_width("clang++");
  if (std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  expect_native_equals_reference(target, [](const Op&) { return true; });
}

class VectorWidth : public testing::TestWithParam<int> {};

// The usual width is that of every other test; all results go past the caches here, and there none does.
TEST_P(VectorWidth, ElementwiseOpsEqualTheirReference) {
  Target target{"g++", GetParam(), 1};
  if (std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  expect_native_equals_reference(target, is_elementwise);
}

INSTANTIATE_TEST_SUITE_P(NativeTargets, VectorWidth, testing::Values(16, 32, 64), testing::PrintToStringParamName());

// ---- the same bits -------------------------------------------------------------------------------------------------

Tensor drawn(DType dtype, Shape shape, double low, double high, unsigned seed) {
  std::mt19937_64 random(seed);
  Tensor out = Tensor::empty(DType::kFloat64, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<double>()[i] = std::uniform_real_distribution<double>(low, high)(random);
  return out.cast(dtype);
}

// Chains over functions of libmvec, products and sums that a compiler could contract, selections and casts.
std::vector<Expr> float_chains(const Expr& x, const Expr& y) {
  return {tanh(x * y + 0.25) * exp(-sqr(x)) - y,
          log1p(sqr(x)) + sin(y) * cos(x * 3) - arctan(x / (sqr(y) + 1)),
          pow(abs(x) + 0.5, y) + sigmoid(x - y) * softplus(y),
          erf(x) * sqrt(abs(y)) + floor(x * 4) / 4 - sinh(y) / 8,
          switch_(gt(x, y), x * 2 - y, maximum(x, -y) + exp2(y)),
          cast(cast(x * 100, DType::kInt32) % 7, x.dtype()) * y + cast(round(y * 9), DType::kInt64)};
}

std::vector<Expr> integer_chains(const Expr& i, const Expr& j) {
  return {(i * 7 + j) % 5, floor_div(i * i - j, abs(j) + 1), bitwise_xor(i, bitwise_and(j, i + 3)),
          switch_(lt(i, j), minimum(i, j * 2), -j), cast(i, DType::kFloat32) / 3};
}

struct Wide {
  std::vector<Expr> inputs, outputs;
  std::vector<Tensor> values;
};

Wide everything() {
  Wide out;
  auto input = [&](const std::string& name, Tensor value) {
    Dims dims(value.shape().begin(), value.shape().end());
    out.inputs.push_back(make_input({.dtype = value.dtype(), .dims = dims}, name));
    out.values.push_back(value);
    return out.inputs.back();
  };
  auto add = [&](std::vector<Expr> more) { out.outputs.insert(out.outputs.end(), more.begin(), more.end()); };
  unsigned seed = 1;
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    std::string name(name_of(dtype));
    add(float_chains(input("x" + name, drawn(dtype, {53}, -2, 2, seed)),
                     input("y" + name, drawn(dtype, {53}, -2, 2, seed + 1))));
    Expr m = input("m" + name, drawn(dtype, {37, 83}, -2, 2, seed + 2));
    Expr b = input("b" + name, drawn(dtype, {83}, -1, 1, seed + 3));
    Expr long_row = input("long" + name, drawn(dtype, {5000}, 0, 1, seed + 4));
    add({sum(m), sum(m, {0}), sum(m, {1}), mean(exp(m + b), {1}), max(m * b, {0}), min(m, {1}), argmax(m, {1}),
         prod(abs(b) + 0.5), sum(sqr(m - b), {1}), sum(long_row), softmax(m), log_softmax(m + b)});
    seed += 10;
  }
  for (DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    std::string name(name_of(dtype));
    double low = dtype == DType::kUInt8 ? 0 : -100;
    Expr i = input("i" + name, drawn(dtype, {7, 29}, low, 100, seed));
    Expr j = input("j" + name, drawn(dtype, {29}, low, 100, seed + 1));
    add(integer_chains(i, j));
    add({sum(i), max(i, {0}), argmax(i, {1}), any(gt(i, j), {1})});
    seed += 10;
  }
  return out;
}

TEST_P(VectorWidth, BothCompilersGiveTheSameBits) {
  Target gcc{"g++", GetParam()}, clang{"clang++", GetParam()};
  if (std::string reason = why_not(clang); !reason.empty()) GTEST_SKIP() << reason;
  Wide all = everything();
  Graph graph{all.inputs, all.outputs, {}};
  std::vector<Tensor> a = NativeProgram(graph, gcc)(all.values), b = NativeProgram(graph, clang)(all.values);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same_bits(a[i], b[i])) << expr_text(all.outputs[i]) << "\ng++ and clang++ differ at "
                                       << difference(b[i], a[i], 0).value_or("a sign of zero or a NaN");
}

// ---- wherever it is --------------------------------------------------------------------------------------------

// One compiled function over vectors of any length: every window of a long array gives the elements of the whole.
TEST_P(VectorWidth, AnElementsValueDoesNotDependOnItsLocation) {
  for (const char* compiler : {"g++", "clang++"}) {
    Target target{compiler, GetParam()};
    if (std::string reason = why_not(target); !reason.empty()) continue;
    for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt16}) {
      Expr x = tensor("x", {"n"}, dtype), y = tensor("y", {"n"}, dtype);
      std::vector<Expr> chains = is_float(dtype) ? float_chains(x, y) : integer_chains(x, y);
      NativeProgram f({{x, y}, chains, {}}, target);
      target.memory.non_temporal_bytes = 200;  // of what takes 24 bytes an element, more than 8
      NativeProgram non_temporal({{x, y}, chains, {}}, target);
      Tensor whole_x = drawn(dtype, {64}, -2, 2, 1), whole_y = drawn(dtype, {64}, -2, 2, 2);
      std::vector<Tensor> whole = f({whole_x, whole_y});
      for (int64_t shift = 0; shift <= 17; ++shift)
        for (int64_t length = 1; length <= 40; ++length) {
          for (const NativeProgram* program : {&f, &non_temporal}) {
            std::vector<Tensor> part = (*program)({whole_x.rows(shift, length), whole_y.rows(shift, length)});
            for (size_t k = 0; k < part.size(); ++k)
              ASSERT_TRUE(same_bits(part[k], whole[k].rows(shift, length)))
                  << target.text() << ", " << length << " elements from " << shift << " on: " << expr_text(chains[k]);
          }
        }
    }
  }
}

// Known lengths print their tails apart from unknown ones, broadcast values are computed outside the loop, and a scalar
// has a kernel without lanes.
TEST_P(VectorWidth, AnElementsValueDoesNotDependOnTheLoopAroundIt) {
  Target target{"g++", GetParam()};
  if (std::string reason = why_not(target); !reason.empty()) GTEST_SKIP() << reason;
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Tensor x = drawn(dtype, {3, 21}, -2, 2, 3), y = drawn(dtype, {3, 21}, -2, 2, 4);
    auto run = [&](const Dims& x_dims, const Dims& y_dims, const Tensor& x_value, const Tensor& y_value) {
      Expr a = tensor("a", x_dims, dtype), b = tensor("b", y_dims, dtype);
      return NativeProgram({{a, b}, float_chains(a, b), {}}, target)({x_value, y_value});
    };
    std::vector<Tensor> expected = run({"n", "m"}, {"n", "m"}, x, y);
    std::vector<Tensor> known = run({3, 21}, {3, 21}, x, y);
    std::vector<Tensor> by_row = run({3, 21}, {21}, x, y.rows(1, 1).reshape({21}));
    std::vector<Tensor> by_column = run({3, 21}, {3, 1}, x, y.view({3, 1}, {21, 1}, 5).copy());
    std::vector<Tensor> alone = run({}, {}, x.view({}, {}, 26).copy(), y.view({}, {}, 26).copy());
    for (size_t k = 0; k < expected.size(); ++k) {
      EXPECT_TRUE(same_bits(known[k], expected[k])) << "known lengths, chain " << k;
      EXPECT_TRUE(same_bits(by_row[k].rows(1, 1), expected[k].rows(1, 1))) << "a row for all, chain " << k;
      EXPECT_TRUE(same_bits(by_column[k].view({3, 1}, {21, 1}, 5), expected[k].view({3, 1}, {21, 1}, 5)))
          << "a column for all, chain " << k;
      EXPECT_TRUE(same_bits(alone[k], expected[k].view({}, {}, 26))) << "a scalar, chain " << k;
    }
  }
}

}  // namespace
}  // namespace thtrain::native_targets_test

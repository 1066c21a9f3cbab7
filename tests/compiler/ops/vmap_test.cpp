// vmap of every op's own cases is what a loop gives; gradients of examples; mistakes.
#include "compiler/ops/control/vmap.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/index/fused_scatter.h"
#include "compiler/ops/registry.h"
#include "tests/support/datasets_support.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

constexpr int64_t kElements = 3;
using Step = std::function<std::vector<Expr>(const std::vector<Expr>&)>;

std::vector<Expr> mapped(const Step& step, const std::vector<Expr>& xs) {
  return vmap([&](const std::vector<Expr>& x) { return step(x); }, {xs.begin(), xs.end()});
}

// Values of `kElements` draws of a case, one after the other.
Tensor stacked(const std::vector<Tensor>& values) {
  Shape shape = values[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(values.size()));
  Tensor out = Tensor::empty(values[0].dtype(), shape);
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor row = values[i].contiguous();
    std::copy_n(static_cast<const char*>(row.raw()), row.bytes(), static_cast<char*>(out.raw()) + i * row.bytes());
  }
  return out;
}

class VmapOf : public testing::TestWithParam<const Op*> {};

// Which inputs vary: all of them, or each alone.
TEST_P(VmapOf, IsTheLoop) {
  uint64_t seed = 1;
  for (const OpCase& c : GetParam()->cases()) {
    SCOPED_TRACE(c.name);
    std::vector<CaseInputs> draws;
    for (int64_t i = 0; i < kElements; ++i) draws.push_back(make_inputs(c, str("in", i, "_"), seed++));
    const size_t inputs = c.inputs.size();
    for (size_t alone = 0; alone <= inputs; ++alone) {
      if (inputs < 2 && alone < inputs) continue;
      auto varies = [&](size_t i) { return alone == inputs || alone == i; };
      std::vector<Expr> all;
      std::vector<std::pair<Expr, Tensor>> bound;
      for (size_t i = 0; i < inputs; ++i) {
        if (!varies(i)) {
          bound.emplace_back(draws[0].variables[i], draws[0].values[i]);
          continue;
        }
        std::vector<Tensor> values;
        for (const CaseInputs& draw : draws) values.push_back(draw.values[i]);
        const Tensor value = stacked(values);
        Type type = draws[0].variables[i].type();
        type.dims.insert(type.dims.begin(), kElements);
        all.push_back(make_input(type, str("all", i)));
        bound.emplace_back(all.back(), value);
      }
      if (all.empty()) continue;
      const std::vector<Expr> results = mapped(
          [&](const std::vector<Expr>& elements) {
            std::vector<Expr> x = draws[0].variables;
            for (size_t i = 0, next = 0; i < inputs; ++i)
              if (varies(i)) x[i] = elements[next++];
            std::vector<Expr> out;
            for (const Expr& value : c.build(x))
              if (value.type().kind == TypeKind::kTensor) out.push_back(value);
            return out;
          },
          all);
      const std::vector<Tensor> got = evaluate(results, bound);
      for (int64_t i = 0; i < kElements; ++i) {
        std::vector<Expr> outputs;
        for (const Expr& value : c.build(draws[0].variables))
          if (value.type().kind == TypeKind::kTensor) outputs.push_back(value);
        std::vector<std::pair<Expr, Tensor>> one;
        for (size_t k = 0; k < inputs; ++k)
          one.emplace_back(draws[0].variables[k], draws[varies(k) ? static_cast<size_t>(i) : 0].values[k]);
        const std::vector<Tensor> expected = evaluate(outputs, one);
        for (size_t o = 0; o < expected.size(); ++o) {
          const Tensor element = got[o].rows(i, 1).reshape(expected[o].shape());
          const auto where = difference(element, expected[o], std::max(c.bound, 16.0));
          EXPECT_FALSE(where) << "element " << i << ", varying " << alone << " at " << *where << "\n"
                              << expr_text(results[o]);
        }
      }
    }
  }
}

// All but those that define lengths, and the one that fusion alone makes with names of lengths.
std::vector<const Op*> ops_to_map() {
  std::vector<const Op*> out;
  for (const Op* op : all_ops())
    if (op->cases && !op->defines && op != &fused_scatter_op()) out.push_back(op);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, VmapOf, testing::ValuesIn(ops_to_map()),
                         [](const auto& info) { return info.param->name; });

int64_t loops_in(const std::vector<Expr>& values) {
  int64_t out = 0;
  for (const Node* node : topological_order(values)) out += node->op->name == "scan";
  return out;
}

// The loss of one example of a perceptron, with its label.
Expr loss_of(const Expr& x, const Expr& label, const Expr& w, const Expr& b, const Expr& v) {
  const Expr hidden = tanh(dot(x, w) + b), scores = log_softmax(dot(hidden, v));
  return -scores[label];
}

TEST(Vmap, GradientsOfExamplesAreThoseOfEach) {
  const Expr x = matrix("x", {5, 4}), labels = tensor("labels", {5}, DType::kInt64), w = matrix("w", {4, 6}),
             b = vector("b", {6}), v = matrix("v", {6, 3});
  const std::vector<Expr> weights{w, b, v};
  auto gradients = [&](const std::vector<Expr>& example) {
    return grad(loss_of(example[0], example[1], w, b, v), weights);
  };
  const std::vector<Expr> all = vmap(gradients, {x, labels});
  const std::vector<Expr> looped = map(gradients, {.sequences = {x, labels}}).outputs;
  EXPECT_EQ(loops_in(all), 0);
  auto values = [](const Expr& e, uint64_t seed) {
    const std::vector<double> numbers =
        RandomState(seed).normal(0, 1, static_cast<size_t>(e.type().elements().value()));
    return Tensor::of(numbers, e.type().known_shape());
  };
  const std::vector<Tensor> arguments{values(x, 1), Tensor::of(std::vector<int64_t>{0, 2, 1, 1, 0}, {5}), values(w, 2),
                                      values(b, 3), values(v, 4)};
  const std::vector<Tensor> got =
      function({x, labels, w, b, v}, {all.begin(), all.end()}, {}, {.tune = Tune::kNever})(arguments);
  const std::vector<Tensor> expected = function({x, labels, w, b, v}, {looped.begin(), looped.end()}, {},
                                                {.mode = Mode::kReference, .tune = Tune::kNever})(arguments);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(got[i].shape(), expected[i].shape());
    for (int64_t k = 0; k < got[i].size(); ++k) EXPECT_NEAR(got[i].as_double(k), expected[i].as_double(k), 1e-12);
  }
}

TEST(Vmap, AGradientInTwoFormsIsNoLoop) {
  const Expr x = matrix("x", {5, 4}), w = vector("w", {4});
  const Expr all = vmap([&](Expr example) { return grad(-log(sigmoid(dot(example, w))), w); }, {x});
  EXPECT_EQ(loops_in({all}), 0);
}

TEST(Vmap, OfOtherAxesAndOfLengthsThatTheCallKnows) {
  const Expr x = tensor3("x"), y = matrix("y");
  const Expr both = vmap([](Expr a, Expr b) { return dot(a, b) + 1; }, {x, y}, {1, -1});
  Function f = function({x, y}, {both}, {}, {.tune = Tune::kNever});
  Tensor a = Tensor::empty(DType::kFloat64, {2, 3, 4}), b = Tensor::empty(DType::kFloat64, {4, 3});
  for (int64_t i = 0; i < a.size(); ++i) a.data<double>()[i] = static_cast<double>(i);
  for (int64_t i = 0; i < b.size(); ++i) b.data<double>()[i] = static_cast<double>(i % 5);
  const Tensor got = f({a, b})[0];
  ASSERT_EQ(got.shape(), (Shape{3, 2}));
  for (int64_t e = 0; e < 3; ++e)
    for (int64_t r = 0; r < 2; ++r) {
      double sum = 1;
      for (int64_t k = 0; k < 4; ++k) sum += a.at<double>({r, e, k}) * b.at<double>({k, e});
      EXPECT_EQ(got.at<double>({e, r}), sum);
    }
}

TEST(Vmap, AnOperationWithoutARuleIsALoopOfItsOwn) {
  const Expr x = tensor("x", {4, 3, 3}, DType::kFloat64);
  const Expr two = make_constant(Tensor(2.0));
  const Expr sums = vmap([&](Expr m) { return 2 * apply(ger_op(), {m + m, two, m[0], m[1]}) - 1; }, {x});
  EXPECT_EQ(loops_in({sums}), 1);
}

// The values of a function are those of map() of it, for three elements that the call counts; so many loops it has.
void expect_the_loop(const std::function<Expr(Expr)>& step, const std::vector<Expr>& captured, int64_t loops) {
  const Expr x = tensor("x", {"n", 4}, DType::kFloat64);
  const Expr all = vmap(step, {x}), looped = map(step, {.sequences = {x}}).outputs;
  EXPECT_EQ(loops_in({all}), loops);
  std::vector<In> inputs{x};
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  Tensor value = Tensor::empty(DType::kFloat64, {3, 4});
  for (int64_t i = 0; i < value.size(); ++i) value.data<double>()[i] = static_cast<double>(i * 5 % 12) / 8 - 0.5;
  for (double given : {0.5, -0.5}) {
    std::vector<Tensor> arguments{value};
    for (const Expr& e : captured) arguments.push_back(Tensor(given).cast(e.dtype()));
    const std::vector<Tensor> got = function(inputs, {all, looped}, {}, {.tune = Tune::kNever})(arguments);
    EXPECT_FALSE(difference(got[0], got[1], 4)) << given;
  }
}

TEST(Vmap, OnOneConditionABranchStays) {
  const Expr c = scalar("c");
  expect_the_loop(
      [&](Expr x) {
        return if_else(
            c > 0, [&] { return tanh(x) * c; }, [&] { return zeros({4}, DType::kFloat64); });
      },
      {c}, 0);
  expect_the_loop(
      [&](Expr x) {
        return grad(sum(if_else(
                        c > 0, [&] { return exp(x); }, [&] { return sqr(x) + c; })),
                    x);
      },
      {c}, 0);
  expect_the_loop(
      [](Expr x) {
        return if_else(
            sum(x) > 0, [&] { return log(abs(x) + 1); }, [&] { return x * x; });
      },
      {}, 1);
}

// A loop of the values of all elements; what does not depend on them is one value.
TEST(Vmap, ALoopStaysOne) {
  const Expr c = scalar("c");
  const auto state = [&](Expr x, int64_t steps) {
    return scan([&](Expr h) { return tanh(h * c + x); }, {.outputs_info = {zeros_like(x)}, .n_steps = steps}).outputs;
  };
  expect_the_loop([&](Expr x) { return state(x, 3)[-1]; }, {c}, 1);
  expect_the_loop([&](Expr x) { return state(x, 3); }, {c}, 1);
  expect_the_loop([&](Expr x) { return state(x, 0); }, {c}, 1);
  expect_the_loop([&](Expr x) { return grad(sum(sqr(state(x, 3))), x); }, {c}, 2);
  // A sequence of each element, a counter, several steps back, a last value, an element of no state.
  expect_the_loop(
      [&](Expr x) {
        const auto all = scan(
            [&](Expr element, Expr count, Expr before, Expr last) {
              return std::vector<Expr>{count + 1, before + last * element, element * count};
            },
            {.sequences = {x}, .outputs_info = {make_constant(Tensor(0.0)), {x[{Index(Slice{0, 2})}], {-2, -1}}, {}}});
        return all.outputs[0][-1] + all.outputs[1] * c + all.outputs[2];
      },
      {c}, 1);
  // A first value that is the same for all, and a sequence that is.
  expect_the_loop(
      [&](Expr x) {
        return scan([&](Expr s, Expr h) { return h * s + x; },
                    {.sequences = {arange(3) * c}, .outputs_info = {zeros({4}, DType::kFloat64)}})
            .outputs;
      },
      {c}, 1);
  // Elements end at different steps.
  expect_the_loop(
      [&](Expr x) {
        return reduce([&](Expr h) { return std::pair(h + abs(x) + 1, until(sum(h) > 8)); },
                      {.outputs_info = {x}, .n_steps = 5})
            .outputs;
      },
      {}, 1);
}

TEST(Vmap, CallsOfGraphs) {
  const Expr c = scalar("c");
  const auto formula = [&](const std::vector<Expr>& x) { return std::vector{tanh(x[0]) * c + sum(x[0])}; };
  const auto zero = [](const std::vector<Expr>& x, const std::vector<Expr>&, const std::vector<Expr>&) {
    return std::vector{zeros_like(x[0])};
  };
  expect_the_loop([&](Expr x) { return OpFromGraph(formula)({x})[0]; }, {c}, 0);
  expect_the_loop([&](Expr x) { return OpFromGraph(formula, zero)({x})[0]; }, {c}, 1);
}

TEST(Vmap, MistakesAreTold) {
  auto text = [](auto build) {
    std::string out = error_text(build);
    if (const size_t at = out.find("\n  node:     "); at != std::string::npos) {  // the line of this test
      const size_t end = out.find('\n', at + 1);
      out.erase(at, end == std::string::npos ? end : end - at);
    }
    return out;
  };
  const Expr x = matrix("x", {3, 2}), y = matrix("y", {4, 2}), s = scalar("s");
  auto twice = [](Expr a) { return a + a; };
  auto both = [](Expr a, Expr b) { return a + b; };
  EXPECT_EQ(text([&] { vmap(twice, {}); }), "error: vmap: there is no value\n  expected: one or more");
  EXPECT_EQ(text([&] { vmap(twice, {s}); }),
            "error: vmap: there is no axis 0\n  expected: a value with an axis\n  got:      s float64[]");
  EXPECT_EQ(text([&] { vmap(twice, {x}, {2}); }),
            "error: vmap: there is no axis 2\n  expected: an axis from -2 to 1\n  got:      x float64[3, 2]");
  EXPECT_EQ(
      text([&] { vmap([](Expr a) { return sum(a[a > 0]); }, {x}); }),
      "error: vmap: the data of each element decides a length\n  expected: lengths that are those of all elements\n  "
      "hint:     map() is a loop, whose body may define lengths");
  const Expr i = imatrix("i");  // the length is read from an element, by no input of the result
  for (const auto& [name, of_row] : std::map<std::string, std::function<Expr(Expr)>>{
           {"arange", [](Expr row) { return sum(arange(row[0])); }},
           {"bincount", [](Expr row) { return bincount(row); }},
           {"slice", [](Expr row) { return sum(row[Slice{.stop = row[0]}]); }}})
    EXPECT_EQ(text([&] { vmap(of_row, {i}); }),
              "error: vmap: the data of each element decides a length\n  expected: lengths that are those of all "
              "elements\n  hint:     map() is a loop, whose body may define lengths")
        << name;
  EXPECT_EQ(text([&] {
              vmap(twice, {x}, {0, 1});
            }),
            "error: vmap: 2 axes for 1 values\n  expected: an axis for each value");
  EXPECT_EQ(text([&] { vmap(both, {x}); }),
            "error: vmap: the step function takes 2 values\n  expected: as many as are given, 1");
  EXPECT_EQ(text([&] {
              vmap(both, {x, y});
            }),
            "error: vmap: value 1 has 4 elements, and value 0 has 3\n  expected: axes of one length\n  got:      y "
            "float64[4, 2]");
  EXPECT_EQ(text([&] { vmap([](Expr a) { return std::pair(a, until(sum(a) > 3)); }, {x}); }),
            "error: vmap: the step function gives updates or until()\n  expected: values alone\n  hint:     map() is a "
            "loop, which can have both");
}

}  // namespace
}  // namespace thtrain

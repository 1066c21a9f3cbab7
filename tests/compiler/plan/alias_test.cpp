// Which output may lie in which input's buffer: an op with two outputs, the second of which is the new value of a
// variable, as a random draw's state is.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/op.h"
#include "compiler/ir/variables.h"
#include "compiler/ir/verify.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/in_place.h"
#include "compiler/plan/program.h"

namespace thtrain {
namespace {

// numbers, new state = draw(state): numbers = 2 state, new state = state + 1.
void lower_draw(kernel::StepBuilder& b) {
  const kernel::Operand &state = b.input(0), &numbers = b.output(0), &next = b.output(1);
  b.code().loop("i", b.length(state.type.dims[0]), [&](const kernel::Term& i) {
    const kernel::Term s = b.code().let("s", b.load(state, b.index_of(state, {i})));
    b.store(numbers, i, s + s);
    b.store(next, i, s + kernel::constant(DType::kFloat64, 1));
  });
  b.finish_kernel(b.overwrites(0, 1) ? "draw_in_place" : "draw", "out0 = 2 in0, out1 = in0 + 1", 1);
}

Op draw(std::vector<Alias> aliases) {
  return {.name = "draw",
          .doc = "numbers, new state = draw(state)",
          .infer =
              [](const TypeArgs& a) {
                return std::vector<Type>{a.type(0), a.type(0)};
              },
          .reference =
              [](const ReferenceArgs& a) {
                std::vector<Tensor> out{a.make_output(0), a.make_output(1)};
                for (int64_t i = 0; i < out[0].size(); ++i) {
                  out[0].data<double>()[i] = 2 * a.inputs[0].as_double(i);
                  out[1].data<double>()[i] = a.inputs[0].as_double(i) + 1;
                }
                return out;
              },
          .lower = lower_draw,
          .aliases = std::move(aliases)};
}

const Op& draw_op() {
  static const Op op = draw({{.output = 1, .input = 0}});
  return op;
}

struct Drawn {
  Expr numbers, state;
};
Drawn drawn(const Op& op, const Expr& state) {
  const std::shared_ptr<const Node> node = make_node(op, {state});
  return {(*node)[0], (*node)[1]};
}

// A view of its second input; the first says where it came from.
const Op& view_of_second_op() {
  static const Op op{.name = "view_of_second",
                     .doc = "y = x1",
                     .infer = [](const TypeArgs& a) { return std::vector<Type>{a.type(1)}; },
                     .aliases = {{.output = 0, .input = 1, .view = same_layout}}};
  return op;
}

TEST(Views, NameTheInputThatTheyLookAt) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  EXPECT_EQ(root_of(apply(view_of_second_op(), {x, y})), &y.node());
  EXPECT_EQ(root_of(apply(view_of_second_op(), {x, transpose(transpose(y))})), &y.node());
}

// sum, y as a row = of_both(x, y): the first output is computed, the second is a view of the second input.
void lower_of_both(kernel::StepBuilder& b) {
  const kernel::Operand &x = b.input(0), &y = b.input(1);
  b.code().loop("i", b.length(x.type.dims[0]), [&](const kernel::Term& i) {
    b.store(b.output(0), i, b.load(x, b.index_of(x, {i})) + b.load(y, b.index_of(y, {i})));
  });
  b.finish_kernel("of_both", "out0 = in0 + in1", 1);
}

const Op& of_both_op() {
  static const Op op{.name = "of_both",
                     .doc = "x + y, and y as a row",
                     .infer =
                         [](const TypeArgs& a) {
                           Type row = a.type(1);
                           row.dims.insert(row.dims.begin(), Dim(1));
                           return std::vector<Type>{a.type(0), row};
                         },
                     .reference =
                         [](const ReferenceArgs& a) {
                           Tensor sum = a.make_output(0);
                           for (int64_t i = 0; i < sum.size(); ++i)
                             sum.data<double>()[i] = a.inputs[0].as_double(i) + a.inputs[1].as_double(i);
                           return std::vector<Tensor>{sum, a.inputs[1].reshape({1, a.inputs[1].size()})};
                         },
                     .lower = lower_of_both,
                     .aliases = {{.output = 1,
                                  .input = 1,
                                  .view =
                                      [](const LayoutArgs& a) {
                                        Layout out = a.input;
                                        out.strides.insert(out.strides.begin(), Dim(0));
                                        return std::optional(out);
                                      }},
                                 {.output = 0, .input = 0}}};
  return op;
}

TEST(Views, AnOutputNextToAComputedOneMayBeAView) {
  const Expr x = vector("x", {3}), y = vector("y", {3});
  const std::shared_ptr<const Node> node = make_node(of_both_op(), {exp(x), exp(y)});
  EXPECT_TRUE(is_view((*node)[1]));
  EXPECT_FALSE(is_view((*node)[0]));
  EXPECT_EQ(root_of((*node)[1]), &node->inputs[1].node());
  EXPECT_EQ(root_of((*node)[0]), node.get());
  EXPECT_TRUE(may_overwrite(*node, 0, 0)) << "a pair without a layout";
  EXPECT_FALSE(may_overwrite(*node, 1, 1)) << "a view is not written";
  const Program program =
      plan({{x, y}, {sum((*node)[0]), sum((*node)[1] * 2.0)}, {}}, {}, {.target = {.vector_bytes = 32}});
  for_each_step(program.body, [&](const Step& step) {
    if (step.node != node.get()) return;
    EXPECT_EQ(step.operands[3].buffer, step.operands[1].buffer);
    EXPECT_EQ(step.operands[2].buffer, step.operands[0].buffer) << "written over what dies";
  });
  for (Mode mode : {Mode::kNative, Mode::kDebug, Mode::kReference}) {
    Function f = function({x, y}, {(*node)[0], (*node)[1] * 2.0}, {}, {.mode = mode, .use_cache = false});
    const std::vector<Tensor> out = f({Tensor::vector({0.0, 0.0, 0.0}), Tensor::vector({0.0, 0.0, 0.0})});
    EXPECT_EQ(out[0].text(), "[2, 2, 2]");
    EXPECT_EQ(out[1].text(), "[[2, 2, 2]]");
  }
}

// The old value is read through a view of the second output: the update must wait for that reader.
TEST(Views, ReadersOfAViewHoldAnUpdateUp) {
  Shared state(Tensor::vector({1.0, 2.0, 3.0}), "state");
  const Expr x = vector("x", {3});
  const std::shared_ptr<const Node> node = make_node(of_both_op(), {x, state});
  for (Mode mode : {Mode::kNative, Mode::kDebug, Mode::kReference}) {
    state.set_value(Tensor::vector({1.0, 2.0, 3.0}));
    Function f = function({x}, {(*node)[0], sum((*node)[1])}, {{state, state.expr() * 10.0}},
                          {.mode = mode, .use_cache = false});
    const std::vector<Tensor> out = f({Tensor::vector({0.0, 0.0, 0.0})});
    EXPECT_EQ(out[0].text(), "[1, 2, 3]");
    EXPECT_EQ(out[1].as_double(), 6) << "the old value";
    EXPECT_EQ(state.get_value().text(), "[10, 20, 30]");
  }
}

TEST(Verify, FindsPairsThatTheNodeDoesNotHave) {
  static const Op op = draw({{.output = 2, .input = 0}});
  const Expr x = vector("x", {3});
  const Graph graph{{x}, {(*make_node(op, {x}))[0]}, {}};
  EXPECT_THROW(verify(graph, "a pass"), InternalError);
}

struct SecondOutput : testing::Test {
  Shared state{Tensor::vector({1.0, 2.0, 3.0}), "state"};

  // The kernels of a program that returns the outputs and updates the state, and the buffer of each's last operand.
  std::vector<std::pair<std::string, BufferKind>> kernels(const std::vector<Expr>& outputs, const Expr& next) {
    const CanonicalGraph canonical = canonical_lengths({{}, outputs, {{state, next}}});
    const Program program = plan(canonical.graph, canonical.value_checks, {.target = {.vector_bytes = 32}});
    std::vector<std::pair<std::string, BufferKind>> out;
    for_each_step(program.body, [&](const Step& step) {
      const BufferView& last = step.operands.back();
      out.emplace_back(std::get<kernel::KernelCall>(step.code).function->name,
                       program.buffers[static_cast<size_t>(last.buffer)].kind);
    });
    return out;
  }
};

using Kernels = std::vector<std::pair<std::string, BufferKind>>;

TEST_F(SecondOutput, AnAliasIsAPairOfAnOutputAndAnInput) {
  const Expr numbers = drawn(draw_op(), state).numbers;
  EXPECT_TRUE(may_overwrite(numbers.node(), 1, 0));
  EXPECT_FALSE(may_overwrite(numbers.node(), 0, 0)) << "only what the pair names";
  EXPECT_TRUE(can_update_in_place(numbers.node(), 1, state.expr().node()));
  EXPECT_FALSE(can_update_in_place(numbers.node(), 0, state.expr().node()));
}

TEST_F(SecondOutput, AnUpdateBySecondOutputIsInPlaceWithoutACopy) {
  const Drawn in_place = drawn(draw_op(), state);
  EXPECT_EQ(kernels({in_place.numbers}, in_place.state), (Kernels{{"draw_in_place", BufferKind::kShared}}));
  static const Op without = draw({});
  const Drawn copied = drawn(without, state);
  EXPECT_EQ(kernels({copied.numbers}, copied.state),
            (Kernels{{"draw", BufferKind::kTemporary}, {"copy", BufferKind::kShared}}));
}

// The state between the two has a buffer of its own, since the node that computes it returns its numbers too.
TEST_F(SecondOutput, DrawsOneAfterTheOtherNeedNoCopy) {
  const Drawn first = drawn(draw_op(), state), second = drawn(draw_op(), first.state);
  const Kernels both{{"draw", BufferKind::kTemporary}, {"draw", BufferKind::kShared}};
  EXPECT_EQ(kernels({first.numbers, second.numbers}, second.state), both);
}

TEST_F(SecondOutput, ValuesAreThoseOfTheReference) {
  const Drawn first = drawn(draw_op(), state), second = drawn(draw_op(), exp(first.state));
  for (Mode mode : {Mode::kNative, Mode::kDebug, Mode::kReference}) {
    state.set_value(Tensor::vector({1.0, 2.0, 3.0}));
    Function f = function({}, {first.numbers, sum(state.expr()), second.numbers}, {{state, first.state}},
                          {.mode = mode, .use_cache = false});
    for (double call : {0.0, 1.0, 2.0}) {
      const std::vector<Tensor> out = f(std::vector<Tensor>{});
      for (int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(out[0].as_double(i), 2 * (static_cast<double>(i) + 1 + call));
        EXPECT_NEAR(out[2].as_double(i), 2 * std::exp(static_cast<double>(i) + 2 + call), 1e-9);
      }
      EXPECT_EQ(out[1].as_double(), 6 + 3 * call) << "the old value";
    }
    EXPECT_EQ(state.get_value().text(), "[4, 5, 6]");
  }
}

}  // namespace
}  // namespace thtrain

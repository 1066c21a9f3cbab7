// The schedule alone decides lanes, tails, accumulators and threads: a nest says what is computed.
#include "compiler/kernel/schedule/schedule.h"

#include <complex>

#include <gtest/gtest.h>

#include "compiler/ir/compare.h"
#include "compiler/ir/variables.h"
#include "compiler/kernel/printer.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "tests/support/native_program.h"

namespace thtrain {
namespace {

Expr floats(Dims dims, const std::string& name) {
  return make_input({.dtype = DType::kFloat32, .dims = std::move(dims)}, name);
}

// Whole numbers, so that sums are exact in any order.
Tensor numbers(const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat32, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<float>()[i] = static_cast<float>((i * 37) % 23 - 7);
  return out;
}

Program planned(const std::vector<Expr>& outputs, int vector_bytes = 64, int64_t non_temporal_threshold = 0) {
  const Graph graph = optimize({leaves_of(outputs), outputs, {}}, {});
  return plan(graph, {},
              {.target = {.vector_bytes = vector_bytes, .memory = {.non_temporal_bytes = non_temporal_threshold}}});
}

std::string explained(const std::vector<Expr>& outputs, int64_t non_temporal_threshold = 0) {
  return program_text(planned(outputs, 64, non_temporal_threshold));
}

const kernel::KernelCall& only_kernel(const Program& program) {
  const kernel::KernelCall* found = nullptr;
  for_each_step(program.body, [&](const Step& step) { found = std::get_if<kernel::KernelCall>(&step.code); });
  TH_CHECK(found, "no kernel");
  return *found;
}

TEST(Schedule, TheSameNestGivesTheSameResultsAtEveryWidthAndWithoutVectors) {
  const Expr x = floats({5, 100}, "x"), row = floats({100}, "row");
  const Expr at = make_input({.dtype = DType::kInt64, .dims = {7}}, "at");
  const Expr rows = take(x, at), taken = take(x, at, 1);
  const std::vector<Expr> outputs{x * 2.0 + row,       // rows, one operand repeated
                                  transpose(x) + 1.0,  // with a stride
                                  rows * rows,
                                  taken + 1.0,
                                  rows,
                                  taken,                                  // gathers
                                  scatter_add(x, at, taken * 2.0, 1),     // a scatter
                                  set_subtensor(subtensor(x, {1}), row),  // a part
                                  join(1, {x, x}),                        // copies
                                  sum(x),
                                  sum(x, 0),
                                  sum(x, 1),
                                  max(x, 1),  // reductions of every shape
                                  sum(x * x, 1),
                                  sum(x * x, 0),  // with code before them
                                  x - max(x, 1, true),
                                  argmax(x, 1),
                                  argmin(x, 0),
                                  dot(cast(x, DType::kInt32), cast(transpose(x), DType::kInt32)),  // in order
                                  add_windows(windows(x, {1}, {3}, {1}), {5, 100}, {1}, {3}, {1})};
  std::vector<Tensor> inputs{numbers({5, 100}), Tensor::vector<int64_t>({0, 3, -1, 2, 2, 4, 1}), numbers({100})};
  const Graph graph{{x, at, row}, outputs, {}};
  const std::vector<Tensor> expected = evaluate(outputs, {{x, inputs[0]}, {at, inputs[1]}, {row, inputs[2]}});
  auto expect_equal = [&](const std::vector<Tensor>& got, const std::string& where) {
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_FALSE(difference(got[i], expected[i], 0)) << where << ", output " << i;
  };
  for (int bytes : {16, 32, 64}) {
    const Target target{"g++", bytes};
    if (!why_not(target).empty()) continue;
    expect_equal(NativeProgram(graph, target)(inputs), target.text());
  }
  const auto without_vectors = [](Program& program) {
    Program scalar = plan(program.graph, program.checks, {.target = {.vector_bytes = 1}});
    for_each_step(scalar.body, [](const Step& step) {
      if (const auto* call = std::get_if<kernel::KernelCall>(&step.code); call && !call->schedule.empty()) {
        EXPECT_EQ(call->schedule.find("vectors"), std::string::npos) << call->schedule;
      }
    });
    scalar.target.vector_bytes = 16;  // of the language that it is printed in
    program = std::move(scalar);
  };
  expect_equal(NativeProgram(graph, {"g++", 16}, true, without_vectors)(inputs), "without vectors");
}

// What is read along another axis than it is written: whole squares and the rests of both axes, images with their
// channels last and first, with images of a number that only the call knows, in a loop with operands that lie as the
// result does.
TEST(Schedule, SquaresAreTransposedAtEveryWidth) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    auto input = [&](Dims dims, const char* name) {
      return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
    };
    const Expr x = input({37, 50}, "x"), y = input({50, 37}, "y"), row = input({37}, "row"),
               column = input({50, 1}, "column"), images = input({"n", 9, 7, 20}, "images"),
               few = input({2, 40, 3}, "few");
    const std::vector<Expr> outputs{transpose(x) + 0.0,
                                    transpose(x) * y + row - transpose(x) * column,
                                    transpose(images, {0, 3, 1, 2}) * 2.0,
                                    transpose(transpose(images, {0, 3, 1, 2}) * 2.0, {0, 2, 3, 1}) + 0.0,
                                    transpose(few, {0, 2, 1}) + 0.0,
                                    transpose(reshape(few, {2, 3, 40}), {0, 2, 1}) + 0.0};
    std::vector<Tensor> inputs;
    for (const Shape& shape : std::vector<Shape>{{37, 50}, {50, 37}, {37}, {50, 1}, {3, 9, 7, 20}, {2, 40, 3}})
      inputs.push_back(numbers(shape).cast(dtype));
    const std::vector<Expr> all{x, y, row, column, images, few};
    std::vector<std::pair<Expr, Tensor>> given;
    for (size_t i = 0; i < all.size(); ++i) given.emplace_back(all[i], inputs[i]);
    const std::vector<Tensor> expected = evaluate(outputs, given);
    for (const Target& target : all_targets()) {
      if (!why_not(target).empty()) continue;
      const std::vector<Tensor> got = NativeProgram({all, outputs, {}}, target)(inputs);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_FALSE(difference(got[i], expected[i], 0)) << target.text() << ", " << name_of(dtype) << ", output " << i;
    }
  }
}

// Sums of several rows, or vectors of them, in one loop: whole groups of these, vectors after them and a tail.
TEST(Schedule, SumsOfRowsSideBySide) {
  const Expr z = make_input({.dtype = DType::kComplex64, .dims = {70, 150}}, "z"),
             down = make_input({.dtype = DType::kComplex64, .dims = {70}}, "down"),
             along = make_input({.dtype = DType::kComplex64, .dims = {150}}, "along"), x = floats({70, 150}, "x");
  const auto pairs = [](const Shape& shape) {
    Tensor out = Tensor::empty(DType::kComplex64, shape);
    for (int64_t i = 0; i < out.size(); ++i)
      out.data<std::complex<float>>()[i] = {static_cast<float>(i * 37 % 23 - 7), static_cast<float>(i * 29 % 13 - 5)};
    return out;
  };
  const std::vector<Tensor> inputs{pairs({70, 150}), pairs({70}), pairs({150}), numbers({70, 150})};
  const std::vector<std::vector<Expr>> cases{{dot(z, along)}, {dot(down, z)}, {sum(x, 0), sum(x * x, 0)}};
  for (const std::vector<Expr>& outputs : cases) {
    const std::vector<Tensor> expected =
        evaluate(outputs, {{z, inputs[0]}, {down, inputs[1]}, {along, inputs[2]}, {x, inputs[3]}});
    const auto with_last_cache = [](Program& program) {
      kernel::Target target = program.target;
      target.last_cache_bytes = 1 << 20;
      program = plan(program.graph, program.checks, {.target = target});
      EXPECT_NE(program_text(program).find(" side by side"), std::string::npos);
    };
    for (const Target& target : all_targets()) {
      if (!why_not(target).empty()) continue;
      const std::vector<Tensor> got =
          NativeProgram({{z, down, along, x}, outputs, {}}, target, true, with_last_cache)(inputs);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_FALSE(difference(got[i], expected[i], 0)) << target.text() << ", output " << i;
    }
  }
}

// Of few sums there are no loops over more vectors of them, and no rest where vectors divide them.
TEST(Schedule, FewSumsHaveNoLoopsThatNothingEnters) {
  const auto text = [](int64_t columns) {
    const Expr x = floats({50, columns}, "x");
    const std::vector<Expr> outputs{sum(x * x, 0)};
    const Program program = plan(optimize({leaves_of(outputs), outputs, {}}, {}), {},
                                 {.target = {.vector_bytes = 64, .last_cache_bytes = 1 << 20}});
    kernel::Helpers helpers;
    return kernel::print_function(*only_kernel(program).function, kernel::dialect_of({.vector_bytes = 64}), helpers)
        .named("f");
  };
  const auto loops = [&](int64_t columns) {
    int out = 0;
    const std::string of_columns = text(columns);
    for (size_t at = 0; (at = of_columns.find("for (", at)) != std::string::npos; ++at) ++out;
    return out;
  };
  EXPECT_EQ(loops(10), 1) << text(10);
  EXPECT_EQ(loops(32), 2) << text(32);
  EXPECT_EQ(text(32).find("_n("), std::string::npos) << text(32);
  EXPECT_EQ(loops(70), 3) << text(70);
  EXPECT_EQ(loops(130), 5) << text(130);
}

// Windows along the first axis overlap between the parts that threads would take; those of each image do not.
TEST(Schedule, OneThreadAddsWhatOverlaps) {
  const Expr w = floats({1'000'000, 3}, "w"), images = floats({64, 60'000, 3}, "images");
  const auto step = [](const Expr& e) {
    const std::string text = explained({e});
    const size_t at = text.find("kernel add_windows");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(step(add_windows(w, {1'000'002}, {0}, {3}, {1})).find("threads from"), std::string::npos);
  EXPECT_NE(step(add_windows(images, {64, 60'002}, {1}, {3}, {1})).find("threads from"), std::string::npos);
}

TEST(Schedule, ANestIsScalar) {
  kernel::Nest nest(Dims{10});
  EXPECT_THROW(nest.let("x", kernel::splat(kernel::constant(DType::kFloat32, 1), 8)), InternalError);
}

TEST(Schedule, ExplainPrintsTheChoices) {
  const Expr x = floats({60, 101}, "x"), n = floats({"n"}, "n");
  const auto prints = [](const Expr& e, const std::string& choices, int64_t threshold = 0) {
    const std::string text = explained({e}, threshold);
    EXPECT_NE(text.find(choices + "  # forward\n"), std::string::npos) << text;
  };
  prints(n + 1.0, ", vectors of 16 over elements, tail masked, stores prefetched");
  prints(n + 1.0, ", vectors of 16 over elements, tail masked, stores prefetched or, if long, non-temporal", 4096);
  prints(floats({1000}, "y") + 1.0, ", vectors of 16 over elements, tail masked, stores non-temporal", 4096);
  // Lines that two rows share are written through the caches.
  const Expr column = floats({60, 1}, "column");
  prints(column * floats({1, 96}, "row"), ", vectors of 16 over elements, stores non-temporal", 4096);
  prints(column * floats({1, 100}, "row"), ", vectors of 16 over elements, tail masked, stores prefetched", 4096);
  prints(sum(x), ", vectors of 16 over the row, 4 accumulators on two levels, tail masked");
  prints(sum(x, 0), ", vectors of 16 over columns, 1 accumulator, tail masked");
  prints(x / sum(exp(x), 1, true), ", vectors of 16 over the row, 1 accumulator, tail masked");
  prints(argmax(x, 1), ", vectors of 16 over the row, 4 accumulators, tail masked");
  prints(argmax(x, 0), ", vectors of 16 over columns, 1 accumulator, tail masked");
  prints(argmax(floats({60, 10}, "z"), 1), ", vectors of 8 over columns, 1 accumulator, tail masked");
  prints(transpose(x) + 1.0, ", vectors of 16 over squares");
  const Expr at = make_input({.dtype = DType::kInt64, .dims = {7}}, "at");
  prints(take(x, at), ", vectors of 16 over elements, tail masked, rows by index");
  const Expr ints = make_input({.dtype = DType::kInt32, .dims = {20, 20}}, "ints");
  const Expr rows = make_input({.dtype = DType::kInt32, .dims = {"n", 20}}, "rows");
  prints(dot(rows, ints), ", vectors of 16 over results, tail masked");
}

// A kernel of one input and one output of these lengths, as C++.
std::string kernel_of(const Dims& in, const Dims& out,
                      const std::function<kernel::Nest(kernel::StepBuilder&)>& nest_of) {
  const Expr x = floats(in, "x");
  const Type type{.dtype = DType::kFloat32, .dims = out};
  const Expr node = x + 1.0;
  kernel::StepBuilder b(node.node(), {{0, x.type(), row_major(in)}}, {{1, type, row_major(out)}}, {.vector_bytes = 16});
  kernel::schedule(b, nest_of(b), "f", "f");
  kernel::Helpers helpers;
  const std::vector<kernel::StepCode> steps = b.take();
  return kernel::print_function(*std::get<kernel::KernelCall>(steps[0]).function,
                                kernel::dialect_of({.vector_bytes = 16}), helpers)
      .named("f");
}

const std::vector<kernel::NestAxis> kColumnsOfRows{{8}, {5, kernel::AxisKind::kSequential}};

// Of each column the sums of its first elements, and all of them: vectors over columns, rows in order.
TEST(Schedule, NumbersAreCarriedFromIterationToIteration) {
  const std::string text = kernel_of({5, 8}, {6, 8}, [](kernel::StepBuilder& b) {
    kernel::Nest nest(kColumnsOfRows);
    const kernel::Term total = nest.carried("total", kernel::constant(DType::kFloat32, 0));
    const kernel::Term more = nest.let("more", total + nest.load("x", {b.input(0), {1, 8}}));
    nest.set(total, more);
    nest.store({b.output(), {1, 8}}, more);
    nest.store({b.output(), {1, 0}, 40}, nest.last(total));
    return nest;
  });
  EXPECT_EQ(text, R"(// f
static void f(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end) {
  const float* in0 = (const float*)buffers[0];
  float* out0 = (float*)buffers[1];
  for (long i = begin; i < (end - 3L); i += 4L) {
    const long at = 40L + i;
    f32x4 total = splat_f32x4(0.0f);
    for (long k0 = 0L; k0 < 5L; ++k0) {
      const long at_2 = i + (k0 * 8L);
      const long at_3 = i + (k0 * 8L);
      const f32x4 x = load_f32x4((const float*)(in0 + at_2));
      const f32x4 more = total + x;
      store_f32x4((float*)(out0 + at_3), more);
      total = more;
    }  // k0
    store_f32x4((float*)(out0 + at), total);
  }  // i
}
)");
}

// y[i] = the sum of x[i - k] for k of 4, but for the even ones.
TEST(Schedule, IterationsOutsideOfTheBoundsAreLeftOutAndOthersEndEarly) {
  const std::string text = kernel_of({10}, {13}, [](kernel::StepBuilder& b) {
    kernel::Nest nest({{13}, {4, kernel::AxisKind::kSequential}});
    nest.bounds.push_back({{1, -1}, 0, 10});
    const kernel::Term sum = nest.carried("sum", kernel::constant(DType::kFloat32, 0));
    nest.where(nest.axis(1) % kernel::Term(2) == kernel::Term(1));
    nest.set(sum, sum + nest.load("x", {b.input(0), {1, -1}}));
    nest.store({b.output(), {1, 0}}, nest.last(sum));
    return nest;
  });
  EXPECT_EQ(text, R"(// f
static void f(ThContext* ctx, void* const* buffers, const long* lengths, long begin, long end) {
  const float* in0 = (const float*)buffers[0];
  float* out0 = (float*)buffers[1];
  for (long i0 = begin; i0 < end; ++i0) {
    float sum = 0.0f;
    const long steps = (i0 - 10L) + 1L;
    const long steps_2 = (steps > 0L) ? steps : 0L;
    const long steps_3 = i0 + 1L;
    const long steps_4 = (steps_3 > 0L) ? steps_3 : 0L;
    const long high = (4L < steps_4) ? 4L : steps_4;
    const long low = (steps_2 < 4L) ? steps_2 : 4L;
    const long high_2 = (low > high) ? low : high;
    for (long k0 = low; k0 < high_2; ++k0) {
      const long at = i0 + (k0 * -1L);
      const long at_2 = i0 + (k0 * -1L);
      if ((k0 % 2L) == 1L) {
        const float x = in0[at];
        sum = sum + x;
      }
    }  // k0
    out0[i0] = sum;
  }  // i0
}
)");
}

TEST(Schedule, WhatIsCarriedIsReadBeforeItIsSet) {
  const auto made_with = [](const std::function<void(kernel::Nest&, const kernel::Term&, const kernel::Term&)>& set) {
    return kernel_of({5, 8}, {8}, [&](kernel::StepBuilder& b) {
      kernel::Nest nest(kColumnsOfRows);
      const kernel::Term first = nest.carried("first", kernel::constant(DType::kFloat32, 0)),
                         second = nest.carried("second", kernel::constant(DType::kFloat32, 1));
      set(nest, first, second);
      nest.store({b.output(), {1, 0}}, nest.last(first));
      return nest;
    });
  };
  EXPECT_THROW(made_with([](kernel::Nest& nest, const kernel::Term& first, const kernel::Term& second) {
                 nest.set(first, second + first);
                 nest.set(second, first);
               }),
               InternalError);
  EXPECT_THROW(made_with([](kernel::Nest& nest, const kernel::Term& first, const kernel::Term&) {
                 nest.set(nest.carried("third", first), first);
               }),
               InternalError);
  EXPECT_NO_THROW(made_with([](kernel::Nest& nest, const kernel::Term& first, const kernel::Term& second) {
    nest.set(second, first);
    nest.set(first, first + kernel::constant(DType::kFloat32, 1));
  }));
}

// A masked store would keep the next loop waiting that reads the same elements.
TEST(Schedule, TheRestOfAShortLoopIsNarrowerVectors) {
  const auto text = [](int64_t length) {
    const Program program = planned({floats({length}, "x") * 2.0});
    kernel::Helpers helpers;
    return kernel::print_function(*only_kernel(program).function, kernel::dialect_of({.vector_bytes = 64}), helpers)
        .named("f");
  };
  EXPECT_NE(text(100).find("store_f32x4("), std::string::npos) << text(100);
  EXPECT_EQ(text(100).find("_n("), std::string::npos) << text(100);
  EXPECT_NE(text(4).find("store_f32x4("), std::string::npos) << text(4);
  EXPECT_NE(text(1000).find("_n("), std::string::npos) << "long loops have masked tails";
}

// Then the state of a loop of iterations can stay in registers.
TEST(Schedule, AFewVectorsAreWrittenOutOneByOne) {
  const auto loops = [](int64_t length) {
    const Program program = planned({floats({length}, "x") * 2.0});
    kernel::Helpers helpers;
    const std::string text =
        kernel::print_function(*only_kernel(program).function, kernel::dialect_of({.vector_bytes = 64}), helpers)
            .named("f");
    return text.find("for (") != std::string::npos;
  };
  for (const int64_t length : {16, 32, 64, 20, 40}) EXPECT_FALSE(loops(length)) << length;
  for (const int64_t length : {80, 100, 256}) EXPECT_TRUE(loops(length)) << length;
}

}  // namespace
}  // namespace thtrain

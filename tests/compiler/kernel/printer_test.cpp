// The loop language as text: every kind of statement, and what its terms become.
#include "compiler/kernel/printer.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "tests/support/golden_text.h"

namespace thtrain::kernel {
namespace {

// A step of add over two vectors of 10 floats, for what a lowering is given.
struct Made {
  explicit Made(Target target = {.vector_bytes = 32})
      : builder(sum.node(), {{0, sum.type(), row_major({10})}, {1, sum.type(), row_major({10})}},
                {{2, sum.type(), row_major({10})}}, std::move(target)) {}

  Expr sum = tensor("x", {10}, DType::kFloat32) + tensor("y", {10}, DType::kFloat32);
  StepBuilder builder;
};

std::string printed(StepBuilder& b) {
  std::vector<StepCode> steps = b.take();
  EXPECT_EQ(steps.size(), 1u);
  Helpers helpers;
  std::string text =
      print_function(*std::get<KernelCall>(steps[0]).function, dialect_of(b.target()), helpers).named("f");
  return helpers.text() + "\n" + text;
}

// Not a sum: one of each statement.
TEST(GoldenCode, EveryStatement) {
  Made made;
  StepBuilder& b = made.builder;
  Code& code = b.code();
  code.comment("one of each");
  Term n = b.length("n"), sum = code.var("sum", constant(DType::kFloat32, 0));
  Term part = code.local_array("part", {DType::kFloat32, 1, 0}, 8);
  code.loop("i", b.begin(), b.end() - Term(7), 8, LoopMark::kVector, [&](Term i) {
    Term x = code.let("x", b.load(b.input(0), i, 8)), y = code.let("y", b.load(b.input(1), i, 8, 2));
    b.store(b.output(), i, select(x < y, sqrt(fabs(x)), fma(x, y, splat(constant(DType::kFloat32, 0.1), 8))));
    code.store(part.node().name, 0, 1, x);
  });
  code.if_(
      n > Term(3), [&] { code.assign(sum, sum + b.load(b.input(0), n % Term(3))); }, [&] { code.assign(sum, -sum); });
  Term of_tile = code.sum("of_tile", splat(constant(DType::kFloat32, 0), 8), 3);
  code.assign(of_tile, fma(load(part.node().name, DType::kFloat32, 8, 0, 1), of_tile, of_tile));
  code.assign(of_tile, of_tile + of_tile);
  code.store(part.node().name, 0, 1, code.taken(of_tile));
  Term k = code.var("k", Term(0));
  code.while_(k < n, [&] { code.assign(k, k * Term(2) + Term(1)); });
  code.loop("u", 0, 4, 1, LoopMark::kUnrolled, [&](Term u) {
    b.store(b.output(), u, reduce_lanes("add", load(part.node().name, DType::kFloat32, 8, 0, 1, u)));
  });
  b.require(k < Term(10), {"too many", "at most {limit}, got {value}", {}}, k, 10);
  b.store(b.output(), 0, sum);
  b.finish_kernel("every_statement", "one of each statement", 10);
  expect_golden(printed(b), "code/every_statement.txt");
}

TEST(GoldenCode, EveryStatementOfDevices) {
  Made made(emulated_cuda_target());
  StepBuilder& b = made.builder;
  Code& code = b.code();
  const std::string part = code.shared_array("part", DType::kFloat32, 64),
                    counts = code.shared_array("counts", DType::kInt64, 2);
  const Term x = code.var("x", b.load(b.input(0), b.block() % Term(10)));
  for (const LaneChoice choice : {LaneChoice::kBehind, LaneChoice::kNumber})
    code.assign(x, fma(x, code.shuffle("other", x, choice, 3), constant(DType::kFloat32, 1)));
  code.store(part, b.thread(), 1, x);
  code.barrier();
  code.barrier(Scope::kWarp);
  for (const AtomicKind kind :
       {AtomicKind::kAdd, AtomicKind::kMin, AtomicKind::kMax, AtomicKind::kAnd, AtomicKind::kOr})
    code.atomic(counts, b.thread() / Term(32), b.thread(), kind);
  code.loop("u", 0, 4, 1, LoopMark::kUnrolled,
            [&](const Term& u) { b.store(b.output(), u, load(part, DType::kFloat32, 1, u, 1)); });
  code.if_(b.is_aligned(b.input(0), 4, 16) && b.is_aligned(b.output(), 0, 8), [&] {
    const std::string own = code.local_array("own", {DType::kFloat32, 4, 0}, 1).node().name;
    code.store(own, 0, 1, code.let("piece", b.load(b.input(0), 4, 4)));
    b.store(b.output(), b.thread() * Term(2), load(own, DType::kFloat32, 2, 0, 1));
  });
  b.require(b.length("n") < Term(10), {"too many", "at most {limit}, got {value}", {}}, b.length("n"), 10);
  b.finish_device_kernel("every_statement", "one of each statement of devices", 3, 64, "");
  expect_golden(printed(b), "code/every_statement_of_devices.txt");
}

TEST(CudaDialect, ConstantsAndBits) {
  const Dialect& dialect = dialect_of(emulated_cuda_target());
  auto text = [&](const Term& t) { return dialect.constant(t.node()); };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text(constant(DType::kFloat32, inf)), "__int_as_float(0x7f800000)");
  EXPECT_EQ(text(constant(DType::kFloat64, -inf)), "-__longlong_as_double(0x7ff0000000000000LL)");
  EXPECT_EQ(text(constant(DType::kFloat32, nan)), "__int_as_float(0x7fffffff)");
  const auto bits = [&](DType from, DType to) {
    Helpers helpers;
    const Term x = variable("x", {from, 1, 0});
    return dialect.term(bit_cast(x, to).node(), {"x"}, helpers);
  };
  EXPECT_EQ(bits(DType::kFloat32, DType::kUInt32), "((unsigned)__float_as_int(x))");
  EXPECT_EQ(bits(DType::kUInt32, DType::kFloat32), "__int_as_float((int)x)");
  EXPECT_EQ(bits(DType::kFloat64, DType::kInt64), "((long)__double_as_longlong(x))");
  EXPECT_EQ(bits(DType::kInt64, DType::kFloat64), "__longlong_as_double(x)");
  EXPECT_EQ(bits(DType::kInt32, DType::kUInt32), "((unsigned)x)");
}

// A language of processors has no form for what the threads of a block do together.
TEST(CppDialect, StatementsOfDevicesHaveNoForm) {
  Helpers helpers;
  for (const Target& target : {Target{.vector_bytes = 16}, c99_target()}) {
    const Dialect& dialect = dialect_of(target);
    EXPECT_THROW(dialect.barrier({}), InternalError);
    EXPECT_THROW(dialect.shared_array({"a", DType::kFloat32, 1}, helpers), InternalError);
  }
}

// Values that C++'s literals need care for.
TEST(CppDialect, Constants) {
  const Dialect& dialect = dialect_of({.vector_bytes = 16});
  auto text = [&](const Term& t) { return dialect.constant(t.node()); };
  EXPECT_EQ(text(constant(DType::kFloat64, 0.1)), "0x1.999999999999ap-4 /* 0.1 */");
  EXPECT_EQ(text(constant(DType::kFloat32, -3)), "-3.0f");
  EXPECT_EQ(text(constant(DType::kFloat64, -0.0)), "-0.0");
  EXPECT_EQ(text(constant(DType::kFloat32, std::numeric_limits<double>::quiet_NaN())), "__builtin_nanf(\"\")");
  EXPECT_EQ(text(constant(DType::kFloat64, -std::numeric_limits<double>::infinity())), "-__builtin_inf()");
  EXPECT_EQ(text(constant_int(DType::kInt64, INT64_MIN)), "(-9223372036854775807L - 1)");
  EXPECT_EQ(text(constant_int(DType::kUInt64, -1)), "18446744073709551615UL");
  EXPECT_EQ(text(constant_int(DType::kInt8, -5)), "((signed char)-5)");
  EXPECT_EQ(text(constant_int(DType::kBool, 1)), "true");
}

// Of single numbers by the compiler's builtins; vectors are in the golden texts.
TEST(CppDialect, SignsAndScalesOfSingleNumbers) {
  for (auto [dtype, suffix] : {std::pair(DType::kFloat32, "f"), {DType::kFloat64, ""}}) {
    const Term x = variable("x", {dtype, 1, 0}), n = variable("n", {dtype, 1, 0});
    Helpers helpers;
    auto text = [&](const Term& t) { return dialect_of({.vector_bytes = 16}).term(t.node(), {"x", "n"}, helpers); };
    EXPECT_EQ(text(copy_sign(x, n)), str("__builtin_copysign", suffix, "(x, n)"));
    EXPECT_EQ(text(scale(x, n)), str("__builtin_ldexp", suffix, "(x, (int)n)"));
    EXPECT_EQ(helpers.text(), "");
  }
}

}  // namespace
}  // namespace thtrain::kernel

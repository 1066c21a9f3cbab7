// Where the values of a device's program lie, and what is copied between it and the host.
#include "compiler/plan/place_transfers.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/op_from_function.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/runtime/shared.h"
#include "tests/support/host_sort.h"

namespace thtrain::place_transfers_test {
namespace {

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                const std::vector<Update>& updates = {}) {
  const kernel::Target target = kernel::emulated_cuda_target();
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, updates});
  return plan(optimize(canonical.graph, {.target = target}), canonical.value_checks, {.target = target});
}

// Each step as "kernel", "reference" or "x_there = x"; those of loops and branches in brackets.
std::string steps_of(const Program& program, const Region& region) {
  std::vector<std::string> out;
  auto name = [&](const BufferView& view) { return program.buffers[static_cast<size_t>(view.buffer)].name; };
  for (const auto& item : region.items) {
    if (const Step* step = std::get_if<Step>(&item)) {
      if (std::holds_alternative<kernel::Transfer>(step->code))
        out.push_back(str(name(step->operands[1]), " = ", name(step->operands[0])));
      else
        out.emplace_back(std::holds_alternative<kernel::KernelCall>(step->code) ? "kernel" : "reference");
      for (const LengthDefinition& length : step->defines) out.back() += str(" defines ", name(length.value));
    } else if (const Loop* loop = std::get_if<Loop>(&item)) {
      out.push_back(str("[", steps_of(program, *loop->body), loop->until ? "] until " + name(*loop->until) : "]"));
    } else {
      const Branch& branch = std::get<Branch>(item);
      out.push_back(str("if ", name(branch.condition), " [", steps_of(program, *branch.then), "] else [",
                        steps_of(program, *branch.otherwise), "]"));
    }
  }
  return join(out, "; ");
}

std::string steps_of(const Program& program) {
  return steps_of(program, program.body);
}

TEST(PlaceTransfers, TheCallersMemoryIsCopiedForKernels) {
  const Expr x = vector("x", {8});
  const Program program = planned({x}, {tanh(x)});
  EXPECT_EQ(steps_of(program), "x_there = x; kernel; output 0 = output 0_there");
  for (const Buffer& buffer : program.buffers)
    EXPECT_EQ(buffer.on_device, buffer.kind == BufferKind::kTemporary) << buffer.name;
}

TEST(PlaceTransfers, WhatReferencesAloneTouchStaysOnTheHost) {
  const Expr x = vector("x", {8});
  const Program program = planned({x}, {host_sort(x)});
  EXPECT_EQ(steps_of(program), "reference");
  EXPECT_TRUE(program.memory.arena_bytes.is(0));
}

TEST(PlaceTransfers, AReferenceBetweenKernelsComputesWithCopies) {
  const Expr x = vector("x", {8});
  EXPECT_EQ(steps_of(planned({x}, {tanh(host_sort(tanh(x)))})),
            "x_there = x; kernel; fused = fused; reference; host_sort = host_sort; kernel; output 0 = output 0_there");
  // The host has the input already.
  EXPECT_EQ(steps_of(planned({x}, {tanh(x) + host_sort(x)})),
            "reference; host_sort = host_sort; x_there = x; kernel; output 0 = output 0_there");
}

// A sum of its arguments, by a function of the host.
Expr on_host(const std::vector<Expr>& arguments) {
  static const OpFromFunction op({.name = "test.on_host", .version = "1", .compute = [](const std::vector<Tensor>& in) {
                                    Tensor out = in[0].copy();
                                    for (size_t k = 1; k < in.size(); ++k)
                                      for (int64_t i = 0; i < out.size(); ++i)
                                        out.data<double>()[i] += in[k].data<double>()[i];
                                    return std::vector<Tensor>{out};
                                  }});
  return op(arguments)[0];
}

// What the host has computed, or read, it has until the device changes it.
TEST(PlaceTransfers, AReferenceTakesTheCopyThatTheHostHas) {
  const Expr x = vector("x", {8});
  const Expr y = tanh(x), z = on_host({y});
  EXPECT_EQ(steps_of(planned({x}, {exp(z), exp(on_host({z, y}))})),
            "x_there = x; kernel; fused = fused; reference; test.on_host = test.on_host; kernel; reference; "
            "test.on_host = test.on_host; kernel; output 0 = output 0_there; output 1 = output 1_there");
}

// An output that a reference computes, and kernels read.
TEST(PlaceTransfers, WhatAReferenceComputesOfAnOutputIsNotCopiedBack) {
  const Expr x = vector("x", {8});
  const Expr y = on_host({x});
  EXPECT_EQ(steps_of(planned({x}, {y, tanh(y)})),
            "reference; output 0_there = output 0; kernel; output 1 = output 1_there");
}

TEST(PlaceTransfers, WhatALoopDoesNotChangeIsCopiedBeforeIt) {
  const Expr x = vector("x", {8}), w = vector("w", {8});
  const Expr y = tanh(w);
  EXPECT_EQ(steps_of(planned({x, w}, repeat(3, {x},
                                            [&](const std::vector<Expr>& h) {
                                              return std::vector<Expr>{exp(on_host({exp(h[0]), y})) * y};
                                            }))),
            "w_there = w; kernel; x_there = x; kernel; fused = fused; [kernel; fused = fused; reference; "
            "output 0_there = output 0; kernel]; output 0 = output 0_there");
}

// Elements that do not lie side by side are read, and written, in a copy of all that is around them.
TEST(PlaceTransfers, OfAStridedValueTheWholeBufferIsCopied) {
  const Expr x = tensor("x", {6, 4}, DType::kFloat64);
  const Program program = planned({x}, {host_sort(transpose(tanh(x))) * 2.0});
  bool has_whole = false;
  for_each_step(program.body, [&](const Step& step) {
    has_whole = has_whole || (std::holds_alternative<kernel::Transfer>(step.code) &&
                              step.operands[0].type.text() == "float64[24]" && step.operands[0].type.rank() == 1);
  });
  EXPECT_TRUE(has_whole) << steps_of(program);
}

TEST(PlaceTransfers, VariablesLieWhereTheyAreComputedWith) {
  const Expr x = vector("x", {8});
  const Shared w(Tensor::zeros(DType::kFloat64, {8}), "w"), read(Tensor::zeros(DType::kFloat64, {8}), "read");
  const Program program = planned({x}, {host_sort(read.expr())}, {{w, w + x}});
  for (const Buffer& buffer : program.buffers)
    EXPECT_EQ(buffer.on_device, buffer.name == "w" || buffer.name == "x_there") << buffer.name;
  EXPECT_EQ(steps_of(program), "x_there = x; kernel; reference");
}

TEST(PlaceTransfers, AVariableMayStayOnTheHost) {
  const Expr x = vector("x", {8});
  const Shared w(Tensor::zeros(DType::kFloat64, {8}), "w"), read(Tensor::zeros(DType::kFloat64, {8}), "read");
  w.keep_on_host();
  read.keep_on_host();
  EXPECT_EQ(steps_of(planned({x}, {on_host({read.expr()})}, {{w, w + x * read}})),
            "x_there = x; read_there = read; w_there = w; kernel; reference; w = w_there");
}

TEST(PlaceTransfers, ConditionsAreReadByTheHost) {
  const Expr x = vector("x", {8});
  EXPECT_EQ(steps_of(planned({x}, {if_else(
                                      gt(sum(x), 0), [&] { return tanh(x); }, [&] { return exp(x); })})),
            "x_there = x; kernel; condition = fused_reduction; if condition [kernel] else [kernel]; "
            "output 0 = output 0_there");
}

TEST(PlaceTransfers, LengthsThatTheDataDecidesAreReadByTheHost) {
  const Expr x = vector("x", {8});
  EXPECT_EQ(steps_of(planned({x}, {flatnonzero(x)})),
            "x_there = x; kernel; kernel; length = define_length defines length; kernel; output 0 = output 0_there");
}

}  // namespace
}  // namespace thtrain::place_transfers_test

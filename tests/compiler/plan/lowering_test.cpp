// Equal nodes are lowered once; what differs in anything that a lowering may look at is not.
#include "compiler/plan/lowering.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"

namespace thtrain::lowering_test {
namespace {

using Functions = std::vector<const kernel::Function*>;

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs) {
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, {}});
  return plan(optimize(canonical.graph, {}), canonical.value_checks, {.target = {.vector_bytes = 32}});
}

Functions functions_of(const Program& program) {
  Functions out;
  for_each_step(program.body, [&](const Step& step) {
    if (const auto* call = std::get_if<kernel::KernelCall>(&step.code)) out.push_back(call->function.get());
  });
  return out;
}

Expr matrix(const std::string& name, Dims dims = {6, 6}, DType dtype = DType::kFloat32) {
  return make_input({.dtype = dtype, .dims = std::move(dims)}, name);
}

TEST(Lowering, LayersOfOneShapeShareTheirKernels) {
  Expr x = matrix("x", {"n", 8}), h = x;
  std::vector<Expr> inputs{x};
  for (int i = 0; i < 5; ++i) {
    inputs.push_back(matrix(str("W", i), {8, 8}));
    inputs.push_back(matrix(str("b", i), {8}));
    h = tanh(dot(h, inputs[inputs.size() - 2]) + inputs.back());
  }
  Program program = planned(inputs, {h});
  Functions functions = functions_of(program);
  std::set<const kernel::Function*> loops;
  for (const kernel::Function* f : functions)
    if (f->name == "add_tanh") loops.insert(f);
  EXPECT_EQ(std::count_if(functions.begin(), functions.end(), [](auto* f) { return f->name == "add_tanh"; }), 5);
  // The last one writes to the output and not over its input: the text is the same, but what it may assume is not.
  EXPECT_LE(loops.size(), 2u);
}

TEST(Lowering, WhatTheCodeDependsOnIsPartOfTheKey) {
  Expr x = matrix("x"), y = matrix("y"), column = matrix("c", {6, 1}), wide = matrix("z", {6, 6}, DType::kFloat64);
  auto product = [&](const Expr& e) { return dot(e, y); };  // a product between keeps the loops apart
  struct Row {
    const char* what;
    Expr first, second;
    bool shared;
  };
  const Row rows[] = {
      {"the same of another value", exp(product(x)), exp(product(y)), true},
      {"another operation", exp(product(x)), sin(product(y)), false},
      {"another constant", product(x) * 3.0, product(y) * 4.0, false},
      {"another dtype", exp(product(x)), exp(dot(wide, wide)), false},
      {"another operand's lengths", product(x) * matrix("r", {6}), product(y) * column, false},
      {"another order of operands", product(x) - y, x - product(y), false},
      {"another axis", softmax(product(x), 0), softmax(product(y), 1), false},
      {"reduced to another shape", sum(product(x), {1}), sum(product(y), {1}, true), false},
  };
  std::vector<Expr> inputs{x, y, column, wide};
  for (const Row& row : rows) {
    std::vector<Expr> leaves = leaves_of(std::vector<Expr>{row.first, row.second});
    Program program = planned(leaves, {row.first, row.second});
    // The loops that the two values end with.
    const kernel::Function* last[2] = {};
    for_each_step(program.body, [&](const Step& step) {
      const auto* call = std::get_if<kernel::KernelCall>(&step.code);
      for (size_t k = step.inputs; call && k < step.operands.size(); ++k) {
        const Buffer& buffer = program.buffers[static_cast<size_t>(step.operands[k].buffer)];
        if (buffer.kind == BufferKind::kOutput) last[buffer.index] = call->function.get();
      }
    });
    ASSERT_TRUE(last[0] && last[1]) << row.what;
    EXPECT_EQ(last[0] == last[1], row.shared) << row.what;
  }
}

TEST(Lowering, FactorsOfAProductArePrintedAndSoTellCallsApart) {
  Expr x = matrix("x", {4, 4}), y = matrix("y", {4, 4});
  Program program = planned({x, y}, {x + 2.0 * dot(x, y), x + 3.0 * dot(y, x)});
  std::set<double> alphas;
  for_each_step(program.body, [&](const Step& step) {
    if (const auto* call = std::get_if<kernel::LibraryCall>(&step.code))
      for (const auto& argument : call->arguments)
        if (const kernel::NumberAt* number = std::get_if<kernel::NumberAt>(&argument)) alphas.insert(number->value);
  });
  EXPECT_TRUE(alphas.contains(2.0));
  EXPECT_TRUE(alphas.contains(3.0));
}

TEST(Lowering, AMessageNamesItsOwnNode) {
  Expr x = matrix("x", {6, 3}), i = make_input({.dtype = DType::kInt64, .dims = {"n"}}, "i");
  std::vector<Expr> outputs;
  for (const char* layer : {"first", "second"}) {
    Scope scope(layer);
    outputs.push_back(take(x + static_cast<double>(outputs.size() + 1), i, 0));
  }
  Program program = planned({x, i}, outputs);
  std::set<std::string> told;
  for_each_step(program.body, [&](const Step& step) {
    if (const auto* call = std::get_if<kernel::KernelCall>(&step.code))
      for (const auto& length : call->lengths)
        if (const auto* check = std::get_if<kernel::RuntimeCheck>(&length)) told.insert(check->origin.scope->path);
  });
  EXPECT_EQ(told, (std::set<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace thtrain::lowering_test

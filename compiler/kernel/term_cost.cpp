#include "compiler/kernel/term_cost.h"

#include <unordered_set>

namespace thtrain::kernel {

PrimCost cost_of(Prim prim) {
  switch (prim) {
    case Prim::kConstant:
    case Prim::kVariable:
    case Prim::kSelect:
    case Prim::kCast:
    case Prim::kBitCast:
    case Prim::kInRegister:
    case Prim::kLoad:
    case Prim::kGather:
    case Prim::kSplat:
    case Prim::kIota:
    case Prim::kInterleaveEven:
    case Prim::kInterleaveOdd:
    case Prim::kEvenLanes:
    case Prim::kOddLanes:
    case Prim::kZipLow:
    case Prim::kZipHigh:
    case Prim::kBitAnd:
    case Prim::kBitOr:
    case Prim::kBitXor:
    case Prim::kBitNot:
    case Prim::kShiftLeft:
    case Prim::kShiftRight:
    case Prim::kAnd:
    case Prim::kOr:
    case Prim::kNot:
      return {.flops = 0, .work = 1};
    case Prim::kFma:
      return {.flops = 2, .work = 1};
    case Prim::kMath:
      return {.flops = kMathCost, .work = kMathCost};
    default:
      return {.flops = 1, .work = 1};
  }
}

int64_t flops_of(std::span<const Term> results) {
  std::unordered_set<const TermNode*> seen;
  std::vector<const TermNode*> stack;
  auto visit = [&](const Term& term) {
    if (seen.insert(&term.node()).second) stack.push_back(&term.node());
  };
  for (const Term& result : results) visit(result);
  int64_t out = 0;
  while (!stack.empty()) {
    const TermNode* now = stack.back();
    stack.pop_back();
    out += cost_of(now->prim).flops;
    for (const Term& arg : now->args) visit(arg);
  }
  return out;
}

int64_t work_of(std::span<const Term> results) {
  int64_t out = 0;
  for (const Term& term : results) out += cost_of(term.node().prim).work + work_of(term.node().args);
  return out;
}

}  // namespace thtrain::kernel

#include "compiler/kernel/term_cost.h"

#include <algorithm>
#include <unordered_map>
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
    case Prim::kIsAligned:
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

// Terms that share operands have as many uses as there are paths to them: each is asked for once.
static int64_t work_of(const Term& term, std::unordered_map<const TermNode*, int64_t>& known) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (const auto found = known.find(&term.node()); found != known.end()) return found->second;
  int64_t out = cost_of(term.node().prim).work;
  for (const Term& arg : term.node().args) out = std::min(out + work_of(arg, known), kMost);
  known.emplace(&term.node(), out);
  return out;
}

int64_t work_of(std::span<const Term> results) {
  std::unordered_map<const TermNode*, int64_t> known;
  int64_t out = 0;
  for (const Term& term : results) out += work_of(term, known);
  return out;
}

}  // namespace thtrain::kernel

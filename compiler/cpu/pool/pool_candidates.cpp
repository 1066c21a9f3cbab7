// The candidates of pooling: by columns, which are reduced first and kept in a buffer, for windows of any kind; by
// taps, with vectors of windows in registers, where windows lie side by side; and by positions, for the gradient of
// maxima of windows that share elements. Their results are the same bits.
#include "compiler/cpu/pool/pool_kernel.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/pool/pool_step.h"
#include "compiler/ops/pool/pooling.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::StepBuilder;
using kernel::Target;

constexpr const char* kComputation = "pool";
constexpr const char* kColumns = "columns";
constexpr const char* kTaps = "taps";
constexpr const char* kPositions = "positions";

std::vector<Candidate> offer(const ChoiceKey& key, const Target& target) {
  auto candidate = [](const char* name, PoolForm form) {
    return Candidate{
        .name = name, .rounding = RoundingClass::kSame, .lower = [form](StepBuilder& b) { lower_pool_as(b, form); }};
  };
  std::vector<Candidate> out = {candidate(kColumns, PoolForm::kColumns)};
  if (!target.has_vectors()) return out;
  const Pooling pooling = *pooling_of(key);
  if (pooling.has_taps()) out.push_back(candidate(kTaps, PoolForm::kTaps));
  if (pooling.has_positions()) out.push_back(candidate(kPositions, PoolForm::kPositions));
  return out;
}

// Elements that are neither stored into a buffer nor loaded from it are always fewer instructions; so are those of a
// gradient that are written once.
std::string rule(const ChoiceKey& key, const Target& target, int, double) {
  if (!target.has_vectors()) return kColumns;
  const Pooling pooling = *pooling_of(key);
  return pooling.has_taps() ? kTaps : pooling.has_positions() ? kPositions : kColumns;
}

std::optional<Graph> example(const std::string& properties) {
  const std::optional<Pooling> p = pooling_of({kComputation, properties});
  if (!p) return std::nullopt;
  const Dims image(p->image.begin(), p->image.end());
  auto input = [&](const char* name, const Dims& dims) { return make_input({.dtype = p->dtype, .dims = dims}, name); };
  Props props;
  p->windows.add_to(props);
  const Expr x = input("x", image);
  if (p->op == &max_pool_op()) return Graph{{x}, {apply(*p->op, {x}, props)}, {}};
  if (p->op == &max_pool_gradient_op() || p->op == &max_pool_pick_op()) {
    const Expr other = input("other", p->op == &max_pool_pick_op() ? image : p->windows.pooled(image));
    return Graph{{x, other}, {apply(*p->op, {x, other}, props)}, {}};
  }
  props.set("divisor", std::string(name_of(p->divisor)));
  if (p->op == &sum_pool_op()) return Graph{{x}, {apply(*p->op, {x}, props)}, {}};
  props.set("lengths", Dims(image.end() - static_cast<std::ptrdiff_t>(p->windows.axes()), image.end()));
  const Expr dy = input("dy", p->windows.pooled(image));
  return Graph{{dy}, {apply(*p->op, {dy}, props)}, {}};
}

}  // namespace

const Computation& pool_choice() {
  static const Computation computation{kComputation, kColumns, example, rule};
  return computation;
}

CandidateSource pool_kernels() {
  return {kComputation, offer, nullptr, {kTaps, kColumns, kPositions}};
}

void lower_pool(StepBuilder& b) {
  const std::optional<Pooling> known = known_pooling(b.node());
  if (known) return lower_chosen(b, key_of(*known));
  lower_pool_as(b, PoolForm::kColumns);
}

}  // namespace thtrain

// The candidates of pooling: by columns, which are reduced first and kept in a buffer, for windows of any kind; by
// taps, with vectors of windows in registers, where windows lie side by side; and by positions, for the gradient of
// maxima of windows that share elements. Their results are the same bits.
#include <algorithm>
#include <bit>

#include "compiler/base/ceil_div.h"
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

// ---- the rule

// Stores of a row of so many elements by whole vectors and the rest of one: by one instruction where vectors have 64
// bytes, else as one, two, four elements at a time.
int64_t stores_of_row(int64_t elements, int64_t lanes, const Pooling& p) {
  const int64_t rest = elements % lanes;
  const bool is_masked = lanes * static_cast<int64_t>(size_of(p.dtype)) == 64;
  return elements / lanes + (rest == 0 ? 0 : is_masked ? 1 : std::popcount(static_cast<uint64_t>(rest)));
}

// Of the gradient of sums: are there fewer stores of a row of windows by taps? They store each row of the image by
// vectors of windows, and what lies behind the last one; columns fill a buffer, and then store and load whole rows.
bool has_fewer_stores_by_taps(const Pooling& p, const Target& target) {
  const size_t axis = p.windows.axes() - 1;
  const int64_t row = p.image.back(), stride = p.windows.stride[axis], all = target.lanes_of(p.dtype),
                windows = p.windows.count(axis, row).value(), covered = windows * stride;
  auto lanes_for = [&](int64_t n) {
    return std::min<int64_t>(all, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1)))));
  };
  int64_t rows = 1;
  for (size_t k = 0; k < axis; ++k) rows *= p.windows.window[k];
  const int64_t lanes = lanes_for(windows), in_buffer = stride * ceil_div(windows, lanes),
                of_row = stores_of_row(row, lanes_for(row), p),
                // A load of what two shorter stores wrote, or four, waits until these are in the cache.
      waiting = 3 * std::countr_zero(static_cast<uint64_t>(std::max<int64_t>(1, lanes_for(row) / lanes)));
  // A loop of its own, and a branch, for what lies behind the last window.
  const int64_t rest = row > covered ? 1 + stores_of_row(row - covered, all, p) : 0,
                by_taps = stores_of_row(covered, lanes, p) + rest;
  return rows * by_taps <= in_buffer + waiting + rows * of_row;
}

// Elements that are neither stored into a buffer nor loaded from it are fewer instructions, but for stores of parts of
// vectors; so are those of a gradient that are written once. But positions go down the rows of a block, so that each
// line of a large image that comes from memory lies far from the one before it: that is worth the rows that are written
// only once where they are in two rows of windows or more.
std::string rule(const ChoiceKey& key, const Target& target, int, double) {
  if (!target.has_vectors()) return kColumns;
  const Pooling p = *pooling_of(key);
  if (p.has_taps()) return p.op != &sum_pool_gradient_op() || has_fewer_stores_by_taps(p, target) ? kTaps : kColumns;
  if (!p.has_positions()) return kColumns;
  constexpr int64_t kPage = 4096;
  const size_t axes = p.windows.axes(), rows = axes > 1 ? axes - 2 : 0;
  int64_t images = 1, pixels = 1, windows = 1;
  for (size_t k = 0; k < p.image.size(); ++k)
    if (const size_t leading = p.image.size() - axes; k < leading)
      images *= p.image[k];
    else
      pixels *= p.image[k], windows *= p.windows.count(k - leading, p.image[k]).value();
  const auto size = static_cast<int64_t>(size_of(p.dtype));
  const bool is_shared_once = 2 * p.windows.stride[rows] > p.windows.window[rows],
             is_far = target.is_in_memory(static_cast<double>(images * (2 * pixels + windows) * size));
  return is_shared_once && is_far && pixels * size > kPage ? kColumns : kPositions;
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

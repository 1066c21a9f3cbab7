#include "compiler/ops/control/checkpointed_scan.h"

#include <cmath>

#include "compiler/base/escape.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

// The root of a number of steps, rounded up; at least 1.
Dim root_of(const Dim& steps) {
  if (!steps.is_known()) {
    const Expr root = ceil(sqrt(cast(length(zeros({steps}), 0), DType::kFloat64)));
    return computed_length(maximum(cast(root, DType::kInt64), 1));
  }
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(steps.value())));
  while (root * root < steps.value()) ++root;
  return std::max<int64_t>(root, 1);
}

// A loop as a loop over blocks of `every` steps, and one over the steps that are left.
class Blocks {
 public:
  Blocks(const Node& loop, const Dim& every, const std::source_location& where)
      : loop_(loop), parts_(loop), every_(every), where_(where) {
    blocks_ = floor_div(parts_.count, every_);
    rest_ = parts_.count - blocks_ * every_;
  }

  std::vector<Expr> run() {
    const Origin origin = Origin::here(where_);
    InheritOrigin inherit(origin);
    const std::vector<Expr> all = over_blocks();
    const bool has_rest = !rest_.is(0);
    const std::vector<Expr> rest =
        has_rest ? steps({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(parts_.states)}, rest_,
                         [&](const Expr& sequence) { return slice_of_axis(sequence, 0, blocks_ * every_, rest_); })
                 : std::vector<Expr>();
    std::vector<Expr> out(loop_.types.size());
    for (size_t i = 0; i < parts_.states; ++i) out[i] = has_rest ? rest[i] : all[i];
    for (size_t k = 0; k < parts_.elements; ++k) {
      const Expr& blocks = all[parts_.element(k)];
      Dims dims = blocks.dims();
      dims.erase(dims.begin());
      dims[0] = blocks_ * every_;
      const Expr first = reshape(blocks, dims);
      out[parts_.element(k)] = has_rest ? join(0, {first, rest[parts_.element(k)]}) : first;
    }
    return out;
  }

 private:
  // So many steps from these states on. `part` gives their elements of a sequence.
  std::vector<Expr> steps(std::vector<Expr> inputs, const Dim& count,
                          const std::function<Expr(const Expr& sequence)>& part) const {
    for (size_t k = 0; k < parts_.sequences; ++k) inputs.push_back(part(loop_.inputs[parts_.sequence(k)]));
    return loop_of(std::move(inputs), count);
  }
  std::vector<Expr> loop_of(std::vector<Expr> inputs, const Dim& count) const {
    for (size_t k = 0; k < parts_.captures; ++k) inputs.push_back(loop_.inputs[parts_.capture(k)]);
    return make_scan({.count = count,
                      .taps = parts_.taps,
                      .sequences = parts_.sequences,
                      .name = loop_.props.get_or<std::string>("name", {})},
                     loop_.bodies[0], std::move(inputs), where_);
  }

  std::vector<Expr> over_blocks() const {
    std::vector<Expr> inputs, leaves;
    for (size_t i = 0; i < parts_.states; ++i) {
      inputs.push_back(loop_.inputs[i]);
      leaves.push_back(make_body_input(inputs.back().type(), "state", where_));
    }
    for (size_t k = 0; k < parts_.sequences; ++k) {
      const Expr& sequence = loop_.inputs[parts_.sequence(k)];
      Dims dims = sequence.dims();
      dims[0] = every_;
      Type block = sequence.type();
      block.dims = dims;
      leaves.push_back(make_body_input(block, "block", where_));
      dims.insert(dims.begin(), blocks_);
      inputs.push_back(reshape(slice_of_axis(sequence, 0, 0, blocks_ * every_), dims));
    }
    auto build = [&] {
      const std::vector<Expr> made = loop_of(leaves, every_);
      std::vector<Expr> out(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(parts_.states));
      for (size_t k = 0; k < parts_.elements; ++k) out.push_back(made[parts_.element(k)]);
      return out;
    };
    Body body = make_body(leaves, build, where_);
    inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
    const std::string name = loop_.props.get_or<std::string>("name", {});
    return make_scan({.count = blocks_,
                      .taps = parts_.taps,
                      .sequences = parts_.sequences,
                      .name = name.empty() ? name : str("blocks of ", name),
                      .unbatched = true},
                     std::move(body.graph), std::move(inputs), where_);
  }

  const Node& loop_;
  const ScanParts parts_;
  const Dim every_;
  const std::source_location& where_;
  Dim blocks_ = 0, rest_ = 0;
};

void refuse_what_needs_all_steps(const ScanOptions& options, std::optional<int64_t> save_every_N,
                                 const std::source_location& where) {
  const std::string whose =
      options.name.empty() ? "checkpointed_scan: " : str("checkpointed_scan ", escaped(options.name), ": ");
  auto taps_text = [](const std::vector<int64_t>& taps) { return str("[", join(taps, ", "), "]"); };
  if (save_every_N && *save_every_N < 1)
    fail_build(where, whose + "save_every_N is less than 1", "a number of steps", std::to_string(*save_every_N));
  for (size_t k = 0; k < options.sequences.size(); ++k)
    if (options.sequences[k].taps != std::vector<int64_t>{0})
      fail_build(where, str(whose, "sequence ", k, " has taps"), "the tap 0 alone",
                 taps_text(options.sequences[k].taps),
                 "walk shifted slices of it: {x[Slice{.stop = -1}]} and {x[Slice{.start = 1}]} are the taps -1 and 0");
  for (size_t k = 0; k < options.outputs_info.size(); ++k) {
    const ScanOutput& info = options.outputs_info[k];
    if (info.initial.has_value() && info.taps != std::vector<int64_t>{-1})
      fail_build(where, str(whose, "output ", k, " has taps"), "the tap -1 alone", taps_text(info.taps),
                 "give the step function earlier values as further outputs");
  }
  if (options.truncate_gradient != -1)
    fail_build(where, whose + "truncate_gradient is set", "-1: a gradient that goes back through all steps",
               std::to_string(options.truncate_gradient), "scan() truncates");
}

}  // namespace

Scanned<std::vector<Expr>> checkpointed_scan_of(const ScanStep& step, const ScanOptions& options,
                                                std::optional<int64_t> save_every_N,
                                                const std::source_location& where) {
  refuse_what_needs_all_steps(options, save_every_N, where);
  return scan_replaced(
      step, options,
      [&](const Node& loop) {
        const Dim count = ScanParts(loop).count;
        return Blocks(loop, save_every_N ? Dim(*save_every_N) : root_of(count), where).run();
      },
      where);
}

}  // namespace thtrain

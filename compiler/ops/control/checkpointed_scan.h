// Scans whose gradient computes steps again instead of keeping what they gave.
#pragma once

#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "compiler/ops/control/scan.h"

namespace thtrain {

// ---- for other parts of the compiler --------------------------------------------------------------------------------

Scanned<std::vector<Expr>> checkpointed_scan_of(const ScanStep& step, const ScanOptions& options,
                                                std::optional<int64_t> save_every_N, const std::source_location& where);

// ---- control --------------------------------------------------------------------------------------------------------

/// A scan that gives of outputs with an initial value the last value alone, and keeps states after every `save_every_N`
/// steps alone; its gradient computes the steps between two of them again, block by block. With `save_every_N` = k, T
/// steps and S bytes of states that needs S (T / k + k) bytes instead of S T, for the time of one more forward
/// loop. None: the root of the number of steps, rounded up. T need not be a multiple of it: the last steps, fewer than
/// k, are a loop of their own.
///
/// Of outputs without an initial value, all steps are kept. Values and updates as scan(); gradients are to rounding.
///
/// UserError: taps (of a sequence other than 0, of an output other than -1), `until`, truncate_gradient, save_every_N
/// less than 1, and what scan() refuses.
///
/// After T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training deep nets with sublinear memory cost", 2016, and Theano's
/// scan_checkpoints.
template <class Step>
auto checkpointed_scan(const Step& step, const ScanOptions& options, std::optional<int64_t> save_every_N = {},
                       std::source_location where = std::source_location::current()) {
  Scanned<std::vector<Expr>> made = checkpointed_scan_of(ScanStep(step), options, save_every_N, where);
  return Scanned<typename ScanStep::OutputsOf<Step>>{ScanStep::outputs_of<Step>(std::move(made.outputs)),
                                                     std::move(made.updates)};
}

}  // namespace thtrain

// Running sums and the like on a device.
#pragma once

#include <functional>

#include "compiler/kernel/step_builder.h"

namespace thtrain {

/// Two neighbouring runs of elements in one: of the earlier and the later.
using CombineRuns = std::function<kernel::Term(const kernel::Term& before, const kernel::Term& next)>;

/// The first `kernel::kDeviceThreads` elements of a shared array of twice as many, each combined with those before it,
/// where `is_there` holds of the thread of that number, and of all before it. All threads of a block come here behind a
/// barrier, and leave behind one. Those 1, 2, 4, ... 128 before each (W. D. Hillis, G. L. Steele, Communications of the
/// ACM 29(12), 1986).
void scan_block(kernel::StepBuilder& b, const std::string& array, DType dtype, const kernel::Term& is_there,
                const CombineRuns& combine);

/// out0[i] = the elements of in0 up to i along that axis, combined in the dtype of out0: a block for each line, or for
/// each 4096 elements of few long lines, whose results a second kernel combines and a third one puts before the
/// elements behind them. False, and nothing is added: no device, complex numbers or bools, or lines
/// for which a thread each is as good.
bool lower_device_scan(kernel::StepBuilder& b, size_t axis, const std::string& name, const CombineRuns& combine);

}  // namespace thtrain

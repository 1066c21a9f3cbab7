// Values that the user places: on the host, or on the device that a function is compiled for.
#pragma once

#include "compiler/ops/operand.h"

namespace thtrain {

// ---- memory --------------------------------------------------------------------------------------------------------

/// x on the host, Theano's x.transfer("cpu"): a function for a device computes there what is computed from it, by the
/// ops' definitions, up to on_device(), an output or an update. An input or a shared variable that is read by this
/// alone is not copied to the device: on_device(take(on_host(table), rows)) sends the rows. In the body of a loop it
/// holds to the end of the iteration; a loop that reads such a value runs on the host as a whole. Derivatives pass, and
/// are on the device again. A function for a processor computes x.
Expr on_host(const Operand& x);
/// x where a function for a device computes, Theano's x.transfer("dev0"): ends what on_host() began. Derivatives pass.
Expr on_device(const Operand& x);

// ---- for other parts of the compiler -------------------------------------------------------------------------------

const Op& on_host_op();
const Op& on_device_op();

}  // namespace thtrain

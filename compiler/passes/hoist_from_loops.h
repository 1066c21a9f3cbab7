// What a loop computes anew in each iteration from what no iteration changes.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

namespace thtrain {

/// repeat(s -> s + dot(A, c)) -> let y = dot(A, c) in repeat(s -> s + y): values of a loop's body that follow from its
/// captures alone are computed once, before the loop, and captured. Exact: the same ops on the same values. Inner loops
/// come first, so that what follows from nothing that changes leaves all loops around it.
///
/// A value moves where computing it costs more than reading it: a product, a reduction, a gather, a function such as
/// exp; a few elementwise operations stay, as they cost nothing compared with what the iteration computes with them in
/// one kernel. What has an effect stays, and so does what is in a branch inside the loop, which may not be taken. A
/// loop of no iterations is left as it is: nothing of it would have been computed.
///
/// Runs when the rules are done (they may make a body's value depend on less) and before products and loops are fused,
/// which takes values apart no more.
Graph hoist_from_loops(const Graph& graph, const PassContext& context);

}  // namespace thtrain

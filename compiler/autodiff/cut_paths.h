// Why a value has no derivative with respect to another one, for messages.
#pragma once

#include <span>
#include <string>

#include "compiler/ir/node.h"

namespace thtrain {

/// That no path of the graph leads from the value to `end` ("the cost"), or the values nearest to the outputs that end
/// every path there is: "the path from x ends at stop_gradient(x) float64[3], built at main.cpp:9: no derivative passes
/// it". For outputs that have no derivative with respect to the value, with these values taken as constants. Linear.
std::string cut_paths_text(std::span<const Expr> outputs, const Expr& value, std::span<const Expr> constants,
                           const std::string& end);

}  // namespace thtrain

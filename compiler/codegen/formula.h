// What a step computes as a formula, for the comments of generated text.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/node.h"

namespace thtrain {

/// "hidden_tanh = tanh(dot(train_x, hidden_W) + hidden_b)": the outputs of `node` by its inputs; a fused node's by the
/// nodes of its body. Scalar constants are printed as numbers. At most about `width` characters: "..." for what is left
/// out. Outputs whose name is empty are left out.
std::string formula(const Node& node, const std::function<std::string(size_t input)>& name_of_input,
                    const std::function<std::string(size_t output)>& name_of_output, size_t width);

/// What a value may be called where its node has no name: the operation that gives it, in its scope: "hidden_tanh".
std::string describing_name(const Node& node, size_t output);

}  // namespace thtrain

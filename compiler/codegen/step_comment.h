// A step as the comment before its code says it.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/program.h"

namespace thtrain {

/// "hidden_tanh = tanh(dot(train_x, hidden_W) + hidden_b)  [hidden]". `variables`: of buffers, empty where there is
/// none.
std::string step_comment(const Program& program, const Step& step, const std::vector<std::string>& variables);

}  // namespace thtrain

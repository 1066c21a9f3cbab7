// What the comments of a program say: of its arguments, and of each step before its code.
#pragma once

#include <string>
#include <vector>

#include "compiler/plan/program.h"

namespace thtrain {

/// What the program's arguments are, a line each.
std::string program_comment(const Program& program);

/// "hidden_tanh = tanh(dot(train_x, hidden_W) + hidden_b)  [hidden]". `variables`: of buffers, empty where there is
/// none.
std::string step_comment(const Program& program, const Step& step, const std::vector<std::string>& variables);

}  // namespace thtrain

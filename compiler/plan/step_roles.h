// What the steps of a program are for.
#pragma once

#include <vector>

#include "compiler/ir/roles.h"
#include "compiler/plan/program.h"

namespace thtrain {

/// Of each step, in the order of for_each_step(): the roles of its node; of a copy into a shared variable "update".
/// Every step has a role.
std::vector<Roles> step_roles(const Program& program);

}  // namespace thtrain

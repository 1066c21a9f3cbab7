// Where in a program its outputs are done.
#pragma once

#include <string>

#include "compiler/plan/program.h"

namespace thtrain {

/// What the entry says behind an item: of the outputs that it is the last to write. "" behind items inside of others,
/// and on a device. Outputs that nothing writes, those without elements, are behind none. Looks through the whole
/// program.
std::string outputs_done_behind(const Program& program, const RegionItem& item);

}  // namespace thtrain

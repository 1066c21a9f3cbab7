// The keys of a source, optimizer or objective that another one replaces.
#pragma once

#include <set>
#include <string>

#include "config/config.h"

namespace thtrain {

/// The keys of `table`, a section of the experiment, that go with the kinds that `replacing` replaces.
std::set<std::string> keys_of_replaced_kinds(const FieldSpec& section, const ConfigNode& table,
                                             const ConfigNode& replacing);
/// `now` is `before` after values of the command line: where these name another source, optimizer or objective, the
/// keys of the replaced one go, but for those that the command line has. So do those of phases.
void drop_replaced_kinds(const ConfigNode& before, ConfigNode& now);
/// The same where `now` is `before` after the values of the file `over`, whose own keys stay. Phases of a file replace
/// all phases before it, and lose nothing.
void drop_replaced_kinds(const ConfigNode& before, const ConfigNode& over, ConfigNode& now);

}  // namespace thtrain

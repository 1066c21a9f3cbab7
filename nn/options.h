// Options that a C++ program gives are held to the ranges and checks that their configuration declares.
#pragma once

#include <string_view>

#include "compiler/base/config.h"

namespace thtrain {

/// Throws a UserError of all findings, each beginning with `what` ("adam: beta1 is out of range"), if there are any.
void raise_findings(std::string_view what, const Findings& findings);

/// UserError unless `options` could stand in a configuration: every number in its range, and the checks of fields
/// together. `Table` is a Section that derives from `Options` and declares its members.
template <class Table, class Options>
void check_options(std::string_view what, const Options& options) {
  Table table;
  static_cast<Options&>(table) = options;
  Findings findings;
  read_config<Table>(resolved_config(table), findings);
  raise_findings(what, findings);
}

}  // namespace thtrain

// Options that a C++ program gives are held to the ranges and checks that their configuration declares.
#pragma once

#include <string_view>

#include "config/config.h"

namespace thtrain {

/// Throws a UserError of all findings, each beginning with `what` ("adam: beta1 is out of range"), if there are any.
void raise_findings(std::string_view what, const Findings& findings);

/// UserError unless `object` could be written in a configuration: every number in its range, and the checks of fields
/// together. `fresh`, another one with its defaults, becomes what a configuration would give.
void check_declared(std::string_view what, const Schema& schema, const void* object, void* fresh);

/// The same of options. `Table` is a Section that derives from `Options` and declares its members.
template <class Table, class Options>
void check_options(std::string_view what, const Options& options) {
  Table table, fresh;
  static_cast<Options&>(table) = options;
  check_declared(what, schema_of<Table>(), &table, &fresh);
}

}  // namespace thtrain

// What the debug mode says of a program: a fault of thtrain's own.
#pragma once

#include <string>

#include "compiler/base/error.h"

namespace thtrain {

/// The whole text of the InternalError that `action` throws; "no fault" if it throws none.
template <class Action>
std::string fault_text(Action action) {
  try {
    action();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no fault";
}

}  // namespace thtrain

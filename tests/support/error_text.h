// The whole text of an expected error, without the line of the test that caused it.
#pragma once

#include <string>

#include "compiler/base/error.h"

namespace thtrain {

/// What f() throws, its "node:" lines left out; "no error" where it throws none.
template <class F>
std::string text_without_node(F f) {
  try {
    f();
  } catch (const UserError& error) {
    std::string out;
    for (Message message : error.messages()) {
      message.node.clear();
      out += (out.empty() ? "" : "\n") + message.text();
    }
    return out;
  }
  return "no error";
}

}  // namespace thtrain

// The whole text of an expected error, without the line of the test that caused it.
#pragma once

#include <regex>
#include <string>

#include "compiler/base/error.h"

namespace thtrain {

/// The text of an error of a call without "; f is called at a.cpp:3".
inline std::string without_call(const std::string& text) {
  static const std::regex call("(\\n  node:     |; )[^;\\n]* is called at [^\\n]*");
  return std::regex_replace(text, call, "");
}

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

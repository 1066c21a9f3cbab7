// A page that explains a compiled function: one HTML file that needs no network, for a browser beside the lesson.
#pragma once

#include <string>

#include "compiler/runtime/function.h"

namespace thtrain {

struct PageTitle {
  std::string experiment;  // "mlp_mnist.toml"
  std::string function;    // "the training step"
  bool with_times = true;  // of the passes; all else depends on the function and the machine alone
};

/// The whole page, which is well-formed XML too: the graph, and for each pass the rules that fired, the graph before
/// and after it as pictures (as text where it has more than kMaxDrawn boxes) and the lines that changed; then the
/// steps of the program, its memory plan, and the C++ text. Styles, pictures and script stand inline; light and dark as
/// the reader's system says.
std::string explain_page(const Explanation& explanation, const PageTitle& title);

inline constexpr size_t kMaxDrawn = 400;

/// The styles, besides those of all pages, and the script.
extern const char* const kExplainStyle;
extern const char* const kExplainScript;

}  // namespace thtrain

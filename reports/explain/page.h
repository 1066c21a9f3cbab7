// A page that explains a compiled function: one HTML file that needs no network, for a browser.
#pragma once

#include <span>
#include <string>

#include "compiler/runtime/function.h"
#include "reports/explain/graph_figures.h"

namespace thtrain {

struct PageTitle {
  std::string experiment;  // "mlp_mnist.toml"
  std::string function;    // "the training step"
  bool with_times = true;  // of the passes; all else depends on the function and the machine alone
};

/// The whole page (reports/page/page.h): the graph, and for each pass the rules that fired, the graph from before it to
/// after it as a picture in which every box stays at one position, rewrite by rewrite (as text where it has more than
/// kMaxDrawn boxes), and the lines that changed; then the steps of the program, its memory plan, and the text that is
/// compiled. Where `minibatch` is given, what the function takes, boxes tell their values on it.
std::string explain_page(const Explanation& explanation, const PageTitle& title,
                         std::span<const Tensor> minibatch = {});

/// The styles, besides those of all pages, and the script.
extern const char* const kExplainStyle;
extern const char* const kExplainScript;

}  // namespace thtrain

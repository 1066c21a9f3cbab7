// The pictures of the Theano paper (J. Bergstra et al., "Theano: A CPU and GPU Math Compiler in Python", SciPy 2010)
// with today's numbers: Fig. 5 as bars, Fig. 7 as a grid of speed-ups over NumPy.
#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"

namespace thtrain {

/// PATH.png and PATH.svg, as Canvas::write(): a bar for thtrain and, for each package that was measured, one for the
/// fastest form that its users write and, where that is faster still, one for the fastest that can be written. All of
/// one case, dtype and number of threads. UserError where it cannot be written.
std::vector<std::string> draw_bars(const std::string& path, const std::vector<Measurement>& row);

/// PATH.png and PATH.svg, as Canvas::write(), of 2 x 2 panels, one for each of the first four formulae: over the number
/// of elements, how many times faster than plain NumPy an implementation is that returns a new array. thtrain, and the
/// forms of the peers' users. All of one dtype and number of threads. UserError where it cannot be written.
std::vector<std::string> draw_speedups(const std::string& path, const std::vector<Measurement>& all);

}  // namespace thtrain

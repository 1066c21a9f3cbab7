// The numbers that the authors of the Theano paper published, for comparison with ours.
#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"

namespace thtrain {

/// A row for each of thtrain's measurements of a training step that J. Bergstra et al. measured for "Theano: A CPU and
/// GPU Math Compiler in Python" (SciPy 2010): examples a second, compared with Theano on one thread of a Core 2 Duo
/// E8500 in the same dtype, Theano on a GTX 285 (float32), and the other programs of that page (float64 on the
/// processor). From the .bmark files of pascanur/DeepLearningBenchmarks, 2010-06-23. "" without such a measurement.
std::string published_table(const std::vector<Measurement>& all);

}  // namespace thtrain

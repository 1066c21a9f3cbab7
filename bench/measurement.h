// One number of a benchmark, with everything that says what it is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace thtrain {

class Function;

/// Rates: higher is better. `value` is the median of `rounds`, `low` and `high` their extremes (those of the stretches
/// of time of the only one).
struct Measurement {
  std::string bench;      // "mlp", "logreg", "elementwise", "gemm", "loops", "random", "rnn", ...
  std::string case_name;  // with its sizes: "784-500-10/60"
  std::string dtype;      // "float32", "float64"
  int threads = 1;
  std::string form = "none";   // whose the output is: "owned" by the caller, "borrowed" from the function, or no matter
  std::string implementation;  // "thtrain", "ceiling", or the peer's: "numpy_blas"
  std::string kind = {};       // of a peer: "user", as its users write it, or "best", as it can be written
  std::string setting = {};    // "openblas SkylakeX", "mkl"
  std::string version = {};    // "numpy 1.24.2"
  std::string unit;            // "examples/s", "sequences/s", "elements/s", "GFLOP/s", "nodes/s"
  double value = 0, low = 0, high = 0;
  std::string chosen = {};          // by thtrain, where a case is one computation: the candidate that computes it
  std::vector<double> rounds = {};  // of all repetitions, in order; those of different implementations belong together
};

/// One JSON object, without the rounds.
std::string json_line(const Measurement& measurement);

/// The middle one, of an even number the upper of the two; `values` is not empty.
double median(std::vector<double> values);

/// What is to be measured: run(calls) makes that many calls, each of which counts `units`.
struct Workload {
  std::function<void(long calls)> run;
  double units = 1;
  std::string chosen = {};                        // see Measurement
  std::shared_ptr<const Function> function = {};  // that it calls, of training steps
};

struct Rate {
  double value = 0, low = 0, high = 0;
};

/// Units a second over nine stretches of time of together about `seconds`: the median, the lowest, the highest. A
/// stretch is at least one call; where a call takes longer than one should, three. Warms up for a third of `seconds`
/// before.
Rate measure(const Workload& workload, double seconds);

}  // namespace thtrain

// How exactly generated code computes mathematical functions by vectors of each width. docs/vector_maths.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ir/node.h"

namespace thtrain {

/// An elementwise op that calls vector mathematics.
struct MathsFunction {
  std::string name;
  int arity = 1;
  std::function<Expr(const Expr& x, const Expr& y)> build;
  std::function<long double(long double x, long double y)> exact;  // by libm's long double
  double float32_ulps = 0, float64_ulps = 0;                       // no error at any width is above
};
/// In the order of the ops' table.
const std::vector<MathsFunction>& maths_functions();

/// The largest error that was found of a function.
struct MathsMeasurement {
  std::string function;
  int arity = 1;
  DType dtype;
  int vector_bytes = 0, threads = 1;
  int64_t inputs = 0;             // how many were tried
  double bound = 0;               // the stated one
  double ulps = 0, x = 0, y = 0;  // as bench/ulps.h counts, and where that was
};

struct MathsOptions {
  std::vector<std::string> functions = {};  // empty: all
  std::vector<std::string> dtypes = {};     // empty: float32 and float64
  std::vector<int> vector_bytes = {};       // empty: what THTRAIN_VECTOR_BYTES names, else all that the processor has
  int threads = 1;
  std::optional<int64_t> samples = {};  // rounded up to whole blocks of 4,096; else every float32, and 10^8 of others
  bool quick = false;                   // 2^16 samples, and 2^20 float32
};

/// A float32 function of one argument at all 2^32 inputs, or at evenly spread ones: against the function of float64 by
/// the widest vectors, which is itself held against libm's long double at every 256th of them (InternalError where they
/// differ by a thousandth of a float32's ulp), and the largest error is one against libm's. What has more inputs at a
/// fixed sample of them, against libm's long double: spread over all bit patterns, over the range where functions move,
/// around 1, -1 and the multiples of pi / 2. One measurement for each width.
std::vector<MathsMeasurement> measure_function(const MathsFunction& function, DType dtype, const MathsOptions& options);

/// All that the options ask for. `progress` is told what is being done, `found` what was found.
void measure_maths(const MathsOptions& options, const std::function<void(const std::string&)>& progress,
                   const std::function<void(const MathsMeasurement&)>& found);

/// A JSON object with the keys of a benchmark's and "bound", "vector_bytes", "inputs", "x" and "y"; "value" is in ulps.
std::string json_line(const MathsMeasurement& measurement);
/// A row for each function, dtype and number of inputs, as on the page.
std::string maths_table(const std::vector<MathsMeasurement>& measurements);

}  // namespace thtrain

// Runs a benchmark: every implementation in a process of its own, asked in turn, several repetitions.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/measurement.h"

namespace thtrain {

/// A benchmark: what `thtrain bench` may be followed by.
struct Bench {
  std::string name;  // "mlp"
  // Whose workers know its cases: "net", "elementwise", "gemm", "loops", "random_numbers", "language",
  // "rnn", "rbm", "conv", "pool", "convnet", "sparse", "fft", "factor", "compile".
  std::string family;
  std::string unit;
  std::string about;
  std::vector<std::string> cases;
  std::vector<std::string> quick_cases;  // small ones, for --quick
  std::vector<std::string> forms;        // of thtrain's outputs: "none", or "owned" and "borrowed"
};
const std::vector<Bench>& benches();
/// UserError, with what may have been meant, for an unknown name.
const Bench& bench_named(const std::string& name);
/// UserError, with the form and the benchmark's own cases, for a text that is no case of it.
void check_cases(const Bench& bench, const std::vector<std::string>& cases);

struct BenchOptions {
  std::vector<std::string> cases = {};   // empty: the benchmark's own
  std::vector<std::string> dtypes = {};  // empty: float32 and float64
  std::vector<int> threads = {};         // empty: 1 and 2
  std::set<std::string> only = {};       // implementations; empty: all
  int repetitions = 3;
  int rounds = 3;                         // in each repetition: how often the workers take turns at a case
  double seconds = 0.1;                   // for a case, an implementation and a round, besides the warm-up
  double limit_seconds = 120;             // for a peer's answer; it is not asked for larger cases of that kind
  bool quick = false;                     // small cases and a fiftieth of a second
  std::vector<std::string> pythons = {};  // empty: python3
  std::string peers_folder = {};          // empty: bench/peers of the tree that thtrain was built from
  std::string isa = {};  // "sse2", "avx2", "avx512": everybody uses these instructions and no wider ones; "": all
  std::string mkl = {};  // a libmkl_rt for NumPy and SciPy to use besides their own BLAS
};

/// What holds thtrain, and OpenBLAS and oneDNN under it, to an instruction set: variables of the environment.
std::map<std::string, std::string> isa_environment(const std::string& isa);

struct BenchResult {
  std::vector<Measurement> measurements;  // in the order of dtypes, threads, cases, implementations
  std::vector<std::string> notes;         // who is not installed, and who failed where
};

/// Each repetition starts every worker anew; each round of it lets them measure a case one after the other, so that a
/// noisy neighbour hits all alike. `progress` is told what is being done, and `finished` gets the measurements of a
/// dtype and number of threads as soon as all are there: a run that is broken off has shown what it had. UserError for
/// a case that is none, before anything is measured, and where nothing could be measured.
BenchResult run_bench(const Bench& bench, const BenchOptions& options,
                      const std::function<void(const std::string&)>& progress,
                      const std::function<void(const std::vector<Measurement>&)>& finished);

}  // namespace thtrain

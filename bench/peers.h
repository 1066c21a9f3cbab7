// The peers: implementations in Python, in the scripts of bench/peers/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/run.h"

namespace thtrain {

struct Peer {
  std::string name, kind, form;      // as the scripts declare them
  std::vector<std::string> command;  // the worker, but for --dtype and --threads
  std::map<std::string, std::string> environment;
};

/// Every implementation of a family in every Python of `options`, installed or not, and with options.mkl those that
/// depend on NumPy or SciPy once more with it. The environment makes OpenBLAS choose the kernels that thtrain chooses.
/// A Python that cannot run the scripts gets a line in `notes`. UserError where the scripts are not found.
std::vector<Peer> find_peers(const std::string& family, const BenchOptions& options, std::vector<std::string>& notes);

}  // namespace thtrain

// A process that measures one implementation, case by case, on request; and the other side of the talk with it.
//
// The talk is by lines. The worker begins with {"ready": ...} or {"missing": "why"}. A line "CASE SECONDS" is answered
// with {"value": rate, "low": ..., "high": ..., "chosen": candidate or ""} or {"error": "why"}. It ends with its input.
// bench/peers/worker.py is the peers' one, which says nothing of candidates.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/workloads.h"
#include "compiler/base/process.h"

namespace thtrain {

/// Serves `implementation` ("thtrain", "ceiling"; of "compile" "thtrain", "host_compiler") of a family ("net",
/// "elementwise", "gemm", "loops", "random_numbers", "language", "rnn", "rbm", "conv", "convnet", "sparse", "fft",
/// "factor", "compile") on standard input and output.
void serve_worker(const std::string& family, const std::string& implementation, const WorkloadOptions& options);

/// The other side: a process with pipes to it.
class Worker {
 public:
  /// Starts `command`, found on PATH, with variables added to the environment; standard error goes nowhere.
  Worker(std::vector<std::string> command, const std::map<std::string, std::string>& environment);
  /// Closes its input and waits for its end.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The fields of its next line; {"error": why} where there is none.
  std::map<std::string, std::string> read();
  /// The answer for a case. Who does not begin to answer within `limit` seconds is killed, and {"over_limit": ...} is
  /// told; a negative limit is none.
  std::map<std::string, std::string> ask(const std::string& case_name, double seconds, double limit = -1);

 private:
  std::unique_ptr<Process> process_;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace thtrain

// What a device computes how fast: formulas and reductions of arrays that lie there, a matrix product, convolutions,
// random numbers and training steps, with what each of them launches; and what other libraries take there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/run.h"
#include "bench/worker.h"
#include "compiler/kernel/target.h"

namespace thtrain {

/// "emulated", "cuda" or "cuda:1". UserError, which begins with `where`, for another word, and where there is no such
/// device.
kernel::Target device_named(const std::string& word, const std::string& where = "bench device");

struct DeviceMeasurement {
  std::string what;        // "sum1/4000x3000", "mlp/784-500-10/60"
  double seconds = 0;      // of a call, to its end
  double rate = 0;         // in `unit`
  std::string unit;        // "GB/s", "GFLOP/s", "1e9 numbers/s", "examples/s"
  double of_copy = -1;     // of GB/s: compared with the copy's of this run
  std::string by = {};     // the candidates that were chosen
  size_t kernels = 0;      // of the program; a loop launches its own once an iteration
  size_t graphs = 0;       // that a call launches
  size_t nodes = 0;        // of these graphs: kernels, copies and fills
  size_t host_steps = 0;   // ops that run on the host
  double difference = -1;  // from the processor's results: the largest, relative above 1; negative: not compared
  std::map<std::string, double> peers = {};  // seconds of a call of others, by their names
};

/// Other libraries on the same GPU (bench/peers/device.py), each in a process that waits between its cases.
class DevicePeers {
 public:
  /// Those of options.only, or all.
  DevicePeers(const BenchOptions& options, const std::function<void(const std::string&)>& progress);

  struct Peer {
    std::string name, version;
    std::unique_ptr<Worker> worker;
  };
  const std::vector<Peer>& all() const { return peers_; }
  /// Adds to the measurement what each of them takes that has its case; who does not answer in time is not asked again.
  void measure(DeviceMeasurement& measurement, double seconds);
  /// Who is missing, and who failed where.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  double limit_seconds_;
  std::vector<Peer> peers_;
  std::vector<std::string> notes_;
};

/// Calls `found` for one after the other; `seconds` for each. With `quick` cases are small. On a device of NVIDIA the
/// product and the convolutions are tuned before; operands and results of what is counted in GB/s take turns among
/// three, so that caches do not have them.
void measure_device(const kernel::Target& target, double seconds, bool quick,
                    const std::function<void(const std::string&)>& progress,
                    const std::function<void(DeviceMeasurement)>& found);

/// In Markdown: the device, its driver and the compiler of its kernels, the peers, and the head of the table; and a
/// row.
std::string device_head(const kernel::Target& target, const DevicePeers* peers);
std::string device_row(const DeviceMeasurement& measurement, const DevicePeers* peers);
std::string json_line(const DeviceMeasurement& measurement);

}  // namespace thtrain

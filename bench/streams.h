// How long a training step takes whose examples are read from files, compared with computing alone and reading alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thtrain {

/// mlp_mnist's step, 784-500-10 with 20 examples, on one kind of file. Times are the best of all repetitions.
struct StreamMeasurement {
  std::string format;     // "npy float32", "npy uint8", "idx uint8 gzip", "csv"
  bool shuffled = false;  // as a whole, or within the window where that is packed
  int threads = 1;
  uint64_t file_bytes = 0;
  double compute_us = 0;      // a step whose data is in memory
  double read_us = 0;         // a minibatch that nothing waits for but reading
  double both_us = 0;         // a step whose data is read
  uint64_t memory_bytes = 0;  // the most anonymous memory of the process that did both

  /// both / max(compute, read).
  double ratio() const;
  /// The part of a step's time that is not computing.
  double wait_share() const;
};

struct StreamOptions {
  std::vector<std::string> formats = {};  // empty: all
  std::vector<int> threads = {};          // empty: 1 and 2
  int repetitions = 3;
  double seconds = 2;  // for each of the three and repetition
  bool quick = false;  // files of 16 MiB instead of 4 GiB and 256 MiB
};

/// The formats, as `StreamOptions::formats` names them: "float32", "uint8", "gzip", "csv".
const std::vector<std::string>& stream_formats();

/// Makes the files in the system's temporary folder, one after the other, measures, each time in a process of its own,
/// and removes them. The files stay in the page cache where there is room for them. `progress` is told what is being
/// done. UserError for an unknown format and where the disk has no room.
void measure_streams(const StreamOptions& options, const std::function<void(const std::string&)>& progress,
                     const std::function<void(const StreamMeasurement&)>& found);

/// The processes of measure_streams(): each answers lines "WHAT FORMAT SHUFFLED THREADS SECONDS" about the files in
/// `folder` (bench/worker.h) by {"seconds": of a step, "memory": bytes}.
void serve_streams(const std::string& folder, bool quick);

std::string json_line(const StreamMeasurement& measurement);
/// A row for each measurement.
std::string stream_table(const std::vector<StreamMeasurement>& measurements);

}  // namespace thtrain

// How long the processes of a job exchanged what they sum, and how much of it was beside the computing.
#pragma once

#include <cstdint>
#include <string>

namespace thtrain {

/// Of all profiled steps of one process, in seconds.
struct ExchangeProfile {
  int processes = 1;
  int64_t steps = 0;
  int64_t buckets = 0, bytes = 0;  // of a step, summed over the processes
  double computing = 0;            // its shards
  double hidden = 0, waited = 0;   // the exchange: beside the computing, and behind it
  double optimizer = 0;
};

/// "exchange: 2 processes, 1.60 MB in 2 buckets, 0.412 ms a step, 0.300 ms (73 %) beside ..."
std::string exchange_text(const ExchangeProfile& profile);
/// One JSON object.
std::string exchange_json(const ExchangeProfile& profile);

}  // namespace thtrain

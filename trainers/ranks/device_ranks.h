// Sums over the devices of a job's processes, one device each: NCCL moves the elements, our functions add them.
#pragma once

#include <map>
#include <memory>

#include "compiler/runtime/function.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

class DeviceRanks {
 public:
  /// Sums of a variable, float32 or float64 [elements], at least 2 of them, on the device of `options.target`.
  /// UserError where NCCL is not there.
  DeviceRanks(const Shared& values, Ranks& ranks, const FunctionOptions& options);
  ~DeviceRanks();
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  /// Elementwise, by the tree of Ranks::sum(): the same bits. All ranks call it at once; the first call waits for all
  /// of them, however long. RankFailure.
  void sum();

 private:
  class Link;
  Shared values_, arrived_;
  Ranks& ranks_;
  std::map<int, Function> adders_;  // by stages
  kernel::Target target_;
  std::unique_ptr<Link> link_;  // since the first sum: functions are compiled by one rank after the other
};

}  // namespace thtrain

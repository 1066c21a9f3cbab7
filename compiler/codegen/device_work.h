// What a device does some time later: an entry waits for it where the host reads.
#pragma once

#include "compiler/plan/program.h"

namespace thtrain {

struct DeviceWork {
  bool copies = false;  // transfers: what comes is not there yet, and what goes must stay as it is
  bool checks = false;  // kernels that may fail

  DeviceWork& operator+=(const DeviceWork& other) {
    copies = copies || other.copies;
    checks = checks || other.checks;
    return *this;
  }

  static bool may_fail(const Step& step);
  static DeviceWork of(const Step& step);
  /// Of all steps inside.
  static DeviceWork of(const Region& region);
};

/// Need nobody wait at the end of a call? It gives nothing to the host, which has no part in it, and takes nothing from
/// there but its arguments.
bool leaves_work(const Program& program);

}  // namespace thtrain

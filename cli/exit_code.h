// How the process ends.
#pragma once

namespace thtrain {

enum ExitCode : int {
  kDone = 0,
  kOurFault = 1,
  kBadInput = 2,
  kNotFinite = 3,      // the loss or a weight
  kInterrupted = 130,  // by SIGINT; SIGTERM gives 143, SIGHUP 129
  kBrokenPipe = 141,   // nobody reads standard output any more
};

}  // namespace thtrain

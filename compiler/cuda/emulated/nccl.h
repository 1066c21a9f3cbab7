// An emulated NCCL for the emulated device: threads of one process, or processes of one machine, speak through sockets
// of a folder that the id names. What it sends and receives is done when the group ends.
#pragma once

#include "compiler/cuda/nccl.h"

namespace thtrain::cuda::emulated {

const Nccl& nccl();

}  // namespace thtrain::cuda::emulated

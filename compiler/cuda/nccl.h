// NCCL: messages between the devices of several processes, one device each, by functions that are opened at run time
// or emulated.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compiler/cuda/device.h"
#include "compiler/cuda/libraries.h"

struct ncclComm;  // NOLINT: their name

/// What all ranks of a communicator know.
struct ncclUniqueId {  // NOLINT: their name
  char internal[128];
};

namespace thtrain::cuda {

/// ncclInt8 of ncclDataType_t: bytes, which NCCL moves as they are.
inline constexpr int kNcclBytes = 0;

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
/// NCCL's functions.
struct Nccl {
#include "compiler/cuda/nccl_functions.inc"
  const char* (*ncclGetErrorString)(Status status) = nullptr;  // may be null
};

struct OpenedNccl : Library {
  Nccl functions = {};
};
OpenedNccl open_nccl(const std::vector<std::string>& folders);
/// That of this process, opened by the first call.
const OpenedNccl& nccl();

/// The id of a new communicator. InternalError where NCCL refuses.
ncclUniqueId new_communicator_id(const Nccl& nccl);

/// The devices of a job: each rank makes one with the same id, all at once. A status that is not 0 is an InternalError
/// that names function and status.
class Communicator {
 public:
  Communicator(const Nccl& nccl, const Device& device, const ncclUniqueId& id, int rank, int size);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Sends bytes to that rank and receives others from it; either may be none. Done when it returns, or when another
  /// thread has called abort().
  void exchange(int peer, DeviceAddress out, size_t out_bytes, DeviceAddress in, size_t in_bytes);
  /// What goes on ends with an error, and nothing more can be done. Any thread, once.
  void abort();

 private:
  void check(Status status, const char* function) const;

  const Nccl& nccl_;
  const Device& device_;
  Stream stream_;
  ncclComm* handle_ = nullptr;
};

}  // namespace thtrain::cuda

#include "compiler/cuda/nccl.h"

#include <dlfcn.h>

#include "compiler/base/error.h"

namespace thtrain::cuda {

OpenedNccl open_nccl(const std::vector<std::string>& folders) {
  OpenedNccl out{open_library({"libnccl.so.2"}, folders)};
  if (!out.handle) return out;
  Nccl& n = out.functions;
#define TH_REQUIRED(name, parameters)                                        \
  n.name = reinterpret_cast<Status(*) parameters>(dlsym(out.handle, #name)); \
  if (!n.name && out.trouble.empty()) out.trouble = str(out.path, " has no function ", #name);
#include "compiler/cuda/nccl_functions.inc"
  n.ncclGetErrorString = reinterpret_cast<const char* (*)(Status)>(dlsym(out.handle, "ncclGetErrorString"));
  int version = 0;
  if (n.ncclGetVersion) n.ncclGetVersion(&version);
  out.version = str(version / 10000, '.', version / 100 % 100, '.', version % 100);
  return out;
}

const OpenedNccl& nccl() {
  static const OpenedNccl once = open_nccl(library_folders(search_variables()));
  return once;
}

static void check_status(const Nccl& nccl, Status status, const char* function) {
  if (status == 0) return;
  const char* text = nccl.ncclGetErrorString ? nccl.ncclGetErrorString(status) : nullptr;
  throw InternalError({.what = str(function, ": error ", status, text ? str(" (", text, ")") : std::string())});
}

ncclUniqueId new_communicator_id(const Nccl& nccl) {
  ncclUniqueId out = {};
  check_status(nccl, nccl.ncclGetUniqueId(&out), "ncclGetUniqueId");
  return out;
}

Communicator::Communicator(const Nccl& nccl, const Device& device, const ncclUniqueId& id, int rank, int size)
    : nccl_(nccl), device_(device), stream_(device) {
  device_.use();
  check(nccl_.ncclCommInitRank(&handle_, size, id, rank), "ncclCommInitRank");
}

Communicator::~Communicator() {
  if (!handle_) return;
  device_.use();
  nccl_.ncclCommDestroy(handle_);
}

void Communicator::exchange(int peer, DeviceAddress out, size_t out_bytes, DeviceAddress in, size_t in_bytes) {
  device_.use();
  check(nccl_.ncclGroupStart(), "ncclGroupStart");
  if (out_bytes > 0)
    check(nccl_.ncclSend(reinterpret_cast<const void*>(out), out_bytes, kNcclBytes, peer, handle_, stream_.handle()),
          "ncclSend");
  if (in_bytes > 0)
    check(nccl_.ncclRecv(reinterpret_cast<void*>(in), in_bytes, kNcclBytes, peer, handle_, stream_.handle()),
          "ncclRecv");
  check(nccl_.ncclGroupEnd(), "ncclGroupEnd");
  stream_.wait();
}

void Communicator::abort() {
  nccl_.ncclCommAbort(handle_);
}

void Communicator::check(Status status, const char* function) const {
  check_status(nccl_, status, function);
}

}  // namespace thtrain::cuda

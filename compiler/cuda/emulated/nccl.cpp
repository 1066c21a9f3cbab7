#include "compiler/cuda/emulated/nccl.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/driver.h"

struct ncclComm {
  int rank = 0, size = 1;
  std::string folder;
  int listener = -1;
  std::map<int, int> sockets = {};  // to other ranks
  std::atomic<bool> is_aborted = false;
};

namespace thtrain::cuda::emulated {
namespace {

constexpr Status kDone = 0, kSystemError = 2, kInvalidArgument = 4, kRemoteError = 6;  // of ncclResult_t
constexpr int kPollMilliseconds = 20;

// One send or receive of a group.
struct Message {
  ncclComm* communicator;
  int peer;
  bool is_sent;
  DeviceAddress address;
  CUstream_st* stream;
  std::vector<char> bytes;
  size_t done = 0;
};
thread_local std::vector<Message> group;

sockaddr_un address_of_rank(const ncclComm& in, int rank) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  const std::string path = str(in.folder, '/', rank);
  std::memcpy(out.sun_path, path.c_str(), std::min(path.size(), sizeof out.sun_path - 1));
  return out;
}

bool send_all(int socket, const void* bytes, size_t count) {
  return ::send(socket, bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

// The socket of the connection: the higher rank asks for it, and says who it is. -1 where there is none.
int socket_to(ncclComm& from, int peer) {
  while (!from.sockets.contains(peer) && !from.is_aborted) {
    if (peer < from.rank) {
      const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_un to = address_of_rank(from, peer);
      if (::connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
          send_all(made, &from.rank, sizeof from.rank)) {
        from.sockets[peer] = made;
        break;
      }
      ::close(made);
      ::usleep(1000 * kPollMilliseconds);  // it is not there yet
      continue;
    }
    pollfd waits{from.listener, POLLIN, 0};
    if (::poll(&waits, 1, kPollMilliseconds) != 1) continue;
    const int made = ::accept4(from.listener, nullptr, nullptr, SOCK_CLOEXEC);
    int rank = -1;
    if (made >= 0 && ::recv(made, &rank, sizeof rank, MSG_WAITALL) == sizeof rank)
      from.sockets[rank] = made;
    else if (made >= 0)
      ::close(made);
  }
  return from.is_aborted ? -1 : from.sockets[peer];
}

// As much as can be moved now.
Status move_some(Message& message, int socket) {
  char* const at = message.bytes.data() + message.done;
  const size_t left = message.bytes.size() - message.done;
  const ssize_t moved =
      message.is_sent ? ::send(socket, at, left, MSG_DONTWAIT | MSG_NOSIGNAL) : ::recv(socket, at, left, MSG_DONTWAIT);
  if (moved == 0 && !message.is_sent) return kRemoteError;
  if (moved < 0) return errno == EAGAIN || errno == EINTR ? kDone : kRemoteError;
  message.done += static_cast<size_t>(moved);
  return kDone;
}

Status move_all(std::vector<Message>& messages) {
  for (;;) {
    std::vector<pollfd> waits;
    bool is_done = true;
    for (Message& message : messages) {
      const int socket = socket_to(*message.communicator, message.peer);
      if (socket < 0) return kRemoteError;
      const bool is_over = message.done == message.bytes.size();
      is_done = is_done && is_over;
      waits.push_back({is_over ? -1 : socket, static_cast<short>(message.is_sent ? POLLOUT : POLLIN), 0});
    }
    if (is_done) return kDone;
    ::poll(waits.data(), waits.size(), kPollMilliseconds);
    for (size_t i = 0; i < messages.size(); ++i)
      if (waits[i].revents != 0)
        if (const Status status = move_some(messages[i], waits[i].fd); status != kDone) return status;
  }
}

Status get_version(int* version) {
  *version = 22000;
  return kDone;
}

Status get_unique_id(ncclUniqueId* id) {
  *id = {};
  std::strcpy(id->internal, "/tmp/thtrain-nccl-XXXXXX");
  return ::mkdtemp(id->internal) ? kDone : kSystemError;
}

Status init_rank(ncclComm** communicator, int size, ncclUniqueId id, int rank) {
  if (rank < 0 || rank >= size) return kInvalidArgument;
  auto* made = new ncclComm{.rank = rank, .size = size, .folder = id.internal};
  made->listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un own = address_of_rank(*made, rank);
  *communicator = made;
  if (::bind(made->listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) return kSystemError;
  if (::listen(made->listener, size) != 0) return kSystemError;
  // All meet here, as in NCCL: who is first may be gone before the last one comes.
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank && socket_to(*made, peer) < 0) return kRemoteError;
  return kDone;
}

Status abort_communicator(ncclComm* communicator) {
  communicator->is_aborted = true;
  return kDone;
}

Status destroy(ncclComm* communicator) {
  for (const auto& [rank, socket] : communicator->sockets) ::close(socket);
  ::close(communicator->listener);
  ::unlink(address_of_rank(*communicator, communicator->rank).sun_path);
  ::rmdir(communicator->folder.c_str());  // by the last one
  delete communicator;
  return kDone;
}

Status add_to_group(DeviceAddress address, size_t count, int type, int peer, ncclComm* communicator,
                    CUstream_st* stream, bool is_sent) {
  if (type != kNcclBytes || peer < 0 || peer >= communicator->size || peer == communicator->rank)
    return kInvalidArgument;
  group.push_back({communicator, peer, is_sent, address, stream, std::vector<char>(count)});
  return kDone;
}

Status send_bytes(const void* from, size_t count, int type, int peer, ncclComm* communicator, CUstream_st* stream) {
  return add_to_group(address_of(from), count, type, peer, communicator, stream, true);
}
Status receive_bytes(void* to, size_t count, int type, int peer, ncclComm* communicator, CUstream_st* stream) {
  return add_to_group(address_of(to), count, type, peer, communicator, stream, false);
}

Status start_group() {
  group.clear();
  return kDone;
}

// The host reads and writes the device's memory through copies of the stream.
Status end_group() {
  std::vector<Message> messages = std::exchange(group, {});
  const Driver& d = driver();
  for (Message& message : messages)
    if (message.is_sent && (d.cuMemcpyDtoHAsync_v2(message.bytes.data(), message.address, message.bytes.size(),
                                                   message.stream) != CUDA_SUCCESS ||
                            d.cuStreamSynchronize(message.stream) != CUDA_SUCCESS))
      return kSystemError;
  if (const Status status = move_all(messages); status != kDone) return status;
  for (Message& message : messages)
    if (!message.is_sent && (d.cuMemcpyHtoDAsync_v2(message.address, message.bytes.data(), message.bytes.size(),
                                                    message.stream) != CUDA_SUCCESS ||
                             d.cuStreamSynchronize(message.stream) != CUDA_SUCCESS))
      return kSystemError;
  return kDone;
}

const char* error_string(Status status) {
  switch (status) {
    case kSystemError:
      return "the system refused a call";
    case kInvalidArgument:
      return "an argument is out of its range";
    case kRemoteError:
      return "another rank has gone";
    default:
      return "no error";
  }
}

}  // namespace

const Nccl& nccl() {
  static const Nccl all{.ncclGetVersion = get_version,
                        .ncclGetUniqueId = get_unique_id,
                        .ncclCommInitRank = init_rank,
                        .ncclCommDestroy = destroy,
                        .ncclCommAbort = abort_communicator,
                        .ncclGroupStart = start_group,
                        .ncclGroupEnd = end_group,
                        .ncclSend = send_bytes,
                        .ncclRecv = receive_bytes,
                        .ncclGetErrorString = error_string};
  return all;
}

}  // namespace thtrain::cuda::emulated

// Who carries messages between the processes of a job: all that has to be written for MPI, or for another one.
#pragma once

#include <cstddef>
#include <memory>

namespace thtrain {

/// Called by one thread at a time.
class RankCarrier {
 public:
  virtual ~RankCarrier() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Begins to send `out_bytes` to that rank and to receive `in_bytes` from it; either may be 0. Both stay as they are
  /// until is_done(). Messages of two ranks arrive in the order in which they were sent.
  virtual void begin(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes) = 0;
  /// Is all done that was begun?
  virtual bool is_done() = 0;
  /// Ends the processes of all ranks, where it can; the caller ends itself.
  virtual void abort(int exit_code) = 0;
};

/// The function "thtrain_open_ranks" of a module (trainers/ranks/mpi_module.cpp): the caller owns what it gives. Null:
/// threads cannot take turns in calling it.
using OpenCarrier = RankCarrier*();

}  // namespace thtrain

// MPI as a carrier: a shared object of its own, which is built where MPI is found. Nothing else sees MPI.
#include <mpi.h>

#include <vector>

#include "trainers/ranks/carrier.h"

namespace thtrain {
namespace {

class MpiCarrier : public RankCarrier {
 public:
  MpiCarrier() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiCarrier() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void begin(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes) override {
    if (in_bytes > 0)
      MPI_Irecv(in, static_cast<int>(in_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
    if (out_bytes > 0)
      MPI_Isend(out, static_cast<int>(out_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
  }
  bool is_done() override {
    int all = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
    if (all) requests_.clear();
    return all != 0;
  }
  void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
};

}  // namespace
}  // namespace thtrain

extern "C" __attribute__((visibility("default"))) thtrain::RankCarrier* thtrain_open_ranks() {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  return level < MPI_THREAD_SERIALIZED ? nullptr : new thtrain::MpiCarrier();
}

// The exchange of ranks alone, for a simulator of MPI: bench/scale_check/simgrid.sh compiles it by smpicxx. Prints the
// seconds of sums of so many bytes: exchange BYTES...
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "trainers/ranks/ranks.h"

namespace {

// Simulated time stands still while somebody asks whether a message is there: it is waited for.
class WaitingCarrier : public thtrain::RankCarrier {
 public:
  WaitingCarrier() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void begin(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes) override {
    if (in_bytes > 0)
      MPI_Irecv(in, static_cast<int>(in_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
    if (out_bytes > 0)
      MPI_Isend(out, static_cast<int>(out_bytes), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests_.emplace_back());
  }
  bool is_done() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
    return true;
  }
  void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

 private:
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    thtrain::Ranks ranks(std::make_unique<WaitingCarrier>(), 1e9);
    for (int i = 1; i < argc; ++i) {
      std::vector<float> values(static_cast<size_t>(std::atoll(argv[i])) / 4);
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      ranks.sum(values);
      double end = MPI_Wtime();
      // From when the last one began to when the last one ended.
      for (double* time : {&begin, &end}) {
        const double mine = *time;
        MPI_Allreduce(&mine, time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      }
      if (ranks.is_first()) std::printf("%s %.9f\n", argv[i], end - begin);
    }
  }
  MPI_Finalize();
  return 0;
}

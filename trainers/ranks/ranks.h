// The processes of a job ("ranks", as MPI calls them), and what they do together. Who carries their messages is
// trainers/ranks/carrier.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/error.h"
#include "trainers/ranks/carrier.h"

namespace thtrain {

/// A rank that another one waited for in vain, or that cannot be reached. The command line ends with exit code 2.
class RankFailure : public UserError {
 public:
  using UserError::UserError;
};

class Ranks {
 public:
  /// One process alone.
  Ranks() = default;
  /// Learns the ranks' hosts. A rank that gives no message for so many seconds is lost: RankFailure.
  Ranks(std::unique_ptr<RankCarrier> carrier, double seconds);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Only this one writes files and prints.
  bool is_first() const { return rank_ == 0; }
  /// "rank 1 (node7)"
  std::string name_of(int rank) const;
  std::string name() const { return name_of(rank_); }
  /// "node7"; "" of a process alone.
  std::string host_of(int rank) const { return hosts_.empty() ? "" : hosts_[static_cast<size_t>(rank)]; }

  // All ranks call these, in the same order, and each returns at all of them.

  /// What each of them gives.
  std::vector<std::string> gather(const std::string& mine);
  /// What rank 0 gives.
  std::string from_first(const std::string& mine);
  /// Elementwise, by a binary tree over the ranks: (r0 + r1) + (r2 + r3), whatever their number of elements. Their
  /// number of ranks is a power of two. Float32 or float64.
  void sum(std::span<float> values) { sum_of(values, scratch_of_floats_); }
  void sum(std::span<double> values) { sum_of(values, scratch_of_doubles_); }

  /// Rank 0 works, and the others wait for its end, however long that takes: rank 0 gives signs of life meanwhile, by a
  /// thread of its own. `work` does nothing together with the others.
  void while_first_works(const std::function<void()>& work);

  /// The ranks wait as long as the slowest one needs while this lives: for programs that are compiled, and files.
  class Patience {
   public:
    explicit Patience(Ranks& ranks) : ranks_(ranks) { ++ranks_.patience_; }
    ~Patience() { --ranks_.patience_; }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    Ranks& ranks_;
  };

  /// Waits until it is done, by the rules of time of an exchange with that rank in that stage of a sum. RankFailure.
  void wait_for(int peer, int stage, const std::function<bool()>& is_done);

  /// While it is true, a thread of this process computes, and whoever waits for messages leaves it the core. Any
  /// thread.
  void give_way(bool gives) { gives_way_ = gives; }
  /// Whoever waits for messages in another thread ends with Cancelled. Nothing can be done together after that.
  void cancel() { is_cancelled_ = true; }
  struct Cancelled {};

  /// Ends all processes of the job; does nothing where this one is alone.
  void abort(int exit_code) {
    if (carrier_) carrier_->abort(exit_code);
  }

 private:
  void exchange(int peer, std::string_view out, std::span<char> in, int stage);
  template <class T>
  void sum_of(std::span<T> values, std::vector<T>& scratch);

  std::unique_ptr<RankCarrier> carrier_;  // null: alone
  int rank_ = 0, size_ = 1;
  double seconds_ = 0;
  int patience_ = 0;
  std::atomic<bool> gives_way_ = false, is_cancelled_ = false;
  std::vector<std::string> hosts_;
  std::vector<float> scratch_of_floats_;
  std::vector<double> scratch_of_doubles_;
};

/// a += b, elementwise: the one sum that shards and ranks are added by.
void add_to(std::span<float> a, std::span<const float> b);
void add_to(std::span<double> a, std::span<const double> b);

}  // namespace thtrain

#include "trainers/shard_turns.h"

#include <thread>
#include <utility>

#include "trainers/ranks/shard_tree.h"

namespace thtrain {

// Of one shard in one run. What asks for a sum again, as debug mode does, gets it again.
class ShardTurns::Seat : public ShardMeeting {
 public:
  Seat(ShardTurns& turns, int64_t shard) : turns_(turns), shard_(shard) {}
  Tensor sum_of(const std::string& name, const Tensor& mine) override {
    const auto known = known_.find(name);
    if (known != known_.end()) return known->second.copy();
    return known_.emplace(name, turns_.meet(shard_, name, mine)).first->second.copy();
  }

 private:
  ShardTurns& turns_;
  int64_t shard_;
  std::map<std::string, Tensor> known_;
};

Tensor ShardTurns::total() const {
  const int64_t elements = given_[0].size();
  ShardTree tree(given_[0].dtype(), elements, shards_, {{0, elements}});
  for (const Tensor& one : given_) {
    scale_into(one, 1, tree.room(0), 0);
    tree.add(0);
  }
  sum_over(ranks_, tree.sum(), {0, elements});
  Tensor out = Tensor::empty(given_[0].dtype(), given_[0].shape());
  scale_into(tree.sum(), 1, out, 0);
  return out;
}

Tensor ShardTurns::meet(int64_t shard, const std::string& name, const Tensor& mine) {
  std::unique_lock lock(mutex_);
  if (shard == 0) name_ = name;
  TH_CHECK(name == name_ && static_cast<int64_t>(given_.size()) == shard, "shard ", shard, " asks for the sum ", name,
           ", and those before it for ", name_);
  given_.push_back(mine.copy());
  if (shard + 1 == shards_) sums_.insert_or_assign(name, total());
  if (shard + 1 == shards_) given_.clear();
  turn_ = (shard + 1) % shards_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return turn_ == shard || failure_; });
  if (failure_) throw Ended();
  return sums_.at(name);
}

void ShardTurns::call(int64_t shard, const std::function<void()>& what) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == shard || failure_; });
  if (failure_) return;
  lock.unlock();
  try {
    Seat seat(*this, shard);
    const ShardMeetingScope scope(seat);
    what();
    lock.lock();
    TH_CHECK(given_.empty(), "shard ", shard, " has ended, and those before it ask for the sum ", name_);
  } catch (const Ended&) {
    return;
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (!failure_) failure_ = std::current_exception();
  }
  turn_ = (shard + 1) % shards_;
  changed_.notify_all();
}

void ShardTurns::run(const std::vector<std::function<void()>>& shards) {
  TH_CHECK(static_cast<int64_t>(shards.size()) == shards_, "shards of a process");
  turn_ = 0;
  given_.clear();
  failure_ = nullptr;
  std::vector<std::thread> threads;
  for (int64_t shard = 1; shard < shards_; ++shard)
    threads.emplace_back([&, shard] { call(shard, shards[static_cast<size_t>(shard)]); });
  call(0, shards[0]);
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void ShardTurns::repeat(const std::function<void()>& shard) {
  class Known : public ShardMeeting {
   public:
    explicit Known(const std::map<std::string, Tensor>& sums) : sums_(sums) {}
    Tensor sum_of(const std::string& name, const Tensor&) override { return sums_.at(name).copy(); }

   private:
    const std::map<std::string, Tensor>& sums_;
  };
  Known known(sums_);
  const ShardMeetingScope scope(known);
  shard();
}

}  // namespace thtrain

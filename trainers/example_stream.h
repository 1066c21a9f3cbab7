// Minibatches of examples that stay in their files: a thread reads ahead what is needed next.
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "datasets/augmentation.h"
#include "datasets/dataset.h"
#include "datasets/held_rows.h"
#include "trainers/epoch_order.h"
#include "trainers/shard_range.h"

namespace thtrain {

/// Of each of its sequences.
std::vector<int64_t> lengths_of(const Split& split);

/// Pass after pass over the examples, in order or shuffled; the minibatches behind those that were asked for are read
/// meanwhile, also those of the next pass: about 1 MiB of them, at least one and at most 64. Images may be augmented as
/// they are read; these may be in memory.
class ExampleStream {
 public:
  /// What one pass takes: examples `begin` to `count` of the order, `batch` at a time and the rest at the end; of each
  /// of these minibatches the shards `shards.first` to before `shards.last`, each by itself. `begin` is a multiple of
  /// `batch`.
  struct Plan {
    int64_t count = 0, batch = 0, begin = 0;
    ShardRange shards = {};
    bool operator==(const Plan&) const = default;

    /// How many examples are taken together from `start` on; 0 where nothing is taken from there.
    int64_t length_at(int64_t start) const;
    /// The first example that is taken, or the first one at or behind `start`; `count` where there is none.
    int64_t first() const { return next(begin); }
    int64_t next(int64_t start) const;
  };

  /// Each example gets the lengths `input`. Sequences come with all the steps that there is room for. A shuffled stream
  /// waits for begin_pass(); with a `window` (see EpochOrder) its rows are read as they come, and held in memory until
  /// they are taken.
  /// With an `augmentation` the examples are images as it takes them, whole.
  ExampleStream(Split split, Shape input, DType floatx, bool shuffled, int64_t window,
                std::shared_ptr<const Augmentation> augmentation = nullptr);
  /// Waits for what is being read.
  ~ExampleStream();
  ExampleStream(const ExampleStream&) = delete;
  ExampleStream& operator=(const ExampleStream&) = delete;

  /// What is taken from now on; without it, what is asked for says it.
  void set_plan(const Plan& plan);
  /// Draws the order of the next pass. Where `random` is as the draw before left it, that is what was read ahead.
  void begin_pass(RandomState& random);
  /// What augmentation draws for the passes from now on: those of this epoch, and of the next ones in turn.
  void set_epoch(int64_t epoch);
  /// Examples `start` to `start + count` of the pass; valid until the next call. UserError as Split::read_into and
  /// check_batch, of these examples and not of those behind them.
  const Batch& at(int64_t start, int64_t count);
  /// Of the pass that begin_pass() began.
  const std::vector<int64_t>& order() const { return current_->order.examples; }
  /// Tensors for so many examples.
  Batch new_buffer(int64_t count) const;

 private:
  /// A shuffled pass; the one behind it is drawn when it is needed.
  struct Pass {
    explicit Pass(const RandomState& random) : after(random) {}
    EpochOrder order;
    RandomState after;                // the draw
    std::vector<bool> is_taken = {};  // of each example, where there is a window, and others take some
    std::shared_ptr<Pass> next;
  };
  /// A minibatch of the ring.
  struct Slot {
    std::shared_ptr<Pass> pass;
    int64_t start = 0, count = 0, epoch = 0;
    std::map<int64_t, Batch> buffers;  // by their numbers of examples
    std::exception_ptr error;
    Batch& batch() { return buffers[count]; }
  };

  void run();
  void stop();
  void start_at(int64_t start);
  void begin_thread();
  std::shared_ptr<Pass> draw(const RandomState& random) const;
  Pass& next_of(Pass& pass) const;
  const Batch& read_alone(int64_t start, int64_t count);
  void read(const Split& split, Batch& into, std::span<const int64_t> examples, int64_t epoch) const;
  std::vector<int64_t> neighbours(int64_t start, int64_t count) const;
  void produce(Slot& slot);
  void fill_window(int64_t start);
  void arrive(int64_t count);
  void hold(int64_t first, int64_t count);
  void end_pass();
  void mark_taken(Pass& pass) const;

  std::shared_ptr<const Augmentation> augmentation_;  // null: examples are as they are
  const Split split_;
  Split held_split_;  // the thread's: through held_
  Shape input_;
  DType floatx_;
  bool shuffled_;
  int64_t window_;
  Plan plan_;
  Batch alone_;  // what fits no plan
  static constexpr int64_t kNothing = -1, kEnd = -2;
  int64_t expected_ = kNothing;  // start of what the ring gives next; kEnd: the pass behind `current_`

  // Of the thread while it is at work, else of the caller.
  std::vector<std::shared_ptr<HeldRows>> held_;  // none without a window
  std::shared_ptr<Pass> pass_, arriving_;        // of the next minibatch; of what comes into the window
  std::optional<Arrivals> arrivals_;
  int64_t next_ = 0;           // start of the next minibatch
  int64_t reading_epoch_ = 0;  // of the next minibatch
  int64_t arrived_ = 0;        // draws whose successors came into the window
  bool fills_window_ = false;

  std::shared_ptr<Pass> current_;  // the caller's pass
  int64_t epoch_ = 0;              // of it

  std::mutex mutex_;
  std::condition_variable wake_thread_, wake_caller_;
  std::vector<Slot> ring_;
  int64_t produced_ = 0, taken_ = 0;  // minibatches; the last that was taken is in use
  bool is_running_ = false, is_busy_ = false, has_failed_ = false, ends_ = false;
  bool thread_sleeps_ = false, caller_waits_ = false;
  std::thread thread_;  // last: it uses all of them
};

}  // namespace thtrain

#include "trainers/example_stream.h"

#include <signal.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace thtrain {

ExampleStream::ExampleStream(Split split, Shape input, DType floatx, bool shuffled, int64_t window,
                             std::shared_ptr<const Augmentation> augmentation)
    : augmentation_(std::move(augmentation)),
      split_(std::move(split)),
      held_split_(split_),
      input_(std::move(input)),
      floatx_(floatx),
      shuffled_(shuffled),
      window_(shuffled ? window : 0) {
  if (window_ > 0) held_ = held_split_.hold_rows();
}

ExampleStream::~ExampleStream() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_thread_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<int64_t> lengths_of(const Split& split) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < split.size(); ++i) out.push_back(split.length(i));
  return out;
}

Batch ExampleStream::new_buffer(int64_t count) const {
  if (split_.is_sparse()) return {};  // each minibatch has as many numbers as its examples
  Batch out = split_.buffer(count, floatx_);
  Shape lengths = {count};
  lengths.insert(lengths.end(), input_.begin(), input_.end());
  out.x = augmentation_ ? Tensor::empty(floatx_, lengths) : out.x.reshape(lengths);
  return out;
}

// ---- the plan ------------------------------------------------------------------------------------------------------

int64_t ExampleStream::Plan::length_at(int64_t start) const {
  if (start < begin || start >= count || batch == 0) return 0;
  const int64_t within = start % batch;
  return shards.length_at(within, std::min(batch, count - (start - within)));
}

int64_t ExampleStream::Plan::next(int64_t start) const {
  for (int64_t at = std::max(start, begin); at < count;) {
    const int64_t first = at - at % batch, length = std::min(batch, count - first);
    const int64_t next = first + shards.next(at - first, length);
    if (next < first + length) return next;
    at = first + length;
  }
  return count;
}

// ---- the caller's side ---------------------------------------------------------------------------------------------

void ExampleStream::set_plan(const Plan& plan) {
  TH_CHECK(plan.batch > 0 && plan.count >= 0 && plan.count <= split_.size(), "a pass of ", plan.count, " examples");
  if (plan == plan_) return;
  stop();
  for (std::shared_ptr<Pass> pass = current_; pass; pass = pass->next) pass->is_taken.clear();
  plan_ = plan;
  ring_.clear();
}

void ExampleStream::begin_pass(RandomState& random) {
  TH_CHECK(shuffled_, "an order of examples that are not shuffled");
  if (current_ && current_->after.state() == random.state()) {
    // The ring stays: it holds minibatches of this pass, or will.
    std::unique_lock lock(mutex_);
    const bool was_running = std::exchange(is_running_, false);
    wake_caller_.wait(lock, [this] { return !is_busy_; });
    next_of(*current_);
    current_ = current_->next;
    is_running_ = was_running;
    expected_ = expected_ == kEnd ? plan_.first() : kNothing;
    lock.unlock();
    wake_thread_.notify_all();
  } else {
    stop();
    current_ = draw(random);
  }
  random = current_->after;
}

// The ring stays where it holds minibatches of that epoch, or will. It goes on with a new pass where that one is begun.
void ExampleStream::set_epoch(int64_t epoch) {
  const int64_t of_ring = expected_ == plan_.first() ? epoch_ + 1 : epoch_;
  if (augmentation_ && epoch != of_ring) stop();
  epoch_ = epoch;
}

const Batch& ExampleStream::at(int64_t start, int64_t count) {
  TH_CHECK(!shuffled_ || current_, "a shuffled pass without an order");
  if (plan_.batch == 0 || count != plan_.length_at(start)) {
    const bool is_part = plan_.begin > 0 || plan_.shards != ShardRange();
    if (is_part || count <= 0 || start % count != 0) return read_alone(start, count);
    set_plan({split_.size(), count});
    if (count != plan_.length_at(start)) return read_alone(start, count);
  }
  if (expected_ != start) {
    stop();
    start_at(start);
  }
  std::unique_lock lock(mutex_);
  caller_waits_ = true;
  wake_caller_.wait(lock, [this] { return taken_ < produced_; });
  caller_waits_ = false;
  Slot& slot = ring_[static_cast<size_t>(taken_) % ring_.size()];
  TH_CHECK(
      slot.pass == current_ && slot.start == start && slot.count == count && (!augmentation_ || slot.epoch == epoch_),
      "a minibatch from ", start, " on was not read ahead");
  ++taken_;
  const bool wakes = thread_sleeps_ && produced_ - taken_ <= static_cast<int64_t>(ring_.size()) / 2;
  const std::exception_ptr error = slot.error;
  lock.unlock();
  if (wakes) wake_thread_.notify_all();
  const int64_t next = plan_.next(start + count);
  expected_ = next < plan_.count ? next : shuffled_ ? kEnd : plan_.first();
  if (error) {
    stop();
    std::rethrow_exception(error);
  }
  return slot.batch();
}

const Batch& ExampleStream::read_alone(int64_t start, int64_t count) {
  alone_ = new_buffer(count);
  const std::vector<int64_t> in_order = neighbours(start, count);
  const std::vector<int64_t>& order = shuffled_ ? current_->order.examples : in_order;
  const auto first = static_cast<size_t>(shuffled_ ? start : 0);
  read(split_, alone_, std::span<const int64_t>(order).subspan(first, static_cast<size_t>(count)), epoch_);
  return alone_;
}

std::vector<int64_t> ExampleStream::neighbours(int64_t start, int64_t count) const {
  std::vector<int64_t> out(static_cast<size_t>(shuffled_ ? 0 : count));
  std::iota(out.begin(), out.end(), start);
  return out;
}

// As `split`, of which this thread reads.
void ExampleStream::read(const Split& split, Batch& into, std::span<const int64_t> examples, int64_t epoch) const {
  if (split.is_sparse()) {
    into = split.read_sparse(examples, floatx_);
    check_batch(split_, into, examples);
    return;
  }
  if (!augmentation_) {
    split.read_into(into, examples);
    check_batch(split_, into, examples);
    return;
  }
  const Split images = split.whole_images();
  Batch whole = into;
  Shape shape = {std::ssize(examples)};
  shape.insert(shape.end(), images.input_shape().begin(), images.input_shape().end());
  whole.x = Tensor::empty(floatx_, shape);
  images.read_into(whole, examples);
  check_batch(split_.whole_images(), whole, examples);
  augmentation_->apply(whole.x, examples, epoch, into.x);
  split.standardize(into.x);
}

// Nothing is read, and nothing is in the ring.
void ExampleStream::stop() {
  std::unique_lock lock(mutex_);
  is_running_ = false;
  wake_caller_.wait(lock, [this] { return !is_busy_; });
  produced_ = taken_ = 0;
  has_failed_ = false;
  expected_ = kNothing;
}

void ExampleStream::start_at(int64_t start) {
  constexpr int64_t kRingBytes = int64_t{1} << 20, kMost = 64;
  if (ring_.empty()) {
    const Batch one = new_buffer(plan_.batch);
    const auto bytes = static_cast<int64_t>(one.x.bytes() + one.y.bytes());
    // One more is in use.
    ring_.resize(static_cast<size_t>(std::clamp<int64_t>(kRingBytes / std::max<int64_t>(bytes, 1), 1, kMost)) + 1);
  }
  pass_ = current_;
  next_ = start;
  reading_epoch_ = epoch_;
  fills_window_ = !held_.empty();
  {
    std::lock_guard lock(mutex_);
    is_running_ = true;
  }
  if (!thread_.joinable()) begin_thread();
  wake_thread_.notify_all();
}

void ExampleStream::begin_thread() {
  // Signals are the main thread's.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::shared_ptr<ExampleStream::Pass> ExampleStream::draw(const RandomState& random) const {
  auto out = std::make_shared<Pass>(random);
  if (split_.has_lengths() && window_ == 0 && plan_.batch > 0)
    out->order = draw_order(out->after, lengths_of(split_), plan_.batch);
  else
    out->order = draw_order(out->after, split_.size(), window_);
  return out;
}

ExampleStream::Pass& ExampleStream::next_of(Pass& pass) const {
  if (!pass.next) pass.next = draw(pass.after);
  return *pass.next;
}

// ---- the thread's side ---------------------------------------------------------------------------------------------

void ExampleStream::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // One of the ring is in use by the caller.
    auto may_go_on = [this] {
      return ends_ || (is_running_ && !has_failed_ &&
                       produced_ - std::max<int64_t>(taken_ - 1, 0) < static_cast<int64_t>(ring_.size()));
    };
    thread_sleeps_ = true;
    wake_thread_.wait(lock, may_go_on);
    thread_sleeps_ = false;
    if (ends_) return;
    Slot& slot = ring_[static_cast<size_t>(produced_) % ring_.size()];
    is_busy_ = true;
    lock.unlock();
    slot.error = nullptr;
    try {
      produce(slot);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    is_busy_ = false;
    has_failed_ = slot.error != nullptr;
    ++produced_;
    if (caller_waits_ || !is_running_) wake_caller_.notify_all();
  }
}

void ExampleStream::produce(Slot& slot) {
  slot.pass = pass_;
  slot.start = next_;
  slot.count = plan_.length_at(next_);
  slot.epoch = reading_epoch_;
  Batch& batch = slot.batch();
  if (batch.x.rank() == 0) batch = new_buffer(slot.count);
  if (fills_window_) fill_window(next_);
  if (shuffled_) {
    auto examples = std::span<const int64_t>(pass_->order.examples)
                        .subspan(static_cast<size_t>(next_), static_cast<size_t>(slot.count));
    // The last draw of it takes from among all but one of these; draws before it may be others'.
    if (!held_.empty()) arrive(next_ + slot.count - std::exchange(arrived_, next_ + slot.count));
    read(held_split_, batch, examples, reading_epoch_);
    for (int64_t example : examples)
      for (const auto& rows : held_) rows->drop(split_.file_row(example));
  } else {
    read(split_, batch, neighbours(next_, slot.count), reading_epoch_);
  }
  next_ = plan_.next(next_ + slot.count);
  if (next_ == plan_.count) end_pass();
}

void ExampleStream::end_pass() {
  next_ = plan_.first();
  ++reading_epoch_;
  if (!shuffled_) return;
  // Examples that no minibatch takes.
  const std::vector<int64_t>& order = pass_->order.examples;
  for (size_t i = static_cast<size_t>(plan_.count); i < order.size(); ++i)
    for (const auto& rows : held_) rows->drop(split_.file_row(order[i]));
  if (!held_.empty()) arrive(static_cast<int64_t>(order.size()) - std::exchange(arrived_, 0));
  next_of(*pass_);
  pass_ = pass_->next;
}

// What a window holds before draw `start`.
void ExampleStream::fill_window(int64_t start) {
  fills_window_ = false;
  for (const auto& rows : held_) rows->drop_all();
  arriving_ = pass_;
  arrived_ = start;
  mark_taken(*pass_);
  arrivals_.emplace(pass_->order);
  const EpochOrder& order = pass_->order;
  const auto size = static_cast<int64_t>(order.examples.size());
  std::vector<bool> is_taken(order.examples.size());
  for (int64_t i = 0; i < start; ++i) is_taken[static_cast<size_t>(order.examples[static_cast<size_t>(i)])] = true;
  int64_t left = std::min(size, order.window + start);
  while (left > 0) {
    const Arrivals::Run run = arrivals_->next(left);
    left -= run.count;
    for (int64_t i = run.first, end = run.first + run.count, length = 1; i < end; i += length) {
      length = 1;
      if (is_taken[static_cast<size_t>(i)]) continue;
      while (i + length < end && !is_taken[static_cast<size_t>(i + length)]) ++length;
      hold(i, length);
    }
  }
  arrive(order.window + start - std::min(size, order.window + start));
}

// So many examples come into the window, of the next pass where this one has no more.
void ExampleStream::arrive(int64_t count) {
  while (count > 0) {
    const Arrivals::Run run = arrivals_->next(count);
    if (run.count == 0) {
      arriving_ = (next_of(*arriving_), arriving_->next);
      mark_taken(*arriving_);
      arrivals_.emplace(arriving_->order);
      continue;
    }
    hold(run.first, run.count);
    count -= run.count;
  }
}

// Of a process that takes all examples, none is marked.
void ExampleStream::mark_taken(Pass& pass) const {
  if (plan_.shards == ShardRange() || !pass.is_taken.empty()) return;
  const std::vector<int64_t>& order = pass.order.examples;
  pass.is_taken.resize(order.size());
  for (int64_t start = plan_.first(), length = 0; start < plan_.count; start = plan_.next(start + length)) {
    length = plan_.length_at(start);
    for (int64_t i = start; i < start + length; ++i)
      pass.is_taken[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  }
}

void ExampleStream::hold(int64_t first, int64_t count) {
  constexpr int64_t kPiece = 1024;  // rows
  const std::vector<bool>& is_taken = arriving_->is_taken;
  auto is_own = [&](int64_t i) { return is_taken.empty() || is_taken[static_cast<size_t>(first + i)]; };
  for (int64_t i = 0, run = 1; i < count; i += run) {
    run = 1;
    if (!is_own(i)) continue;
    const int64_t row = split_.file_row(first + i);
    while (run < kPiece && i + run < count && is_own(i + run) && split_.file_row(first + i + run) == row + run) ++run;
    // What cannot be read is read again when it is drawn, and its error comes then.
    try {
      for (const auto& rows : held_) rows->hold(row, run);
    } catch (const UserError&) {
    }
  }
}

}  // namespace thtrain

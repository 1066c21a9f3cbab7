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

// ---- the caller's side ---------------------------------------------------------------------------------------------

void ExampleStream::set_plan(const Plan& plan) {
  TH_CHECK(plan.batch > 0 && plan.count >= 0 && plan.count <= split_.size(), "a pass of ", plan.count, " examples");
  if (plan == plan_) return;
  stop();
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
    expected_ = expected_ == kEnd ? 0 : kNothing;
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
  const int64_t of_ring = expected_ == 0 ? epoch_ + 1 : epoch_;
  if (augmentation_ && epoch != of_ring) stop();
  epoch_ = epoch;
}

const Batch& ExampleStream::at(int64_t start, int64_t count) {
  TH_CHECK(!shuffled_ || current_, "a shuffled pass without an order");
  if (plan_.batch == 0 || start % plan_.batch != 0 || start >= plan_.count || count != length_at(start)) {
    if (count <= 0 || start % count != 0) return read_alone(start, count);
    set_plan({split_.size(), count});
    if (count != length_at(start)) return read_alone(start, count);
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
  expected_ = start + count < plan_.count ? start + count : shuffled_ ? kEnd : 0;
  if (error) {
    stop();
    std::rethrow_exception(error);
  }
  return slot.batch(plan_);
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
  slot.count = length_at(next_);
  slot.epoch = reading_epoch_;
  Batch& batch = slot.batch(plan_);
  if (batch.x.rank() == 0) batch = new_buffer(slot.count);
  if (fills_window_) fill_window(next_);
  if (shuffled_) {
    auto examples = std::span<const int64_t>(pass_->order.examples)
                        .subspan(static_cast<size_t>(next_), static_cast<size_t>(slot.count));
    if (!held_.empty()) arrive(slot.count);  // the last draw of it takes from among all but one of these
    read(held_split_, batch, examples, reading_epoch_);
    for (int64_t example : examples)
      for (const auto& rows : held_) rows->drop(split_.file_row(example));
  } else {
    read(split_, batch, neighbours(next_, slot.count), reading_epoch_);
  }
  next_ += slot.count;
  if (next_ == plan_.count) end_pass();
}

void ExampleStream::end_pass() {
  next_ = 0;
  ++reading_epoch_;
  if (!shuffled_) return;
  // Examples that no minibatch takes.
  const std::vector<int64_t>& order = pass_->order.examples;
  for (size_t i = static_cast<size_t>(plan_.count); i < order.size(); ++i)
    for (const auto& rows : held_) rows->drop(split_.file_row(order[i]));
  if (!held_.empty()) arrive(static_cast<int64_t>(order.size()) - plan_.count);
  next_of(*pass_);
  pass_ = pass_->next;
}

// What a window holds before draw `start`.
void ExampleStream::fill_window(int64_t start) {
  fills_window_ = false;
  for (const auto& rows : held_) rows->drop_all();
  arriving_ = pass_;
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
      arrivals_.emplace(arriving_->order);
      continue;
    }
    hold(run.first, run.count);
    count -= run.count;
  }
}

void ExampleStream::hold(int64_t first, int64_t count) {
  constexpr int64_t kPiece = 1024;  // rows
  for (int64_t i = 0, run = 1; i < count; i += run) {
    const int64_t row = split_.file_row(first + i);
    for (run = 1; run < kPiece && i + run < count && split_.file_row(first + i + run) == row + run;) ++run;
    // What cannot be read is read again when it is drawn, and its error comes then.
    try {
      for (const auto& rows : held_) rows->hold(row, run);
    } catch (const UserError&) {
    }
  }
}

}  // namespace thtrain

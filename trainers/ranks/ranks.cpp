#include "trainers/ranks/ranks.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>

#include "trainers/ranks/halving.h"

namespace thtrain {

using Clock = std::chrono::steady_clock;

static std::string host_name() {
  std::array<char, 256> out{};
  ::gethostname(out.data(), out.size() - 1);
  return out.data();
}

Ranks::Ranks(std::unique_ptr<RankCarrier> carrier, double seconds)
    : carrier_(std::move(carrier)), rank_(carrier_->rank()), size_(carrier_->size()), seconds_(seconds) {
  const Patience all_start(*this);
  hosts_ = gather(host_name());
}

std::string Ranks::name_of(int rank) const {
  return hosts_.empty() ? str("rank ", rank) : str("rank ", rank, " (", hosts_[static_cast<size_t>(rank)], ')');
}

[[noreturn]] static void fail_silent(const std::string& peer, int64_t seconds, const std::string& waiting) {
  Message message{.what = str(peer, " has sent nothing for ", seconds, " seconds, and ", waiting, " waits for it")};
  message.expected = "processes that do their steps together";
  message.hint = "it hangs, or its machine is lost; THTRAIN_RANK_SECONDS sets how long ranks wait";
  throw RankFailure(std::move(message));
}

// A core that others need is left to them: first for a moment, then for longer. Who waits for a rank that waits itself,
// in a later stage, gives up later: so the one that says it names the right rank.
void Ranks::wait_for(int peer, int stage, const std::function<bool()>& is_done) {
  constexpr int kMostPatient = 60;
  const Clock::time_point begin = Clock::now();
  for (int64_t tries = 0; !is_done(); ++tries) {
    if (is_cancelled_) throw Cancelled();
    if (gives_way_)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    else
      ::sched_yield();
    if (tries % 16 != 15) continue;
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (waited.count() > 0.05) std::this_thread::sleep_for(std::chrono::microseconds(200));
    constexpr double kSecondsOfStage = 2;
    if (waited.count() < seconds_ * (patience_ > 0 ? kMostPatient : 1) + kSecondsOfStage * stage) continue;
    fail_silent(name_of(peer), static_cast<int64_t>(waited.count()), name());
  }
}

void Ranks::exchange(int peer, std::string_view out, std::span<char> in, int stage) {
  constexpr size_t kMost = size_t{1} << 30;  // bytes of a message
  size_t sent = 0, received = 0;
  while (sent < out.size() || received < in.size()) {
    const size_t more_out = std::min(kMost, out.size() - sent), more_in = std::min(kMost, in.size() - received);
    carrier_->begin(peer, out.data() + sent, more_out, in.data() + received, more_in);
    wait_for(peer, stage, [&] { return carrier_->is_done(); });
    sent += more_out;
    received += more_in;
  }
}

// Signs are small: they are on their way at once, whatever the others do.
void Ranks::while_first_works(const std::function<void()>& work) {
  if (!carrier_) return work();
  constexpr char kIsAtWork = 0, kIsDone = 1;
  if (!is_first()) {
    char sign = kIsAtWork;
    while (sign == kIsAtWork) exchange(0, {}, {&sign, 1}, 0);
    return;
  }
  auto give = [&](char sign) {
    for (int peer = 1; peer < size_; ++peer) exchange(peer, {&sign, 1}, {}, 0);
  };
  std::exception_ptr failure;
  {
    const std::chrono::duration<double> between(std::min(1.0, seconds_ / 4));
    std::mutex mutex;
    std::condition_variable_any changed;
    const std::jthread signs([&](const std::stop_token& stop) {
      std::unique_lock lock(mutex);
      try {
        while (!changed.wait_for(lock, stop, between, [&] { return stop.stop_requested(); })) give(kIsAtWork);
      } catch (...) {
        failure = std::current_exception();
      }
    });
    work();
  }
  if (failure) std::rethrow_exception(failure);
  give(kIsDone);
}

static std::span<char> bytes_of(uint64_t& value) {
  return {reinterpret_cast<char*>(&value), sizeof value};
}
static std::string_view view_of(std::span<char> bytes) {
  return {bytes.data(), bytes.size()};
}

std::string Ranks::from_first(const std::string& mine) {
  if (!carrier_) return mine;
  std::string out = mine;
  int stage = 1;
  // From rank 0 to the ranks behind it, each of which hands it on: a binomial tree.
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size_))) / 2; distance > 0;
       distance /= 2, ++stage) {
    if (rank_ % (2 * distance) == 0 && rank_ + distance < size_) {
      uint64_t length = out.size();
      exchange(rank_ + distance, view_of(bytes_of(length)), {}, stage);
      exchange(rank_ + distance, out, {}, stage);
    } else if (rank_ % (2 * distance) == distance) {
      uint64_t length = 0;
      exchange(rank_ - distance, {}, bytes_of(length), stage);
      out.resize(length);
      exchange(rank_ - distance, {}, out, stage);
    }
  }
  return out;
}

std::vector<std::string> Ranks::gather(const std::string& mine) {
  if (!carrier_) return {mine};
  std::string all;
  for (int from = 0; from < size_; ++from) {
    std::string one = mine;
    uint64_t length = one.size();
    if (rank_ == 0 && from > 0) {
      exchange(from, {}, bytes_of(length), 0);
      one.resize(length);
      exchange(from, {}, one, 0);
    } else if (rank_ == from && from > 0) {
      exchange(0, view_of(bytes_of(length)), {}, 0);
      exchange(0, one, {}, 0);
    }
    if (rank_ == 0) all.append(bytes_of(length).data(), sizeof length) += one;
  }
  all = from_first(all);
  std::vector<std::string> out;
  for (size_t at = 0; at < all.size();) {
    uint64_t length = 0;
    std::memcpy(&length, all.data() + at, sizeof length);
    out.push_back(all.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return out;
}

template <class T>
static void add_elements(std::span<T> a, std::span<const T> b) {
  T* __restrict to = a.data();
  const T* __restrict from = b.data();
  for (size_t i = 0; i < a.size(); ++i) to[i] += from[i];
}
void add_to(std::span<float> a, std::span<const float> b) {
  add_elements(a, b);
}
void add_to(std::span<double> a, std::span<const double> b) {
  add_elements(a, b);
}

template <class T>
void Ranks::sum_of(std::span<T> values, std::vector<T>& scratch) {
  if (!carrier_) return;
  auto part = [&](const Bucket& of) {
    return values.subspan(static_cast<size_t>(of.begin), static_cast<size_t>(of.size()));
  };
  auto text_of = [](std::span<T> some) {
    return std::string_view(reinterpret_cast<const char*>(some.data()), some.size_bytes());
  };
  auto room_of = [](std::span<T> some) {
    return std::span<char>(reinterpret_cast<char*>(some.data()), some.size_bytes());
  };
  scratch.resize(std::max(scratch.size(), values.size() - values.size() / 2));
  halve_and_double(
      rank_, size_, {0, static_cast<int64_t>(values.size())},
      [&](int peer, const Bucket& given, const Bucket& kept, int stage) {
        const std::span<T> arrived = std::span<T>(scratch).first(static_cast<size_t>(kept.size()));
        exchange(peer, text_of(part(given)), room_of(arrived), stage);
        add_to(part(kept), arrived);
      },
      [&](int peer, const Bucket& kept, const Bucket& given, int stage) {
        exchange(peer, text_of(part(kept)), room_of(part(given)), stage);
      });
}

template void Ranks::sum_of<float>(std::span<float>, std::vector<float>&);
template void Ranks::sum_of<double>(std::span<double>, std::vector<double>&);

}  // namespace thtrain

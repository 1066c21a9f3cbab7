// Ranks that are threads of one process: messages between them are copies.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trainers/ranks/ranks.h"

namespace thtrain {

/// What the threads of a job share.
struct ThreadMail {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<std::string>> messages;  // from, to
};

class ThreadCarrier : public RankCarrier {
 public:
  ThreadCarrier(int rank, int size, std::shared_ptr<ThreadMail> mail)
      : rank_(rank), size_(size), mail_(std::move(mail)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void begin(int peer, const void* out, size_t out_bytes, void* in, size_t in_bytes) override {
    const std::lock_guard lock(mail_->mutex);
    if (out_bytes > 0) mail_->messages[{rank_, peer}].emplace_back(static_cast<const char*>(out), out_bytes);
    in_ = in;
    left_ = in_bytes;
    from_ = peer;
  }
  bool is_done() override {
    if (left_ == 0) return true;
    const std::lock_guard lock(mail_->mutex);
    std::deque<std::string>& waiting = mail_->messages[{from_, rank_}];
    if (waiting.empty()) return false;
    TH_CHECK(waiting.front().size() == left_, "a message of another length");
    std::memcpy(in_, waiting.front().data(), left_);
    waiting.pop_front();
    left_ = 0;
    return true;
  }
  void abort(int) override {}

 private:
  int rank_, size_;
  std::shared_ptr<ThreadMail> mail_;
  void* in_ = nullptr;
  size_t left_ = 0;
  int from_ = 0;
};

/// Calls `what` by so many ranks at once. The text of the error of each; "" where there was none.
inline std::vector<std::string> run_ranks(int size, const std::function<void(Ranks&)>& what, double seconds = 20) {
  auto mail = std::make_shared<ThreadMail>();
  std::vector<std::string> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        Ranks ranks(std::make_unique<ThreadCarrier>(rank, size, mail), seconds);
        what(ranks);
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace thtrain

// Messages between devices through the emulated NCCL; a communicator's errors.
#include "compiler/cuda/nccl.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/nccl.h"

namespace thtrain::nccl_test {

using cuda::Communicator;

// Each rank has a part of the emulated device's memory, and a thread.
class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda::emulated::start({});
    device_.emplace(cuda::emulated::driver(), 0);
  }

  std::vector<std::string> run(int size, const std::function<void(Communicator&, int)>& what) {
    const ncclUniqueId id = cuda::new_communicator_id(cuda::emulated::nccl());
    std::vector<std::string> errors(static_cast<size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        try {
          Communicator communicator(cuda::emulated::nccl(), device(), id, rank, size);
          what(communicator, rank);
        } catch (const std::exception& error) {
          errors[static_cast<size_t>(rank)] = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    return errors;
  }
  const cuda::Device& device() const { return *device_; }

 private:
  std::optional<cuda::Device> device_;
};

std::vector<char> bytes_of(int rank, size_t count) {
  std::vector<char> out;
  for (size_t i = 0; i < count; ++i) out.push_back(static_cast<char>(7 * rank + static_cast<int>(i % 101)));
  return out;
}

TEST_F(Nccl, RanksExchangeBytesOfTheirDevices) {
  constexpr size_t kMost = 3'000'000;  // more than a socket takes at once
  const std::vector<std::string> errors = run(4, [&](Communicator& communicator, int rank) {
    cuda::DeviceBuffer out(device(), kMost), in(device(), kMost);
    cuda::Stream stream(device());
    for (size_t count : {kMost, size_t{1}, size_t{1000}})
      for (int distance : {1, 2}) {
        const int peer = rank ^ distance;
        const std::vector<char> mine = bytes_of(rank, count);
        std::vector<char> found(count);
        stream.copy_in(out.address(), mine.data(), count);
        stream.wait();
        communicator.exchange(peer, out.address(), count, in.address(), count);
        stream.copy_out(found.data(), in.address(), count);
        stream.wait();
        EXPECT_EQ(found, bytes_of(peer, count)) << rank << ' ' << count;
      }
  });
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST_F(Nccl, OneWayIsEnough) {
  const std::vector<std::string> errors = run(2, [&](Communicator& communicator, int rank) {
    cuda::DeviceBuffer buffer(device(), 8);
    cuda::Stream stream(device());
    double value = rank == 0 ? 2.5 : 0;
    stream.copy_in(buffer.address(), &value, 8);
    stream.wait();
    if (rank == 0)
      communicator.exchange(1, buffer.address(), 8, 0, 0);
    else
      communicator.exchange(0, 0, 0, buffer.address(), 8);
    stream.copy_out(&value, buffer.address(), 8);
    stream.wait();
    EXPECT_EQ(value, 2.5);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST_F(Nccl, WhoWaitsForALostRankIsGivenUpByAnotherThread) {
  const std::vector<std::string> errors = run(2, [&](Communicator& communicator, int rank) {
    if (rank == 1) return;
    cuda::DeviceBuffer buffer(device(), 8);
    std::future<void> waits =
        std::async(std::launch::async, [&] { communicator.exchange(1, 0, 0, buffer.address(), 8); });
    communicator.abort();
    waits.get();
  });
  EXPECT_NE(errors[0].find("ncclGroupEnd: error 6 (another rank has gone)"), std::string::npos) << errors[0];
}

TEST_F(Nccl, ARefusedCallIsNamed) {
  const std::vector<std::string> errors = run(1, [&](Communicator& communicator, int) {
    cuda::DeviceBuffer buffer(device(), 8);
    communicator.exchange(1, buffer.address(), 8, 0, 0);  // there is no rank 1
  });
  EXPECT_NE(errors[0].find("ncclSend: error 4 (an argument is out of its range)"), std::string::npos) << errors[0];
}

TEST_F(Nccl, ALibraryThatIsNotThereSaysSo) {
  const cuda::OpenedNccl opened = cuda::open_nccl({});
  if (opened.handle) GTEST_SKIP() << "the linker finds one: " << opened.path;
  EXPECT_EQ(opened.trouble, "not found");
}

}  // namespace thtrain::nccl_test

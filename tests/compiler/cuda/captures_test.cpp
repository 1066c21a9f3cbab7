// Calls of libraries in graphs: what the emulated driver captures, what it refuses while it does, and that a launch of
// the graph is the call by itself, bit for bit, whatever number or address changes.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>

#include "compiler/base/error.h"
#include "compiler/cuda/emulated/math_libraries.h"
#include "compiler/cuda/graph.h"
#include "compiler/cuda/library_handles.h"
#include "tests/support/emulated_library_test.h"

namespace thtrain::cuda_captures_test {
namespace {

using namespace cuda;  // NOLINT

// y = factor A x + y, A of 2 x 2 numbers.
struct Arguments {
  double factor;
  const double *a, *x;
  double* y;
};

void call_gemv(LibraryHandles& handles, const LibraryStream& at, const std::string& bytes) {
  Arguments of{};
  std::memcpy(&of, bytes.data(), sizeof of);
  handles.with_cublas(at, false, [&](const Cublas& c, cublasContext* handle) {
    const double one = 1;
    check_math(c.cublasDgemv_v2(handle, CUBLAS_OP_N, 2, 2, &of.factor, of.a, 2, of.x, 1, &one, of.y, 1), "gemv");
  });
}

class Captures : public EmulatedLibraryTest {
 protected:
  void SetUp() override {
    emulated::start({.devices = 1, .bytes = size_t{1} << 26});
    device_.emplace(emulated::driver(), 0);
    stream_.emplace(*device_);
    handles_.emplace(*device_, emulated::math_libraries());
    graph_.emplace(*device_);
    workspace_.emplace(*device_, size_t{32} << 20);
    a_ = put<double>({1, 2, 3, 4});
    x_ = put<double>({1, 10});
  }
  void TearDown() override { graph_.reset(); }

  Work call(double factor, double* y, std::vector<unsigned> waits_for = {}) const {
    Work out{.kind = Work::Kind::kLibrary,
             .arguments = std::string(sizeof(Arguments), '\0'),
             .call = call_gemv,
             .waits_for = std::move(waits_for)};
    const Arguments of{factor, a_, x_, y};
    std::memcpy(out.arguments.data(), &of, sizeof of);
    return out;
  }
  CallLibrary caller() {
    return [this](const Work& work, CUstream_st* stream) {
      work.call(*handles_, {stream, [this](size_t) { return workspace_->address(); }, nullptr}, work.arguments);
    };
  }
  const Driver& driver() const { return device_->driver(); }

  std::optional<LibraryHandles> handles_;
  std::optional<cuda::Graph> graph_;
  std::optional<DeviceBuffer> workspace_;
  const double *a_ = nullptr, *x_ = nullptr;
};

TEST_F(Captures, LaunchesAreTheCallsThemselves) {
  double *y = put<double>({0.1, 0.7}), *z = put<double>({0.1, 0.7});
  const auto twice = [&](double factor, double* to) { return std::vector<Work>{call(factor, to), call(0.3, to, {0})}; };
  EXPECT_FALSE(graph_->knows_calls_of(twice(0.1, y)));
  graph_->launch_apart(twice(0.1, y), *stream_, caller());
  EXPECT_TRUE(graph_->knows_calls_of(twice(0.1, y)));
  EXPECT_FALSE(graph_->knows_calls_of(twice(0.2, y)));
  graph_->launch(twice(0.1, y), *stream_, caller());
  graph_->launch(twice(0.1, y), *stream_, caller());
  EXPECT_EQ(graph_->builds(), 1);
  EXPECT_EQ(graph_->nodes(), 2U);
  for (int i = 0; i < 3; ++i) launch_one_by_one(twice(0.1, z), *stream_, caller());
  EXPECT_EQ(got(y, 2), got(z, 2));
}

// A factor is a number of the capture. What changes it, or an address, makes the graph anew; a form that does not tell
// of the factor, as one of a mutant, gives the result of the factor before.
TEST_F(Captures, NoFactorFreezes) {
  double *y = put<double>({0, 0}), *z = put<double>({0, 0});
  const auto both = [&](double factor, double* to) { return std::vector<Work>{call(factor, to), call(0, z)}; };
  graph_->launch_apart(both(1, y), *stream_, caller());
  graph_->launch(both(1, y), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<double>{62, 84}));
  EXPECT_FALSE(graph_->fits(both(0.5, y)));
  EXPECT_FALSE(graph_->fits(both(1, z)));
  graph_->launch_apart(both(-2, y), *stream_, caller());
  graph_->launch(both(-2, y), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<double>{62 - 124, 84 - 168})) << "of the factor -2, twice";
  EXPECT_EQ(graph_->builds(), 2);

  static double factor_beside = 0;  // which the arguments do not tell
  const auto frozen = [&](double factor) {
    factor_beside = factor;
    Work out = call(0, y);
    out.call = [](LibraryHandles& handles, const LibraryStream& at, const std::string& bytes) {
      Arguments of{};
      std::memcpy(&of, bytes.data(), sizeof of);
      of.factor = factor_beside;
      call_gemv(handles, at, std::string(reinterpret_cast<const char*>(&of), sizeof of));
    };
    return std::vector<Work>{out};
  };
  cuda::Graph mutant(*device_);
  mutant.launch_apart(frozen(1), *stream_, caller());
  mutant.launch(frozen(1), *stream_, caller());
  mutant.launch(frozen(100), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<double>{-62 + 3 * 31, -84 + 3 * 42})) << "the factor 100 is not seen";
}

// y = windows of 2 of x, of 4 numbers, by cuDNN.
struct Pooled {
  CudnnPooling p;
  const float* x;
  float* y;
};

void call_pooling(LibraryHandles& handles, const LibraryStream& at, const std::string& bytes) {
  Pooled of{};
  std::memcpy(&of, bytes.data(), sizeof of);
  handles.cudnn.pool(at, of.p, of.x, of.y);
}

// What a call of cuDNN is told, its descriptors say too: a number of these or an address that changes makes the graph
// anew, and one that the arguments do not tell stays what it was.
TEST_F(Captures, NoArgumentOfCudnnFreezes) {
  const float* x = put<float>({1, 5, 4, 2});
  float *y = put<float>({0, 0}), *z = put<float>({0, 0});
  const auto pooled = [&](int mode, float* to) {
    const Pooled of{{.mode = mode, .x = {1, 1, 1, 4}, .y = {1, 1, 1, 2}, .window = {1, 2}, .stride = {1, 2}}, x, to};
    return Work{.kind = Work::Kind::kLibrary,
                .arguments = std::string(reinterpret_cast<const char*>(&of), sizeof of),
                .call = call_pooling};
  };
  constexpr int kMaxima = CUDNN_POOLING_MAX_DETERMINISTIC, kAverages = CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
  const auto alone = [&](int mode, float* to) { return std::vector<Work>{pooled(mode, to)}; };
  EXPECT_THROW(graph_->launch(alone(kMaxima, y), *stream_, caller()), InternalError) << "the first call";
  graph_->launch_apart(alone(kMaxima, y), *stream_, caller());
  graph_->launch(alone(kMaxima, y), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<float>{5, 4}));
  EXPECT_TRUE(graph_->fits(alone(kMaxima, y)));
  EXPECT_FALSE(graph_->fits(alone(kAverages, y)));
  EXPECT_FALSE(graph_->fits(alone(kMaxima, z)));
  graph_->launch_apart(alone(kAverages, y), *stream_, caller());
  graph_->launch(alone(kAverages, y), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<float>{3, 3}));

  static int mode_beside = 0;  // which the arguments do not tell
  const auto frozen = [&](int mode) {
    mode_beside = mode;
    Work out = pooled(0, y);
    out.call = [](LibraryHandles& handles, const LibraryStream& at, const std::string& bytes) {
      Pooled of{};
      std::memcpy(&of, bytes.data(), sizeof of);
      of.p.mode = mode_beside;
      handles.cudnn.pool(at, of.p, of.x, of.y);
    };
    return std::vector<Work>{out};
  };
  cuda::Graph mutant(*device_);
  mutant.launch_apart(frozen(kMaxima), *stream_, caller());
  mutant.launch(frozen(kMaxima), *stream_, caller());
  mutant.launch(frozen(kAverages), *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<float>{5, 4})) << "that averages are asked for is not seen";
}

TEST_F(Captures, AMissingDependencyIsSeen) {
  int differs = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    graph_.reset();
    buffers_.clear();
    workspace_.reset();
    handles_.reset();
    stream_.reset();
    device_.reset();
    emulated::start({.devices = 1, .bytes = size_t{1} << 26, .seed = seed});
    device_.emplace(emulated::driver(), 0);
    stream_.emplace(*device_);
    handles_.emplace(*device_, emulated::math_libraries());
    graph_.emplace(*device_);
    workspace_.emplace(*device_, size_t{32} << 20);
    a_ = put<double>({1, 2, 3, 4});
    double* y = put<double>({0, 0});
    x_ = y;  // the second call reads what the first one writes
    const Work first = [&] {
      Work out = call(1, y);
      Arguments of{1, a_, put<double>({1, 10}), y};
      std::memcpy(out.arguments.data(), &of, sizeof of);
      return out;
    }();
    double* z = put<double>({0, 0});
    const std::vector<Work> with{first, call(1, z, {0})}, without{first, call(1, z)};
    graph_->launch_apart(with, *stream_, caller());
    EXPECT_EQ(got(z, 2), (std::vector<double>{31 + 3 * 42, 2 * 31 + 4 * 42}));
    graph_->launch(without, *stream_, caller());
    differs += got(z, 2)[0] != 3 * (31 + 3 * 42);
  }
  EXPECT_GT(differs, 0);
}

TEST_F(Captures, TheFirstCallIsNotCaptured) {
  double* y = put<double>({0, 0});
  EXPECT_THROW(graph_->launch({call(1, y), call(2, y, {0})}, *stream_, caller()), InternalError);
  EXPECT_EQ(got(y, 2), (std::vector<double>{0, 0}));
  // The stream of a capture that was lost is gone, and the next one is begun anew.
  graph_->launch_apart({call(1, y), call(2, y, {0})}, *stream_, caller());
  graph_->launch({call(1, y), call(2, y, {0})}, *stream_, caller());
  EXPECT_EQ(got(y, 2), (std::vector<double>{6 * 31, 6 * 42}));
}

TEST_F(Captures, FreedMemorySpoilsTheContext) {
  double* y = put<double>({0, 0});
  const std::vector<Work> both{call(1, y), call(2, y, {0})};
  graph_->launch_apart(both, *stream_, caller());
  graph_->launch(both, *stream_, caller());
  workspace_.reset();
  graph_->launch(both, *stream_, caller());
  EXPECT_THROW(stream_->wait(), InternalError);
}

TEST_F(Captures, WhatMustNotBeCapturedIsRefused) {
  device_->use();
  const DeviceBuffer memory(*device_, 64);
  CUgraph_st* captured = nullptr;
  const auto lost = [&](auto ask) {
    const Stream of(*device_);
    EXPECT_EQ(driver().cuStreamBeginCapture_v2(of.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuMemsetD8Async(memory.address(), 1, 64, of.handle()), CUDA_SUCCESS);
    EXPECT_EQ(ask(of.handle()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(driver().cuMemsetD8Async(memory.address(), 1, 64, of.handle()), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(driver().cuStreamEndCapture(of.handle(), &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(captured, nullptr);
  };
  DeviceAddress address = 0;
  void* block = nullptr;
  const Event event(*device_);
  lost([&](CUstream_st*) { return driver().cuMemAlloc_v2(&address, 64); });
  lost([&](CUstream_st*) { return driver().cuMemFree_v2(memory.address()); });
  lost([&](CUstream_st*) { return driver().cuMemHostAlloc(&block, 64, 0); });
  lost([&](CUstream_st* of) { return driver().cuStreamSynchronize(of); });
  lost([&](CUstream_st*) { return driver().cuCtxSynchronize(); });
  lost([&](CUstream_st* of) { return driver().cuEventRecord(event.handle(), of); });
  lost([&](CUstream_st*) { return driver().cuEventSynchronize(event.handle()); });
  const auto status_of = [&](Status wanted, Status status) {
    return status == wanted ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : status;
  };
  lost([&](CUstream_st*) {
    cublasContext* handle = nullptr;
    return status_of(CUBLAS_STATUS_ALLOC_FAILED, emulated::cublas().functions.cublasCreate_v2(&handle));
  });
  lost([&](CUstream_st*) {
    cudnnContext* handle = nullptr;
    return status_of(CUDNN_STATUS_NOT_INITIALIZED, emulated::cudnn().functions.cudnnCreate(&handle));
  });
  lost([&](CUstream_st*) {
    int plan = 0;
    return status_of(CUFFT_EXEC_FAILED, emulated::cufft().functions.cufftCreate(&plan));
  });
}

TEST_F(Captures, AreOfOneThreadAndEndOnce) {
  device_->use();
  const DeviceBuffer memory(*device_, 64);
  const Stream of(*device_);
  CUgraph_st* captured = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(of.handle(), &captured), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(driver().cuStreamBeginCapture_v2(of.handle(), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(driver().cuStreamBeginCapture_v2(of.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamBeginCapture_v2(of.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(driver().cuMemsetD8Async(memory.address(), 7, 64, of.handle()), CUDA_SUCCESS);
  std::thread([&] {
    device_->use();
    EXPECT_EQ(driver().cuMemsetD8Async(memory.address(), 1, 64, of.handle()), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    EXPECT_EQ(driver().cuStreamEndCapture(of.handle(), &captured), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const DeviceBuffer other(*device_, 64);  // which harms the capture of this thread not
  }).join();
  ASSERT_EQ(driver().cuStreamEndCapture(of.handle(), &captured), CUDA_SUCCESS);

  CUgraph_st* graph = nullptr;
  CUgraphNode_st* node = nullptr;
  ASSERT_EQ(driver().cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graph), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(driver().cuGraphAddChildGraphNode(&node, graph, nullptr, 0, captured), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphDestroy(captured), CUDA_SUCCESS) << "the child is a copy";
  CUgraphExec_st* executable = nullptr;
  ASSERT_EQ(driver().cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  // What was captured was not done.
  ASSERT_EQ(driver().cuMemsetD8Async(memory.address(), 3, 64, stream_->handle()), CUDA_SUCCESS);
  EXPECT_EQ(got(reinterpret_cast<const unsigned char*>(memory.address()), 1)[0], 3);
  ASSERT_EQ(driver().cuGraphLaunch(executable, stream_->handle()), CUDA_SUCCESS);
  EXPECT_EQ(got(reinterpret_cast<const unsigned char*>(memory.address()), 1)[0], 7);
  EXPECT_EQ(driver().cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace thtrain::cuda_captures_test

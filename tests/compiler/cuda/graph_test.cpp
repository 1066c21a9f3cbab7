// Graphs: what a node waits for, what the emulated driver refuses, and what it does where an edge is missing.
#include "compiler/cuda/graph.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/graph_nodes.h"

namespace thtrain::cuda_graph_test {
namespace {

using namespace cuda;  // NOLINT

using Numbers = std::vector<unsigned>;

TEST(GraphDependencies, AreThoseOfTheMemoryThatTwoShare) {
  Dependencies of;
  const long ranges[] = {0, 8, 8, 16, 4, 12, 100, 101};  // 2 shares with 0 and with 1
  of.set_ranges(ranges);
  auto add = [&](std::vector<cuda::Access> accesses) { return of.add(accesses); };
  EXPECT_EQ(add({{0, true}}), Numbers());
  EXPECT_EQ(add({{1, true}}), Numbers());
  EXPECT_EQ(add({{0, false}, {3, true}}), (Numbers{0}));
  EXPECT_EQ(add({{0, false}}), (Numbers{0})) << "two that read do not wait for each other";
  EXPECT_EQ(add({{2, true}}), (Numbers{1, 2, 3})) << "0 is behind 2 and 3";
  EXPECT_EQ(add({{1, false}, {3, false}}), (Numbers{4}));
  of.clear();
  EXPECT_EQ(add({{1, false}}), Numbers());
}

constexpr const char* kGraphKernels = R"(
extern "C" __global__ void k_set(int* out0, int to) { out0[0] = to; }
extern "C" __global__ void k_add(int* out0, int by) { out0[0] += by; }
)";

class CudaGraph : public testing::Test {
 protected:
  void start(uint64_t seed = 0) {
    graph_.reset();
    stream_.reset();
    memory_.reset();
    module_.reset();
    device_.reset();
    emulated::start({.devices = 1, .bytes = 1 << 20, .seed = seed});
    device_.emplace(emulated::driver(), 0);
    module_.emplace(*device_, compile_cubin(emulated::nvrtc(), kGraphKernels, 75));
    memory_.emplace(*device_, 4);
    stream_.emplace(*device_);
    graph_.emplace(*device_);
  }
  void SetUp() override { start(); }

  Work kernel(const char* name, int number, Numbers waits_for = {}) {
    const DeviceAddress at = memory_->address();
    Work out{.kind = Work::Kind::kKernel,
             .kernel = module_->kernel(name),
             .blocks = 1,
             .threads = 1,
             .arguments = std::string(16, '\0'),
             .offsets = {0, 8},
             .waits_for = std::move(waits_for)};
    std::copy_n(reinterpret_cast<const char*>(&at), 8, out.arguments.begin());
    std::copy_n(reinterpret_cast<const char*>(&number), 4, out.arguments.begin() + 8);
    return out;
  }
  Work copy_out(Numbers waits_for) {
    return {.kind = Work::Kind::kCopyOut,
            .device = memory_->address(),
            .host = &result_,
            .bytes = 4,
            .waits_for = std::move(waits_for)};
  }
  int launched(std::vector<Work> work) {
    graph_->launch(std::move(work), *stream_);
    stream_->wait();
    return result_;
  }

  int result_ = 0;
  std::optional<Device> device_;
  std::optional<Module> module_;
  std::optional<DeviceBuffer> memory_;
  std::optional<Stream> stream_;
  std::optional<cuda::Graph> graph_;
};

TEST_F(CudaGraph, IsBuiltOnceAndItsNodesAreChanged) {
  EXPECT_EQ(launched({kernel("k_set", 3), kernel("k_add", 4, {0}), copy_out({1})}), 7);
  EXPECT_EQ(launched({kernel("k_set", 3), kernel("k_add", 4, {0}), copy_out({1})}), 7);
  EXPECT_EQ(graph_->changes(), 0);
  EXPECT_EQ(launched({kernel("k_set", 3), kernel("k_add", 5, {0}), copy_out({1})}), 8);
  EXPECT_EQ(graph_->changes(), 1);
  EXPECT_EQ(graph_->builds(), 1);
  EXPECT_EQ(launched({kernel("k_set", 3), kernel("k_add", 5, {0}), kernel("k_add", 1, {1}), copy_out({2})}), 9);
  EXPECT_EQ(graph_->builds(), 2);
  EXPECT_EQ(graph_->launches(), 4);
}

TEST_F(CudaGraph, AMissingDependencyIsSeen) {
  std::set<int> with, without;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    start(seed);
    with.insert(launched({kernel("k_set", 3), kernel("k_add", 4, {0}), copy_out({1})}));
    start(seed);
    launch_one_by_one({kernel("k_set", 100)}, *stream_);
    without.insert(launched({kernel("k_set", 3), kernel("k_add", 4), copy_out({0, 1})}));
  }
  EXPECT_EQ(with, std::set<int>{7});
  EXPECT_EQ(without, (std::set<int>{3, 7}));
}

TEST_F(CudaGraph, WrongUseIsRefused) {
  const Driver& driver = device_->driver();
  device_->use();
  CUgraph_st *graph = nullptr, *other = nullptr;
  CUgraphExec_st* executable = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphCreate(&other, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphCreate(&other, 1), CUDA_ERROR_INVALID_VALUE);
  DeviceAddress at = memory_->address(), far = at + 4096;
  int one = 1;
  void *arguments[] = {&at, &one}, *wrong[] = {&far, &one};
  KernelNode good{.kernel = module_->kernel("k_add"), .parameters = arguments};
  const CopyNode copy = CopyNode::out(&result_, at, 4);
  CUgraphNode_st *node = nullptr, *of_other = nullptr, *copy_node = nullptr;
  ASSERT_EQ(driver.cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, good.theirs()), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphAddKernelNode_v2(&of_other, other, nullptr, 0, good.theirs()), CUDA_SUCCESS);
  auto added = [&](const KernelNode& p, std::vector<CUgraphNode_st*> before = {}) {
    CUgraphNode_st* out = nullptr;
    return driver.cuGraphAddKernelNode_v2(&out, graph, before.data(), before.size(), p.theirs());
  };
  EXPECT_EQ(added(good, {of_other}), CUDA_ERROR_INVALID_VALUE) << "a node of another graph";
  EXPECT_EQ(added(good, {node, node}), CUDA_ERROR_INVALID_VALUE) << "twice";
  EXPECT_EQ(added({.kernel = good.kernel, .threads = 2000, .parameters = arguments}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(added({.kernel = good.kernel, .parameters = wrong}), CUDA_ERROR_INVALID_VALUE) << "nobody's memory";
  EXPECT_EQ(added({.kernel = nullptr, .parameters = arguments}), CUDA_ERROR_INVALID_HANDLE);
  auto copied = [&](CopyNode p) {
    return driver.cuGraphAddMemcpyNode(&copy_node, graph, &node, 1, p.theirs(), device_->context());
  };
  CopyNode two_rows = copy;
  two_rows.rows = 2;
  EXPECT_EQ(copied(two_rows), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copied(CopyNode::out(&result_, at, 5000)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copied(copy), CUDA_SUCCESS);

  EXPECT_EQ(driver.cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(executable, of_other, good.theirs()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(executable, copy_node, good.theirs()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphLaunch(executable, nullptr), CUDA_ERROR_INVALID_HANDLE) << "no default stream";
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(executable, node, good.theirs()), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
}

}  // namespace
}  // namespace thtrain::cuda_graph_test

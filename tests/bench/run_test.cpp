// A peer that is too slow: it is stopped, named, and not asked for more of the kind.
#include "bench/run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bench/scratch_folder.h"

namespace thtrain {
namespace {

// A "python" that lists one peer, and answers what is no chain of 1,000 nodes.
constexpr const char* kPeer = R"(#!/bin/sh
case "$*" in *--list*) echo '{"name": "slow", "kind": "user", "form": "none", "needs": "sh"}'; exit;; esac
echo '{"ready": "slow", "version": "slow 1", "setting": ""}'
while read -r name seconds; do
  if [ "$name" = chain/1000 ]; then exec sleep 100; fi
  echo '{"value": 7, "low": 6, "high": 8}'
done
)";

TEST(RunBench, WhoIsOverTheLimitIsNotAskedForLargerCases) {
  ScratchFolder folder;
  const std::filesystem::path peer = std::filesystem::path(folder.path()) / "peer";
  std::ofstream(peer) << kPeer;
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  std::ofstream(std::filesystem::path(folder.path()) / "worker.py");
  const BenchOptions options{.cases = {"chain/100", "chain/1000", "chain/10000", "sum/100"},
                             .dtypes = {"float32"},
                             .threads = {1},
                             .only = {"slow"},
                             .repetitions = 1,
                             .rounds = 2,
                             .limit_seconds = 0.5,
                             .pythons = {peer.string()},
                             .peers_folder = folder.path()};
  const BenchResult result = run_bench(
      bench_named("compile"), options, [](auto&) {}, [](auto&) {});
  std::vector<std::string> measured;
  for (const Measurement& m : result.measurements) {
    measured.push_back(m.case_name);
    EXPECT_EQ(m.value, 7);
    EXPECT_EQ(m.rounds.size(), 2u);
  }
  EXPECT_EQ(measured, (std::vector<std::string>{"chain/100", "sum/100"}));
  EXPECT_EQ(result.notes, std::vector<std::string>{"slow: chain/1000: over the limit of 0.5 s"});
}

// A "python" whose one peer gives its own arguments as its version.
constexpr const char* kEcho = R"(#!/bin/sh
case "$*" in *--list*) echo '{"name": "echo", "kind": "user", "form": "none", "needs": "sh"}'; exit;; esac
echo "{\"ready\": \"echo\", \"version\": \"$*\", \"setting\": \"OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE\"}"
while read -r name seconds; do echo '{"value": 7, "low": 6, "high": 8}'; done
)";

TEST(RunBench, PeersAreToldTheInstructionsAndChooseTheirKernelsByThem) {
  ScratchFolder folder;
  const std::filesystem::path peer = std::filesystem::path(folder.path()) / "peer";
  std::ofstream(peer) << kEcho;
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  std::ofstream(std::filesystem::path(folder.path()) / "worker.py");
  const BenchOptions options{.cases = {"6x7x5/TN"},
                             .dtypes = {"float32"},
                             .threads = {1},
                             .only = {"echo"},
                             .repetitions = 1,
                             .rounds = 1,
                             .pythons = {peer.string()},
                             .peers_folder = folder.path(),
                             .isa = "sse2"};
  const BenchResult result = run_bench(
      bench_named("gemm"), options, [](auto&) {}, [](auto&) {});
  ASSERT_EQ(result.measurements.size(), 1u);
  const std::string& told = result.measurements[0].version;
  EXPECT_TRUE(told.ends_with("worker.py gemm echo --dtype float32 --threads 1 --isa sse2")) << told;
  EXPECT_EQ(result.measurements[0].setting, "OPENBLAS_CORETYPE=");
}

}  // namespace
}  // namespace thtrain

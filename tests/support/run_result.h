// What a finished run folder holds that must not depend on how often the run was stopped.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "compiler/base/file.h"
#include "tests/support/training_support.h"
#include "trainers/checkpoint.h"

namespace thtrain {

struct RunResult {
  Checkpoint checkpoint;
  std::map<std::string, std::string> best;  // best.npz, best_pretrain.npz
  std::string metrics;
};

inline RunResult result_of(const RunFolder& folder) {
  RunResult out{read_checkpoint(folder.checkpoint()), {}, metrics_without_times(folder.metrics())};
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (const std::string name = entry.path().filename().string(); name.starts_with("best"))
      out.best[name] = read_file(entry.path().string());
  return out;
}

inline void expect_same(const RunResult& a, const RunResult& b) {
  expect_same(a.checkpoint.weights, b.checkpoint.weights);
  expect_same(a.checkpoint.optimizer, b.checkpoint.optimizer);
  expect_same(a.checkpoint.best, b.checkpoint.best);
  EXPECT_EQ(a.checkpoint.state.random.state(), b.checkpoint.state.random.state());
  EXPECT_EQ(a.checkpoint.state.monitor, b.checkpoint.state.monitor);
  EXPECT_EQ(a.checkpoint.state.step, b.checkpoint.state.step);
  EXPECT_EQ(a.checkpoint.state.best_test_error, b.checkpoint.state.best_test_error);
  EXPECT_EQ(a.checkpoint.phase, b.checkpoint.phase);
  EXPECT_TRUE(a.best == b.best);  // their bytes are no text
  EXPECT_EQ(a.metrics, b.metrics);
}

}  // namespace thtrain

// What a run tells while it goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/history.h"  // EpochReport

namespace thtrain {

struct Experiment;
struct TrainSummary;  // trainers/trainer.h

struct LayerSummary {
  std::string name;        // "hidden"
  std::string type;        // "dense"
  std::string output;      // what one minibatch becomes: "float32[100, 500]"
  int64_t parameters = 0;  // numbers in its weights and biases
};

/// What was built, before the first step.
struct ModelSummary {
  std::string input;  // "float32[100, 784]"
  std::vector<LayerSummary> layers;
  int64_t classes = 0;         // 0 where examples have values
  MetricNames metrics = {{}};  // first the one that the run goes by
  int64_t parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t optimizer_bytes = 0;
  int64_t data_bytes = 0;         // of the examples that stay in memory; 0 where they are read while training
  int64_t arena_bytes = 0;        // temporaries of the training step; -1 where a call decides it
  int64_t arena_lower_bound = 0;  // bytes alive at its worst step
  int64_t train_examples = 0, valid_examples = 0, test_examples = 0;
  /// Those in full minibatches, of which the rest is left out (trainer.full_batches_only); else the same numbers. In an
  /// epoch with trainer.shuffle, others are left out than in the one before.
  int64_t train_used = 0, valid_used = 0, test_used = 0;
  int64_t batch_size = 0;
  int64_t batches = 0;                       // minibatches of an epoch
  int64_t kernels_compiled = 0;              // compiled now and not found in the cache
  double seconds_compile = 0;                // passes and compiler
  bool is_compiling = false;                 // in the background
  std::vector<std::string> reference_steps;  // ops that run through their reference
  int threads = 1;
};

/// After a minibatch; at most about twenty times a second.
struct BatchProgress {
  int64_t epoch = 1;      // from 1
  int64_t batch = 0;      // finished in this epoch
  int64_t batches = 0;    // of an epoch
  double train_loss = 0;  // mean over the finished ones
  double examples_per_second = 0;
  /// Of sequences that differ in length: how many of their steps are finished, of how many; else 0.
  int64_t steps = 0, steps_of_epoch = 0;
  double steps_per_second = 0;
};

/// Where a resumed run goes on.
struct ResumePoint {
  std::string phase = {};  // "" without phases
  int64_t epoch = 1;       // from 1
  int64_t batch = 1;       // the next one in that epoch, from 1
  int64_t batches = 0;     // of an epoch
  int64_t step = 0;        // minibatches done
  bool is_over = false;
};

/// A phase that begins, or goes on after a resumption.
struct PhaseReport {
  size_t index = 0, count = 1;   // from 0
  bool goes_on = false;          // after its first checkpoint
  const Experiment& experiment;  // of the phase
};

struct TrainHooks {
  std::function<void(const PhaseReport&)> on_phase = {};       // before its first function is compiled
  std::function<void(const TrainSummary&)> on_phase_end = {};  // of those before the last one
  std::function<void(const ModelSummary&)> on_start = {};      // of each phase
  std::function<void(const ResumePoint&)> on_resume = {};      // before on_start
  std::function<void(const BatchProgress&)> on_batch = {};
  std::function<void(const EpochReport&)> on_epoch = {};
  std::function<void(const std::string&)> on_message = {};  // a line for people
};

}  // namespace thtrain

// The example of a computation as a program, by a candidate that is given: for trials.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/ir/graph.h"
#include "compiler/plan/program.h"
#include "compiler/tuning/tuner.h"

namespace thtrain {

/// What one run reads and writes, in the order of the entry's arguments.
struct TrialArguments {
  TrialArguments() = default;
  TrialArguments(TrialArguments&&) = default;
  TrialArguments& operator=(TrialArguments&&) = default;
  std::vector<Tensor> inputs, variables, constants, outputs;
  std::vector<ThTensor> entry;  // points into those
  int64_t bytes() const;
  /// Of variables, which are updated in place, and outputs: what a run computes.
  std::vector<Tensor> results() const;
};

/// Element i of an array, of which the inputs are the first, the variables the next.
using TrialNumbers = std::function<double(size_t array, int64_t i)>;
/// Small whole numbers: sums stay finite however often they are accumulated, and no operand is denormal.
double small_numbers(size_t array, int64_t i);

/// On a device what a run reads and writes lies there: inputs and outputs of the graph are variables.
class TrialProgram {
 public:
  /// Plans and prints it.
  TrialProgram(const Graph& graph, const std::string& candidate, int threads, const kernel::Target& target = machine());
  TrialProgram(const TrialProgram&) = delete;
  TrialProgram& operator=(const TrialProgram&) = delete;
  /// Compiles and loads it. UserError where no compiler is found and the cache does not have it.
  void load();
  /// New arrays; outputs too get these numbers.
  TrialArguments arguments(const TrialNumbers& numbers) const;
  /// The arrays of another program of the same graph.
  TrialArguments arguments_in(const TrialArguments& other) const;
  /// Each byte of the memory of temporaries, workspaces among them.
  void fill_arena(uint8_t byte);
  /// False where the program fails; then status() is the number that it gave, and trouble() what a device or its
  /// library said, on one line.
  bool run(const TrialArguments& arguments);
  bool is_on_device() const { return calls_ != nullptr; }
  /// Of a device, by its events: of the runs since the last time.
  double take_seconds() { return calls_->take_seconds(); }
  const std::string& candidate() const { return forced_->candidate; }
  size_t input_count() const { return program_.graph.inputs.size(); }
  long status() const { return context_.failure.value; }
  const std::string& trouble() const { return trouble_; }

 private:
  /// Gives the candidate wherever it applies; what else an example has is computed as everywhere.
  struct Forced : kernel::Chooser {
    Forced(std::string name, int threads, const kernel::Target& target);
    std::string choose(const kernel::ChoiceKey& key) const override;
    std::string candidate;
    kernel::Target target;
    Tuner others;
  };
  std::unique_ptr<const Forced> forced_;
  Program program_;
  SourceText source_;
  std::shared_ptr<const SharedObject> object_;
  ThEntry entry_ = nullptr;
  bool run_on_device(const TrialArguments& arguments);
  static void bind(TrialArguments& arguments);
  std::vector<void*> library_;
  Tensor arena_ = Tensor::empty(DType::kUInt8, {0});
  ThContext context_{};
  std::unique_ptr<const DeviceProgram> device_;
  std::unique_ptr<DeviceCalls> calls_;  // null: a processor runs it
  std::string trouble_;
};

/// The example of the key. UserError where there is none.
Graph example_of(const kernel::ChoiceKey& key);
/// Of one run, by the costs of the ops; 0 where they are not known.
double flops_of(const Graph& graph);

}  // namespace thtrain

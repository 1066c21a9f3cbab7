// What functions of an experiment are compiled with.
#include "compiler/cuda/device_program.h"
#include "compiler/cuda/libraries.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/user_candidates.h"
#include "trainers/program.h"

namespace thtrain {

CandidateLists candidate_lists(const CompilerConfig& config) {
  return {config.only_candidates, config.include_candidates, config.exclude_candidates, config.workspace_limit};
}

static void load_candidate_files(const CompilerConfig& config) {
  std::vector<Message> wrong;
  for (const std::string& path : config.candidate_files) {
    try {
      load_candidates(path);
    } catch (const UserError& error) {
      for (Message message : error.messages()) {
        message.config = config.at("candidate_files");
        wrong.push_back(std::move(message));
      }
    }
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
}

std::optional<kernel::Target> device_target(const CompilerConfig& config) {
  if (config.device == CompilerConfig::Device::kCpu) return std::nullopt;  // this machine's
  if (config.device == CompilerConfig::Device::kEmulated) return kernel::emulated_cuda_target(machine().cores);
  const int number = static_cast<int>(config.device) - static_cast<int>(CompilerConfig::Device::kCuda);
  try {
    cuda::require_device(number);
  } catch (const UserError& error) {
    Message message = error.messages().front();
    message.config = config.at("device");
    throw UserError(std::move(message));
  }
  return kernel::cuda_target(number, machine().cores);
}

int64_t room_for_examples(const CompilerConfig& config) {
  const std::optional<kernel::Target> target = device_target(config);
  return target ? static_cast<int64_t>(device_of(*target).device.bytes() / 2) : INT64_MAX;
}

FunctionOptions function_options(const CompilerConfig& config, std::string name) {
  FunctionOptions out;
  out.target = device_target(config);
  switch (config.mode) {
    case CompilerConfig::Mode::kNative:
      out.mode = Mode::kNative;
      break;
    case CompilerConfig::Mode::kReference:
      out.mode = Mode::kReference;
      break;
    case CompilerConfig::Mode::kDebug:
      out.mode = Mode::kDebug;
      break;
    case CompilerConfig::Mode::kNanGuard:
      out.mode = Mode::kNanGuard;
      break;
  }
  switch (config.optimizer) {
    case CompilerConfig::Optimizer::kDefault:
      out.level = Level::kStandard;
      break;
    case CompilerConfig::Optimizer::kStrict:
      out.level = Level::kStrict;
      break;
    case CompilerConfig::Optimizer::kFast:
      out.level = Level::kFast;
      break;
  }
  out.without = {config.exclude_rewrites.begin(), config.exclude_rewrites.end()};
  out.nan_guard = {.nan = config.guard_nan, .infinity = config.guard_infinity};
  if (config.guard_above > 0) out.nan_guard.above = config.guard_above;
  out.threads = static_cast<int>(config.threads);
  out.tune = config.tune;
  out.conv_tolerance = config.conv_tolerance;
  out.candidate_lists = candidate_lists(config);
  if (config.tf32)
    out.candidates = {{"matrix_product", "cuBLAS TF32"},
                      {"batched_product", "cuBLAS TF32"},
                      {"conv", "cuDNN TF32"},
                      {"conv_input_gradient", "cuDNN TF32"},
                      {"conv_weight_gradient", "cuDNN TF32"}};
  if (out.mode != Mode::kReference) load_candidate_files(config);
  out.name = std::move(name);
  return out;
}

}  // namespace thtrain

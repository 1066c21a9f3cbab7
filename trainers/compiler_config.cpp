// The keys of [compiler].
#include "compiler/libraries/threads.h"
#include "compiler/passes/pipeline.h"
#include "trainers/experiment.h"

namespace thtrain {

static void check_rewrites(const CompilerConfig& config, Findings& findings) {
  for (const std::string& name : config.exclude_rewrites)
    if (std::optional<Message> unknown = unknown_rewrite(name, "compiler.exclude_rewrites: ")) {
      unknown->config = config.at("exclude_rewrites");
      findings.add(*unknown);
    }
}

static void check_tf32(const CompilerConfig& config, Findings& findings) {
  if (config.tf32 && config.device == CompilerConfig::Device::kCpu)
    findings.add({.what = "compiler.tf32: the processor has no TF32",
                  .expected = "false, or another device",
                  .config = config.at("tf32"),
                  .hint = "compiler.device = \"cuda\" trains on a device"});
}

void CompilerConfig::describe(Fields<CompilerConfig>& f) {
  f.about("How expressions become machine code.");
  f.choice("device", &CompilerConfig::device,
           {{"cpu", CompilerConfig::Device::kCpu},
            {"emulated", CompilerConfig::Device::kEmulated},
            {"cuda", CompilerConfig::Device::kCuda},
            {"cuda:0", CompilerConfig::Device::kCuda},
            {"cuda:1", CompilerConfig::Device::kCuda1},
            {"cuda:2", CompilerConfig::Device::kCuda2},
            {"cuda:3", CompilerConfig::Device::kCuda3},
            {"cuda:4", CompilerConfig::Device::kCuda4},
            {"cuda:5", CompilerConfig::Device::kCuda5},
            {"cuda:6", CompilerConfig::Device::kCuda6},
            {"cuda:7", CompilerConfig::Device::kCuda7}})
      .help(
          "What computes: the processor; a CUDA device that the host emulates, slowly, to read CUDA kernels and to "
          "test them; or one of NVIDIA: `cuda` or `cuda:0` is the first, `cuda:1` the second.");
  f.choice("floatX", &CompilerConfig::floatX, {{"float32", DType::kFloat32}, {"float64", DType::kFloat64}})
      .synonyms({"dtype", "precision"})
      .help("The floating type of examples and weights.");
  f.choice("mode", &CompilerConfig::mode,
           {{"native", CompilerConfig::Mode::kNative},
            {"reference", CompilerConfig::Mode::kReference},
            {"debug", CompilerConfig::Mode::kDebug},
            {"nan_guard", CompilerConfig::Mode::kNanGuard}})
      .help(
          "`native` compiles; `reference` interprets, slowly, and needs no compiler; `debug` compares the two; "
          "`nan_guard` compiles, and stops at the first value that is NaN, infinite or too large.");
  f.field("guard_nan", &CompilerConfig::guard_nan).help("Is NaN an error with `mode = \"nan_guard\"`?");
  f.field("guard_infinity", &CompilerConfig::guard_infinity)
      .help("Is an infinity an error with `mode = \"nan_guard\"`?");
  f.field("guard_above", &CompilerConfig::guard_above)
      .range(at_least(0))
      .help("A number of a larger size is an error with `mode = \"nan_guard\"`; 0: none is.");
  f.choice("optimizer", &CompilerConfig::optimizer,
           {{"default", CompilerConfig::Optimizer::kDefault},
            {"strict", CompilerConfig::Optimizer::kStrict},
            {"fast", CompilerConfig::Optimizer::kFast}})
      .help("Which rewrites are allowed: `strict` keeps every bit, `fast` assumes that no value is infinite or NaN.");
  f.field("exclude_rewrites", &CompilerConfig::exclude_rewrites)
      .help("Passes and rewrite rules, by the names that `thtrain explain --stage=passes` prints, that are left out.");
  f.field("threads", &CompilerConfig::threads)
      .range(between(0, kMaxThreads))
      .unit("threads")
      .synonyms({"num_threads", "jobs"})
      .help("Threads of a compiled function; 0: those of OMP_NUM_THREADS, or all cores where that is not set.");
  f.choice("tune", &CompilerConfig::tune,
           {{"never", Tune::kNever}, {"cached", Tune::kCached}, {"always", Tune::kAlways}})
      .help(
          "How one of several implementations of a computation, such as a matrix product or a convolution, is chosen. "
          "`never`: by a built-in rule; "
          "`cached`: by what `thtrain tune` measured on this machine, or by the rule where it measured nothing; "
          "`always`: measured before the first step where it was not before.");
  f.field("conv_tolerance", &CompilerConfig::conv_tolerance)
      .range(between(0, 1))
      .help(
          "The error that an implementation of a convolution may have that computes other terms than its definition "
          "(Winograd's), by its derived bound: a part of the largest element of the images times the largest sum of "
          "sizes of a filter's elements. 0: no such implementation. It is 0 with "
          "`optimizer = \"strict\"`, and with `mode = \"debug\"`, which compares with the definition.");
  f.field("tf32", &CompilerConfig::tf32)
      .help(
          "Products of float32 by cuBLAS and convolutions by cuDNN round their operands to the 10 bits behind the "
          "point "
          "that TF32 has, which the tensor cores of devices from compute capability 8.0 on multiply faster. For "
          "devices "
          "alone.");
  f.field("only_candidates", &CompilerConfig::only_candidates)
      .help(
          "Implementations by name, such as `[\"library\"]` or `[\"conv*:rows *\"]`: `*` stands for any characters, "
          "and `COMPUTATION:NAME` is of one computation. Where one of them applies, no other is taken. `thtrain "
          "tune` prints the names.");
  f.field("include_candidates", &CompilerConfig::include_candidates)
      .help("Names, without `*`, of implementations that are timed although they are not worth a trial by the model.");
  f.field("exclude_candidates", &CompilerConfig::exclude_candidates)
      .help("Implementations, by name or pattern, that are never taken.");
  f.field("workspace_limit", &CompilerConfig::workspace_limit)
      .range(at_least(0))
      .unit("bytes")
      .help("No implementation is taken that needs a larger workspace; 0: no limit.");
  f.field("candidate_files", &CompilerConfig::candidate_files)
      .synonyms({"candidate_file"})
      .help(
          "Shared objects with implementations of your own (docs/library.md). Paths are relative to the experiment "
          "file. Their code runs with your rights.");
  f.field("background", &CompilerConfig::background)
      .help(
          "Start training at once in reference mode while the training step is compiled, and change to native code "
          "when it is ready. The step at which that happens, and so the exact results, differ from run to run.");
  f.check(check_rewrites);
  f.check(check_tf32);
}

}  // namespace thtrain

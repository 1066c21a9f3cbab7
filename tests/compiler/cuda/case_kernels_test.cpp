// NVRTC compiles the kernels of every op's cases, as they are and after all passes, to machine code: no device is
// needed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <sstream>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/libraries.h"
#include "compiler/passes/pipeline.h"
#include "compiler/runtime/compile.h"
#include "tests/support/case_programs.h"

namespace thtrain::case_kernels_test {
namespace {

// Tests of ctest run side by side, each in its own process: so many parts have the programs one after the other.
constexpr int kParts = 4;

/// Compute capabilities that THTRAIN_CUBINS names, such as "75 80 90 100" in the long checks: all kernels are compiled
/// for each. Without it, every second one is compiled for 90: there are 4,097 kernels, of 40 ms each.
const char* const chosen = std::getenv("THTRAIN_CUBINS");
std::vector<int> architectures() {
  std::istringstream in(chosen ? chosen : "90");
  std::vector<int> out;
  for (int one; in >> one;) out.push_back(one);
  return out;
}

/// Each kernel with the helpers that it needs; equal ones once.
std::set<std::string> kernels_of(const CaseProgram& program) {
  std::set<std::string> out;
  for (const bool optimized : {false, true}) {
    CompileOptions options{.target = kernel::emulated_cuda_target(), .use_cache = false};
    for (const PipelineEntry& entry : pipeline())
      if (!optimized) options.pipeline.without.insert(entry.pass.name);
    const PreparedProgram prepared = prepare(canonical_lengths({program.variables, program.outputs, {}}), options);
    const SourceText& source = prepared.program->image.source;
    for (const KernelText& kernel : source.kernels) out.insert(device_text_of(source, kernel).text);
  }
  return out;
}

class CaseKernels : public testing::TestWithParam<int> {};

TEST_P(CaseKernels, AreCompiledToMachineCode) {
  const cuda::OpenedNvrtc& nvrtc = cuda::nvrtc();
  if (!nvrtc.trouble.empty()) GTEST_SKIP() << "NVRTC (libnvrtc.so.13 or .12): " << nvrtc.trouble;
  int number = 0, count = 0;
  for_each_case_program([&](const CaseProgram& program) {
    if (number++ % kParts != GetParam()) return;
    for (const std::string& text : kernels_of(program)) {
      if (++count % 2 == 0 && !chosen) continue;
      for (const int architecture : architectures()) {
        try {
          EXPECT_TRUE(cuda::compile_cubin(nvrtc.functions, text, architecture).starts_with("\177ELF"));
        } catch (const InternalError& error) {
          ADD_FAILURE() << error.what() << "\n" << text;
        }
      }
    }
  });
  RecordProperty("kernels", count);
  EXPECT_GT(count, 100);
}

INSTANTIATE_TEST_SUITE_P(Parts, CaseKernels, testing::Range(0, kParts));

}  // namespace
}  // namespace thtrain::case_kernels_test

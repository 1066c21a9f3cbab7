#include "bench/maths_program.h"

#include <unistd.h>

#include <cstdlib>
#include <map>

#include "compiler/base/error.h"
#include "compiler/codegen/emit.h"
#include "compiler/ir/lengths.h"
#include "compiler/libraries/threads.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/store/cache_folder.h"

namespace thtrain {

static Cache& cache_of(int vector_bytes) {
  static std::map<int, std::unique_ptr<Cache>> made;
  std::unique_ptr<Cache>& out = made[vector_bytes];
  if (!out)
    out = std::make_unique<Cache>(
        Cache::Options{default_cache_folder(), geteuid(), std::getenv("THTRAIN_CXX"), std::getenv("PATH")},
        detect_cpu(std::to_string(vector_bytes).c_str()));
  return *out;
}

MathsProgram::MathsProgram(const Graph& graph, Level level, int vector_bytes) {
  CanonicalGraph canonical = canonical_lengths(graph);
  PipelineOptions options;
  options.level = level;
  program_ =
      plan(optimize(canonical.graph, options), canonical.value_checks, {.target = {.vector_bytes = vector_bytes}});
  TH_CHECK(program_.constants.empty() && program_.shared.empty() && program_.memory.arena_bytes.is(0),
           "more than a kernel");
  LoadedObject loaded = cache_of(vector_bytes).load_object(emit_cpp(program_).text);
  if (!loaded.object) throw UserError(Message{.what = "bench maths: no native code", .got = loaded.reason});
  object_ = loaded.object;
  entry_ = reinterpret_cast<ThEntry>(object_->symbol("thtrain_entry"));
}

void MathsProgram::operator()(std::initializer_list<const void*> inputs, void* output) const {
  const int64_t shape[] = {kCount};
  std::vector<ThTensor> arguments;
  for (const void* x : inputs) arguments.push_back({const_cast<void*>(x), shape});
  arguments.push_back({output, shape});
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = 1;
  context.parallel_for = parallel_for;
  int code = entry_(&context, arguments.data());
  TH_CHECK(code == 0, "the program returned ", code);
}

}  // namespace thtrain

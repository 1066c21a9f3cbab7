// `thtrain info`: what this machine and this build offer, and the ops that graphs are made of.
#include <algorithm>
#include <cstdlib>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/text.h"
#include "compiler/base/build_info.h"
#include "compiler/cuda/libraries.h"
#include "compiler/host/cache.h"
#include "compiler/host/cpu.h"
#include "compiler/libraries/blas.h"
#include "compiler/libraries/onednn.h"
#include "compiler/libraries/threads.h"
#include "compiler/ops/op_text.h"
#include "compiler/ops/registry.h"
#include "compiler/tuning/machine.h"
#include "datasets/locate.h"

namespace thtrain {

namespace {

struct InfoArguments {
  bool ops = false;
  bool json = false;
};

std::string ops_text() {
  std::string out = count_text(static_cast<int64_t>(all_ops().size()), "op") + "; docs/ops.md explains the terms\n";
  for (const Op* op : all_ops()) {
    out += str("\n", op->name, "\n");
    for (const OpStatement& s : statements_of(*op, kernel::emulated_cuda_target()))
      out += str("    ", s.label, s.label.empty() ? "" : ": ", s.text, "\n");
  }
  return out;
}

std::string ops_json() {
  auto entry = [](const Op* op) {
    return JsonObject()
        .add("name", op->name)
        .add("doc", op->doc)
        .add("error_bound", error_bound_text(*op))
        .add("native", native_text(*op))
        .add("device", device_text(*op, kernel::emulated_cuda_target()))
        .add("rules", rules_of(*op))
        .add("file", file_of(*op))
        .line();
  };
  return str('[', join(all_ops(), ", ", entry), ']');
}

std::string vector_text(const Cpu& cpu) {
  std::vector<std::string> sets;
  if (cpu.avx2) sets.push_back("AVX2");
  if (cpu.fma) sets.push_back("FMA");
  if (cpu.has_avx512()) sets.push_back("AVX-512");
  return str(cpu.vector_bytes, " bytes", sets.empty() ? "" : ", of ", join(sets, ", "));
}

std::string caches_text(const kernel::Target& target) {
  if (target.second_cache_bytes == 0) return "unknown";
  auto text = [](int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  return str(text(target.first_cache_bytes), " of data and ", text(target.second_cache_bytes), " a core, ",
             text(target.last_cache_bytes), " shared");
}

std::string origin_of_limits() {
  switch (limits_from()) {
    case LimitsFrom::kMeasured:
      return "measured now, and remembered";
    case LimitsFrom::kRemembered:
      return "measured before";
    case LimitsFrom::kRule:
      return "not measured: THTRAIN_TARGET names other caches";
    case LimitsFrom::kForced:
      return "given by THTRAIN_TARGET";
    case LimitsFrom::kRun:
      return "those that the run began with";
  }
  TH_CHECK(false, "limits from nowhere");
  return "";
}

// How loops over arrays reach memory.
std::string memory_text(const kernel::Target& target) {
  const kernel::MemoryLimits& limits = target.memory;
  if (limits.non_temporal_bytes == 0)
    return str("no stores past the caches; lines prefetched: ", limits.store_prefetch_lines, " (", origin_of_limits(),
               ")");
  return str("stores past the caches in loops of more than ",
             bytes_text(static_cast<double>(limits.non_temporal_bytes)),
             "; lines prefetched: ", limits.load_prefetch_lines, " there, ", limits.store_prefetch_lines,
             " elsewhere (", origin_of_limits(), ")");
}

// What kernels cost.
std::string rates_text(const kernel::Target& target) {
  const kernel::KernelRates& r = target.rates;
  auto cycles = [](int hundredths) {
    std::string text = fixed_text(hundredths / 100.0, 2);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  };
  return str("cycles of a vector's multiply-add ", cycles(r.multiply_add), ", of one in a chain ", cycles(r.sum),
             ", of a load ", cycles(r.load), ", across lines ", cycles(r.crossing_load), ", of a shuffle ",
             cycles(r.shuffle), "; of a line of the second cache ", cycles(r.second_line), ", prefetched ",
             cycles(r.fetched_second_line), ", of the third ", cycles(r.third_line), ", prefetched ",
             cycles(r.fetched_third_line), ", copied ", cycles(r.copied_line), ", of memory ", cycles(r.memory_line),
             ", apart ", cycles(r.apart_memory_line), "; of BLAS's multiply-add ", cycles(r.library_multiply_add),
             ", in narrow products ", cycles(r.library_narrow_multiply_add), ", of a packed line ",
             cycles(r.library_line), ", of a call ", cycles(r.library_call), "; of a thread ", cycles(r.wake), " (",
             origin_of_limits(), ")");
}

// The variables of the environment that are set, "NAME=value".
std::vector<std::string> environment_texts() {
  std::vector<std::string> out;
  for (const auto& [name, meaning] : environment_variables())
    if (const char* value = std::getenv(name.c_str())) out.push_back(str(name, '=', value));
  return out;
}

// The library and its kernels, or why there is none.
std::string blas_text(bool& found) {
  try {
    const Blas& library = blas();
    const std::string forced = forced_kernels_text();
    return str(library.version, ", kernels ", library.corename,
               !forced.empty()             ? str(" (", forced, ")")
               : library.has_old_kernels() ? " (older than this processor)"
                                           : "");
  } catch (const UserError& error) {
    found = false;
    return str("none: ", error.messages().front().what);
  }
}

}  // namespace

static int run_info(const InfoArguments& arguments) {
  if (arguments.ops && !arguments.json) {
    print_text(ops_text());
    return kDone;
  }
  const Cpu& processor = cpu();
  const kernel::Target target = machine();
  bool has_blas = true;
  std::string blas_name = blas_text(has_blas);
  if (arguments.json) {
    JsonObject out;
    out.add("version", version)
        .add("build", build_id)
        .add("architecture", processor.architecture)
        .add("processor", processor.model)
        .add("vector_bytes", processor.vector_bytes)
        .add("cores", processor.cores)
        .add("target", target.text())
        .add("target_from", origin_of_limits())
        .add("threads", thread_count())
        .add("blas", has_blas ? blas().version : "")
        .add("blas_kernels", has_blas ? blas().corename : "")
        .add("blas_forced", forced_kernels_text())
        .add("onednn", onednn() ? onednn()->version : "")
        .add("compiler", cache().compiler_text())
        .add("has_compiler", cache().has_compiler())
        .add("cache_folder", cache_folder_text())
        .add("data_folders", data_folders(""))
        .add("environment", environment_texts());
    JsonObject of_cuda;
    for (const cuda::Fact& fact : cuda::library_facts()) of_cuda.add(fact.name, fact.text);
    out.add_raw("cuda", of_cuda.line());
    if (arguments.ops) out.add_raw("ops", ops_json());
    print_text(out.line() + "\n");
    return kDone;
  }
  const std::string environment = join(environment_texts(), ", ");
  std::vector<std::pair<std::string, std::string>> cuda_facts;
  for (const cuda::Fact& fact : cuda::library_facts()) cuda_facts.emplace_back(fact.name, fact.text);
  print_text(str(
      "thtrain ", version, "\n",
      facts_text(
          {{"build", std::string(build_id)},
           {"processor", str(processor.model.empty() ? "unknown" : processor.model, " (", processor.architecture, ")")},
           {"vectors", target.has_vectors() ? vector_text(processor) : str("none: ", target.code_name())},
           {"caches", caches_text(target)},
           {"memory", memory_text(target)},
           {"kernels", rates_text(target)},
           {"target", target.text()},
           {"cores", std::to_string(processor.cores)},
           {"threads", std::to_string(thread_count())},
           {"BLAS", blas_name},
           {"oneDNN", onednn() ? onednn()->version : "none (a candidate of `thtrain tune`)"},
           {"compiler", cache().compiler_text()},
           {"cache", cache_folder_text()},
           {"data", join(data_folders(""), ", ")},
           {"environment", environment.empty() ? "none of thtrain's variables is set" : environment},
           {"ops", str(all_ops().size(), "; `thtrain info --ops` lists them")}}),
      "\nCUDA\n", facts_text(cuda_facts)));
  return kDone;
}

static Command declare_info(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<InfoArguments>();
  command.add_flag("--ops", arguments->ops, "list the ops");
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_info(*arguments); };
}

CommandSpec info_command() {
  return {"info",
          "show what this machine and this build offer",
          {{"thtrain info", "processor, libraries, compiler, folders"},
           {"thtrain info --ops", "the operations of the graph compiler"}},
          declare_info};
}

}  // namespace thtrain

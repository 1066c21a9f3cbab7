#include "tests/support/native_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "compiler/codegen/emit.h"
#include "compiler/cuda/device_program.h"
#include "compiler/host/cache.h"
#include "compiler/ir/lengths.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/libraries/threads.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/store/cache_folder.h"

namespace thtrain {
namespace {

constexpr int kUnwritten = 0x5b;  // in every byte: no likely value of any dtype
constexpr size_t kBehind = 64;    // bytes behind an output that nothing may write

Cache& cache_of(const Target& target) {
  static std::map<std::string, std::unique_ptr<Cache>> made;
  std::unique_ptr<Cache>& out = made[target.text()];
  if (!out) {
    Cpu processor = detect_cpu(std::to_string(target.vector_bytes).c_str());
    out = std::make_unique<Cache>(
        Cache::Options{default_cache_folder(), geteuid(), target.compiler.c_str(), std::getenv("PATH")}, processor);
  }
  return *out;
}

}  // namespace

std::string Target::text() const {
  return str(compiler == "g++" ? "gcc" : "clang", "_", vector_bytes);
}

std::string why_not(const Target& target) {
  int widest = detect_cpu(nullptr).vector_bytes;
  if (target.vector_bytes > widest) return str("this processor's vectors have ", widest, " bytes");
  if (target.compiler != "g++" && !generated_flags().empty()) return "the sanitizers' library is g++'s";
  return "";
}

std::vector<Target> all_targets() {
  std::vector<Target> out;
  for (int bytes : {16, 32, 64})
    for (const char* compiler : {"g++", "clang++"}) out.push_back({compiler, bytes});
  return out;
}

Target usual_width(const std::string& compiler) {
  return {compiler, cpu().vector_bytes};
}

static Program planned(const CanonicalGraph& canonical, const Target& target, bool optimized) {
  PipelineOptions options{.chooser = target.chooser};
  if (target.device) options.target = *target.device;
  if (!optimized)
    for (const PipelineEntry& entry : pipeline()) options.without.insert(entry.pass.name);
  const kernel::Target of_vectors{.vector_bytes = target.vector_bytes, .memory = target.memory};
  return plan(optimize(canonical.graph, options), canonical.value_checks,
              {.target = target.device.value_or(of_vectors), .chooser = target.chooser});
}

bool is_all_native(const Graph& graph) {
  Program program = planned(canonical_lengths(graph), {"g++", 16}, false);
  bool out = true;
  for_each_step(program.body,
                [&](const Step& step) { out = out && !std::holds_alternative<kernel::ReferenceCall>(step.code); });
  return out;
}

Program unoptimized_program(const Graph& graph, const Target& target) {
  return planned(canonical_lengths(graph), target, false);
}

struct NativeProgram::Compiled {
  Graph graph;
  CanonicalGraph canonical;
  std::unique_ptr<Program> program;
  std::shared_ptr<const SharedObject> object;
  ThEntry entry;
  std::unique_ptr<DeviceProgram> device;
  std::unique_ptr<DeviceCalls> calls;
  std::vector<CheckText> checks;
  std::vector<std::string> libraries;
};

NativeProgram::NativeProgram(const Graph& graph, const Target& target, bool optimized,
                             const std::function<void(Program&)>& edit)
    : compiled_(std::make_unique<Compiled>()) {
  Compiled& c = *compiled_;
  c.graph = graph;
  c.canonical = canonical_lengths(graph);
  c.program = std::make_unique<Program>(planned(c.canonical, target, optimized));
  TH_CHECK(c.program->shared.empty(), "a graph with shared variables");
  if (edit) edit(*c.program);
  Source source = emit_cpp(*c.program);
  c.checks = source.checks;
  c.libraries = source.text.libraries;
  LoadedObject loaded = cache_of(target).load_object(source.text);
  TH_CHECK(loaded.object, loaded.reason);
  c.object = loaded.object;
  c.entry = reinterpret_cast<ThEntry>(c.object->symbol("thtrain_entry"));
  if (!target.device || !target.device->is_device()) return;
  c.device = std::make_unique<DeviceProgram>(device_of(*target.device), source.text, c.program->constants);
  c.calls = std::make_unique<DeviceCalls>(c.device->on());
}
// Bytes of the arena that belong to no temporary.
static std::vector<bool> free_bytes(const Program& program, const Lengths& lengths, size_t bytes) {
  std::vector<bool> out(bytes, true);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != BufferKind::kTemporary || !buffer.on_device || buffer.allocated) continue;
    const auto begin = out.begin() + lengths.evaluate(buffer.arena_offset);
    std::fill(begin, begin + lengths.evaluate(buffer.elements) * static_cast<int64_t>(size_of(buffer.dtype)), false);
  }
  return out;
}

NativeProgram::~NativeProgram() = default;
NativeProgram::NativeProgram(NativeProgram&&) noexcept = default;

std::vector<Tensor> NativeProgram::operator()(std::span<const Tensor> inputs) const {
  const Compiled& c = *compiled_;
  Lengths user, canonical;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TH_CHECK(inputs[i].is_contiguous(), "input ", i, " is not dense");
    user.bind(c.graph.inputs[i], inputs[i]);
    canonical.bind(c.canonical.graph.inputs[i], inputs[i]);
  }
  Tensor arena = Tensor::empty(DType::kUInt8, {canonical.evaluate(c.program->memory.arena_bytes) + int64_t{kBehind}});
  std::vector<Tensor> outputs;
  for (const Expr& out : c.graph.outputs) outputs.push_back(Tensor::empty(out.dtype(), user.evaluate(out.dims())));
  // What is not written is seen, and what is written behind the end.
  std::vector<std::vector<char>> memory;
  for (const Tensor& t : outputs) memory.emplace_back(t.bytes() + kBehind, static_cast<char>(kUnwritten));
  std::memset(arena.raw(), kUnwritten, arena.bytes());
  std::vector<ThTensor> args;
  auto bind = [&](const Tensor& t) { args.push_back({const_cast<void*>(t.raw()), t.shape().data()}); };
  for (const Tensor& t : inputs) bind(t);
  for (const Tensor& t : c.program->constants) bind(t);
  for (size_t i = 0; i < outputs.size(); ++i) args.push_back({memory[i].data(), outputs[i].shape().data()});
  ThContext context{};
  context.version = TH_ABI_VERSION;
  context.threads = 1;
  context.parallel_for = parallel_for;
  context.fail = record_failure;
  context.call_reference = [](ThContext* failed, int, void* const*) { failed->fail(failed, TH_NO_CHECK, 0, 0); };
  context.arena = static_cast<char*>(arena.raw());
  Tensor there = Tensor::empty(DType::kUInt8, {0});
  if (c.calls) {
    there = arena.copy(&c.calls->on().memory);
    context.arena = static_cast<char*>(const_cast<void*>(there.address()));
    context.device = c.calls.get();
    c.calls->begin(*c.device, static_cast<size_t>(canonical.evaluate(c.program->memory.host_bytes)));
  }
  const std::vector<void*> library = library_table(c.libraries);
  context.library = library.data();
  int code = c.entry(&context, args.data());
  if (code != 0 && c.calls) c.calls->end_early();
  TH_CHECK(code == 0, "the program returned ", code, ": ",
           context.failure.word <= 0 ? std::string("no check failed")
                                     : c.checks.at(static_cast<size_t>(context.failure.word - 1)).what,
           ", value ", context.failure.value, ", limit ", context.failure.limit);
  if (c.calls) {
    const Tensor after = there.on_host();
    const std::vector<bool> is_free = free_bytes(*c.program, canonical, after.bytes());
    for (size_t i = 0; i < is_free.size(); ++i)
      TH_CHECK(!is_free[i] || after.data<uint8_t>()[i] == kUnwritten, "the program writes behind a buffer");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<char>& bytes = memory[i];
    TH_CHECK(std::all_of(bytes.end() - kBehind, bytes.end(), [](char byte) { return byte == kUnwritten; }),
             "the program writes behind output ", i);
    if (outputs[i].bytes() > 0) std::memcpy(outputs[i].raw(), bytes.data(), outputs[i].bytes());
  }
  return outputs;
}

}  // namespace thtrain

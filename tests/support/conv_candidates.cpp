#include "tests/support/conv_candidates.h"

#include <algorithm>

#include "compiler/codegen/embedded_text.h"
#include "compiler/kernel/printer.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/candidates.h"

namespace thtrain {
namespace {

struct Lowered {
  std::vector<kernel::StepCode> code;
  std::vector<kernel::Workspace> workspaces;
};

Lowered lowered(const ConvCandidates::One& one, const kernel::Target& target) {
  const kernel::ChoiceKey key = key_of(one.convolution);
  const Graph graph = find_computation(key.computation)->example(key.properties).value();
  const Node& node = graph.outputs[0].node();
  auto operand = [](int i, const Expr& e) { return kernel::Operand{i, e.type(), row_major(e.dims())}; };
  kernel::StepBuilder builder(node, {operand(0, node.inputs[0]), operand(1, node.inputs[1])},
                              {operand(2, graph.outputs[0])}, target);
  const std::optional<Candidate> candidate = find_candidate(key, one.name, target);
  TH_CHECK(candidate, "no candidate ", one.name, " for ", key.text());
  candidate->lower(builder);
  return {builder.take(), builder.workspaces()};
}

// Exports kernel_0, kernel_1, ...
std::string entry_of(const kernel::KernelCall& call, const std::string& name, size_t number) {
  const std::string all = call.range.text();
  std::string text =
      str("extern \"C\" int kernel_", number, "(ThContext* ctx, void* const* buffers) {\n", "  void* const b[] = {",
          join(call.operands, ", ", [](int k) { return str("buffers[", k, "]"); }), "};\n  ");
  if (!call.grain.is(0))
    text += str("if (ctx->threads > 1 && ", all, " > ", call.grain.text(), ") ctx->parallel_for(ctx, ", name,
                ", b, 0, ", all, ", ", call.grain.text(), ", ", call.multiple, "); else ");
  return text + str(name, "(ctx, b, 0, 0, ", all, ");\n  return 0;\n}\n");
}

// The same of a library function, which is at `position` of the context's table.
std::string entry_of(const kernel::LibraryCall& call, size_t position, size_t number) {
  const std::string arguments = join(call.arguments, ", ", [](const auto& argument) {
    if (const Dim* length = std::get_if<Dim>(&argument)) return length->text();
    return str("Pointer{buffers[", std::get<kernel::PointerTo>(argument).operand, "]}");
  });
  const kernel::LibraryFunction& f = call.function;
  return str("extern \"C\" int kernel_", number, "(ThContext* ctx, void* const* buffers) {\n  typedef ",
             f.may_fail ? "int" : "void", " (*Function)(ThContext*, ", f.parameters, ");\n  ",
             f.may_fail ? "return " : "", "((Function)ctx->library[", position, "])(ctx, ", arguments, ");\n",
             f.may_fail ? "" : "  return 0;\n", "}\n");
}

constexpr const char* kPointer = R"(
struct Pointer {
  void* data;
  template <class T>
  operator T*() const {
    return (T*)data;
  }
};
)";

}  // namespace

ConvCandidates::ConvCandidates(std::vector<One> all, const kernel::Target& target) {
  const kernel::Dialect& dialect = kernel::dialect_of(target);
  kernel::Helpers helpers;
  std::string kernels;
  size_t number = 0;
  std::vector<size_t> counts;
  std::vector<std::string> functions;
  for (const One& one : all) {
    const Lowered step = lowered(one, target);
    counts.push_back(step.code.size());
    std::vector<int64_t> bytes;
    for (const kernel::Workspace& w : step.workspaces)
      bytes.push_back(w.elements.value() * static_cast<int64_t>(size_of(w.dtype)));
    steps_.push_back({{}, bytes});
    for (const kernel::StepCode& code : step.code) {
      if (const auto* library = std::get_if<kernel::LibraryCall>(&code)) {
        const auto at = std::find(functions.begin(), functions.end(), library->function.name);
        kernels += entry_of(*library, static_cast<size_t>(at - functions.begin()), number++);
        if (at == functions.end()) functions.push_back(library->function.name);
        continue;
      }
      const auto& call = std::get<kernel::KernelCall>(code);
      const std::string name = str("conv_", number);
      kernels += kernel::print_function(*call.function, dialect, helpers).named(name);
      kernels += entry_of(call, name, number++);
    }
  }
  const LoadedObject loaded = cache().load_object(
      str("// Candidates of convolutions.\n", embedded::entry_abi_h, kPointer, helpers.text(), kernels), "kernel_0");
  TH_CHECK(loaded.object, "the candidates of convolutions do not compile: ", loaded.reason);
  object_ = loaded.object;
  library_ = library_table(functions);
  number = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    for (size_t k = 0; k < counts[i]; ++k)
      steps_[i].kernels.push_back(reinterpret_cast<Kernel>(object_->symbol(str("kernel_", number++).c_str())));
}

void ConvCandidates::run(size_t i, ThContext& context, const void* a, const void* b, void* out) const {
  std::vector<void*> buffers = {const_cast<void*>(a), const_cast<void*>(b), out};
  std::vector<std::unique_ptr<char[]>> owned;
  for (int64_t bytes : steps_[i].workspace_bytes) {
    constexpr size_t kLine = 64;
    const size_t size = static_cast<size_t>(bytes);
    // What a step reads of its workspace it has written: all ones are NaNs.
    owned.push_back(std::make_unique<char[]>(size + kLine));
    std::fill_n(owned.back().get(), size + kLine, static_cast<char>(0xff));
    const size_t past = reinterpret_cast<uintptr_t>(owned.back().get()) % kLine;
    buffers.push_back(owned.back().get() + (past == 0 ? 0 : kLine - past));
  }
  context.library = library_.data();
  for (Kernel kernel : steps_[i].kernels) {
    const int status = kernel(&context, buffers.data());
    TH_CHECK(status == 0, "status ", status, " of a library function");
  }
}

}  // namespace thtrain

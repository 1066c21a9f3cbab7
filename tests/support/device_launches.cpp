#include "tests/support/device_launches.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <regex>

#include "compiler/base/error.h"
#include "compiler/codegen/emit.h"
#include "compiler/codegen/source_text.h"
#include "compiler/ir/lengths.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"

namespace thtrain {
namespace {

// In the order of the entry's text.
std::vector<std::string> launched_kernels(const std::string& entry) {
  static const std::regex kLaunch("launch(_checked)?\\(ctx, \\d+[, /*]*(k\\d+_\\w+)");
  std::vector<std::string> out;
  for (std::sregex_iterator it(entry.begin(), entry.end(), kLaunch), end; it != end; ++it) out.push_back((*it)[2]);
  return out;
}

template <class T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string number_of(DType dtype, double value) {
  const Tensor one = Tensor::of(std::vector{value}, {}).cast(dtype);
  return std::string(static_cast<const char*>(one.raw()), one.bytes());
}

}  // namespace

DeviceLaunches::DeviceLaunches(const Graph& graph, bool optimized) : graph_(graph) {
  const kernel::Target target = kernel::emulated_cuda_target();
  const CanonicalGraph canonical = canonical_lengths(graph);
  canonical_ = canonical.graph;
  PipelineOptions options{.target = target};
  for (const PipelineEntry& entry : pipeline())
    if (!optimized) options.without.insert(entry.pass.name);
  program_ = plan(optimize(canonical_, options), canonical.value_checks, {.target = target});
  if (!is_whole()) return;
  const SourceText source = emit_cpp(program_).text;
  text_ = device_text(source);
  for (const KernelText& kernel : source.kernels) kernels_.push_back(kernel.name);
  launched_ = launched_kernels(source.entry);
}

bool DeviceLaunches::is_whole() const {
  return program_.shared.empty() &&
         std::ranges::none_of(program_.buffers, [](const Buffer& buffer) { return buffer.allocated; }) &&
         std::ranges::all_of(program_.body.items, [](const auto& item) {
           const Step* step = std::get_if<Step>(&item);
           return step && step->defines.empty() &&
                  (std::holds_alternative<kernel::KernelCall>(step->code) ||
                   std::holds_alternative<kernel::Transfer>(step->code));
         });
}

std::vector<Tensor> DeviceLaunches::run(const cuda::Device& device, const cuda::Module& module,
                                        const std::vector<Tensor>& inputs, const std::string& changed,
                                        const std::string& suffix) const {
  Lengths user, lengths;
  for (size_t i = 0; i < inputs.size(); ++i) {
    user.bind(graph_.inputs[i], inputs[i]);
    lengths.bind(canonical_.inputs[i], inputs[i]);
  }
  std::vector<Tensor> outputs;  // outlive the stream, which copies to them
  for (const Expr& out : graph_.outputs) outputs.push_back(Tensor::empty(out.dtype(), user.evaluate(out.dims())));
  cuda::Stream stream(device);
  std::vector<std::unique_ptr<cuda::DeviceBuffer>> memory;
  const auto shift_of = [&](size_t buffer) { return shifts_[buffer % 2] * size_of(program_.buffers[buffer].dtype); };
  const auto begin_of = [&](size_t buffer) { return memory[buffer]->address() + shift_of(buffer); };
  for (const Buffer& buffer : program_.buffers) {
    const auto bytes = static_cast<size_t>(lengths.evaluate(buffer.elements)) * size_of(buffer.dtype);
    memory.push_back(std::make_unique<cuda::DeviceBuffer>(device, bytes + shift_of(memory.size())));
    const Tensor* from = buffer.kind == BufferKind::kInput      ? &inputs[buffer.index]
                         : buffer.kind == BufferKind::kConstant ? &program_.constants[buffer.index]
                                                                : nullptr;
    if (from && bytes > 0) stream.copy_in(begin_of(memory.size() - 1), from->raw(), bytes);
  }
  const cuda::DeviceBuffer failure(device, 3 * sizeof(long));
  stream.fill(failure.address(), 0, failure.bytes());

  auto name = launched_.begin();
  for (const auto& item : program_.body.items) {
    const Step& step = std::get<Step>(item);
    if (std::holds_alternative<kernel::Transfer>(step.code)) {
      const BufferView &from = step.operands[0], &to = step.operands[1];
      const auto address_of = [&](const BufferView& view) {
        return begin_of(static_cast<size_t>(view.buffer)) +
               static_cast<size_t>(lengths.evaluate(view.layout.offset)) * size_of(view.type.dtype);
      };
      const auto bytes = static_cast<size_t>(lengths.evaluate(to.type.elements())) * size_of(to.type.dtype);
      if (bytes > 0) stream.copy(address_of(to), address_of(from), bytes);
      continue;
    }
    const auto& call = std::get<kernel::KernelCall>(step.code);
    std::vector<std::string> values;
    for (const int operand : call.operands) {
      const BufferView& view = step.operands[static_cast<size_t>(operand)];
      if (view.buffer < 0) {
        values.push_back(bytes_of(cuda::DeviceAddress{0}));
        continue;
      }
      const Buffer& of = program_.buffers[static_cast<size_t>(view.buffer)];
      values.push_back(bytes_of(begin_of(static_cast<size_t>(view.buffer)) +
                                static_cast<size_t>(lengths.evaluate(view.layout.offset)) * size_of(of.dtype)));
    }
    for (const auto& length : call.lengths) {
      const Dim* dim = std::get_if<Dim>(&length);
      values.push_back(bytes_of(dim ? long{lengths.evaluate(*dim)} : 0L));
    }
    for (size_t i = 0; i < call.numbers.size(); ++i)
      values.push_back(number_of(call.function->numbers[i].dtype, call.numbers[i]));
    const std::string kernel = *name++;
    const size_t declared = text_.find(kernel + "(");
    if (text_.substr(declared, text_.find(')', declared) - declared).ends_with("long* failure"))
      values.push_back(bytes_of(failure.address()));
    std::vector<void*> parameters;
    for (std::string& value : values) parameters.push_back(value.data());
    if (lengths.evaluate(call.blocks) == 0) continue;
    stream.launch_with(module.kernel((kernel == changed ? kernel + suffix : kernel).c_str()),
                       static_cast<unsigned>(lengths.evaluate(call.blocks)),
                       static_cast<unsigned>(call.function->threads), parameters.data());
  }

  for (size_t i = 0; i < program_.buffers.size(); ++i) {
    const Buffer& buffer = program_.buffers[i];
    if (buffer.kind != BufferKind::kOutput || outputs[buffer.index].bytes() == 0) continue;
    stream.copy_out(outputs[buffer.index].raw(), begin_of(i), outputs[buffer.index].bytes());
  }
  stream.wait();
  return outputs;
}

}  // namespace thtrain

#include "compiler/codegen/emit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "compiler/codegen/buffer_names.h"
#include "compiler/codegen/code_lines.h"
#include "compiler/codegen/device_uses.h"
#include "compiler/codegen/device_work.h"
#include "compiler/codegen/entry_forms.h"
#include "compiler/codegen/graph_parts.h"
#include "compiler/codegen/identifiers.h"
#include "compiler/codegen/kernel_texts.h"
#include "compiler/codegen/length_code.h"
#include "compiler/codegen/library_calls.h"
#include "compiler/codegen/output_steps.h"
#include "compiler/codegen/step_comment.h"
#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/length_condition.h"
#include "compiler/ir/lengths.h"
#include "compiler/kernel/c/terms.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/verify.h"

namespace thtrain {
namespace {

using kernel::KernelCall;
using kernel::LibraryCall;
using kernel::NumberAt;
using kernel::PointerTo;
using kernel::ReferenceCall;
using kernel::RuntimeCheck;
using kernel::Transfer;

constexpr int kLongProgram = 200;  // steps

// Of what an entry's pointer points to.
std::string element_type(DType dtype) {
  if (is_complex(dtype)) dtype = dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
  return kernel::c::name_of_element(dtype).c;
}

class Emitter {
 public:
  Emitter(const Program& program, const EmitOptions& options)
      : program_(program),
        options_(options),
        dialect_(kernel::dialect_of(program.target)),
        forms_(entry_forms(program.target.language())),
        kernels_(program.target, dialect_, source_.text),
        leaves_work_(!options.probes && thtrain::leaves_work(program)),
        has_checks_(DeviceWork::of(program.body).checks),
        writers_(first_writers(program)) {}

  Source run() {
    for (const Expr& output : program_.graph.outputs) defined_outside_.insert(defined_name(output));
    list_libraries();
    name_lengths();
    name_buffers();
    depth_ = 1;
    for (const LengthCheck& check : program_.checks) {
      const LengthCondition condition = condition_of(check);
      add_check(
          {check.what, str(condition.expected, ", got ", condition.got), check.origin.text(), check.origin.config()});
    }
    is_checked_.resize(program_.checks.size());
    check_lengths();
    region(program_.body);
    if (leaves_work_)
      line(str("return left(ctx, ", graphs_.end("the end of the call, for which nobody waits"), ") ? 0 : 1;"));
    else
      line(program_.target.is_device() ? str("return ", done("the end of the call"), " ? 0 : 1;") : "return 0;");

    source_.text.comment = program_comment(program_);
    source_.graphs = std::move(graphs_.parts);
    const std::string code = arguments_text_ + temporaries_text_ + body_;
    std::string lengths;
    for (const auto& [name, definition] : length_definitions_)
      if (mentions(code, name)) lengths += definition;
    source_.text.language = program_.target.language();
    source_.text.entry = str(forms_.head(steps_ > kLongProgram), "  if (ctx->version != TH_ABI_VERSION) return 3;\n",
                             program_.target.is_device() ? ranges_text(program_) : "", lengths, code, "}\n");
    return std::move(source_);
  }

 private:
  size_t indent() const { return static_cast<size_t>(depth_) * 2; }
  void line(const std::string& text) { body_ += lines_of(text, indent(), 4); }

  // The functions outside, each declared by its name; buffers take other names.
  void list_libraries() {
    for (const CalledFunction& called : called_functions(program_)) {
      const std::string& given = called.function->name;
      const std::string name = names_.unique(given), type = names_.unique(name + "_type");
      arguments_text_ += declaration_of(called, name, type, source_.text.libraries.size());
      source_.text.libraries.push_back(given);
      library_names_[given] = name;
    }
  }

  // ---- lengths and buffers -----------------------------------------------------------------------------------------

  void name_length(const Expr& leaf, size_t arg) {
    const Type& type = leaf.type();
    for (size_t i = 0; i < type.rank(); ++i) {
      const auto told = told_by(type.dims[i]);
      if (!told || lengths_.count(told->first)) continue;
      std::string name = names_.unique("n_" + told->first);
      const std::string less = told->second == 0 ? "" : str(" - (", told->second, ")");
      length_definitions_.emplace_back(name,
                                       str("  const long ", name, " = args[", arg, "].dims[", i, "]", less, ";\n"));
      lengths_[told->first] = name;
    }
    if (type.is_scalar() && (is_int(type.dtype) || is_bool(type.dtype))) {
      std::string name = names_.unique("value_" + leaf.name());
      const std::string at = str("(const ", element_type(type.dtype), "*)args[", arg, "].data");
      const int on_device = buffer_on_device(program_, leaf);
      length_definitions_.emplace_back(
          name, str("  const long ", name, " = ",
                    on_device >= 0 ? str("number_at(ctx, ", on_device, ", ", at, ")") : "*" + at, ";\n"));
      lengths_[value_name(leaf.node())] = name;
    }
  }

  void name_lengths() {
    for (size_t i = 0; i < program_.graph.inputs.size(); ++i)
      name_length(program_.graph.inputs[i], argument_number(program_, BufferKind::kInput, i));
    for (size_t i = 0; i < program_.shared.size(); ++i)
      name_length(program_.shared[i], argument_number(program_, BufferKind::kShared, i));
  }

  void name_buffers() {
    buffers_ = buffer_names(program_, writers_, options_.probes, names_);
    is_allocated_.resize(program_.buffers.size());
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (buffers_[b].empty()) continue;
      const Buffer& buffer = program_.buffers[b];
      const std::string &name = buffers_[b], pointer = element_type(buffer.dtype) + "*";
      if (buffer.allocated)
        temporaries_text_ += str("  ", pointer, " ", name, " = 0;\n");
      else if (buffer.kind == BufferKind::kTemporary)
        temporaries_text_ += str("  ", pointer, " const ", name, " = (", pointer, ")", arena_address(buffer), ";\n");
      else if (buffer.kind == BufferKind::kConstant && buffer.on_device)
        arguments_text_ +=
            str("  ", pointer, " const ", name, " = (", pointer, ")ctx->device->constants[", buffer.index, "];\n");
      else
        arguments_text_ += str("  ", pointer, " const ", name, " = (", pointer, ")args[",
                               argument_number(program_, buffer.kind, buffer.index), "].data;\n");
    }
  }

  std::string arena_address(const Buffer& buffer) const {
    const bool is_beside = program_.target.is_device() && !buffer.on_device;
    const std::string arena = is_beside ? "ctx->device->host_arena" : "ctx->arena";
    return buffer.arena_offset.is(0) ? arena : str("(", arena, " + ", code(buffer.arena_offset), ")");
  }

  std::string code(const Dim& dim) const { return length_code(dim, lengths_); }
  std::string checked(const Dim& dim) const { return forms_.checked(dim, lengths_); }

  std::string pointer(const BufferView& view) const {
    if (view.buffer < 0) return "0";
    const std::string& name = buffers_[static_cast<size_t>(view.buffer)];
    if (view.layout.offset.is(0)) return name;
    int64_t parts = is_complex(view.type.dtype) ? 2 : 1;
    return str(name, " + ", parts == 2 ? "2 * (" : "", code(view.layout.offset), parts == 2 ? ")" : "");
  }

  // The only element of a view.
  std::string scalar(const BufferView& view) const {
    const std::string at = pointer(view);
    return view.layout.offset.is(0) ? "*" + at : str("*(", at, ")");
  }

  // ---- lengths that steps define -----------------------------------------------------------------------------------

  bool is_known(const Dim& dim) const {
    if (dim.is_known()) return true;
    std::set<std::string> names;
    dim.collect_names(names);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return lengths_.count(name) > 0; });
  }

  // The checks whose lengths are all known by now. Check number i of the program has that number.
  void check_lengths() {
    for (size_t i = 0; i < program_.checks.size(); ++i) {
      const LengthCheck& check = program_.checks[i];
      const bool may_wait = is_data_dependent(check.left) || is_data_dependent(check.right);
      if (is_checked_[i] || (may_wait && !(is_known(check.left) && is_known(check.right)))) continue;
      is_checked_[i] = true;
      source_.checks[i].after_write = wrote_shared_;
      if (cannot_overflow(check.left) && cannot_overflow(check.right)) {
        line(str("if (differ(ctx, ", i, ", ", code(check.left), ", ", code(check.right), ")) return 1;"));
        continue;
      }
      const int too_large =
          add_check({"a length or a size is too large",
                     str(as_written(cannot_overflow(check.left) ? check.right : check.left), " < 2^63"),
                     check.origin.text(), check.origin.config()});
      line(str("if (", forms_.differ(i, too_large, checked(check.left), checked(check.right)), ") return 1;"));
    }
  }

  // From here on the lengths are variables, and what waited for them goes on. Those of a body have names of their own
  // (canonical_lengths()): nothing outside of its region is named after them.
  void define(const std::vector<LengthDefinition>& lengths) {
    for (const LengthDefinition& length : lengths) {
      if (lengths_.count(length.name)) continue;  // computed twice
      const std::string name = names_.unique("n_" + length.name);
      line(str("const long ", name, " = ", scalar(length.value), ";"));
      if (!defined_outside_.contains(length.name))
        line(str("ctx->lengths[", number_of_length(length.name), "] = ", name, ";"));
      lengths_[length.name] = name;
    }
    check_lengths();
    for (size_t b = 0; b < buffers_.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (!buffer.allocated || buffers_[b].empty() || is_allocated_[b] || !is_known(buffer.elements)) continue;
      is_allocated_[b] = true;
      const std::string bytes = names_.unique("bytes");
      const Dim wanted = buffer.elements * Dim(static_cast<int64_t>(size_of(buffer.dtype)));
      line(str("const ThNumber ", bytes, " = ", checked(wanted), ";"));
      const Origin* origin = writers_[b].step ? &writers_[b].step->origin : nullptr;
      const int check = add_check({.what = str("the memory for ", readable(buffer.name), " is too large"),
                                   .expected = str(readable(wanted.text()), " bytes, less than 2^63"),
                                   .node = origin ? origin->text() : "",
                                   .config = origin ? origin->config() : ConfigPosition()});
      line(str("if (!", bytes, ".fits) { ctx->fail(ctx, ", check, ", 0, 0); return 1; }"));
      line(str(buffers_[b], " = (", element_type(buffer.dtype), "*)",
               buffer.on_device && buffer.kind == BufferKind::kTemporary ? "ctx->device->allocate" : "ctx->allocate",
               "(ctx, ", allocation_slot(program_, buffer), ", ", bytes, ".value);"));
      line("if (ctx->failure.word) return 1;");
    }
  }

  // ---- steps -------------------------------------------------------------------------------------------------------

  int add_check(CheckText check) {
    check.after_write = wrote_shared_;
    source_.checks.push_back(std::move(check));
    return static_cast<int>(source_.checks.size()) - 1;
  }

  void region(const Region& r) {
    for (const RegionItem& item : r.items) {
      std::visit([&](const auto& one) { print(one); }, item);
      const std::string done = options_.early_outputs ? outputs_done_behind(program_, item) : "";
      if (!done.empty()) line(done);
    }
  }

  void nested(const Region& r) {
    ++depth_;
    region(r);
    --depth_;
  }

  void print(const Loop& loop) {
    // After its first iteration the loop has written what its body writes.
    for_each_step(*loop.body,
                  [&](const Step& step) { wrote_shared_ = wrote_shared_ || writes_shared(program_, step); });
    const DeviceWork inside = DeviceWork::of(*loop.body);
    late_ += inside;
    const std::string i = names_.unique(readable(loop.index));
    lengths_[loop.index] = i;
    iterations_.push_back(i);
    graphs_.enter(loop);
    body_ += opening_lines(str("for (long ", i, " = 0; ", i, " < ", code(loop.count), "; ++", i, ") {"), loop.comment,
                           indent());
    nested(*loop.body);
    if (loop.until) read_by_host("the condition that ends the loop", "  ");
    if (loop.until) line(str("  if (", scalar(*loop.until), ") break;"));
    line("}");
    iterations_.pop_back();
    graphs_.leave();
    late_ += inside;
  }

  void print(const Branch& branch) {
    read_by_host(str("the condition of ", branch.comment));
    graphs_.enter_branch();
    body_ += opening_lines(str("if (", scalar(branch.condition), ") {"), branch.comment, indent());
    nested(*branch.then);
    line("} else {");
    const DeviceWork after_then = std::exchange(late_, {});
    nested(*branch.otherwise);
    line("}");
    late_ += after_then;
  }

  // ---- what a device does late -------------------------------------------------------------------------------------

  // What was copied is there, and what was to be copied may change.
  void read_by_host(const std::string& what, const std::string& inside = "") {
    if (!late_.copies) return;
    line(str(inside, "if (!", done(what), ") return 1;"));
    late_ = {};
  }

  std::string done(const std::string& what) { return str("done(ctx, ", graphs_.end(what), ")"); }

  // Before a variable changes by a copy or a library, which cannot ask for themselves, and before a library reads where
  // indices say: have all checks held?
  void before_writing(const Step& s) {
    const bool asks_itself = std::holds_alternative<KernelCall>(s.code);
    const bool trusts = trusts_indices(s);
    if (!late_.checks || asks_itself || (!trusts && !writes_shared(program_, s))) return;
    const char* const what = trusts ? "indices that a library reads" : "the copy of a variable";
    line(str("if (!checks_held(ctx, ", graphs_.end(what), ")) return 1;"));
    late_.checks = false;
  }

  void print_call(const Step& s, const Transfer&) {
    const BufferView &from = s.operands[0], &to = s.operands[1];
    const bool is_in = program_.buffers[static_cast<size_t>(to.buffer)].on_device;
    const Dim bytes = from.type.elements() * Dim(static_cast<int64_t>(size_of(from.type.dtype)));
    line(str(is_in ? "copy_in" : "copy_out", "(ctx, {", from.buffer, ", ~", to.buffer, "}, ", pointer(to), ", ",
             pointer(from), ", ", code(bytes), ");"));
  }

  void print(const Step& s) {
    body_ += lines_of(str("// ", steps_, ": ", step_comment(program_, s, buffers_)), indent(), 0, "//    ");
    if (options_.probes) {
      probe(s, 0);
      line("if (ctx->failure.word) return 1;");
    }
    before_writing(s);
    if (std::holds_alternative<ReferenceCall>(s.code)) read_by_host(s.node->op->name + " on the host");
    wrote_shared_ = wrote_shared_ || writes_shared(program_, s);
    std::visit([&](const auto& call) { print_call(s, call); }, s.code);
    late_ += DeviceWork::of(s);
    graphs_.add(s);
    if (std::holds_alternative<Transfer>(s.code) && !s.defines.empty()) read_by_host("a length");
    if (options_.probes) probe(s, 1);
    if (options_.probes || may_fail(s)) line("if (ctx->failure.word) return 1;");
    if (!s.defines.empty()) define(s.defines);
    ++steps_;
  }

  void probe(const Step& s, int after) { line(forms_.probe(steps_, after, operand_list(s), join(iterations_, ", "))); }

  std::string operand_list(const Step& s) const {
    return join(s.operands, ", ", [&](auto& v) { return pointer(v); });
  }

  void print_call(const Step& s, const KernelCall& call) {
    std::string buffers = join(call.operands, ", ", [&](int k) { return pointer(s.operands[static_cast<size_t>(k)]); });
    std::string lengths = join(call.lengths, ", ", [&](const auto& length) {
      const char* const type = call.function->is_of_device() ? "(long)" : "";
      if (const Dim* dim = std::get_if<Dim>(&length)) return type + code(*dim);
      return str(type, add_check(text_of_check(std::get<RuntimeCheck>(length))));
    });
    std::vector<std::string> numbers;
    for (double number : call.numbers)
      numbers.push_back(dialect_.constant(kernel::constant(DType::kFloat64, number).node()));
    // Where nobody waits, a check of the call before may have failed, too.
    const bool reads_failure = late_.checks || (leaves_work_ && has_checks_ && writes_shared(program_, s));
    const size_t number = kernels_.number_of(*call.function, reads_failure);
    EntryForms::KernelRun run{source_.text.kernels[number].name, std::move(buffers), std::move(lengths),
                              std::move(numbers)};
    if (call.function->is_of_device()) {
      for (size_t i = 0; i < run.numbers.size(); ++i)
        run.numbers[i] = str("(", element_type(call.function->numbers[i].dtype), ")", run.numbers[i]);
      run.number = std::to_string(number);
      run.uses = uses_of(s, call);
      run.blocks = code(call.blocks);
      run.threads = std::to_string(call.function->threads);
      run.may_fail = DeviceWork::may_fail(s);
      run.reads_failure = reads_failure;
      source_.threads.resize(source_.text.kernels.size());
      source_.threads[number] = call.function->threads;
      return line(forms_.run(run));
    }
    run.range = code(call.range);
    const bool never_split = call.range.is_known() && call.grain.is_known() && call.range.value() <= call.grain.value();
    if (!call.grain.is(0) && !never_split) {
      run.grain = code(call.grain);
      run.multiple = str(call.multiple);
    }
    line(forms_.run(run));
  }

  std::string address_of(const NumberAt& number) {
    const std::string value = dialect_.constant(kernel::constant(number.dtype, number.value).node());
    std::string& name = numbers_[value];
    if (name.empty()) {
      name = names_.unique(number.value == 0 ? "zero" : number.value == 1 ? "one" : "number");
      arguments_text_ += str("  static const ", element_type(number.dtype), " ", name, " = ", value, ";\n");
    }
    return "&" + name;
  }

  void print_call(const Step& s, const LibraryCall& call) {
    std::string arguments = ends_graph(s) ? str(graphs_.end(call.function.name), ", ") : "";
    arguments += join(call.arguments, ", ", [&](const kernel::LibraryArgument& argument) {
      if (const Dim* dim = std::get_if<Dim>(&argument)) return code(*dim);
      if (const NumberAt* number = std::get_if<NumberAt>(&argument)) return address_of(*number);
      if (auto* check = std::get_if<RuntimeCheck>(&argument)) return str(add_check(text_of_check(*check)));
      return pointer(s.operands[static_cast<size_t>(std::get<PointerTo>(argument).operand)]);
    });
    const std::string& name = library_names_.at(call.function.name);
    if (call.function.joins_graph)
      return line(str("ask_library(ctx, ", name, ", {", uses_of(s, call), "}, ", arguments, ");"));
    const std::string call_text = str(name, "(ctx, ", arguments, ")");
    if (!call.function.may_fail) return line(call_text + ";");
    const int check = add_check(failure_of(call, s.origin));
    line(str("if (const int status = ", call_text, ") { ctx->fail(ctx, ", check, ", status, 0); return 1; }"));
  }

  void print_call(const Step& s, const ReferenceCall&) { line(forms_.run_reference(steps_, operand_list(s))); }

  const Program& program_;
  EmitOptions options_;
  const kernel::Dialect& dialect_;
  const EntryForms& forms_;
  KernelTexts kernels_;
  Identifiers names_;
  LengthVariables lengths_;                                              // by name
  std::map<std::string, std::string> library_names_;                     // name -> variable
  std::map<std::string, std::string> numbers_;                           // text -> variable
  std::vector<std::string> buffers_;                                     // variables
  std::vector<std::pair<std::string, std::string>> length_definitions_;  // variable, line
  std::string arguments_text_, temporaries_text_, body_;
  int depth_ = 0, steps_ = 0;
  std::set<std::string> defined_outside_;  // lengths of the program's graph, which are among its outputs
  std::vector<std::string> iterations_;    // of the loops around
  bool wrote_shared_ = false;
  GraphParts graphs_;
  DeviceWork late_;  // that the host has not waited for
  const bool leaves_work_, has_checks_;
  std::vector<bool> is_checked_, is_allocated_;  // checks of lengths; buffers
  const std::vector<Writer> writers_;
  Source source_;
};

}  // namespace

Source emit_cpp(const Program& program, const EmitOptions& options) {
  return Emitter(program, options).run();
}

}  // namespace thtrain

// What an op's lowering writes with: the statements of a kernel, or a call into a library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/layout.h"
#include "compiler/ir/node.h"
#include "compiler/kernel/choice.h"
#include "compiler/kernel/statement.h"
#include "compiler/kernel/target.h"

namespace thtrain::kernel {

/// An input or output of the step: inputs count from 0, outputs follow.
struct Operand {
  int index;
  Type type;
  Layout layout;  // strides in elements; the pointer that a kernel gets includes the offset already
};

/// What names values: the code of a kernel, or the body of a nest.
class Names {
 public:
  virtual ~Names() = default;
  /// A variable that holds the value from here on; constants and variables stand for themselves.
  virtual Term let(std::string name, Term value) = 0;
};

/// Statements in order. Names are unique within one function.
class Code : public Names {
 public:
  /// Of a device's function or of a processor's: what it has already takes no other names.
  explicit Code(bool is_of_device = false)
      : current_(&body_), reserved_(is_of_device ? kOfDevice : kOfProcessor), used_(reserved_) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  Term let(std::string name, Term value) override;
  Term var(std::string name, Term start);  // may be assigned
  /// Number `number` of the sums of a tile: a vector that has a register of its own, where the language lets a program
  /// say which, from `start` on; assign(sum, fma(a, b, sum)) adds to it there. g++ moves sums of a tile among registers
  /// else, and some of them to memory in the innermost loop. No function may be called before all of them are taken.
  Term sum(std::string name, Term start, int64_t number);
  /// The value of a sum, from here on a variable as any other.
  Term taken(const Term& sum) { return let("taken", in_register(sum)); }
  void assign(const Term& var, Term value);
  void comment(std::string text);
  void loop(std::string name, Term begin, Term end, Term step, LoopMark mark, const std::function<void(Term)>& body);
  void loop(std::string name, Term end, const std::function<void(Term)>& body) {
    loop(std::move(name), 0, std::move(end), 1, LoopMark::kSequential, body);
  }
  void if_(Term condition, const std::function<void()>& then, const std::function<void()>& otherwise = nullptr);
  void while_(Term condition, const std::function<void()>& body);
  /// Aligned to 64 bytes, on the stack of the thread; gives its buffer's name as a variable.
  Term local_array(std::string name, TermType type, int64_t count);
  void store(const std::string& buffer, Term index, Term stride, Term value, Term count = {});
  /// The stores of `body` are non-temporal, and a fence follows them.
  void non_temporal(const std::function<void()>& body);
  /// Prefetches the cache line of buffer[index], which need not exist.
  void prefetch(const std::string& buffer, Term index, Prefetch kind);
  void fail(Term check, Term value, Term limit);  // and return
  void barrier(Scope scope = Scope::kBlock);
  /// An array of the block; gives its buffer's name. Before loops and branches.
  std::string shared_array(std::string name, DType dtype, int64_t count);
  Term shuffle(std::string name, Term value, LaneChoice choice, int lane);
  void atomic(const std::string& buffer, Term index, Term value, AtomicKind kind);
  Block take();  // and begin anew

 private:
  std::string unique(std::string name);
  Block block(const std::function<void()>& statements);
  Block body_;
  Block* current_;
  bool non_temporal_ = false;
  using Uses = std::vector<std::pair<std::string, int>>;
  static const Uses kOfProcessor, kOfDevice;
  const Uses& reserved_;
  Uses used_;
};

/// `results` with every inner term that has several readers bound to a name, so that it is printed and computed once.
std::vector<Term> bind_shared(Names& names, const std::vector<Term>& results);

/// The columns of a square whose rows are given, as many vectors as each has lanes (a power of two). n log2(n)
/// shuffles.
std::vector<Term> transposed(Code& code, std::vector<Term> rows);

/// `lanes` elements from `index` on, `stride` apart; with stride 0 one element in all lanes, loaded each time anew. Of
/// the lanes `count` exist; the others are 1. On a device they lie side by side, all exist, and their address is a
/// multiple of their size, of 16 bytes at most: is_aligned() asks.
Term load(const std::string& buffer, DType dtype, int lanes, Term index, Term stride, Term count = {});
/// The elements at a vector of indices (int64), of which `count` lanes exist; the others are 1.
Term gather(const std::string& buffer, DType dtype, Term indices, Term count = {});

/// On a device: is the address of buffer[index] a multiple of so many bytes, a power of two?
Term is_aligned(const std::string& buffer, Term index, size_t bytes);

/// A check inside a kernel: what the message says when it fails.
struct RuntimeCheck {
  std::string what;      // "take: index out of range"
  std::string expected;  // with {limit} and {value} to be filled in
  Origin origin;
};

struct KernelCall {
  std::shared_ptr<const Function> function = {};
  std::vector<int> operands = {};                             // of function.buffers
  std::vector<std::variant<Dim, RuntimeCheck>> lengths = {};  // of function.lengths; a check passes its number
  Dim range = 1;                                              // [0, range)
  Dim grain = 0;  // least part of the range for one thread; 0: one thread takes all
  int64_t multiple = 1;
  Dim blocks = 0;                    // of a device's function, in place of these three: the grid
  std::vector<double> numbers = {};  // of function.numbers
  std::string schedule = {};         // what its schedule chose, for people; empty: its loops were written by hand
};

/// A function outside of the program, which the program lists by its name: name(ThContext*, parameters).
struct LibraryFunction {
  std::string name;  // "gemm_f32", an identifier of C: the runtime finds it by this (libraries/library_functions.h)
  std::string parameters;  // those after the ThContext*, as C declares them
  bool may_fail = false;   // its result is an int, and not 0 fails the call; else it has none
  /// Of a library on a device: its addresses are the device's, and it only asks for work there. Before the parameters
  /// it takes the number of the place in the entry, an int.
  bool is_of_device = false;
  /// Of a library whose work may be captured, as its documentation says, or, of cuDNN, as other frameworks do it: it is
  /// a node of the graph around it. In place of the place it takes what it uses, as ThDevice::launch does: const int*
  /// uses, int use_count.
  bool joins_graph = false;
};

/// An argument of a call: a length, the address of an operand or of a number that is known, or a check, by its number,
/// which the function reports by ThContext::fail. What may change from call to call, such as a learning rate, is passed
/// by its address.
struct PointerTo {
  int operand;
};
struct NumberAt {
  double value;
  DType dtype;
};
using LibraryArgument = std::variant<Dim, PointerTo, NumberAt, RuntimeCheck>;
struct LibraryCall {
  LibraryFunction function;
  std::vector<LibraryArgument> arguments;
  /// What the message says where the function fails; {value} is its result.
  std::optional<RuntimeCheck> failure = {};
};

/// What a workspace holds where several steps may make the same of one value: its transforms, for example.
struct Derivation {
  size_t input;        // of the step
  std::string recipe;  // says all of what becomes of a value of that type
};

/// Memory that the code of a step writes and reads, in the arena. Nobody reads it later, but for steps that need the
/// same derivation of the same value.
struct Workspace {
  DType dtype = DType::kUInt8;
  Dim elements = 0;
  std::optional<Derivation> holds = {};
};

struct ReferenceCall {};

/// A copy of operand 0 to operand 1, of which one lies on the host and one on a device.
struct Transfer {};

using StepCode = std::variant<KernelCall, LibraryCall, ReferenceCall, Transfer>;

/// What a lowering may know of the program around its step.
struct StepContext {
  std::vector<int> overwrites = {};  // for each output the input whose buffer it shares; -1, or none: it is its own
  std::vector<bool> at_destination = {};  // for each input: was it computed where the op would copy it?
  bool writes_variable = false;           // an output lies in the buffer of a shared variable
  int64_t non_temporal_threshold = 0;     // see StepBuilder::non_temporal_threshold()
  const Chooser* chooser = nullptr;       // among implementations; null: the rules without measurements
  /// Has an earlier step made it? Null: none has.
  std::function<bool(const Derivation&)> is_derived = nullptr;
};

class StepBuilder {
 public:
  StepBuilder(const Node& node, std::vector<Operand> inputs, std::vector<Operand> outputs, Target target,
              const StepContext& context = {});

  const Node& node() const { return node_; }
  const Operand& input(size_t i) const { return inputs_[i]; }
  const Operand& output(size_t i = 0) const { return outputs_[i]; }
  const Target& target() const { return target_; }
  const Chooser* chooser() const { return context_.chooser; }
  /// Does the output share the buffer of this input? (Only of one that the op may overwrite.)
  bool overwrites(size_t input, size_t output = 0) const {
    return output < context_.overwrites.size() && context_.overwrites[output] == static_cast<int>(input);
  }
  /// Was the input computed where the op would copy it (Op::destinations)?
  bool is_at_destination(size_t input) const {
    return input < context_.at_destination.size() && context_.at_destination[input];
  }
  /// Does an output lie in a shared variable? Then what can fail goes before the first write.
  bool writes_variable() const { return context_.writes_variable; }
  /// Loops that touch more bytes may use non-temporal stores: nothing reads the outputs in this program. 0: none may.
  int64_t non_temporal_threshold() const { return context_.non_temporal_threshold; }
  /// Lanes of a vector whose widest element has that dtype.
  int lanes_of(DType widest) const { return target_.lanes_of(widest); }

  /// The kernel's statements so far.
  Code& code() { return code_; }
  /// A length inside the kernel: a constant where known, else one of its parameters.
  Term length(const Dim& dim);
  /// Element index of `index` (one Term for each axis, a constant 0 for broadcast ones) in an operand's buffer.
  Term index_of(const Operand& operand, const std::vector<Term>& index);
  Term load(const Operand& operand, Term index, int lanes = 1, Term stride = 1, Term count = {});
  Term gather(const Operand& operand, Term indices, Term count = {});
  Term is_aligned(const Operand& operand, Term index, size_t bytes);
  void store(const Operand& operand, Term index, Term value, Term stride = 1, Term count = {});
  void prefetch(const Operand& operand, Term index, Prefetch kind);
  void atomic(const Operand& operand, Term index, Term value, AtomicKind kind);
  /// Fails the call unless `condition`; the text may show {value} and {limit}.
  void require(Term condition, RuntimeCheck check, Term value, Term limit);
  /// The variables begin and end of the kernel's range.
  Term begin() const { return variable("begin", {DType::kInt64, 1, 0}); }
  Term end() const { return variable("end", {DType::kInt64, 1, 0}); }
  /// On a device: the number of the thread's block, and the thread's own in it.
  Term block() const { return variable("block", {DType::kInt64, 1, 0}); }
  Term thread() const { return variable("thread", {DType::kInt64, 1, 0}); }
  /// Ends the kernel: it runs over [0, range), in parts of at least `grain` (0: never split), each a multiple of
  /// `multiple`.
  /// On a device each thread takes a part of `multiple`; where the range is never split, one thread takes it.
  void finish_kernel(std::string name, std::string comment, Dim range, Dim grain = 0, int64_t multiple = 1,
                     std::string schedule = {});
  /// Ends a kernel that was written for the threads of a device: `blocks` of so many threads.
  void finish_device_kernel(std::string name, std::string comment, Dim blocks, int threads, std::string schedule);
  /// On a target without libraries the op's reference is called instead of a processor's function.
  void call_library(LibraryCall call);
  void call_reference();

  /// Memory for the code of this step, row-major and aligned to 64 bytes; its contents are undefined at first. The
  /// operand follows the outputs. Of known elements, or of lengths that the program knows.
  Operand workspace(DType dtype, Dim elements);
  /// The same for what the step derives from an input. Where `is_there`, an earlier step has made it of the same value,
  /// and the code only reads it; else the code writes all of it, and later steps may read it.
  struct Derived {
    Operand operand;
    bool is_there;
  };
  Derived derived(Derivation derivation, DType dtype, Dim elements);

  std::vector<StepCode> take() { return std::move(steps_); }
  /// What workspace() was asked for, in order.
  const std::vector<Workspace>& workspaces() const { return workspaces_; }

 private:
  std::string buffer(const Operand& operand, bool written);
  void add_kernel(std::string name, std::string comment, KernelCall call);

  const Node& node_;
  std::vector<Operand> inputs_, outputs_;
  Target target_;
  StepContext context_;
  Code code_;
  Function function_;
  std::vector<int> used_operands_;
  std::vector<std::variant<Dim, RuntimeCheck>> lengths_;
  std::vector<StepCode> steps_;
  std::vector<Workspace> workspaces_;
};

}  // namespace thtrain::kernel

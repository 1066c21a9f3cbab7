// A program: a tree of steps over buffers. What codegen prints and the runtime binds. docs/decisions/0003.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/kernel/target.h"

namespace thtrain {

enum class BufferKind : uint8_t { kInput, kShared, kConstant, kOutput, kTemporary };

struct Buffer {
  BufferKind kind;
  DType dtype;
  Dim elements;
  size_t index = 0;        // among those of its kind
  Dim arena_offset = 0;    // of a temporary, bytes
  std::string name;        // for the program's text
  bool allocated = false;  // by the context, once its lengths are known: those of outputs and temporaries that the data
                           // decides and that have no bound
  size_t region = 0;  // number of the region that a temporary belongs to: it lives within one iteration of that region
  bool on_device = false;   // in memory of a device, else in the host's (place_transfers.h)
  int64_t arena_bytes = 0;  // that it has in the arena, where they are known
};

/// A value: elements of a buffer under a layout.
struct BufferView {
  int buffer = -1;  // -1: a token, which has no elements
  Type type;
  Layout layout;
};

/// The value of a length that a step computes.
struct LengthDefinition {
  std::string name;
  std::optional<Dim> bound;
  BufferView value;  // an int64 scalar
};
/// The same elements of the same buffer, in the same order.
bool is_one_location(const BufferView& a, const BufferView& b);

struct Step {
  const Node* node;  // what it computes; null for copies
  std::string comment;
  std::vector<BufferView> operands;  // inputs of the node, then outputs, then workspaces
  size_t inputs, outputs;            // how many of them are which
  kernel::StepCode code;             // operand numbers refer to `operands`
  Origin origin;
  std::vector<LengthDefinition> defines = {};
  std::string candidate = {};       // that computes it, where its lowering asked the chooser
  std::string candidate_file = {};  // the shared object that this is of; empty: of none
  std::vector<Step> parts = {};     // of one launch that does what several steps would (joined_kernel.h)
};

/// What a step calls, for people: the function's name, "gemm_f32", or "candidate mine of mine.so", the user's.
std::string text_of(const Step& step, const kernel::LibraryCall& call);

struct Region;

/// Runs `body` for index = 0, 1, ... while index < count, and ends after the first iteration that leaves `until` true.
struct Loop {
  std::string comment;
  Dim count;
  std::string index;                // a named length: the number of the iteration, which offsets in the body may use
  std::optional<BufferView> until;  // a bool scalar that every iteration computes
  std::shared_ptr<Region> body;
};

/// Runs one of two regions.
struct Branch {
  std::string comment;
  BufferView condition;  // a bool scalar
  std::shared_ptr<Region> then, otherwise;
};

using RegionItem = std::variant<Step, Loop, Branch>;

struct Region {
  size_t number = 0;  // in the order of planning: less than the numbers of the regions inside
  std::vector<RegionItem> items;
};

/// The index behind the last of the steps from `begin` on that define a length which these name; `begin` where none
/// does. A variable is overwritten later still: its views come first (schedule()).
size_t after_definitions(const Region& region, size_t begin, const Dims& lengths);
/// The index behind the last item from `begin` on that writes the buffer; `begin` where none does.
size_t after_last_write(const Region& region, size_t begin, int buffer);

struct MemoryPlan {
  Dim arena_bytes = 0;
  Dim lower_bound = 0;  // bytes live at the peak, where lengths are known; else the arena's
  Dim host_bytes = 0;   // of a device's program: of the temporaries on the host, an arena of their own
};

struct Program {
  Graph graph;            // after all passes: keeps the nodes alive that steps point to
  kernel::Target target;  // of every step: what its kernels are made for
  std::vector<Buffer> buffers;
  std::vector<Expr> shared;  // leaves, in argument order
  std::vector<bool> shared_written;
  std::vector<Tensor> constants;
  std::vector<LengthCheck> checks;  // of the lengths, as soon as they are known
  Region body;
  MemoryPlan memory;
};

/// The number under which a buffer is asked for: outputs first, then temporaries.
size_t allocation_slot(const Program& program, const Buffer& buffer);
/// Does the step write a shared variable? A kernel that only checks writes none of its step's outputs.
bool writes_shared(const Program& program, const Step& step);
/// Does it ask a library of the device for work?
bool is_device_library(const Step& step);
/// Such a library whose calls are not captured into the graph around them (kernel::LibraryFunction::joins_graph).
bool ends_graph(const Step& step);
/// Does a library of the device read integers? They are indices, right or wrong: no check may have failed before.
bool trusts_indices(const Step& step);
/// Of a device's program, for each input: does the host read it, a reference, a condition or a length?
std::vector<bool> inputs_read_by_host(const Program& program);
/// Does the entry ask behind the step whether it has failed?
bool may_fail(const Step& step);
/// Steps in the order of the program's text: a loop's body once, both sides of a branch.
void for_each_step(const Region& region, const std::function<void(const Step&)>& visit);
void for_each_step(const RegionItem& item, const std::function<void(const Step&)>& visit);
struct StepInLoops {
  const Step* step;
  std::vector<const Loop*> loops;  // around it, the outermost first
};
/// The same steps, with the loops around each.
std::vector<StepInLoops> steps_in_loops(const Region& region);
/// What loops and branches read, in the same order.
void for_each_condition(const Region& region, const std::function<void(const BufferView&)>& visit);

struct PlanOptions {
  kernel::Target target = {};
  int threads = 1;                           // that will run it
  bool in_place = true;                      // temporaries and shared variables may be overwritten
  const kernel::Chooser* chooser = nullptr;  // among implementations; null: the plain ones
  bool merge_launches = false;               // of a device (merge_launches.h)
  bool early_outputs = false;                // what is copied to an output goes there as soon as it is computed
  std::set<size_t> mutable_inputs = {};      // numbers of those that temporaries may be written over
  std::set<size_t> internal_outputs = {};    // numbers of those that stay in the device's memory
};

/// Orders the nodes of an optimized graph, gives every value a buffer, lowers every node, and packs the arena.
/// `checks` are the length checks of the user's graph.
Program plan(const Graph& graph, std::vector<LengthCheck> checks, const PlanOptions& options);

/// The program as `explain --stage=program` prints it: buffers, arena, steps.
std::string program_text(const Program& program);

}  // namespace thtrain

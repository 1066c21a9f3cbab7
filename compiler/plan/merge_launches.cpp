#include "compiler/plan/merge_launches.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compiler/plan/joined_kernel.h"

namespace thtrain {
namespace {

using kernel::Function;
using kernel::KernelCall;

// Bytes of parameters that a launch may have since CUDA 12.1; each takes at most 8.
constexpr size_t kMostParameters = 32764 / 8 - 8;
// Kernels in a launch, but for updates by elements: more save little, and a compiler takes long for their function.
constexpr size_t kMostKernels = 16;
// Of shared memory, where the word of failure is read for a block.
constexpr int64_t kWordBytes = 16;
// Blocks that fill a device: kernels whose threads wait for each other need more of its registers than those that they
// would share a launch with.
constexpr int64_t kFewBlocks = 512;

// Of the arrays that the threads of a launch have for themselves: every thread gets the memory for all of them.
constexpr int64_t kMostLocalBytes = 4 << 10;

struct Use {
  int buffer;
  bool is_written;
};

// What the body of a kernel holds.
struct Contents {
  bool fails = false, waits_in_warp = false, waits_in_block = false;
  int64_t local_bytes = 0;  // of a thread's arrays

  void note(const std::string&) {}
  void define(const std::string&, const kernel::TermType&) {}
  void name(const std::string&) {}
  void term(const kernel::Term&) {}
  void index(const kernel::Term&) {}
  void option(auto) {}
  void block(const kernel::Block& statements) {
    for (const kernel::Statement& s : statements) {
      visit_fields(s, *this);
      const auto* barrier = std::get_if<kernel::Barrier>(&s);
      const auto* array = std::get_if<kernel::LocalArray>(&s);
      fails = fails || std::holds_alternative<kernel::Fail>(s);
      waits_in_warp = waits_in_warp || barrier || std::holds_alternative<kernel::Shuffle>(s);
      waits_in_block = waits_in_block || (barrier && barrier->scope == kernel::Scope::kBlock);
      // A compiler keeps vectors in registers.
      if (array && !array->type.is_vector())
        local_bytes += array->count * static_cast<int64_t>(size_of(array->type.dtype));
    }
  }
};

// A step, and what decides where it may go.
struct Piece {
  Step step;
  std::vector<Use> uses = {};
  Contents has = {};
  bool is_kernel = false, is_update = false, only_checks = false, is_copy_in = false;
  int64_t blocks = -1;  // -1: a call decides

  bool is_update_by_elements() const { return is_kernel && is_update && !has.waits_in_warp && !has.fails; }
  const Function& function() const { return *std::get<KernelCall>(step.code).function; }
};

Piece piece_of(const Program& program, Step step) {
  Piece out{std::move(step)};
  const Step& of = out.step;
  auto use = [&](int operand, bool is_written) {
    if (const int b = of.operands[static_cast<size_t>(operand)].buffer; b >= 0) out.uses.push_back({b, is_written});
  };
  if (const auto* call = std::get_if<KernelCall>(&of.code)) {
    out.has.block(call->function->body);
    out.is_kernel = true;
    out.is_update = writes_shared(program, of);
    if (call->blocks.is_known()) out.blocks = call->blocks.value();
    for (size_t i = 0; i < call->operands.size(); ++i) use(call->operands[i], call->function->buffers[i].written);
    out.only_checks = out.has.fails && std::ranges::none_of(out.uses, &Use::is_written);
  } else {
    for (size_t k = 0; k < of.operands.size(); ++k) use(static_cast<int>(k), k >= of.inputs);
    out.is_copy_in = program.buffers[static_cast<size_t>(of.operands.back().buffer)].on_device;
  }
  return out;
}

// Must the later one stay behind the earlier one? A check is relied on by the other steps of its node, by updates, and,
// where it does nothing else, by whatever uses what it has checked.
bool depends(const Piece& later, const Piece& earlier) {
  if (earlier.has.fails && (later.is_update || (later.step.node && later.step.node == earlier.step.node))) return true;
  return std::ranges::any_of(later.uses, [&](const Use& a) {
    return std::ranges::any_of(earlier.uses, [&](const Use& b) {
      return a.buffer == b.buffer && (a.is_written || b.is_written || earlier.only_checks);
    });
  });
}

// Steps that are launched together.
struct Launch {
  std::vector<Piece> pieces;

  bool depends_on(const Launch& earlier) const {
    return std::ranges::any_of(pieces, [&](const Piece& own) {
      return std::ranges::any_of(earlier.pieces, [&](const Piece& other) { return depends(own, other); });
    });
  }
  bool is_kernel() const { return pieces[0].is_kernel; }
  bool is_update_by_elements() const { return pieces[0].is_update_by_elements(); }
};

// A check and an update are not launched together: a check that fails leaves variables alone. Threads that wait for
// others of their block must be as many as those of the launch; of a warp, whole warps.
bool fits(const Launch& first, const Launch& other) {
  if (!first.is_kernel() || !other.is_kernel()) return false;
  std::vector<const Piece*> all;
  for (const Launch* launch : {&first, &other})
    for (const Piece& piece : launch->pieces) all.push_back(&piece);
  constexpr kernel::DeviceLimits kLimits;
  size_t parameters = 0;
  int64_t shared = 0, locals = 0, blocks = 0;
  int threads = 0;
  bool fails = false, waits = false, updates = false, is_open = false;
  for (const Piece* piece : all) {
    const Function& function = piece->function();
    parameters += function.buffers.size() + function.lengths.size() + function.numbers.size() + 1;
    threads = std::max(threads, function.threads);
    fails = fails || piece->has.fails;
    waits = waits || piece->has.waits_in_warp;
    updates = updates || piece->is_update;
    is_open = is_open || piece->blocks < 0;
    blocks += piece->blocks;
    locals += piece->has.local_bytes;
    for (const kernel::Statement& s : function.body)
      if (const auto* array = std::get_if<kernel::SharedArray>(&s))
        shared += array->count * static_cast<int64_t>(size_of(array->dtype));
  }
  const bool have_threads = std::ranges::all_of(all, [&](const Piece* piece) {
    const int own = piece->function().threads;
    return own == threads || (!piece->has.waits_in_block && (!piece->has.waits_in_warp || own % kLimits.warp == 0));
  });
  const bool are_updates = std::ranges::all_of(all, [](const Piece* piece) { return piece->is_update_by_elements(); });
  const bool is_large = (all.size() > kMostKernels && !are_updates) || (waits && (is_open || blocks > kFewBlocks));
  return parameters <= kMostParameters && shared + kWordBytes <= kLimits.shared_bytes && locals <= kMostLocalBytes &&
         have_threads && !is_large && !(fails && updates);
}

void move_to(std::vector<Launch>& launches, size_t from, size_t to) {
  launches[to].pieces.push_back(std::move(launches[from].pieces[0]));
  launches.erase(launches.begin() + static_cast<std::ptrdiff_t>(from));
}

// What is copied to the device is so before the kernels: those behind it would be apart from those before it.
void bring_copies_first(std::vector<Launch>& launches) {
  for (size_t n = 0; n < launches.size(); ++n) {
    if (!launches[n].pieces[0].is_copy_in) continue;
    size_t to = n;
    while (to > 0 && !launches[to - 1].pieces[0].is_copy_in && !launches[n].depends_on(launches[to - 1])) --to;
    const auto at = [&](size_t i) { return launches.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(to), at(n), at(n + 1));
  }
}

// Updates by elements go to the last of them, where nothing between needs what they write or changes what they read.
void bring_updates_together(std::vector<Launch>& launches) {
  size_t last = launches.size();
  while (last > 0 && !launches[last - 1].is_update_by_elements()) --last;
  if (last-- == 0) return;
  for (size_t n = last; n-- > 0;) {
    if (!launches[n].is_update_by_elements() || !fits(launches[last], launches[n])) continue;
    const bool may_go = std::none_of(launches.begin() + static_cast<std::ptrdiff_t>(n) + 1,
                                     launches.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                     [&](const Launch& between) { return between.depends_on(launches[n]); });
    if (may_go) move_to(launches, n, last--);
  }
}

// The others go to the first launch behind all that they need.
void join_earlier(std::vector<Launch>& launches) {
  for (size_t n = 0; n < launches.size(); ++n) {
    if (launches[n].pieces.size() > 1) continue;
    size_t first = n;
    while (first > 0 && !launches[n].depends_on(launches[first - 1])) --first;
    while (first < n && !fits(launches[first], launches[n])) ++first;
    if (first < n) move_to(launches, n--, first);
  }
}

void merge_in(const Program& program, Region& region) {
  std::vector<std::variant<Step, Loop, Branch>> before = std::exchange(region.items, {});
  std::vector<Launch> launches;
  auto finish = [&] {
    bring_copies_first(launches);
    bring_updates_together(launches);
    join_earlier(launches);
    for (Launch& launch : launches) {
      std::vector<Step> steps;
      for (Piece& piece : launch.pieces) steps.push_back(std::move(piece.step));
      region.items.push_back(steps.size() == 1 ? std::move(steps[0]) : joined_kernel(steps));
    }
    launches.clear();
  };
  for (auto& item : before) {
    if (Step* step = std::get_if<Step>(&item); step && step->defines.empty() &&
                                               !std::holds_alternative<kernel::ReferenceCall>(step->code) &&
                                               !is_device_library(*step)) {
      launches.push_back({{piece_of(program, std::move(*step))}});
      continue;
    }
    finish();  // the host or a library has its part here
    if (Loop* loop = std::get_if<Loop>(&item)) {
      merge_in(program, *loop->body);
    } else if (Branch* branch = std::get_if<Branch>(&item)) {
      merge_in(program, *branch->then);
      merge_in(program, *branch->otherwise);
    }
    region.items.push_back(std::move(item));
  }
  finish();
}

}  // namespace

void merge_launches(Program& program) {
  merge_in(program, program.body);
}

}  // namespace thtrain

#include "compiler/plan/memory_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace thtrain {
namespace {

// Numbers the steps. A temporary of a loop's body keeps no value from one iteration to the next; any other buffer that
// the body reads or writes is live through the whole loop. The two sides of a branch are numbered one after the other.
class LiveRangeFinder {
 public:
  explicit LiveRangeFinder(const Program& program) : live_ranges(program.buffers.size()), program_(program) {}

  void visit(const Region& region) {
    for (const auto& item : region.items) {
      if (const Step* step = std::get_if<Step>(&item)) {
        for (const BufferView& operand : step->operands) touch(operand);
        ++now_;
      } else if (const Branch* branch = std::get_if<Branch>(&item)) {
        touch(branch->condition);
        ++now_;
        visit(*branch->then);
        visit(*branch->otherwise);
      } else {
        visit_loop(std::get<Loop>(item));
      }
    }
  }
  std::vector<LiveRange> live_ranges;

 private:
  void visit_loop(const Loop& loop) {
    const int begin = now_++;
    const std::vector<LiveRange> before = live_ranges;
    visit(*loop.body);
    if (loop.until) touch(*loop.until);
    const int end = now_++;
    for (size_t b = 0; b < live_ranges.size(); ++b)
      if (live_ranges[b].last > begin && program_.buffers[b].region < loop.body->number)
        live_ranges[b] = {before[b].first < 0 ? begin : before[b].first, end};
  }
  void touch(const BufferView& view) {
    if (view.buffer < 0) return;
    LiveRange& live_range = live_ranges[static_cast<size_t>(view.buffer)];
    if (live_range.first < 0) live_range.first = now_;
    live_range.last = now_;
  }
  const Program& program_;
  int now_ = 0;
};

constexpr int64_t kAlignment = 64;
int64_t aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
Dim aligned(const Dim& bytes) {
  return floor_div(bytes + Dim(kAlignment - 1), kAlignment) * Dim(kAlignment);
}

}  // namespace

std::vector<LiveRange> live_ranges_of(const Program& program) {
  LiveRangeFinder finder(program);
  finder.visit(program.body);
  return std::move(finder.live_ranges);
}

namespace {

// A part of the arena, and the live range of the buffer that is placed there.
struct Taken {
  int64_t begin, end;  // bytes
  LiveRange live_range;
};

bool overlap(const LiveRange& a, const LiveRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Places buffers of known size: the largest first, each at the lowest offset that is free for its whole live range.
// Gives the bytes that they take up together.
int64_t pack_known(Program& program, const std::vector<LiveRange>& live_ranges, std::vector<size_t> buffers,
                   const std::function<int64_t(size_t)>& bytes_of) {
  std::stable_sort(buffers.begin(), buffers.end(), [&](size_t a, size_t b) { return bytes_of(a) > bytes_of(b); });
  int64_t total = 0;
  std::vector<Taken> placed;  // by begin
  for (size_t b : buffers) {
    const int64_t bytes = bytes_of(b);
    int64_t at = 0;
    for (const Taken& other : placed) {
      if (!overlap(other.live_range, live_ranges[b])) continue;
      if (other.begin - at >= bytes) break;
      at = std::max(at, other.end);
    }
    program.buffers[b].arena_offset = at;
    program.buffers[b].arena_bytes = bytes;
    total = std::max(total, at + bytes);
    auto behind = [](int64_t index, const Taken& other) { return index < other.begin; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, behind), {at, at + bytes, live_ranges[b]});
  }
  return total;
}

// Bounds of the lengths that steps define, in terms of lengths that are known when a call begins; nullopt: no bound.
class Bounds {
 public:
  explicit Bounds(const Program& program) {
    for_each_step(program.body, [&](const Step& step) {
      for (const LengthDefinition& length : step.defines)
        bounds_.emplace(length.name, length.bound ? std::optional<Dim>(of(*length.bound)) : std::nullopt);
    });
  }
  // An upper bound of the length. It names a defined length where that has no bound.
  Dim of(const Dim& length) const {
    if (!is_data_dependent(length)) return length;
    return length.upper_bound([&](const std::string& name) {
      auto at = bounds_.find(name);
      return at == bounds_.end() ? std::nullopt : at->second;
    });
  }

 private:
  std::map<std::string, std::optional<Dim>> bounds_;
};

// Places buffers whose size a call decides. Such buffers share an offset only where their sizes are equal expressions.
// Taken in the order of their live ranges, they need as many offsets as are live at once.
Dim pack_open(Program& program, const std::vector<LiveRange>& live_ranges, const Bounds& bounds,
              std::vector<size_t> buffers, Dim begin) {
  struct Size {
    Dim bytes = 0;
    std::vector<Dim> offsets = {};                // of its slots
    std::set<size_t> free = {};                   // slots
    std::set<std::pair<int, size_t>> taken = {};  // last step, slot
  };
  std::map<std::string, Size> sizes;
  std::stable_sort(buffers.begin(), buffers.end(),
                   [&](size_t a, size_t b) { return live_ranges[a].first < live_ranges[b].first; });
  for (size_t b : buffers) {
    Buffer& buffer = program.buffers[b];
    const Dim bytes = aligned(bounds.of(buffer.elements) * Dim(static_cast<int64_t>(size_of(buffer.dtype))));
    Size& size = sizes.try_emplace(bytes.text(), Size{.bytes = bytes}).first->second;
    while (!size.taken.empty() && size.taken.begin()->first < live_ranges[b].first) {
      size.free.insert(size.taken.begin()->second);
      size.taken.erase(size.taken.begin());
    }
    if (size.free.empty()) {
      size.free.insert(size.offsets.size());
      size.offsets.push_back(begin);
      begin = begin + bytes;
    }
    const size_t slot = *size.free.begin();
    size.free.erase(slot);
    size.taken.emplace(live_ranges[b].last, slot);
    buffer.arena_offset = size.offsets[slot];
  }
  return begin;
}

// Bytes live at the peak.
int64_t peak_bytes(const std::vector<LiveRange>& live_ranges, const std::vector<size_t>& buffers,
                   const std::function<int64_t(size_t)>& bytes_of) {
  int steps = 0;
  for (const LiveRange& live_range : live_ranges) steps = std::max(steps, live_range.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(steps) + 1, 0);
  for (size_t b : buffers) {
    change[static_cast<size_t>(live_ranges[b].first)] += bytes_of(b);
    change[static_cast<size_t>(live_ranges[b].last) + 1] -= bytes_of(b);
  }
  int64_t most = 0, sum = 0;
  for (int64_t c : change) most = std::max(most, sum += c);
  return most;
}

}  // namespace

namespace {

struct Arena {
  Dim bytes = 0, lower_bound = 0;
};

// Of the temporaries on the device, or of those on the host.
Arena plan_arena(Program& program, const std::vector<LiveRange>& live_ranges, const Bounds& bounds, bool on_device,
                 size_t& allocated) {
  std::vector<size_t> known, open;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    Buffer& buffer = program.buffers[b];
    if (buffer.kind != BufferKind::kTemporary || live_ranges[b].first < 0 || buffer.on_device != on_device) continue;
    const Dim most = bounds.of(buffer.elements);
    if (is_data_dependent(most)) {
      buffer.allocated = true;
      buffer.index = allocated++;
    } else {
      (most.is_known() ? known : open).push_back(b);
    }
  }
  auto bytes_of = [&](size_t b) {
    return aligned(bounds.of(program.buffers[b].elements).value() *
                   static_cast<int64_t>(size_of(program.buffers[b].dtype)));
  };
  Arena out{.bytes = pack_known(program, live_ranges, known, bytes_of),
            .lower_bound = peak_bytes(live_ranges, known, bytes_of)};
  if (open.empty()) return out;
  out.bytes = out.lower_bound = pack_open(program, live_ranges, bounds, open, out.bytes);
  return out;
}

}  // namespace

// The processor has addresses for 2^47 bytes. Sums of several sizes that are no larger do not overflow.
void require_fits(const Type& type) {
  int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
  for (const Dim& length : type.dims) {
    if (length.is(0)) return;
    if (length.is_known() && (__builtin_mul_overflow(bytes, length.value(), &bytes) || bytes > int64_t{1} << 47))
      throw UserError({.what = "a value is larger than any memory",
                       .expected = "at most 2^47 bytes",
                       .got = readable(type.text()),
                       .hint = "the states of all iterations of a loop are kept where its derivative reads them"});
  }
}

MemoryPlan plan_memory(Program& program) {
  const std::vector<LiveRange> live_ranges = live_ranges_of(program);
  const Bounds bounds(program);
  const bool is_device = program.target.is_device();
  size_t allocated = 0;
  const Arena main = plan_arena(program, live_ranges, bounds, is_device, allocated);
  MemoryPlan out{.arena_bytes = main.bytes, .lower_bound = main.lower_bound};
  if (is_device) out.host_bytes = plan_arena(program, live_ranges, bounds, false, allocated).bytes;
  return out;
}

}  // namespace thtrain

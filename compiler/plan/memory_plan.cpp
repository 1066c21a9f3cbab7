#include "compiler/plan/memory_plan.h"

#include <algorithm>

namespace thtrain {
namespace {

// Numbers the steps; a buffer that a loop's body touches and that exists outside it lives through the whole loop.
class Lives {
 public:
  explicit Lives(size_t buffers) : lives(buffers) {}

  void visit(const Region& region) {
    for (const auto& item : region.items) {
      if (const Step* step = std::get_if<Step>(&item)) {
        for (const BufferView& operand : step->operands)
          if (operand.buffer >= 0) touch(static_cast<size_t>(operand.buffer), now_, now_);
        ++now_;
      } else {
        const Loop& loop = std::get<Loop>(item);
        int begin = now_++;
        std::vector<Life> before = lives;
        visit(*loop.body);
        int end = now_++;
        for (size_t b = 0; b < lives.size(); ++b)
          if (lives[b].last > begin) touch(b, before[b].first < 0 ? begin : before[b].first, end);
      }
    }
  }
  std::vector<Life> lives;

 private:
  void touch(size_t buffer, int first, int last) {
    Life& life = lives[buffer];
    life.first = life.first < 0 ? first : std::min(life.first, first);
    life.last = std::max(life.last, last);
  }
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

std::vector<Life> lives_of(const Program& program) {
  Lives finder(program.buffers.size());
  finder.visit(program.body);
  return std::move(finder.lives);
}

MemoryPlan plan_memory(Program& program) {
  const std::vector<Life> lives = lives_of(program);

  std::vector<size_t> known, open;
  for (size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (buffer.kind != BufferKind::kTemporary || lives[b].first < 0) continue;
    (buffer.elements.is_known() ? known : open).push_back(b);
  }
  auto bytes_of = [&](size_t b) {
    return aligned(program.buffers[b].elements.value() * static_cast<int64_t>(size_of(program.buffers[b].dtype)));
  };
  auto overlap = [&](size_t a, size_t b) { return lives[a].first <= lives[b].last && lives[b].first <= lives[a].last; };

  std::stable_sort(known.begin(), known.end(), [&](size_t a, size_t b) { return bytes_of(a) > bytes_of(b); });
  int64_t total = 0;
  std::vector<size_t> placed;
  for (size_t b : known) {
    std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end)
    for (size_t other : placed)
      if (overlap(b, other)) {
        int64_t begin = program.buffers[other].arena_offset.value();
        taken.emplace_back(begin, begin + bytes_of(other));
      }
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - at >= bytes_of(b)) break;
      at = std::max(at, end);
    }
    program.buffers[b].arena_offset = at;
    total = std::max(total, at + bytes_of(b));
    placed.push_back(b);
  }
  MemoryPlan out{total, 0};
  int64_t bound = 0;
  int steps = 0;
  for (const Life& life : lives) steps = std::max(steps, life.last + 1);
  std::vector<int64_t> alive(static_cast<size_t>(steps) + 1, 0);
  for (size_t b : known) {
    alive[static_cast<size_t>(lives[b].first)] += bytes_of(b);
    alive[static_cast<size_t>(lives[b].last) + 1] -= bytes_of(b);
  }
  int64_t sum = 0;
  for (int64_t change : alive) bound = std::max(bound, sum += change);
  out.lower_bound = bound;

  struct Slot {
    Dim bytes, offset;
    std::vector<size_t> owners;
  };
  std::vector<Slot> slots;
  for (size_t b : open) {
    Buffer& buffer = program.buffers[b];
    Dim bytes = aligned(buffer.elements * Dim(static_cast<int64_t>(size_of(buffer.dtype))));
    auto fits = [&](const Slot& slot) {
      return slot.bytes == bytes &&
             std::none_of(slot.owners.begin(), slot.owners.end(), [&](size_t o) { return overlap(o, b); });
    };
    auto slot = std::find_if(slots.begin(), slots.end(), fits);
    if (slot == slots.end()) {
      slots.push_back({bytes, out.arena_bytes, {}});
      out.arena_bytes = out.arena_bytes + bytes;
      slot = slots.end() - 1;
    }
    slot->owners.push_back(b);
    buffer.arena_offset = slot->offset;
  }
  if (!open.empty()) out.lower_bound = out.arena_bytes;
  return out;
}

}  // namespace thtrain

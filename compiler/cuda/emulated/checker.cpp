#include "compiler/cuda/emulated/checker.h"

#include <algorithm>

#include "compiler/base/str.h"
#include "compiler/cuda/emulated/memory.h"

namespace thtrain::cuda::emulated {
namespace {

constexpr int kWarp = 32;
constexpr size_t kMostShared = 48 << 10;

template <class Shadows>
auto& shadow_at(Shadows& shadows, DeviceAddress address, size_t& offset) {
  auto& [begin, shadow] = *--shadows.upper_bound(address);
  offset = address - begin;
  return *shadow;
}

// How far apart two threads are: of other blocks, of other warps of a block.
int distance(const Access& a, const Access& b) {
  return a.block != b.block ? 2 : a.thread / kWarp != b.thread / kWarp ? 1 : 0;
}

}  // namespace

// ---- memory

void Checker::allocated(DeviceAddress address, size_t bytes) {
  shadows_[address] = std::make_unique<Shadow>(bytes);
}

void Checker::written(DeviceAddress address, size_t bytes) {
  size_t offset = 0;
  auto& written = shadow_at(shadows_, address, offset).written();
  std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(offset), bytes, 1);
}

void Checker::copied(DeviceAddress to, DeviceAddress from, size_t bytes) {
  size_t begin = 0, end = 0;
  const auto& source = shadow_at(shadows_, from, begin).written();
  auto& destination = shadow_at(shadows_, to, end).written();
  std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
              destination.begin() + static_cast<std::ptrdiff_t>(end));
}

bool Checker::is_written(DeviceAddress address, size_t bytes) const {
  size_t offset = 0;
  const auto& written = shadow_at(shadows_, address, offset).written();
  const auto begin = written.begin() + static_cast<std::ptrdiff_t>(offset);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(bytes), [](char is) { return is != 0; });
}

// ---- a launch

void Checker::begin(const std::vector<PointerParameter>& parameters, int threads, const void* kernel) {
  regions_.clear();
  shared_shadows_.clear();
  shared_bytes_ = 0;
  for (const PointerParameter& p : parameters) {
    size_t offset = 0;
    Shadow& shadow = shadow_at(shadows_, p.address, offset);
    regions_.push_back({.begin = p.reached - offset,
                        .bytes = shadow.bytes(),
                        .before = Memory::kAroundWindow,
                        .behind = Memory::kAroundWindow,
                        .shadow = &shadow,
                        .name = str("parameter ", p.number)});
  }
  threads_ = threads;
  kernel_ = static_cast<const char*>(kernel);
  launch_ = ++generation_;
  wrong_ = {};
}

ThChecks Checker::hooks() {
  return {
      .checker = this,
      .block =
          [](void* self, long number) {
            Checker& c = *static_cast<Checker*>(self);
            c.block_ = number;
            c.block_generation_ = ++c.generation_;
            c.interval_ = 0;
            c.clocks_.assign(static_cast<size_t>(c.threads_) * kWarp, 0);
          },
      .shared = [](void* self, const char* name, const void* at, unsigned long bytes, unsigned long behind) -> bool {
        return static_cast<Checker*>(self)->shared(name, static_cast<const char*>(at), bytes, behind);
      },
      .access = [](void* self, ThAccess kind, const void* at, unsigned long bytes, unsigned long alignment, int thread,
                   const void* from) -> bool {
        Checker& c = *static_cast<Checker*>(self);
        return c.access(kind, static_cast<const char*>(at), bytes, alignment, c.now(thread, from, kind >= TH_ATOMIC));
      },
      .index =
          [](void* self, int thread, const void* from) {
            Checker& c = *static_cast<Checker*>(self);
            c.stop(Fault::kIndex, TH_READ, c.now(thread, from), 0, 0, nullptr);
          },
      .meeting = [](void* self, int first, unsigned mask) { static_cast<Checker*>(self)->meeting(first, mask); }};
}

Access Checker::now(int thread, const void* from, bool is_atomic) const {
  return {.block = static_cast<uint32_t>(block_),
          .interval = interval_,
          .clock = clocks_[static_cast<size_t>(thread) * kWarp + thread % kWarp],
          .from = static_cast<int32_t>(static_cast<const char*>(from) - kernel_),
          .thread = static_cast<uint16_t>(thread),
          .is_there = true,
          .is_atomic = is_atomic};
}

bool Checker::stop(Fault fault, ThAccess kind, const Access& now, size_t offset, size_t bytes, const Region* region) {
  wrong_ = {.fault = fault, .kind = kind, .now = now, .offset = offset, .bytes = bytes};
  if (region) wrong_.region = *region;
  return false;
}

// Each thread of each block comes by.
bool Checker::shared(const char* name, const char* at, size_t bytes, size_t behind) {
  if (std::ranges::any_of(regions_, [&](const Region& r) { return r.begin == at; })) return true;
  shared_shadows_.push_back(std::make_unique<Shadow>(bytes));
  regions_.push_back({.begin = at,
                      .bytes = bytes,
                      .behind = behind,
                      .shadow = shared_shadows_.back().get(),
                      .name = str("the shared array ", name),
                      .is_shared = true});
  shared_bytes_ += bytes;
  return shared_bytes_ <= kMostShared || stop(Fault::kShared, TH_READ, {}, 0, shared_bytes_, nullptr);
}

void Checker::meeting(int first, unsigned mask) {
  if (mask == 0) {
    ++interval_;
    return;
  }
  // What one of them has waited for, all have, and for each other.
  uint32_t all[kWarp] = {};
  const auto of_each = [&](auto visit) {
    for (int lane = 0; lane < kWarp; ++lane)
      if (mask >> lane & 1) visit(lane, &clocks_[static_cast<size_t>(first + lane) * kWarp]);
  };
  of_each([&](int, const uint32_t* clocks) {
    for (int i = 0; i < kWarp; ++i) all[i] = std::max(all[i], clocks[i]);
  });
  of_each([&](int lane, const uint32_t*) { ++all[lane]; });
  of_each([&](int, uint32_t* clocks) { std::copy_n(all, kWarp, clocks); });
}

bool Checker::is_ordered(const Access& before, const Access& now) const {
  if (before.block != now.block) return false;
  if (before.thread == now.thread || before.interval != now.interval) return true;
  if (before.thread / kWarp != now.thread / kWarp) return false;
  const size_t at = static_cast<size_t>(now.thread) * kWarp + before.thread % kWarp;
  return before.clock < clocks_[at];
}

void Checker::keep(Access (&kept)[2], const Access& now) const {
  if (kept[1].is_there && is_ordered(kept[1], now)) kept[1].is_there = false;
  if (!kept[0].is_there || is_ordered(kept[0], now))
    kept[0] = now;
  else if (!kept[1].is_there || distance(kept[0], now) > distance(kept[0], kept[1]))
    kept[1] = now;
}

const Access* Checker::conflict(const Cell& cell, ThAccess kind, const Access& now) const {
  const auto collides = [&](const Access& before) {
    return before.is_there && !(before.is_atomic && now.is_atomic) && !is_ordered(before, now);
  };
  for (const Access& before : cell.writes)
    if (collides(before)) return &before;
  if (kind == TH_READ || kind == TH_ATOMIC_READ) return nullptr;
  for (const Access& before : cell.reads)
    if (collides(before)) return &before;
  return nullptr;
}

bool Checker::access(ThAccess kind, const char* at, size_t bytes, size_t alignment, const Access& now) {
  const auto region = std::ranges::find_if(regions_, [&](const Region& r) {
    return static_cast<size_t>(at - (r.begin - r.before)) < r.before + r.bytes + r.behind;
  });
  if (region == regions_.end()) return stop(Fault::kUnknown, kind, now, 0, bytes, nullptr);
  const size_t offset = static_cast<size_t>(at - region->begin);
  const auto wrong = [&](Fault fault) { return stop(fault, kind, now, offset, bytes, &*region); };
  if (offset > region->bytes || bytes > region->bytes - offset) return wrong(Fault::kBounds);
  if (reinterpret_cast<uintptr_t>(at) % alignment != 0) return wrong(Fault::kAlignment);
  const bool is_read = kind == TH_READ || kind == TH_ATOMIC_READ;
  if (on_touch_) on_touch_({region->name, offset, bytes, is_read, block_, now.thread});

  Shadow& shadow = *region->shadow;
  const uint32_t generation = region->is_shared ? block_generation_ : launch_;
  shadow.fit(offset, bytes);
  for (size_t i = offset; i < offset + bytes; i += shadow.unit()) {
    Cell& cell = shadow.at(i);
    if (cell.generation != generation) cell = {generation, {}, {}};
    if (const Access* other = conflict(cell, kind, now)) {
      wrong(Fault::kRace);
      wrong_.other = *other;
      wrong_.other_writes = other < cell.reads;
      return false;
    }
    if (kind != TH_WRITE && region->is_shared && !cell.writes[0].is_there) return wrong(Fault::kUnwritten);
    keep(is_read ? cell.reads : cell.writes, now);
  }
  if (region->is_shared) return true;
  const auto written = shadow.written().begin() + static_cast<std::ptrdiff_t>(offset);
  if (kind == TH_WRITE) {
    std::fill_n(written, bytes, 1);
    return true;
  }
  return !std::any_of(written, written + static_cast<std::ptrdiff_t>(bytes), [](char is) { return is == 0; }) ||
         wrong(Fault::kUnwritten);
}

// ---- what is said

std::string Checker::told(const Access& access, const std::function<std::string(const void*)>& line_of) const {
  return str(line_of(kernel_ + access.from), " (thread ", access.thread, " of block ", access.block, ")");
}

std::string Checker::complaint(const std::function<std::string(const void*)>& line_of) const {
  const Wrong& w = wrong_;
  if (w.fault == Fault::kNone) return {};
  if (w.fault == Fault::kShared) return str("its shared arrays have ", w.bytes, " bytes; a block has ", kMostShared);
  if (w.fault == Fault::kIndex) return told(w.now, line_of) + " has an index outside of an array of the thread's own";
  static constexpr const char* kVerbs[] = {" reads ", " writes ", " changes ", " reads "};
  std::string out = str(told(w.now, line_of), kVerbs[w.kind], w.bytes, w.bytes == 1 ? " byte" : " bytes");
  if (w.fault == Fault::kUnknown) return out + " of no parameter and no shared array";
  out += str(" at byte ", static_cast<std::ptrdiff_t>(w.offset), " of ", w.region.name);
  switch (w.fault) {
    case Fault::kBounds:
      return out + str(", which has ", w.region.bytes);
    case Fault::kAlignment:
      return out + str(", where no ", w.bytes, " may begin");
    case Fault::kUnwritten:
      return out + (w.region.is_shared ? ", which no thread of the block has written" : ", which nobody has written");
    default:
      return out + str("; ", told(w.other, line_of), w.other_writes ? " writes" : " reads",
                       " there too, and neither waits for the other");
  }
}

}  // namespace thtrain::cuda::emulated

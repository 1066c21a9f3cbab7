// Schedules for devices of the same nests: blocks of threads, one element or one row for some of them. What follows
// here follows from the lengths and strides, never from how many threads a device runs at once. docs/decisions/0020.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/kernel/schedule/schedule.h"

namespace thtrain::kernel {

/// Without reductions: a thread for each iteration of the parallel axes; it runs through the sequential ones in order.
void schedule_device_elements(StepBuilder& b, const Nest& nest, std::string name, std::string comment);
/// The same in squares through shared memory; false: what is loaded and stored lies along one axis, or is short.
bool schedule_device_squares(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment);
/// A carried sum of products, which tiles or reductions compute; false: the nest is none, or has too few terms.
/// Without a tiling the lengths say which.
bool schedule_device_product(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment,
                             const std::optional<DeviceTiling>& tiling = {});
/// Reductions of which neighbouring rows lie side by side: a thread for some of these; false: rows lie otherwise, or
/// are few.
bool schedule_device_columns(StepBuilder& b, const Nest& nest, const std::string& name, const std::string& comment);
/// With reductions: a thread, a warp or a block for each row.
void schedule_device_rows(StepBuilder& b, const Nest& nest, std::string name, std::string comment);

inline constexpr int kDeviceThreads = 256;             // of a block, where a shape gives no reason for others
inline constexpr int64_t kFewDeviceThreads = 1 << 15;  // do not occupy a device
inline constexpr int64_t kPieceBytes = 16;             // that one instruction loads or stores

/// A statement for each of a piece's elements, one after the other: arrays of so many elements are in registers then.
template <class Body>
void each_of_piece(Code& code, int64_t elements, const Body& body) {
  code.loop("k", 0, elements, 1, LoopMark::kUnrolled, body);
}

/// Iteration `i` of all these axes, in row-major order: the elements of all tracks, of which `at` are those without it.
std::vector<Term> unravelled(StepBuilder& b, const std::vector<LoopAxis>& axes, const std::vector<Term>& at, Term i);

/// Threads of a block for `count` things, each by one thread: whole warps, and no more than kDeviceThreads.
int threads_for(const StepBuilder& b, const Dim& count);
/// Blocks, each for so many of `count`.
Dim blocks_for(const Dim& count, int64_t of_block);

}  // namespace thtrain::kernel

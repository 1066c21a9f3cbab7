// Jobs that several threads take from one list.
#pragma once

#include <cstddef>
#include <functional>

namespace thtrain {

/// Runs job(0) to job(count - 1), begun in this order, at most `workers` at once; the caller is one of the workers.
/// The first exception is thrown when all that were begun have ended: then no other is begun, and `stop` is called once
/// to end those that run.
void run_side_by_side(size_t count, size_t workers, const std::function<void(size_t)>& job,
                      const std::function<void()>& stop);

}  // namespace thtrain

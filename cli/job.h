// The job that this process belongs to, where mpirun or srun started several processes that train together.
#pragma once

#include <memory>
#include <string>

#include "trainers/ranks/ranks.h"

namespace thtrain {

/// Joins it, for the commands that train together. This process alone, where there is no launcher.
std::shared_ptr<Ranks> join_job();

/// UserError where a launcher started several processes: `what` is done by one.
void require_one_process(const std::string& what);

/// Before an error of this process is printed. A rank but the first waits for a moment: where all met the same error,
/// the first one says it, and ends the job, or its launcher does, where they have not joined it yet. What the text
/// begins with: "rank 1 (node7): ", "rank 1: " or "".
std::string before_report();

/// At the end of the process; `failed`: with an error that the other ranks may not know of, which are ended.
void leave_job(bool failed, int exit_code);

}  // namespace thtrain

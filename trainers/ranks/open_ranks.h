// The ranks of this process' job, as its launcher started them: mpirun, or srun.
#pragma once

#include <memory>

#include "trainers/ranks/ranks.h"

namespace thtrain {

/// How many processes the launcher started, by what it told this one; 1 where there is no launcher.
int launched_processes();
/// Which of them this one is, from 0; 0 where there is no launcher.
int launched_rank();

/// Opens the module that speaks MPI, where a launcher started several processes; else this process is alone. UserError:
/// there is no such module, or it does not know what the launcher started. THTRAIN_RANK_SECONDS (60) is how long ranks
/// wait for each other.
std::unique_ptr<Ranks> open_ranks();

}  // namespace thtrain

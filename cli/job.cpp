#include "cli/job.h"

#include <chrono>
#include <thread>

#include "trainers/ranks/open_ranks.h"

namespace thtrain {

static std::shared_ptr<Ranks> g_job;  // main() has to end it, whatever was thrown

std::shared_ptr<Ranks> join_job() {
  if (!g_job) g_job = open_ranks();
  return g_job;
}

void require_one_process(const std::string& what) {
  const std::shared_ptr<Ranks> ranks = join_job();
  if (ranks->size() > 1)
    throw UserError(
        Message{.what = what, .expected = "one process", .got = str(ranks->size(), " that were started together")});
}

std::string before_report() {
  const int rank = g_job ? g_job->rank() : launched_rank();
  if (rank == 0) return "";
  // A launcher takes its time to end the others.
  std::this_thread::sleep_for(std::chrono::milliseconds(g_job ? 2000 : 5000));
  return str(g_job ? g_job->name() : str("rank ", rank), ": ");
}

void leave_job(bool failed, int exit_code) {
  if (!g_job) return;
  if (failed) g_job->abort(exit_code);
  g_job.reset();
}

}  // namespace thtrain

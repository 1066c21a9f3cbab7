#include "trainers/ranks/open_ranks.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>

namespace thtrain {

namespace fs = std::filesystem;

// The first of these variables that is there.
static int environment_number(std::initializer_list<const char*> names, int without) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return without;
}

// SLURM_NTASKS is there in a batch script too, outside of srun.
int launched_processes() {
  return std::max(1, environment_number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1));
}

// SLURM_PROCID too.
int launched_rank() {
  return launched_processes() == 1 ? 0 : environment_number({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0);
}

// Next to the program, or where it was installed.
static std::string module_path() {
  constexpr const char* kName = "libthtrain_mpi.so";
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = folder.parent_path() / "lib" / "thtrain" / kName;
  return (fs::exists(installed, error) ? installed : folder / kName).string();
}

static double seconds_of_patience() {
  const char* text = std::getenv("THTRAIN_RANK_SECONDS");
  if (!text) return 60;
  char* end = nullptr;
  const double out = std::strtod(text, &end);
  if (end != text && *end == '\0' && out > 0) return out;
  throw UserError(Message{.what = "THTRAIN_RANK_SECONDS is no time", .expected = "seconds above 0", .got = text});
}

std::unique_ptr<Ranks> open_ranks() {
  const int launched = launched_processes();
  if (launched == 1) return std::make_unique<Ranks>();
  const double seconds = seconds_of_patience();
  const std::string path = module_path();
  // MPI's own modules look for its symbols.
  void* module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) {
    const char* why = ::dlerror();
    std::error_code ignored;
    const bool is_there = fs::exists(path, ignored);
    throw UserError(Message{
        .what = str(launched, " processes were started together, and this thtrain cannot speak with the others"),
        .expected = path,
        .got = is_there ? str(why) : "no such file",
        .hint = is_there ? "it was built with an MPI that is not installed here"
                         : "thtrain was built without MPI: `apt-get install libopenmpi-dev`, and build it again"});
  }
  auto* open = reinterpret_cast<OpenCarrier*>(::dlsym(module, "thtrain_open_ranks"));
  TH_CHECK(open, path, " has no thtrain_open_ranks");
  std::unique_ptr<RankCarrier> carrier(open());
  if (!carrier)
    throw UserError(Message{.what = "this MPI cannot be called by one thread after another",
                            .expected = "MPI_THREAD_SERIALIZED",
                            .hint = "build thtrain with an MPI that was built with support of threads"});
  if (carrier->size() != launched)
    throw UserError(Message{.what = "the launcher is of another MPI than the one that thtrain was built with",
                            .expected = str(launched, " processes, as the launcher started"),
                            .got = str(carrier->size()),
                            .hint = "start the job with the mpirun of that MPI, or build thtrain again with yours"});
  return std::make_unique<Ranks>(std::move(carrier), seconds);
}

}  // namespace thtrain

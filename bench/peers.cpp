#include "bench/peers.h"

#include <cstdlib>
#include <filesystem>

#include "bench/scratch_folder.h"
#include "bench/worker.h"
#include "compiler/base/error.h"
#include "compiler/base/system_error.h"
#include "compiler/libraries/blas.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

// The instructions of --isa are the scripts' to set: bench/peers/instructions.py.
std::map<std::string, std::string> environment_with(const std::string& mkl, const std::string& isa) {
  std::map<std::string, std::string> out;
  if (auto choice = openblas_coretype(cpu()); choice && isa.empty()) out["OPENBLAS_CORETYPE"] = *choice;
  if (mkl.empty()) return out;
  std::error_code error;
  fs::path library = fs::canonical(mkl, error);
  if (error)
    throw UserError(
        Message{.what = str("bench: --mkl: ", mkl, " cannot be read"), .got = system_error_text(error.value())});
  // MKL under the names under which Debian's NumPy and SciPy look for their BLAS. It stays for all workers.
  static const ScratchFolder folder;
  for (const char* alias : {"libblas.so.3", "liblapack.so.3"})
    if (fs::path link = fs::path(folder.path()) / alias; !fs::is_symlink(link)) fs::create_symlink(library, link);
  out["LD_LIBRARY_PATH"] = str(folder.path(), ":", library.parent_path().string());
  out["MKL_THREADING_LAYER"] = "GNU";  // NumPy's and SciPy's other code brings that one
  return out;
}

std::string scripts_folder(const BenchOptions& options) {
  std::string folder = options.peers_folder.empty() ? THTRAIN_PEERS_DIR : options.peers_folder;
  std::error_code ignored;
  if (!fs::exists(fs::path(folder) / "worker.py", ignored))
    throw UserError(Message{.what = "bench: the scripts that measure other libraries are missing",
                            .got = str("no worker.py in ", folder),
                            .hint = "--peers names the folder bench/peers of thtrain's sources"});
  return folder;
}

}  // namespace

std::vector<Peer> find_peers(const std::string& family, const BenchOptions& options, std::vector<std::string>& notes) {
  std::string script = (fs::path(scripts_folder(options)) / "worker.py").string();
  std::vector<std::string> settings = {""};
  if (!options.mkl.empty()) settings.push_back(options.mkl);
  std::vector<Peer> out;
  for (const std::string& python : options.pythons.empty() ? std::vector<std::string>{"python3"} : options.pythons) {
    Worker list({python, "-B", script, family, "--list"}, {});
    size_t before = out.size();
    for (auto row = list.read(); row.contains("name"); row = list.read())
      for (const std::string& mkl : settings) {
        if (!mkl.empty() && row["needs"] != "numpy" && row["needs"] != "scipy") continue;
        out.push_back({row["name"],
                       row["kind"],
                       row["form"],
                       {python, "-B", script, family, row["name"]},
                       environment_with(mkl, options.isa)});
      }
    if (out.size() == before)
      notes.push_back(str(python, " does not run ", script, ": other libraries are not measured"));
  }
  return out;
}

}  // namespace thtrain

#include "cli/help.h"

#include <algorithm>

#include "compiler/base/str.h"

namespace thtrain {

const std::vector<HelpRow>& environment_variables() {
  static const std::vector<HelpRow> rows = {
      {"THTRAIN_DATA", "a folder to look for data in, after the folder of the experiment file"},
      {"THTRAIN_CACHE_DIR", "the folder of compiled code and of measured choices"},
      {"THTRAIN_CXX", "the compiler for generated code; empty: none, and the reference mode only"},
      {"THTRAIN_COMPILE_LIMIT", "seconds that one run of the compiler may take; 600 unless set, 0: no limit"},
      {"THTRAIN_TRIAL",
       "the program that tries users' candidates, where `thtrain-trial` is not in the folder of the program"},
      {"THTRAIN_TRIAL_LIMIT", "seconds that one call into a user's candidate may take; 20 unless set, 0: no limit"},
      {"THTRAIN_VECTOR_BYTES", "width of the vectors in generated code: 16, 32 or 64"},
      {"THTRAIN_TARGET",
       "what generated code is made for, such as isa=avx2,caches=32K/256K/4M; `thtrain info` shows all"},
      {"THTRAIN_FONT", "a font file for the PNG pictures; not given: DejaVu Sans, where it is installed"},
      {"OMP_NUM_THREADS", "number of threads where compiler.threads is 0; not given: all cores"},
  };
  return rows;
}

const std::vector<HelpRow>& exit_codes() {
  static const std::vector<HelpRow> rows = {
      {"0", "done"},
      {"1", "a fault of thtrain: the message asks to report it"},
      {"2", "bad input: the experiment, the data, the weights, a file, or the command line"},
      {"3", "the loss or a weight is not finite; the last good checkpoint is kept"},
      {"130", "interrupted by Ctrl-C (SIGINT); 143: by SIGTERM, 129: by SIGHUP"},
      {"141", "the reader of standard output has gone, as after `| head`"},
  };
  return rows;
}

const std::vector<HelpRow>& program_examples() {
  static const std::vector<HelpRow> rows = {
      {"thtrain train lab.toml", "train the experiment in lab.toml"},
      {"thtrain train lab.toml trainer.epochs=3", "the same with another value for a key of the file"},
      {"thtrain eval runs/lab-1", "the test error of that run"},
      {"thtrain help train", "what a command takes"},
  };
  return rows;
}

static std::string section(const std::string& title, const std::vector<HelpRow>& rows) {
  constexpr size_t kWidest = 50;
  size_t width = 0;
  for (const auto& [name, meaning] : rows)
    if (name.size() <= kWidest) width = std::max(width, name.size());
  std::string out = str(title, ":\n");
  for (const auto& [name, meaning] : rows) {
    std::string space =
        name.size() <= width ? std::string(width - name.size() + 2, ' ') : "\n" + std::string(width + 4, ' ');
    out += str("  ", name, space, meaning, "\n");
  }
  return out;
}

std::string general_footer() {
  return str(section("Examples", program_examples()), "\n", section("Environment variables", environment_variables()),
             "\n", section("Exit codes", exit_codes()));
}

std::string command_footer(const std::vector<HelpRow>& examples) {
  return str(section("Examples", examples), "\n`thtrain --help` lists environment variables and exit codes.\n");
}

}  // namespace thtrain

#include "cli/help.h"

#include <algorithm>
#include <map>

#include "compiler/base/str.h"

namespace thtrain {

const std::vector<HelpRow>& environment_variables() {
  static const std::vector<HelpRow> rows = {
      {"THTRAIN_DATA", "a folder to look for data in, after the folder of the experiment file"},
      {"THTRAIN_CACHE_DIR", "the folder of compiled code and of measured choices"},
      {"THTRAIN_CXX", "the compiler for generated code; empty: none, and the reference mode only"},
      {"THTRAIN_COMPILE_LIMIT", "seconds that one run of the compiler may take; 600 unless set, 0: no limit"},
      {"THTRAIN_TRIAL", "the program that tries users' candidates, where `thtrain-trial` is not beside the program"},
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

const std::vector<HelpRow>& examples_of(const std::string& command) {
  static const std::map<std::string, std::vector<HelpRow>> examples = {
      {"",
       {{"thtrain train lab.toml", "train the experiment in lab.toml"},
        {"thtrain train lab.toml trainer.epochs=3", "the same with another value for a key of the file"},
        {"thtrain eval runs/lab-1", "the test error of that run"},
        {"thtrain help train", "what a command takes"}}},
      {"train",
       {{"thtrain train lab.toml", "into a new folder, such as runs/lab-1"},
        {"thtrain train lab.toml --run-dir first", "into the folder first"},
        {"thtrain train lab.toml trainer.learning_rate=0.01 model.layers.0.units=300", "layers count from 0"}}},
      {"resume",
       {{"thtrain resume runs/lab-1", "continue the run in that folder"},
        {"thtrain resume runs/lab-1 trainer.epochs=60",
         "the same, up to 60 epochs; config.toml says so from then on"}}},
      {"sweep",
       {{"thtrain sweep lab.toml trainer.learning_rate=0.1,0.03 seed=1..3", "six runs"},
        {"thtrain sweep lab.toml model.layers.0.units=100,200 trainer.epochs=5", "two runs of 5 epochs each"},
        {"thtrain sweep --resume runs/lab-sweep-1", "go on with a sweep that was stopped"}}},
      {"eval",
       {{"thtrain eval runs/lab-1", "error of the run's best weights on the test examples"},
        {"thtrain eval runs/lab-1 --part valid", "on the validation examples"},
        {"thtrain eval lab.toml --weights w.npz", "of the weights in a file"}}},
      {"show",
       {{"thtrain show runs/lab-1", "weights, mistakes, feature maps ... into runs/lab-1/plots"},
        {"thtrain show runs/lab-1 --example 7 --layer conv2", "of another example, and filters of another layer"}}},
      {"predict",
       {{"thtrain predict runs/lab-1 --input x.npy --output p.npy", "the class of each example"},
        {"thtrain predict runs/lab-1 --input x.npy --output p.npz", "classes and probabilities"}}},
      {"sample",
       {{"thtrain sample runs/chars-1", "500 symbols"},
        {"thtrain sample runs/chars-1 --start 'The ' --temperature 0.7", "what follows those, less daring"},
        {"thtrain sample runs/rnnrbm_jsb-1 --length 64", "a piano roll of 64 steps"}}},
      {"runs",
       {{"thtrain runs", "all runs in runs, the newest last"},
        {"thtrain runs sweeps/rates --sort best", "those of a folder, the best last"}}},
      {"compare",
       {{"thtrain compare runs/lab-1 runs/lab-2", "keys that differ, results, and compare.png"},
        {"thtrain compare runs/lab-* --output curves.png", "all runs of an experiment"}}},
      {"check",
       {{"thtrain check lab.toml", "is the experiment right, and how large is the model?"},
        {"thtrain check runs/lab-1", "the experiment of a run"}}},
      {"explain",
       {{"thtrain explain lab.toml", "the graph of the training step"},
        {"thtrain explain lab.toml --stage cpp", "the C++ text that is compiled"},
        {"thtrain explain lab.toml --stage c99", "the same as C99 without libraries, for any machine"},
        {"thtrain explain runs/lab-1 --html page.html", "all stages as one page for a browser"}}},
      {"tune",
       {{"thtrain tune lab.toml", "measure, and remember the fastest"},
        {"thtrain tune lab.toml --exclude oneDNN", "without one of the candidates"}}},
      {"info",
       {{"thtrain info", "processor, libraries, compiler, folders"},
        {"thtrain info --ops", "the operations of the graph compiler"}}},
      {"data",
       {{"thtrain data lab.toml", "sizes, ranges, and examples of each class"},
        {"thtrain data lab.toml --check", "read every example"}}},
      {"completion",
       {{"thtrain completion bash > ~/.local/share/bash-completion/completions/thtrain", "for bash"},
        {"thtrain completion zsh > ~/.zfunc/_thtrain", "for zsh, with that folder in fpath"},
        {"thtrain completion fish > ~/.config/fish/completions/thtrain.fish", "for fish"}}},
      {"man", {{"thtrain man > thtrain.1", "write it into a file; `man -l thtrain.1` shows it"}}},
      {"bench",
       {{"thtrain bench mlp", "training steps, beside every peer that is installed"},
        {"thtrain bench gemm --case 60x784x500/NN --only thtrain,ceiling", "one case, no peers"},
        {"thtrain bench conv i3x64x64,k128x7x7,b64", "the three passes of a convolution"}}},
  };
  auto found = examples.find(command);
  static const std::vector<HelpRow> none;
  return found == examples.end() ? none : found->second;
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
  return str(section("Examples", examples_of("")), "\n", section("Environment variables", environment_variables()),
             "\n", section("Exit codes", exit_codes()));
}

std::string command_footer(const std::string& command) {
  return str(section("Examples", examples_of(command)),
             "\n`thtrain --help` lists environment variables and exit codes.\n");
}

}  // namespace thtrain

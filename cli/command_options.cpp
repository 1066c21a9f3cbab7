// Every command, its arguments and its options.
#include <algorithm>

#include "cli/command_line.h"
#include "cli/command_words.h"
#include "cli/completion/completion.h"
#include "cli/help.h"
#include "cli/validators.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

std::vector<std::string> bench_names() {
  std::vector<std::string> out;
  for (const Bench& bench : benches()) out.push_back(bench.name);
  out.insert(out.end(), {"maths", "paper", "streams"});
  return out;
}

void add_experiment(CLI::App& command, ExperimentArguments& into, const std::string& name, const std::string& about) {
  command.add_option(name, into.config, about)->required();
  command
      .add_option("key=value", into.overrides, "values to use instead of those in the file: trainer.learning_rate=0.1")
      ->expected(0, -1);
}

void add_phase(CLI::App& command, std::string& into) {
  command.add_option("--phase", into, "a phase of the experiment; without it the last one")->type_name("NAME");
}

void add_run_flags(CLI::App& command, TrainArguments& into) {
  command.add_flag("--json", into.json, "print the summary as one JSON object, and nothing else on standard output");
  command.add_flag("--quiet", into.quiet, "show no progress bar and no line for each epoch");
  command.add_flag("--verbose", into.verbose, "show layers, memory, what was compiled, and the time to the first step");
  command.add_flag("--profile", into.profile,
                   "time each step of the training program; print a table and write profile/ in the run folder");
  command.add_flag("--allow-different-bits", into.allow_different_bits,
                   "resume although the machine or thtrain differs from those that the run started with");
  command.add_flag("--accept-edits", into.accept_edits,
                   "resume with what the folder's config.toml says now, although it was edited");
}

}  // namespace

CommandLine::CommandLine(const std::vector<std::string>& words, std::chrono::steady_clock::time_point started) {
  app.add_flag("--version", wants_version, "print the version");
  app.footer(general_footer());
  app.get_formatter()->column_width(30);
  for (auto [label, ours] : {std::pair("REQUIRED", "(required)"),
                             {"SUBCOMMAND", "COMMAND"},
                             {"Subcommands", "Commands"},
                             {"Positionals", "Arguments"},
                             {"TEXT", ""}})
    app.get_formatter()->label(label, ours);
  add_train();
  add_resume();
  add_sweep();
  add_eval();
  add_show();
  add_predict();
  add_sample();
  add_runs();
  add_compare();
  add_check();
  add_explain();
  add_tune();
  add_info();
  add_data();
  add_bench();
  add_texts();
  train.started = resume.started = started;
  train.command_line = words;
  train.command_line.insert(train.command_line.begin(), "thtrain");
  sweep.command_line = train.command_line;
}

CLI::App* CommandLine::add(const std::string& name, const std::string& about, Command command) {
  CLI::App* out = app.add_subcommand(name, about);
  out->footer(command_footer(name));
  out->group("Commands");
  commands.emplace_back(out, std::move(command));
  return out;
}

CLI::App* CommandLine::add_train() {
  CLI::App* c = add("train", "train an experiment", [this] { return run_train(train); });
  add_experiment(*c, train.experiment, "CONFIG", "the experiment file");
  c->add_option("--run-dir", train.run_dir, "folder for the run; without it a new one in output.root")
      ->type_name("DIR");
  c->add_option("--folds", train.folds, "train once for each of so many parts, which validates; mean and spread")
      ->type_name("K")
      ->check(folds());
  c->add_flag("--resume", train.resume, "continue the run in --run-dir");
  c->add_flag("--dry-run", train.dry_run, "build, compile and run one step, write no files: `thtrain check`");
  add_run_flags(*c, train);
  return c;
}

CLI::App* CommandLine::add_resume() {
  CLI::App* c = add("resume", "continue a run that was stopped, or extend one that is over",
                    [this] { return run_train(resume); });
  c->add_option("DIR", resume.run_dir, "the run's folder")->required();
  c->add_option("key=value", resume.experiment.overrides, "what is another from now on: trainer.epochs=60")
      ->expected(0, -1);
  resume.resume = true;
  add_run_flags(*c, resume);
  return c;
}

void CommandLine::add_sweep() {
  CLI::App* c = add("sweep", "train an experiment with each combination of several values, several runs at once",
                    [this] { return run_sweep(sweep); });
  c->add_option("CONFIG", sweep.experiment.config, "the experiment file, or --resume DIR");
  c->add_option("key=value", sweep.experiment.overrides,
                "values to use, or lists of them: trainer.learning_rate=0.1,0.03 seed=1..3")
      ->expected(0, -1);
  c->add_option("--run-dir", sweep.run_dir, "folder for the sweep; without it a new one in output.root")
      ->type_name("DIR");
  c->add_option("--resume", sweep.resume, "go on with the sweep in that folder")->type_name("DIR");
  c->add_option("--jobs", sweep.jobs, "runs at once; without it as many as fit the cores")
      ->type_name("N")
      ->check(number_in("sweep", "--jobs", int64_t{1}, int64_t{1000}));
  c->add_option("--threads", sweep.threads, "threads of each run; without it OMP_NUM_THREADS, or 1")
      ->type_name("N")
      ->check(number_in("sweep", "--threads", int64_t{1}, int64_t{kMaxThreads}));
  c->add_flag("--dry-run", sweep.dry_run, "check all runs and list them; start none");
  c->add_flag("--json", sweep.json, "print the results as one JSON object, and nothing else on standard output");
  c->add_flag("--quiet", sweep.quiet, "show no list, no progress and no line for each run");
}

void CommandLine::add_eval() {
  CLI::App* c = add("eval", "measure a model's error", [this] { return run_eval(eval); });
  add_experiment(*c, eval.experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  add_phase(*c, eval.phase);
  c->add_option("--weights", eval.weights, "weights in an .npz file; without it the best weights of the run")
      ->type_name("FILE");
  c->add_option("--part", eval.part, "which examples: train, valid or test (the default)")
      ->type_name("PART")
      ->check(one_of("eval", "--part", {"train", "valid", "test"}));
  c->add_flag("--json", eval.json, "print one JSON object");
}

void CommandLine::add_show() {
  CLI::App* c = add("show", "draw what a run has learned", [this] { return run_show(show); });
  add_experiment(*c, show.experiment, "DIR", "a run's folder");
  c->add_option("--output", show.output, "folder for the pictures; without it plots/ in the run's folder")
      ->type_name("DIR");
  add_phase(*c, show.phase);
  c->add_option("--weights", show.weights, "weights in an .npz file; without it the best weights of the run")
      ->type_name("FILE");
  c->add_option("--part", show.part, "which examples: train, valid or test; without it test, where there are some")
      ->type_name("PART")
      ->check(one_of("show", "--part", {"train", "valid", "test"}));
  c->add_option("--layer", show.layer, "the layer whose weights are drawn; without it the first one")
      ->type_name("NAME");
  auto number = [](const std::string& option, int64_t low) {
    return number_in("show", option, low, int64_t{1'000'000'000'000});
  };
  c->add_option("--example", show.example, "the example whose feature maps and pixels are drawn; 0 unless given")
      ->type_name("N")
      ->check(number("--example", 0));
  c->add_option("--occlusion", show.occlusion,
                "side of the grey square that moves over the example; without it a quarter of the shorter side")
      ->type_name("PIXELS")
      ->check(number("--occlusion", 1));
  c->add_option("--stride", show.stride, "by how much it moves; without it a quarter of its side")
      ->type_name("PIXELS")
      ->check(number("--stride", 1));
}

void CommandLine::add_predict() {
  CLI::App* c = add("predict", "write what a model predicts for examples", [this] { return run_predict(predict); });
  add_experiment(*c, predict.experiment, "DIR|CONFIG", "a run's folder, or an experiment file");
  add_phase(*c, predict.phase);
  c->add_option("--input", predict.input, "examples, as the data files have them: .npy, .npz[NAME], IDX or CSV")
      ->required()
      ->type_name("FILE");
  c->add_option("--lengths", predict.lengths,
                "steps of each sequence, an .npy of integers; without it each has all that --input has room for")
      ->type_name("FILE");
  c->add_option("--output", predict.output, "file to write: .npy or .csv for classes, .npz for probabilities too")
      ->required()
      ->type_name("FILE");
  c->add_option("--weights", predict.weights, "weights in an .npz file; without it the best weights of the run")
      ->type_name("FILE");
  c->add_flag("--probabilities", predict.probabilities,
              "write probabilities into an .npy file, and beside the classes into a .csv file");
}

void CommandLine::add_sample() {
  CLI::App* c =
      add("sample", "write text by a model of the next symbol, or a piano roll", [this] { return run_sample(sample); });
  c->add_option("DIR", sample.run_dir, "a run's folder")->required();
  add_phase(*c, sample.phase);
  c->add_option("--weights", sample.weights, "weights in an .npz file; without it the best weights of the run")
      ->type_name("FILE");
  c->add_option("--start", sample.start, "text that is gone on with; without it a symbol that is drawn")
      ->type_name("TEXT ");  // "TEXT" alone stands for what has no name
  c->add_option("--length", sample.length,
                "how many symbols (500 unless given) or steps of a piano roll (200) are written")
      ->type_name("N")
      ->check(number_in("sample", "--length", int64_t{1}, int64_t{100'000'000}));
  c->add_option("--gibbs", sample.gibbs, "steps of Gibbs sampling for each step of an rnn_rbm; 25 unless given")
      ->type_name("N")
      ->check(number_in("sample", "--gibbs", int64_t{1}, int64_t{1'000'000}));
  c->add_option("--temperature", sample.temperature,
                "logits are divided by it; 0: the most probable symbol; 1 unless given")
      ->type_name("T")
      ->check(number_in("sample", "--temperature", 0.0, 1000.0));
  c->add_option("--seed", sample.seed, "of the drawing; 1 unless given")
      ->type_name("N")
      ->check(number_in("sample", "--seed", int64_t{0}, int64_t{4294967295}));
}

void CommandLine::add_runs() {
  CLI::App* c = add("runs", "list runs and what they came to", [this] { return run_runs(runs); });
  c->add_option("DIR", runs.root, "the folder that they are in, at any depth; without it runs");
  c->add_option("--sort", runs.sort, "best, time (of training) or name; without it by when they began")
      ->type_name("KEY")
      ->check(one_of("runs", "--sort", {"best", "time", "name"}));
  c->add_flag("--json", runs.json, "print one JSON object for each run");
}

void CommandLine::add_compare() {
  CLI::App* c = add("compare", "show in what runs differ, and draw their curves into one picture", [this] {
    if (plot_scale == "linear") compare.plot_scale = ValueScale::kLinear;
    if (plot_scale == "log") compare.plot_scale = ValueScale::kLogarithmic;
    return run_compare(compare);
  });
  c->add_option("RUN", compare.runs, "the folders of two or more runs; that of a sweep stands for all of its runs")
      ->required()
      ->expected(1, -1);
  c->add_option("--output", compare.output,
                "the picture, a .png, which may be there; an .svg is written beside it; without it a new compare.png")
      ->type_name("FILE");
  c->add_option("--plot-scale", plot_scale, "the axis of values: linear, log, or auto (the default)")
      ->type_name("SCALE")
      ->check(one_of("compare", "--plot-scale", {"auto", "linear", "log"}));
  c->add_flag("--json", compare.json, "print one JSON object");
}

void CommandLine::add_check() {
  CLI::App* c = add("check", "build, compile and run one step; write no files", [this] { return run_check(check); });
  add_experiment(*c, check.experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  c->add_flag("--json", check.json, "print one JSON object");
}

void CommandLine::add_explain() {
  CLI::App* c =
      add("explain", "print a stage of the compilation of a function", [this] { return run_explain(explain); });
  add_experiment(*c, explain.experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  add_phase(*c, explain.phase);
  c->add_option("--stage", explain.stage, join(explain_stages(), ", ") + "; without it graph")
      ->type_name("STAGE")
      ->check(one_of("explain", "--stage", explain_stages()));
  c->add_option("--html", explain.html, "write all stages as one page for a browser")->type_name("FILE");
  c->add_option("--function", explain.function, "train: the training step (the default); valid: the count of errors")
      ->type_name("NAME")
      ->check(one_of("explain", "--function", explain_functions()));
}

void CommandLine::add_tune() {
  CLI::App* c = add("tune", "measure which implementation computes each matrix product and convolution fastest",
                    [this] { return run_tune(tune); });
  add_experiment(*c, tune.experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  auto patterns = [&](const char* option, std::vector<std::string>& into, const char* about) {
    c->add_option(option, into, about)->allow_extra_args(false)->type_name("PATTERN");
  };
  patterns("--only", tune.only,
           "candidates by name or pattern, as compiler.only_candidates; may be given several times");
  patterns("--include", tune.include, "names of candidates to time beside those worth it; may be given several times");
  patterns("--exclude", tune.exclude, "candidates, by name or pattern, to leave out; may be given several times");
  c->add_flag("--json", tune.json, "print one JSON object");
}

void CommandLine::add_info() {
  CLI::App* c = add("info", "show what this machine and this build offer", [this] { return run_info(info); });
  c->add_flag("--ops", info.ops, "list the ops");
  c->add_flag("--json", info.json, "print one JSON object");
}

void CommandLine::add_data() {
  CLI::App* c = add("data", "show the data of an experiment", [this] { return run_data(data); });
  add_experiment(*c, data.experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  add_phase(*c, data.phase);
  c->add_flag("--check", data.check, "read every example, also of data that is larger than memory");
  c->add_flag("--json", data.json, "print one JSON object");
}

void CommandLine::add_bench() {
  CLI::App* c = add("bench", "measure the speed of thtrain and of other libraries", [this] {
    bench.options.only = {only.begin(), only.end()};
    return run_bench_command(bench);
  });
  BenchOptions& o = bench.options;
  c->add_option("BENCH", bench.name, "one of " + join(bench_names(), ", "))
      ->required()
      ->check(listed_words(bench_names()));
  c->add_option("CONFIG", bench.configs,
                "`conv`: convolutions such as i64x56x48,k128x5x3,b16,s2x1,p1x1 (channels, width and height of the "
                "images; filters, their width and height; batch; strides; zeros around), or layers of "
                "convnet-benchmarks, 1 to 5; without it seven")
      ->type_name("");
  auto list = [&](CLI::Option* option, const char* type) {
    option->delimiter(',')->allow_extra_args(false)->type_name(type);
    return option;
  };
  auto number = [](auto... range) { return number_in("bench", range...); };
  list(c->add_option("--case", o.cases, "cases; without it all cases of the benchmark"), "A,B");
  list(c->add_option("--dtype", o.dtypes, "float32, float64; without it both"), "A,B")
      ->check(one_of("bench", "--dtype", {"float32", "float64"}));
  list(c->add_option("--threads", o.threads, "numbers of threads; without it 1 and 2"), "N,M")
      ->check(number("--threads", 1, kMaxThreads));
  list(c->add_option("--only", only, "implementations; without it thtrain, the ceiling and every other library"),
       "A,B");
  c->add_option("--turns", o.turns, "how often every implementation is started and measured")
      ->type_name("N")
      ->check(number("--turns", 1, 1000));
  c->add_option("--rounds", o.rounds, "how often they are measured in turn after one start")
      ->type_name("N")
      ->check(number("--rounds", 1, 1000));
  c->add_option("--seconds", o.seconds, "time for each case, implementation and round")
      ->type_name("S")
      ->check(number("--seconds", 0.001, 1000.0));
  list(c->add_option("--vector-bytes", bench.vector_bytes,
                     "`maths`: widths of vectors, 16, 32 or 64; without it all that the processor has"),
       "N,M")
      ->check(one_of("bench", "--vector-bytes", {"16", "32", "64"}));
  c->add_option("--samples", bench.samples, "`maths`: how many inputs; without it every float32, and 10^8 of more")
      ->type_name("N")
      ->check(number("--samples", int64_t{1}, int64_t{1'000'000'000'000}));
  c->add_flag("--quick", o.quick, "small cases, and little time for each");
  c->add_option("--python", o.pythons, "a Python that has other libraries; may be given several times")
      ->type_name("PATH");
  c->add_option("--peers", o.peers_folder, "folder of the scripts that measure other libraries")->type_name("DIR");
  c->add_option("--mkl", o.mkl, "a libmkl_rt for NumPy and SciPy to use besides their own BLAS")->type_name("FILE");
  c->add_option("--figures", bench.figures, "`paper`: folder for its figures; without it the working folder")
      ->type_name("DIR");
  c->add_option("--markdown", bench.markdown, "write the tables into this page, in the place of this benchmark's")
      ->type_name("FILE");
  c->add_flag("--all", bench.all, "print every measurement too");
  c->add_flag("--json", bench.json, "print one JSON object for each measurement");
  c->add_option("--worker", bench.worker, "be the worker of that name: bench/worker.h")->group("");
  c->add_option("--output", bench.output, "of a worker's function: owned, borrowed or none")->group("");
}

void CommandLine::add_texts() {
  CLI::App* c = add("completion", "print a script that makes a shell complete command lines", [this] {
    completion.commands = listed_commands(app);
    return run_completion(completion);
  });
  c->add_option("SHELL", completion.shell, "the shell: " + join(completed_shells(), ", "))
      ->required()
      ->check(one_of("completion", "SHELL", completed_shells()));
  add("man", "print the manual page", [this] { return run_man(listed_commands(app)); });
  CLI::App* help = app.add_subcommand("help", "show what a command takes")->group("Commands");
  help->add_option("COMMAND", helped, "a command")->check(listed_words(names()));
}

}  // namespace thtrain

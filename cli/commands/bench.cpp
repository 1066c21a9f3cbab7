// `thtrain bench`: thtrain compared with its peers, in one run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/choices.h"
#include "bench/device.h"
#include "bench/figures.h"
#include "bench/maths.h"
#include "bench/page.h"
#include "bench/published.h"
#include "bench/report.h"
#include "bench/run.h"
#include "bench/scale.h"
#include "bench/streams.h"
#include "bench/worker.h"
#include "bench/workloads.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/host/cpu.h"
#include "reports/font.h"
#include "trainers/load_data.h"
#include "trainers/shards.h"

namespace thtrain {

namespace {

struct BenchArguments {
  std::string name;  // of the benchmark, or "maths", "paper" and the like
  BenchOptions options;
  std::vector<std::string> configs = {};  // of "conv", empty: its own; of "scale" an experiment file and overrides
  ScaleNetwork network = {};              // of "scale"
  std::string figures = {};               // the folder for those of "paper"; "": the current one
  std::string markdown = {};              // the page whose section is written anew; "": none
  std::vector<int> vector_bytes = {};     // of "maths"; empty: all that the processor has
  std::optional<int64_t> samples = {};    // of "maths"
  int64_t seed = 0;                       // of "choices"
  bool untimed = false;                   // of "choices"
  bool all = false;                       // every measurement, besides the ratios
  bool json = false;
  std::string worker = {};          // "thtrain" or "ceiling": be that worker (bench/worker.h)
  std::string output = "borrowed";  // of the worker's function
};

// One line on a terminal, written again and again; nothing elsewhere.
void show(const std::string& what) {
  if (is_terminal(stderr)) std::fprintf(stderr, "\r\033[K%s", what.substr(0, 110).c_str());
}

int serve(const BenchArguments& arguments) {
  if (arguments.name == "streams") return serve_streams(arguments.worker, arguments.options.quick), kDone;
  std::string dtype = arguments.options.dtypes.empty() ? "float32" : arguments.options.dtypes.front();
  WorkloadOptions options{.dtype = *dtype_named(dtype),
                          .threads = arguments.options.threads.empty() ? 1 : arguments.options.threads.front(),
                          .borrow = arguments.output != "owned"};
  set_floatX(options.dtype);
  serve_worker(bench_named(arguments.name).family, arguments.worker, options);
  return kDone;
}

// "AMD EPYC 9R14, 2 cores, vectors of 64 bytes"
std::string machine_text(const std::string& isa) {
  const Cpu& own = cpu();
  return str(own.model.empty() ? own.architecture : own.model, ", ", own.cores, own.cores == 1 ? " core" : " cores",
             ", ", isa.empty() ? str("vectors of ", own.vector_bytes, " bytes") : str("everybody held to ", isa));
}

// THTRAIN_TARGET would hold thtrain alone to it.
void check_isa(const BenchArguments& arguments) {
  const std::string& isa = arguments.options.isa;
  if (isa.empty()) return;
  if (arguments.name == "maths" || arguments.name == "streams")
    throw UserError(Message{.what = str("bench ", arguments.name, ": --isa has no effect"),
                            .expected = arguments.name == "maths" ? "--vector-bytes" : "nothing instead"});
  detect_cpu(nullptr, parse_target("isa=" + isa));
}

void write_section(const std::string& path, const std::string& name, const std::string& section) {
  const std::string before = std::filesystem::exists(path) ? read_file(path) : "";
  AtomicFile file(path);
  file.write(with_section(before, name, section));
  file.commit();
}

std::vector<Measurement> run_one(const BenchArguments& arguments, const std::string& name,
                                 const BenchOptions& options) {
  auto print = [&](const std::vector<Measurement>& measurements) {
    show("");
    if (const std::string tables = ratio_tables(measurements); !arguments.json)
      return tables.empty() ? void() : print_text(tables + "\n");
    for (const Measurement& m : measurements) print_text(json_line(m) + "\n");
  };
  if (!arguments.json && !options.isa.empty()) print_text(str("Everybody is held to ", options.isa, ".\n\n"));
  BenchResult result = run_bench(bench_named(name), options, show, print);
  if (!arguments.markdown.empty())
    write_section(arguments.markdown, options.isa.empty() ? name : str(name, " --isa ", options.isa),
                  page_section(result.measurements, machine_text(options.isa)));
  if (!arguments.json) {
    if (std::string tables = compile_tables(result.measurements); !tables.empty()) print_text(tables + "\n");
    if (arguments.all) print_text(full_table(result.measurements) + "\n");
  }
  for (const std::string& note : result.notes) std::fprintf(stderr, "%s\n", note.c_str());
  return std::move(result.measurements);
}

// `conv` has configurations for words, since commas separate cases.
BenchOptions with_configs(const BenchArguments& arguments) {
  BenchOptions options = arguments.options;
  if (arguments.name != "conv") {
    if (arguments.configs.empty()) return options;
    throw UserError(Message{.what = str("thtrain bench: unexpected argument ", arguments.configs.front()),
                            .hint = "`thtrain help bench` lists what it takes"});
  }
  if (!options.cases.empty())
    throw UserError(Message{.what = "bench conv: --case has no effect",
                            .expected = "configurations, such as thtrain bench conv i3x64x64,k128x7x7,b64"});
  options.cases = conv_cases(arguments.configs);
  return options;
}

// The figures of the paper that show speed: in double precision on one thread unless something else is asked for.
int run_paper(const BenchArguments& arguments) {
  BenchOptions options = arguments.options;
  if (options.dtypes.empty()) options.dtypes = {"float64"};
  if (options.threads.empty()) options.threads = {1};
  if (options.dtypes.size() > 1 || options.threads.size() > 1)
    throw UserError(Message{.what = "bench paper: more than one dtype or number of threads is given",
                            .expected = "one of each: the figures show one setting"});
  std::string folder = arguments.figures.empty() ? "" : arguments.figures + "/";
  { const AtomicFile can_be_written(folder + "fig5.png"); }  // else this is told before the work
  std::vector<Measurement> all;
  std::vector<std::string> figures;
  // Fig. 5 has batch 60, Fig. 6 batch 1; the other numbers that the authors published are in the table.
  auto bars = [&](const std::string& name, const std::string& shown, const std::vector<std::string>& others,
                  const std::string& file) {
    options.cases = {shown};
    if (!options.quick) options.cases.insert(options.cases.end(), others.begin(), others.end());
    const std::vector<Measurement> found = run_one(arguments, name, options);
    std::vector<Measurement> row;
    std::copy_if(found.begin(), found.end(), std::back_inserter(row),
                 [&](const Measurement& m) { return m.case_name == shown; });
    const std::vector<std::string> drawn = draw_bars(folder + file, row);
    figures.insert(figures.end(), drawn.begin(), drawn.end());
    all.insert(all.end(), found.begin(), found.end());
  };
  bars("mlp", options.quick ? "20-15-10/12" : "784-500-10/60",
       {"784-500-10/1", "784-1000-1000-1000-10/60", "784-1000-1000-1000-10/1"}, "fig5");
  bars("convnet", options.quick ? "convsmall/1" : "convlarge/1",
       {"convlarge/60", "convmed/1", "convmed/60", "convsmall/1", "convsmall/60"}, "fig6");
  const std::string published = published_table(all);
  if (!arguments.json && !published.empty()) print_text(published + "\n");
  if (!arguments.markdown.empty() && !published.empty()) write_section(arguments.markdown, "paper", published + "\n");
  options.cases.clear();
  for (const char* formula : {"poly2", "2a+3b", "a+1", "2a+b^10"})
    for (const char* size : {"1000", "5000", "10000", "50000", "100000", "1000000", "10000000"})
      if (!options.quick || std::string(size).size() == 4) options.cases.push_back(str(formula, '/', size));
  const std::vector<std::string> drawn = draw_speedups(folder + "fig7", run_one(arguments, "elementwise", options));
  figures.insert(figures.end(), drawn.begin(), drawn.end());
  if (!Font::find()) std::fprintf(stderr, "warning: %s\n", without_font().c_str());
  if (!arguments.json) print_text(str("figures: ", join(figures, ", "), '\n'));
  return kDone;
}

// On one thread unless something else is asked for: errors do not depend on it.
int run_maths(const BenchArguments& arguments) {
  const BenchOptions& o = arguments.options;
  if (!arguments.markdown.empty())
    throw UserError(Message{.what = "bench maths: --markdown is for benchmarks that measure speed",
                            .expected = join(benches(), ", ", [](const Bench& b) { return b.name; }) + ", paper"});
  if (o.threads.size() > 1)
    throw UserError(Message{.what = "bench maths: more than one number of threads is given", .expected = "one"});
  MathsOptions options{.functions = o.cases,
                       .dtypes = o.dtypes,
                       .vector_bytes = arguments.vector_bytes,
                       .threads = o.threads.empty() ? 1 : o.threads.front(),
                       .samples = arguments.samples,
                       .quick = o.quick};
  std::vector<MathsMeasurement> all;
  auto found = [&](const MathsMeasurement& m) {
    all.push_back(m);
    if (arguments.json) print_text(json_line(m) + "\n");
  };
  measure_maths(options, show, found);
  show("");
  if (!arguments.json) print_text(maths_table(all));
  return kDone;
}

int run_streams(const BenchArguments& arguments) {
  const BenchOptions& o = arguments.options;
  if (!arguments.markdown.empty() || !o.dtypes.empty())
    throw UserError(
        Message{.what = str("bench streams: ", o.dtypes.empty() ? "--markdown" : "--dtype", " has no effect"),
                .expected = "without it: the table is printed, and examples are float32"});
  StreamOptions options{.formats = o.cases, .threads = o.threads, .repetitions = o.repetitions, .quick = o.quick};
  options.seconds = o.quick ? 0.2 : std::max(o.seconds, 2.0);
  std::vector<StreamMeasurement> all;
  auto found = [&](const StreamMeasurement& m) {
    all.push_back(m);
    if (arguments.json) print_text(json_line(m) + "\n");
  };
  measure_streams(options, show, found);
  show("");
  if (!arguments.json) print_text(stream_table(all));
  return kDone;
}

int run_device(const BenchArguments& arguments) {
  const BenchOptions& o = arguments.options;
  for (const auto& [option, is_given] : {std::pair("--case", !o.cases.empty()),
                                         {"--dtype", !o.dtypes.empty()},
                                         {"--threads", !o.threads.empty()},
                                         {"--markdown", !arguments.markdown.empty()},
                                         {"more than one device", arguments.configs.size() > 1}})
    if (is_given)
      throw UserError(Message{.what = str("bench device: ", option, " has no effect"),
                              .expected = "nothing, or the name of a device: thtrain bench device emulated"});
  const kernel::Target target = device_named(arguments.configs.empty() ? "cuda" : arguments.configs.front());
  const double seconds = o.quick ? 0.02 : o.seconds;
  // Nobody else computes on the emulated device.
  std::optional<DevicePeers> peers;
  if (!target.is_emulated() || !o.peers_folder.empty()) peers.emplace(o, show);
  const DevicePeers* const others = peers ? &*peers : nullptr;
  const auto print = [&](const std::string& text) {
    show("");
    print_text(text);
    std::fflush(stdout);
  };
  if (!arguments.json) print(device_head(target, others));
  measure_device(target, seconds, o.quick, show, [&](DeviceMeasurement m) {
    if (peers) peers->measure(m, seconds);
    print(arguments.json ? json_line(m) + "\n" : device_row(m, others));
  });
  if (peers && !arguments.json)
    for (const std::string& note : peers->notes()) print(note + "\n");
  return kDone;
}

int run_scale(const BenchArguments& arguments) {
  if (arguments.configs.empty())
    throw UserError(Message{.what = "bench scale: CONFIG is missing",
                            .expected = "an experiment file, and overrides: thtrain bench scale lab.toml "
                                        "trainer.shards=4"});
  const std::vector<std::string> overrides(arguments.configs.begin() + 1, arguments.configs.end());
  const LoadedExperiment loaded = load_experiment(arguments.configs.front(), overrides);
  const Experiment& experiment = phase_of(loaded.experiment, 0);
  const std::shared_ptr<Ranks> ranks = join_job();
  check_ranks(experiment, *ranks);
  const Dataset data = load_data(experiment, loaded.config_folder);
  const double seconds = arguments.options.quick ? 0.05 : std::max(1.0, arguments.options.seconds);
  ScaleMeasurement scale = measure_scale(experiment, data, loaded.config_folder, seconds, ranks);
  if (ranks->size() == 1) scale.network = arguments.network;
  if (!ranks->is_first()) return kDone;
  print_text(arguments.json ? scale_json(scale.alone, scale.network) : scale_table(scale.alone, scale.network));
  if (ranks->size() > 1 && !arguments.json) print_text(compared_step(scale, ranks->size()));
  return kDone;
}

// On one thread unless something else is asked for.
int run_choices(const BenchArguments& arguments) {
  const BenchOptions& o = arguments.options;
  if (!arguments.markdown.empty() || !o.cases.empty())
    throw UserError(Message{.what = str("bench choices: ", o.cases.empty() ? "--markdown" : "--case", " has no effect"),
                            .expected = "--seed, which draws the cases; the table is printed"});
  if (o.threads.size() > 1)
    throw UserError(Message{.what = "bench choices: more than one number of threads is given", .expected = "one"});
  ChoicesOptions options{.seed = arguments.seed,
                         .threads = o.threads.empty() ? 1 : o.threads.front(),
                         .untimed = arguments.untimed,
                         .quick = o.quick};
  if (!o.isa.empty())  // before this process asks for them
    for (const auto& [name, value] : isa_environment(o.isa)) setenv(name.c_str(), value.c_str(), 1);
  if (!o.dtypes.empty()) options.dtypes.clear();
  for (const std::string& dtype : o.dtypes) options.dtypes.push_back(*dtype_named(dtype));
  std::vector<TimedChoice> all;
  auto found = [&](const TimedChoice& choice) {
    all.push_back(choice);
    if (arguments.json) print_text(json_line(choice) + "\n");
  };
  measure_choices(options, show, found);
  show("");
  if (arguments.json) return kDone;
  if (!arguments.untimed) return print_text(choices_table(all)), kDone;
  for (const TimedChoice& choice : all) print_text(str(choice.key.text(), ": ", choice.chosen, '\n'));
  return kDone;
}

}  // namespace

// Everybody who uses OpenBLAS would be measured with the kernels of somebody's choice.
static void forget_forced_kernels() {
  const char* chosen = std::getenv("OPENBLAS_CORETYPE");
  if (!chosen || !*chosen) return;
  std::fprintf(stderr,
               "OPENBLAS_CORETYPE=%s is left out: everybody is measured with the kernels that fit the processor\n",
               printable(chosen).c_str());
  unsetenv("OPENBLAS_CORETYPE");
}

static int run_bench_command(const BenchArguments& arguments) {
  if (!arguments.worker.empty()) return serve(arguments);
  forget_forced_kernels();
  check_isa(arguments);
  if (arguments.name == "scale") return run_scale(arguments);
  if (arguments.name == "device") return run_device(arguments);
  const BenchOptions options = with_configs(arguments);
  if (!arguments.markdown.empty()) AtomicFile(arguments.markdown);  // what cannot be written is told before the work
  if (arguments.name == "paper") return run_paper(arguments);
  if (arguments.name == "choices") return run_choices(arguments);
  if (arguments.name == "maths") return run_maths(arguments);
  if (arguments.name == "streams") return run_streams(arguments);
  run_one(arguments, arguments.name, options);
  return kDone;
}

static std::vector<std::string> bench_names() {
  std::vector<std::string> out;
  for (const Bench& bench : benches()) out.push_back(bench.name);
  out.insert(out.end(), {"choices", "device", "maths", "paper", "scale", "streams"});
  return out;
}

// Options that one benchmark takes alone, and those that `choices` does not.
static void check_options(const CLI::App& command, const std::string& bench) {
  constexpr std::pair<const char*, const char*> kOfOne[] = {
      {"--samples", "maths"}, {"--vector-bytes", "maths"}, {"--seed", "choices"}, {"--untimed", "choices"},
      {"--latency", "scale"}, {"--bandwidth", "scale"},    {"--figures", "paper"}};
  auto refuse = [&](const std::string& option, const std::string& expected) {
    throw UserError(Message{.what = str("bench ", bench, ": ", option, " has no effect"),
                            .expected = expected,
                            .hint = "`thtrain help bench` lists what it takes"});
  };
  for (const auto& [option, of] : kOfOne)
    if (command.count(option) > 0 && bench != of) refuse(option, str("nothing instead, or bench ", of));
  if (bench != "choices") return;
  for (const char* option : {"--only", "--repetitions", "--rounds", "--seconds", "--python", "--peers", "--mkl"})
    if (command.count(option) > 0) refuse(option, "nothing instead: all candidates are timed");
}

static Command declare_bench(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<BenchArguments>();
  auto only = std::make_shared<std::vector<std::string>>();
  BenchOptions& o = arguments->options;
  command.add_option("BENCH", arguments->name, "one of " + join(bench_names(), ", "))
      ->required()
      ->check(listed_words(bench_names()));
  command
      .add_option(
          "CONFIG", arguments->configs,
          "`conv`: convolutions such as i64x56x48,k128x5x3,b16,s2x1,p1x1 (channels, width and height of the "
          "images; filters, their width and height; batch; strides; zeros around), or layers of "
          "convnet-benchmarks, 1 to 5; without it seven. `scale`: an experiment file, then key=value. `device`: "
          "cuda, cuda:1 or emulated; without it cuda")
      ->type_name("");
  auto list = [&](CLI::Option* option, const char* type) {
    option->delimiter(',')->allow_extra_args(false)->type_name(type);
    return option;
  };
  auto number = [](auto... range) { return number_in("bench", range...); };
  list(command.add_option("--case", o.cases, "cases; without it all cases of the benchmark"), "A,B");
  list(command.add_option("--dtype", o.dtypes, "float32, float64; without it both"), "A,B")
      ->check(one_of("bench", "--dtype", {"float32", "float64"}));
  list(command.add_option("--threads", o.threads, "numbers of threads; without it 1 and 2"), "N,M")
      ->check(number("--threads", 1, kMaxThreads));
  list(command.add_option("--only", *only, "implementations; without it thtrain, the ceiling and every other library"),
       "A,B");
  command.add_option("--repetitions", o.repetitions, "how often every implementation is started and measured")
      ->type_name("N")
      ->check(number("--repetitions", 1, 1000));
  command.add_option("--rounds", o.rounds, "how often they are measured in turn after one start")
      ->type_name("N")
      ->check(number("--rounds", 1, 1000));
  command.add_option("--seconds", o.seconds, "time for each case, implementation and round")
      ->type_name("S")
      ->check(number("--seconds", 0.001, 1000.0));
  list(command.add_option("--vector-bytes", arguments->vector_bytes,
                          "`maths`: widths of vectors, 16, 32 or 64; without it all that the processor has"),
       "N,M")
      ->check(one_of("bench", "--vector-bytes", {"16", "32", "64"}));
  command
      .add_option(
          "--isa", o.isa,
          "sse2, avx2 or avx512: thtrain, the ceiling and every other library use these instructions and no wider "
          "ones")
      ->type_name("ISA")
      ->check(one_of("bench", "--isa", {"sse2", "avx2", "avx512"}));
  command
      .add_option("--samples", arguments->samples,
                  "`maths`: how many inputs; without it every float32, and 10^8 of what has more")
      ->type_name("N")
      ->check(number("--samples", int64_t{1}, int64_t{1'000'000'000'000}));
  command.add_option("--seed", arguments->seed, "`choices`: draws the computations; without it 0")
      ->type_name("N")
      ->check(number("--seed", int64_t{0}, int64_t{0xffffffff}));
  command
      .add_option_function<double>(
          "--latency", [arguments](double us) { arguments->network.latency = us / 1e6; },
          "`scale`: microseconds of an empty message between ranks; without it 2")
      ->type_name("US")
      ->check(number("--latency", 0.0, 1e6));
  command
      .add_option_function<double>(
          "--bandwidth", [arguments](double rate) { arguments->network.bandwidth = rate * 1e9; },
          "`scale`: gigabytes in a second between ranks; without it 10")
      ->type_name("GB")
      ->check(number("--bandwidth", 1e-6, 1e6));
  command.add_flag("--untimed", arguments->untimed, "`choices`: only what is chosen without tuning; nothing is timed");
  command.add_flag("--quick", o.quick, "small cases, and little time for each");
  command.add_option("--python", o.pythons, "a Python that has other libraries; may be given several times")
      ->type_name("PATH");
  command.add_option("--peers", o.peers_folder, "folder of the scripts that measure other libraries")->type_name("DIR");
  command.add_option("--mkl", o.mkl, "a libmkl_rt for NumPy and SciPy to use besides their own BLAS")
      ->type_name("FILE");
  command.add_option("--figures", arguments->figures, "`paper`: folder for its figures; without it the working folder")
      ->type_name("DIR");
  command
      .add_option("--markdown", arguments->markdown,
                  "write the tables into this page, in place of what it has of this benchmark")
      ->type_name("FILE");
  command.add_flag("--all", arguments->all, "print every measurement too");
  command.add_flag("--json", arguments->json, "print one JSON object for each measurement");
  command.add_option("--worker", arguments->worker, "be the worker of that name: bench/worker.h")->group("");
  command.add_option("--output", arguments->output, "of a worker's function: owned, borrowed or none")->group("");
  return [arguments, only, &command] {
    check_options(command, arguments->name);
    arguments->options.only = {only->begin(), only->end()};
    return run_bench_command(*arguments);
  };
}

CommandSpec bench_command() {
  return {"bench",
          "measure the speed of thtrain and of other libraries",
          {{"thtrain bench mlp", "training steps, compared with every peer that is installed"},
           {"thtrain bench gemm --case 60x784x500/NN --only thtrain,ceiling", "one case, no peers"},
           {"thtrain bench scale lab.toml trainer.shards=64", "what a step would take by up to 1,024 processes"},
           {"thtrain bench conv i3x64x64,k128x7x7,b64", "the three passes of a convolution"}},
          declare_bench};
}

}  // namespace thtrain

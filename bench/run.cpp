#include "bench/run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "bench/compile_cases.h"
#include "bench/large_graphs.h"
#include "bench/peers.h"
#include "bench/scratch_folder.h"
#include "bench/start.h"
#include "bench/worker.h"
#include "bench/workloads.h"
#include "compiler/base/error.h"
#include "compiler/base/nearest_name.h"
#include "config/config_node.h"

namespace thtrain {

const std::vector<Bench>& benches() {
  static const std::vector<Bench> all = [] {
    std::vector<std::string> formulae;
    for (const std::string& formula : elementwise_formulae())
      for (const char* size : {"1000", "5000", "10000", "50000", "100000", "1000000", "10000000"})
        formulae.push_back(str(formula, '/', size));
    formulae.push_back("a+1/4");
    std::vector<std::string> numbers;
    for (const char* kind : {"mrg_uniform", "mrg_normal", "mt_uniform", "mt_normal"})
      for (const char* size : {"1000", "100000", "1000000"}) numbers.push_back(str(kind, '/', size));
    std::vector<std::string> operations;
    for (const char* what :
         {"sort", "int64_sort", "argsort", "int64_argsort", "topk", "int64_topk", "unique", "int64_unique"})
      for (const char* lengths : {"1000000", "1000x1000"}) operations.push_back(str(what, '/', lengths));
    for (const char* count : {"1000x", "10000x"})
      for (const char* matrix : {"4x4", "16x16", "64x64"}) operations.push_back(str("matmul/", count, matrix));
    for (const char* rows : {"take", "scatter_add", "mask_rows"}) operations.push_back(str(rows, "/100000x128"));
    for (const char* what :
         {"mask", "set_mask", "sum0", "sum1", "max0", "max1", "argmax0", "argmax1", "cumsum0", "cumsum1"})
      operations.push_back(str(what, "/4000x3000"));
    for (const char* what : {"attention/32x128x8x64", "cumsum0/1000000", "per_example/128x784x100x10"})
      operations.emplace_back(what);
    std::vector<std::string> graphs;
    for (const char* kind : {"mlp", "chain", "sum"})
      for (const char* nodes : {"100", "1000", "10000", "100000"}) graphs.push_back(str(kind, '/', nodes));
    for (const char* start : {"cold/784-500-10/20", "warm/784-500-10/20", "cold/1000-layers"}) graphs.push_back(start);
    std::vector<std::string> starts;
    for (const std::string& experiment : start_cases()) starts.push_back("cold/" + experiment);
    const std::vector<std::string> convolutions = conv_cases(
        {"i3x64x64,k128x7x7,b64", "i32x15x80,k64x5x5,b256", "i128x36x12,k64x6x3,b256", "i1x256x256,k6x7x7,b20",
         "i64x56x56,k64x3x3,p1x1,b16", "i256x14x14,k256x3x3,p1x1,b16", "i64x56x56,k256x1x1,b16"});
    std::vector<std::string> poolings;
    for (const char* what : {"max", "max_gradient", "mean", "mean_gradient"})
      for (const char* windows : {"16x64x112x112/w3s2p1", "16x64x56x56/w3s2p1", "16x64x56x56/w3s1p1",
                                  "16x64x56x56/w2s2p0", "60x20x24x24/w2s2p0"})
        poolings.push_back(str(what, '/', windows));
    std::vector<std::string> transforms;
    for (const char* lengths : {"1024", "1048576", "1000000", "1009", "1000x1000", "128x128x128"})
      for (const char* what : {"fft", "rfft"}) transforms.push_back(str(what, '/', lengths));
    std::vector<std::string> products;
    for (const char* what : {"dot", "dense", "stored"})
      for (const char* n : {"1", "16", "64"})
        for (const char* percent : {"0.1", "1", "10"}) products.push_back(str(what, "/10000x10000x", n, '/', percent));
    for (const char* other : {"sparse/10000x10000/0.1", "sparse/2000x2000/1", "logistic/100x100000/0.1"})
      products.emplace_back(other);
    for (const std::string& kind : large_graph_kinds()) graphs.push_back(str("cold/", kind, "/10000"));
    return std::vector<Bench>{
        {"mlp",
         "net",
         "examples/s",
         "training steps of multi-layer perceptrons (Fig. 5 of the Theano paper)",
         {"784-500-10/60", "784-500-10/1", "784-1000-1000-1000-10/60", "784-1000-1000-1000-10/1"},
         {"20-15-10/12"},
         {"none"}},
        {"logreg",
         "net",
         "examples/s",
         "training steps of logistic regression",
         {"784-10/60", "784-10/600"},
         {"20-10/12"},
         {"none"}},
        {"elementwise",
         "elementwise",
         "elements/s",
         "elementwise formulae (Fig. 7 of the Theano paper)",
         formulae,
         {"poly2/1000"},
         {"owned", "borrowed"}},
        {"gemm",
         "gemm",
         "GFLOP/s",
         "matrix products",
         {"2048x2048x2048/NN", "60x784x500/NN", "784x60x500/TN", "60x500x784/NT", "32x256x256/NN", "1x256x256/NN"},
         {"6x7x5/TN"},
         {"none"}},
        {"loops",
         "loops",
         "iterations/s",
         "loops of 1,000 iterations compared with the same loop written by hand",
         {"state/4", "state/100", "state/10000", "gradient/4", "gradient/100", "gradient/10000"},
         {"gradient/100"},
         {"none"}},
        {"random",
         "random_numbers",
         "numbers/s",
         "random numbers of both generators",
         numbers,
         {"mrg_uniform/1000"},
         {"owned", "borrowed"}},
        {"language",
         "language",
         "elements/s",
         "operations on arrays",
         operations,
         {"sort/100", "int64_topk/7x120", "unique/100", "matmul/5x4x4", "per_example/5x6x4x3"},
         {"borrowed"}},
        {"rnn",
         "rnn",
         "sequences/s",
         "training steps of recurrent networks",
         {"tanh-128-256-100/32", "tanh-128-256-100/1", "lstm-128-256-100/32", "lstm-128-256-100/1"},
         {"tanh-5-6-7/3"},
         {"none"}},
        {"rbm",
         "rbm",
         "examples/s",
         "updates of restricted Boltzmann machines by contrastive divergence",
         {"784-500-1/20", "784-500-15/20", "1024-1024-1/60"},
         {"20-15-3/12"},
         {"none"}},
        {"conv",
         "conv",
         "GFLOP/s",
         "convolutions and their two gradients",
         convolutions,
         conv_cases({"i2x7x6,k3x3x2,b4,s2x1,p1x0"}),
         {"none"}},
        {"pool",
         "pool",
         "elements/s",
         "maxima and means of windows of images, and their gradients",
         poolings,
         {"max_gradient/2x3x9x10/w3s2p1"},
         {"none"}},
        {"convnet",
         "convnet",
         "examples/s",
         "training steps of networks with convolutions (Fig. 6 of the Theano paper), and of LeNet",
         {"convsmall/1", "convsmall/60", "convmed/1", "convmed/60", "convlarge/1", "convlarge/60", "lenet/60",
          "lenet/500"},
         {"convsmall/1"},
         {"none"}},
        {"fft",
         "fft",
         "GFLOP/s",
         "transforms of Fourier of complex and of real numbers",
         transforms,
         {"fft/100", "rfft/6x10"},
         {"borrowed"}},
        {"sparse",
         "sparse",
         "GFLOP/s",
         "products of sparse matrices, their gradients, and a training step of logistic regression",
         products,
         {"dot/30x40x3/10", "dense/30x40x1/10", "stored/30x40x5/10", "sparse/30x40/10", "logistic/30x40/10"},
         {"borrowed"}},
        {"compile",
         "compile",
         "nodes/s",
         "passes, planner and printer on large graphs",
         graphs,
         {"chain/100"},
         {"none"}},
        {"start",
         "compile",
         "starts/s",
         "from an experiment to the end of its first training step, with nothing compiled before",
         starts,
         {"cold/mlp_digits"},
         {"none"}},
    };
  }();
  return all;
}

const Bench& bench_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Bench& bench : benches()) {
    if (bench.name == name) return bench;
    names.push_back(bench.name);
  }
  names.insert(names.end(), {"choices", "device", "maths", "paper", "scale", "streams"});
  std::string near = nearest_name(name, names);
  throw UserError(Message{.what = str("bench: there is no benchmark ", name),
                          .expected = join(names, ", "),
                          .hint = near.empty() ? "" : str("did you mean ", near, '?')});
}

void check_cases(const Bench& bench, const std::vector<std::string>& cases) {
  for (const std::string& text : cases) {
    try {
      if (bench.family == "net") net_case(text);
      if (bench.family == "elementwise") elementwise_case(text);
      if (bench.family == "gemm") gemm_case(text);
      if (bench.family == "loops") loop_case(text);
      if (bench.family == "random_numbers") random_case(text);
      if (bench.family == "language") language_case(text);
      if (bench.family == "rnn") rnn_case(text);
      if (bench.family == "rbm") rbm_case(text);
      if (bench.family == "conv") conv_case(text);
      if (bench.family == "pool") pool_case(text);
      if (bench.family == "convnet") convnet_case(text);
      if (bench.family == "sparse") sparse_case(text);
      if (bench.family == "fft") fft_case(text);
      if (bench.family == "compile") check_compile_case(text);
    } catch (const UserError& error) {
      const std::string near = nearest_name(text, bench.cases);
      throw UserError(Message{.what = str("bench ", bench.name, ": there is no case ", text),
                              .expected = str(error.messages().front().expected, "\nthe cases of ", bench.name, ": ",
                                              join(bench.cases, ", ")),
                              .hint = near.empty() ? "" : str("did you mean ", near, '?')});
    }
  }
}

namespace {

/// An implementation to be asked, and what it has said so far.
struct Implementation {
  std::string implementation, kind, form;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string version = {}, setting = {};
  bool dropped = false;
  std::set<std::string> given_up = {};  // kinds of cases of which one took too long
};

// "mlp/10000" -> "mlp"
std::string kind_of(const std::string& case_name) {
  return case_name.substr(0, case_name.find('/'));
}

bool is_start(const std::string& case_name) {
  return case_name.starts_with("cold/") || case_name.starts_with("warm/");
}

class Runner {
 public:
  Runner(const Bench& bench, const BenchOptions& options, const std::function<void(const std::string&)>& progress,
         const std::function<void(const std::vector<Measurement>&)>& finished)
      : bench_(bench), options_(options), progress_(progress), finished_(finished) {}

  BenchResult run() {
    check_cases(bench_, options_.cases);
    for (const std::string& dtype : or_default(options_.dtypes, {"float32", "float64"}))
      for (int threads : or_default(options_.threads, {1, 2})) run_setting(dtype, threads);
    if (result_.measurements.empty())
      throw UserError(
          Message{.what = str("bench ", bench_.name, ": nothing was measured"),
                  .expected = options_.only.empty() ? "" : str("--only with names among: ", join(known_, ", ")),
                  .got = join(result_.notes, "\n")});
    return std::move(result_);
  }

 private:
  template <class T>
  static std::vector<T> or_default(const std::vector<T>& given, const std::vector<T>& usual) {
    return given.empty() ? usual : given;
  }
  std::vector<std::string> cases() const {
    return or_default(options_.cases, options_.quick ? bench_.quick_cases : bench_.cases);
  }
  bool wanted(const std::string& implementation) {
    known_.insert(implementation);
    return options_.only.empty() || options_.only.contains(implementation);
  }
  void note(const std::string& text) {
    if (std::find(result_.notes.begin(), result_.notes.end(), text) == result_.notes.end())
      result_.notes.push_back(text);
  }

  // Once for each implementation and reason.
  void note_trouble(const Implementation& who, const std::string& reason) {
    note(str(who.implementation, who.kind.empty() ? "" : str(" (", who.command.front(), ")"),
             ": not measured: ", reason));
  }

  std::vector<Implementation> candidates(const std::string& dtype, int threads) {
    std::vector<Implementation> out;
    std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    auto add_own = [&](const std::string& name, const std::string& form) {
      if (!wanted(name)) return;
      Implementation& added = out.emplace_back(Implementation{name, "", form, {}, {}});
      added.command = {self,
                       "bench",
                       bench_.name,
                       "--worker",
                       name,
                       "--output",
                       form,
                       "--dtype",
                       dtype,
                       "--threads",
                       std::to_string(threads)};
      if (!options_.isa.empty()) added.environment = isa_environment(options_.isa);
      if (bench_.family == "compile") added.environment["THTRAIN_CACHE_DIR"] = cache_.path();
    };
    for (const std::string& form : bench_.forms) add_own("thtrain", form);
    add_own(bench_.family == "compile" ? "host_compiler" : "ceiling", "none");
    if (!peers_) peers_ = find_peers(bench_.family, options_, result_.notes);
    for (const Peer& peer : *peers_) {
      if (!wanted(peer.name)) continue;
      Implementation& added =
          out.emplace_back(Implementation{peer.name, peer.kind, peer.form, peer.command, peer.environment});
      for (const std::string& word : {std::string("--dtype"), dtype, std::string("--threads"), std::to_string(threads)})
        added.command.push_back(word);
      if (!options_.isa.empty()) added.command.insert(added.command.end(), {"--isa", options_.isa});
    }
    return out;
  }

  // False where the implementation is missing, or is the same as one that is there already.
  bool start(Implementation& candidate, const std::vector<Implementation>& all, std::unique_ptr<Worker>& worker) {
    worker = std::make_unique<Worker>(candidate.command, candidate.environment);
    auto hello = worker->read();
    if (!hello.contains("ready")) {
      note_trouble(candidate, hello.contains("missing") ? hello["missing"] : hello["error"]);
      return false;
    }
    candidate.version = hello["version"];
    candidate.setting = hello["setting"];
    return std::none_of(all.begin(), all.end(), [&](const Implementation& other) {
      return &other < &candidate && !other.dropped && other.implementation == candidate.implementation &&
             other.form == candidate.form && other.version == candidate.version && other.setting == candidate.setting;
    });
  }

  // The threads of who was measured before may still wait for work, and take a core for it: Intel's OpenMP does so for
  // 200 ms (KMP_BLOCKTIME), which is much of a round.
  static constexpr std::chrono::milliseconds kRest{300};

  void run_setting(const std::string& dtype, int threads) {
    std::vector<Implementation> all = candidates(dtype, threads);
    std::vector<std::vector<Measurement>> found(cases().size(), std::vector<Measurement>(all.size()));
    double seconds = options_.quick ? 0.02 : options_.seconds;
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      std::string where = str(bench_.name, ' ', dtype, ", ", threads, threads == 1 ? " thread" : " threads",
                              ", repetition ", repetition + 1, " of ", options_.repetitions, ": ");
      std::vector<std::unique_ptr<Worker>> workers(all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].dropped) continue;
        progress_(str(where, "starting ", all[i].implementation));
        if (start(all[i], all, workers[i])) continue;
        workers[i].reset();
        all[i].dropped = true;
      }
      for (size_t c = 0; c < cases().size(); ++c)
        for (int round = 0; round < options_.rounds; ++round)
          for (size_t k = 0; k < all.size(); ++k) {
            size_t i = (k + static_cast<size_t>(round + repetition)) % all.size();  // nobody is always first
            if (!workers[i] || (is_own_start(cases()[c]) && all[i].implementation != "thtrain")) continue;
            if (all[i].given_up.contains(kind_of(cases()[c]))) continue;
            progress_(str(where, cases()[c], ", ", all[i].implementation));
            if (threads > 1) std::this_thread::sleep_for(kRest);
            const double limit = all[i].kind.empty() ? -1 : options_.limit_seconds;
            auto answer = workers[i]->ask(cases()[c], seconds, limit);
            if (answer.contains("over_limit")) {
              note(str(all[i].implementation, ": ", answer["over_limit"]));
              all[i].given_up.insert(kind_of(cases()[c]));
              if (!start(all[i], all, workers[i])) workers[i].reset();
              continue;
            }
            add_round(found[c][i], all[i], answer);
          }
    }
    const auto before = static_cast<std::ptrdiff_t>(result_.measurements.size());
    for (size_t c = 0; c < cases().size(); ++c)
      for (size_t i = 0; i < all.size(); ++i) keep(found[c][i], all[i], cases()[c], dtype, threads);
    finished_({result_.measurements.begin() + before, result_.measurements.end()});
  }

  // A start of bench/compile_cases.h; peers have those of bench/start.h.
  bool is_own_start(const std::string& case_name) const { return is_start(case_name) && bench_.name != "start"; }

  void add_round(Measurement& into, const Implementation& who, const std::map<std::string, std::string>& answer) {
    if (auto error = answer.find("error"); error != answer.end()) {
      if (who.implementation != "ceiling" && who.implementation != "host_compiler") note_trouble(who, error->second);
      return;
    }
    into.rounds.push_back(std::stod(answer.at("value")));
    if (auto chosen = answer.find("chosen"); chosen != answer.end()) into.chosen = chosen->second;
    into.low = std::stod(answer.at("low"));
    into.high = std::stod(answer.at("high"));
  }

  void keep(Measurement& m, const Implementation& who, const std::string& case_name, const std::string& dtype,
            int threads) {
    if (m.rounds.empty()) return;
    m.bench = bench_.name;
    m.case_name = case_name;
    m.dtype = dtype;
    m.threads = threads;
    m.form = who.form;
    m.implementation = who.implementation;
    m.kind = who.kind;
    m.setting = who.setting;
    m.version = who.version;
    m.unit = is_start(case_name) ? "starts/s" : bench_.unit;
    m.value = median(m.rounds);
    if (m.rounds.size() > 1) {
      auto [low, high] = std::minmax_element(m.rounds.begin(), m.rounds.end());
      m.low = *low;
      m.high = *high;
    }
    result_.measurements.push_back(m);
  }

  const Bench& bench_;
  const BenchOptions& options_;
  const std::function<void(const std::string&)>& progress_;
  const std::function<void(const std::vector<Measurement>&)>& finished_;
  std::optional<std::vector<Peer>> peers_;
  ScratchFolder cache_;          // where `compile` compiles to
  std::set<std::string> known_;  // the implementations that there are
  BenchResult result_;
};

}  // namespace

std::map<std::string, std::string> isa_environment(const std::string& isa) {
  const bool is_avx2 = isa == "avx2", is_sse2 = isa == "sse2";
  return {{"THTRAIN_TARGET", "isa=" + isa},
          {"OPENBLAS_CORETYPE", is_avx2   ? "Haswell"
                                : is_sse2 ? "Prescott"
                                          : "SkylakeX"},
          {"ONEDNN_MAX_CPU_ISA", is_avx2   ? "AVX2"
                                 : is_sse2 ? "SSE41"
                                           : "AVX512_CORE"}};
}

BenchResult run_bench(const Bench& bench, const BenchOptions& options,
                      const std::function<void(const std::string&)>& progress,
                      const std::function<void(const std::vector<Measurement>&)>& finished) {
  return Runner(bench, options, progress, finished).run();
}

}  // namespace thtrain

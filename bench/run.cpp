#include "bench/run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "bench/compile_cases.h"
#include "bench/peers.h"
#include "bench/scratch_folder.h"
#include "bench/worker.h"
#include "bench/workloads.h"
#include "compiler/base/error.h"
#include "compiler/base/nearest_name.h"
#include "config/config_node.h"

namespace thtrain {

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
      if (bench.family == "factor") factor_case(text);
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
    if (result_.measurements.empty()) {
      const bool is_known = std::ranges::includes(known_, options_.only);
      throw UserError(Message{.what = str("bench ", bench_.name, ": nothing was measured"),
                              .expected = is_known ? "" : str("--only with names among: ", join(known_, ", ")),
                              .got = join(result_.notes, "\n")});
    }
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

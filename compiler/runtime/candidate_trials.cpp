#include "compiler/runtime/candidate_trials.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "compiler/codegen/emit.h"
#include "compiler/ir/op.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/cache.h"
#include "compiler/runtime/library_functions.h"
#include "compiler/runtime/machine.h"
#include "compiler/runtime/side_by_side.h"
#include "compiler/runtime/threads.h"
#include "compiler/runtime/tuner.h"

namespace thtrain {
namespace {

// How long all trials of one key take if they are short, and one turn of one candidate.
constexpr double kSeconds = 0.25, kTurnSeconds = 0.0005;
// Long ones take so many turns, and of these only the first where they take longer than kMostSeconds.
constexpr int kLeastTurns = 7, kFirstTurns = 2;
constexpr double kMostSeconds = 2;
// Slower than the fastest by these factors, after the first turn and after kFirstTurns more, none may become the
// fastest.
constexpr double kHopeless = 3, kSlower = 1.25;
// Programs that want a core, for each of the cores. The compilers of a tuning are as many as there are cores.
constexpr double kBusy = 1.5;
// A step of training touches much else before it comes back to the same node: operands that the second cache does not
// hold take turns, so that they are not found nearer than they will be there.
constexpr int64_t kFitsCache = 1 << 20;
constexpr size_t kTakeTurns = 3;

struct Forced : kernel::Chooser {
  explicit Forced(std::string name) : candidate(std::move(name)) {}
  std::string choose(const kernel::ChoiceKey&) const override { return candidate; }
  std::string candidate;
};

// The mean of the last minute; 0 where the system does not say it, or it is not above kBusy.
double load_when_busy() {
  const double load = load_of_cores();
  return load > kBusy ? load : 0;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Small whole numbers: sums stay finite however often they are accumulated, and no operand is denormal.
Tensor filled(const Type& type) {
  Tensor out = Tensor::empty(type.dtype, type.known_shape());
  visit(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.size(); ++i) out.data<T>()[i] = static_cast<T>(i * 7 % 13 - 6);
  });
  return out;
}

// A set of arguments, in the order of the entry's.
struct Arguments {
  explicit Arguments(const Program& program) {
    for (const Expr& input : program.graph.inputs) tensors.push_back(filled(input.type()));
    for (const Expr& leaf : program.shared) tensors.push_back(filled(leaf.type()));
    for (const Tensor& constant : program.constants) tensors.push_back(constant);
    for (const Expr& output : program.graph.outputs) tensors.push_back(filled(output.type()));
    for (const Tensor& t : tensors) entry.push_back({t.raw(), t.shape().data()});
  }
  int64_t bytes() const {
    int64_t out = 0;
    for (const Tensor& t : tensors) out += static_cast<int64_t>(t.bytes());
    return out;
  }
  std::vector<Tensor> tensors;
  std::vector<ThTensor> entry;
};

// A candidate's program, loaded.
class Trial {
 public:
  Trial(const Graph& graph, const std::string& candidate, int threads)
      : forced_(candidate),
        program_(plan(graph, {}, {.target = machine(), .threads = threads, .chooser = &forced_})),
        source_(emit_cpp(program_).text) {
    context_.version = TH_ABI_VERSION;
    context_.threads = threads;
    context_.parallel_for = parallel_for;
    context_.fail = [](ThContext* context, int, long, long) { first_failure(context); };
  }

  void load() {
    LoadedObject loaded = cache().load_object(source_, "thtrain_entry");
    if (!loaded.object)
      throw UserError(Message{.what = "no candidate can be compiled", .got = loaded.reason, .hint = "install g++"});
    object_ = loaded.object;
    entry_ = reinterpret_cast<ThEntry>(object_->symbol("thtrain_entry"));
    library_ = library_table(source_.libraries);
    context_.library = library_.data();
    arena_ = Tensor::zeros(DType::kUInt8, {program_.memory.arena_bytes.value()});  // each page is touched
    context_.arena = static_cast<char*>(arena_.raw());
    sets_.emplace_back(program_);
    if (sets_[0].bytes() >= kFitsCache)
      while (sets_.size() < kTakeTurns) sets_.emplace_back(program_);
  }

  // False where the program fails.
  bool run() { return entry_(&context_, sets_[next_++ % sets_.size()].entry.data()) == 0; }

  int calls = 0;  // in one turn
  bool failed = false, is_out = false;
  double first = 0;  // seconds of a call in the first turn
  double fastest = std::numeric_limits<double>::infinity();

 private:
  Forced forced_;
  Program program_;
  SourceText source_;
  std::shared_ptr<const SharedObject> object_;
  ThEntry entry_ = nullptr;
  std::vector<void*> library_;
  Tensor arena_ = Tensor::empty(DType::kUInt8, {0});
  ThContext context_{};
  std::vector<Arguments> sets_;
  size_t next_ = 0;
};

// One turn of a candidate. The first warms up and tells how many calls make a turn.
void take_turn(Trial& trial) {
  const bool is_first = trial.calls == 0;
  const double start = seconds_now();
  int done = 0;
  do {
    trial.failed = trial.failed || !trial.run();
    ++done;
  } while (!trial.failed && (is_first ? seconds_now() - start < kTurnSeconds : done < trial.calls));
  const double seconds = (seconds_now() - start) / done;
  if (is_first) {
    trial.calls = done;
    trial.first = seconds;
  } else {
    trial.fastest = std::min(trial.fastest, seconds);
  }
}

using Trials = std::vector<std::unique_ptr<Trial>>;

// Those that are slower than the fastest by `factor` take no other turn.
void leave_out_slow(const Trials& trials, double Trial::*time, double factor) {
  double best = std::numeric_limits<double>::infinity();
  for (const std::unique_ptr<Trial>& trial : trials)
    if (!trial->failed && !trial->is_out) best = std::min(best, (*trial).*time);
  for (const std::unique_ptr<Trial>& trial : trials) {
    if (trial->failed || trial->is_out || (*trial).*time <= factor * best) continue;
    trial->is_out = true;
    trial->fastest = (*trial).*time;
  }
}

void take_turns(const Trials& trials) {
  const double begin = seconds_now();
  auto has_time = [&](int turn) {
    const double seconds = seconds_now() - begin;
    return turn < kFirstTurns || seconds < kSeconds || (turn < kLeastTurns && seconds < kMostSeconds);
  };
  for (int turn = -1; has_time(turn); ++turn) {
    for (const std::unique_ptr<Trial>& trial : trials)
      if (!trial->failed && !trial->is_out) take_turn(*trial);
    if (turn < 0) leave_out_slow(trials, &Trial::first, kHopeless);
    if (turn == kFirstTurns - 1) leave_out_slow(trials, &Trial::fastest, kSlower);
  }
}

double flops_of(const Graph& graph) {
  Dim flops = 0;
  for (const Node* node : topological_order(graph.roots()))
    if (node->op->cost) flops = flops + node->op->cost(*node).flops;
  return flops.is_known() ? static_cast<double>(flops.value()) : 0;
}

}  // namespace

std::vector<CandidateTrial> time_candidates(const kernel::ChoiceKey& key, const std::vector<Candidate>& candidates,
                                            int threads) {
  const Computation* computation = find_computation(key.computation);
  const std::optional<Graph> graph = computation ? computation->example(key.properties) : std::nullopt;
  if (!graph) throw UserError({.what = "no computation can be timed by this key", .got = key.text()});
  Trials trials;
  for (const Candidate& candidate : candidates)
    trials.push_back(std::make_unique<Trial>(*graph, candidate.name, threads));
  run_side_by_side(
      trials.size(), static_cast<size_t>(std::max(1, machine().cores)), [&](size_t i) { trials[i]->load(); }, [] {});

  const double load = load_when_busy();
  take_turns(trials);

  std::vector<CandidateTrial> out;
  for (size_t i = 0; i < trials.size(); ++i)
    if (!trials[i]->failed)
      out.push_back(
          {candidates[i].name, version_of(candidates[i]).value_or(""), trials[i]->fastest, flops_of(*graph), load});
  return out;
}

TuningTable tuning_of(const kernel::ChoiceKey& key, const std::vector<CandidateTrial>& trials) {
  TuningTable out;
  for (const CandidateTrial& trial : trials)
    out.add(key.text(), {trial.candidate, trial.version, trial.seconds, trial.load});
  return out;
}

}  // namespace thtrain

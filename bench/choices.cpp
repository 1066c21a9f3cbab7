#include "bench/choices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "compiler/base/random_state.h"
#include "compiler/base/str.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/conv/convolution.h"
#include "compiler/ops/linalg/product_key.h"
#include "compiler/ops/pool/pooling.h"
#include "compiler/tuning/machine.h"
#include "compiler/tuning/tuner.h"
#include "reports/json.h"

namespace thtrain {

using kernel::ChoiceKey;

namespace {

class Draws {
 public:
  explicit Draws(const ChoicesOptions& options) : options_(options), random_(options.seed) {}

  /// low to high; small ones where the run is quick.
  int64_t length(int64_t low, int64_t high) {
    if (options_.quick) high = std::max(low, high / 8);
    const double first = std::log(static_cast<double>(low)), end = std::log(static_cast<double>(high + 1));
    return std::min(high, static_cast<int64_t>(std::exp(random_.uniform(first, end))));
  }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[random_.interval(all.size() - 1)];
  }
  DType dtype() { return one_of(options_.dtypes); }

 private:
  const ChoicesOptions& options_;
  RandomState random_;
};

double most_operations(const ChoicesOptions& options) {
  return options.quick ? 1e7 : 4e9;
}
constexpr double kLeastOperations = 1e4, kMostInArray = 1 << 24;

std::optional<ChoiceKey> drawn_convolution(Draws& draws, const ChoicesOptions& options) {
  const int64_t height = draws.length(5, 256), width = draws.one_of<int>({0, 1}) ? height : draws.length(5, 256);
  const int64_t taps = draws.one_of<int64_t>({1, 3, 3, 5, 7}), stride = draws.one_of<int64_t>({1, 1, 1, 2});
  const int64_t padding = draws.one_of<int>({0, 1}) ? taps / 2 : 0;
  std::string text = str(name_of(draws.dtype()), " b", draws.length(1, 128), " i", draws.length(1, 512), "x", height,
                         "x", width, " k", draws.length(1, 512), "x", taps, "x", taps);
  if (stride > 1) text += str(" s", stride, "x", stride);
  if (padding > 0) text += str(" p", padding, ":", padding, "x", padding, ":", padding);
  const ConvPass pass =
      draws.one_of<ConvPass>({ConvPass::kForward, ConvPass::kInputGradient, ConvPass::kWeightGradient});
  const std::optional<Convolution> c = convolution_of({name_of(pass), text});
  if (!c || c->flops() < kLeastOperations || c->flops() > most_operations(options)) return std::nullopt;
  const double images = static_cast<double>(c->n * c->c) * static_cast<double>(c->pixels()),
               results = static_cast<double>(c->n * c->f) * static_cast<double>(c->positions());
  if (std::max(images, results) > kMostInArray) return std::nullopt;
  return key_of(*c);
}

std::optional<ChoiceKey> drawn_product(Draws& draws, const ChoicesOptions& options) {
  MatrixProduct p{.dtype = draws.dtype(),
                  .m = draws.length(1, 4096),
                  .n = draws.length(1, 4096),
                  .k = draws.length(1, 4096),
                  .trans_a = draws.one_of<int>({0, 1}) == 1,
                  .trans_b = draws.one_of<int>({0, 1}) == 1,
                  .accumulates = draws.one_of<int>({0, 0, 1}) == 1};
  const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (operations < kLeastOperations || operations > most_operations(options)) return std::nullopt;
  return key_of(p);
}

std::optional<ChoiceKey> drawn_pooling(Draws& draws, const ChoicesOptions&) {
  const std::string op = draws.one_of<std::string>({"max_pool", "max_pool_gradient", "sum_pool", "sum_pool_gradient"});
  const int64_t window = draws.one_of<int64_t>({2, 2, 3}), stride = draws.one_of<int64_t>({2, window});
  const int64_t batch = draws.length(1, 128), channels = draws.length(1, 512), height = draws.length(8, 256);
  const int64_t padding = window == 3 ? draws.one_of<int64_t>({0, 1}) : 0;
  const std::string text = str(op, " ", name_of(draws.dtype()), " ", batch, "x", channels, "x", height, "x", height,
                               " w", window, "x", window, " s", stride, "x", stride, " p", padding, ":", padding, "x",
                               padding, ":", padding, op.starts_with("sum") ? " inside" : "");
  if (static_cast<double>(batch * channels) * static_cast<double>(height * height) > kMostInArray) return std::nullopt;
  const std::optional<Pooling> p = pooling_of({"pool", text});
  return p ? std::optional(key_of(*p)) : std::nullopt;
}

using DrawKey = std::optional<ChoiceKey> (*)(Draws&, const ChoicesOptions&);
struct Part {
  DrawKey draw;
  size_t count, quick_count;
};
constexpr Part kParts[] = {{drawn_convolution, 100, 3}, {drawn_product, 60, 3}, {drawn_pooling, 40, 2}};

double seconds_of(const std::vector<CandidateTrial>& trials, const std::string& name) {
  for (const CandidateTrial& trial : trials)
    if (trial.candidate == name) return trial.seconds;
  return 0;
}

TimedChoice by_rule(const ChoiceKey& key, int threads) {
  return {.key = key, .chosen = find_computation(key.computation)->rule(key, machine(), threads, 0)};
}

// The fastest rounds of both.
void add_times(std::vector<CandidateTrial>& all, const std::vector<CandidateTrial>& others) {
  for (CandidateTrial& one : all)
    for (const CandidateTrial& other : others)
      if (one.candidate == other.candidate) one.seconds = std::min(one.seconds, other.seconds);
}

// The rule's candidate and the fastest are timed again, side by side, as often as they seem far from each other.
std::optional<TimedChoice> timed(const ChoiceKey& key, int threads) {
  constexpr int kMostTimes = 3;
  constexpr double kFar = 1.1;
  TimedChoice out = by_rule(key, threads);
  const std::vector<Candidate> candidates = usable_candidates(key, 0);
  out.trials = time_candidates(key, candidates, threads);
  if (out.trials.empty()) return std::nullopt;
  for (int times = 0; times <= kMostTimes; ++times) {
    const auto fastest =
        std::min_element(out.trials.begin(), out.trials.end(),
                         [](const CandidateTrial& a, const CandidateTrial& b) { return a.seconds < b.seconds; });
    out.fastest = fastest->candidate;
    out.fastest_seconds = fastest->seconds;
    out.chosen_seconds = seconds_of(out.trials, out.chosen);
    if (out.chosen_seconds <= 0) return std::nullopt;
    if (out.fastest == out.chosen || times == kMostTimes || (times > 0 && out.ratio() < kFar)) break;
    std::vector<Candidate> two;
    for (const Candidate& c : candidates)
      if (c.name == out.fastest || c.name == out.chosen) two.push_back(c);
    add_times(out.trials, time_candidates(key, two, threads));
  }
  return out;
}

std::string summary_row(const std::string& name, const std::vector<const TimedChoice*>& of) {
  std::vector<double> ratios;
  double logarithms = 0;
  for (const TimedChoice* choice : of) {
    ratios.push_back(choice->ratio());
    logarithms += std::log(choice->ratio());
  }
  std::sort(ratios.begin(), ratios.end());
  const size_t nine_tenths = (9 * ratios.size() + 9) / 10;
  return str("| ", name, " | ", ratios.size(), " | ",
             fixed_text(std::exp(logarithms / static_cast<double>(ratios.size())), 3), " | ",
             fixed_text(ratios[nine_tenths - 1], 2), " | ", fixed_text(ratios.back(), 2), " |\n");
}

}  // namespace

std::vector<ChoiceKey> drawn_keys(const ChoicesOptions& options) {
  Draws draws(options);
  std::vector<ChoiceKey> out;
  for (const Part& part : kParts)
    for (size_t count = options.quick ? part.quick_count : part.count; count > 0;)
      if (std::optional<ChoiceKey> key = part.draw(draws, options);
          key && std::find(out.begin(), out.end(), *key) == out.end()) {
        out.push_back(*key);
        --count;
      }
  return out;
}

void measure_choices(const ChoicesOptions& options, const std::function<void(const std::string&)>& progress,
                     const std::function<void(const TimedChoice&)>& found) {
  const std::vector<ChoiceKey> keys = drawn_keys(options);
  for (size_t i = 0; i < keys.size(); ++i) {
    progress(str("choices, ", i + 1, " of ", keys.size(), ": ", keys[i].text()));
    if (options.untimed)
      found(by_rule(keys[i], options.threads));
    else if (const std::optional<TimedChoice> choice = timed(keys[i], options.threads))
      found(*choice);
  }
}

std::string choices_table(const std::vector<TimedChoice>& all) {
  constexpr size_t kWorst = 10;
  std::map<std::string, std::vector<const TimedChoice*>> by_computation;
  std::vector<const TimedChoice*> sorted;
  for (const TimedChoice& choice : all) {
    by_computation[choice.key.computation].push_back(&choice);
    sorted.push_back(&choice);
  }
  std::string out =
      "| computation | keys | mean of rule / fastest | nine in ten at most | worst |\n| --- | --- | --- | --- | --- "
      "|\n";
  for (const auto& [name, of] : by_computation) out += summary_row(name, of);
  if (!sorted.empty()) out += summary_row("all", sorted);
  std::sort(sorted.begin(), sorted.end(),
            [](const TimedChoice* a, const TimedChoice* b) { return a->ratio() > b->ratio(); });
  sorted.resize(std::min(sorted.size(), kWorst));
  out += "\n| rule / fastest | key | rule | fastest | microseconds |\n| --- | --- | --- | --- | --- |\n";
  for (const TimedChoice* c : sorted)
    out += str("| ", fixed_text(c->ratio(), 2), " | ", c->key.text(), " | ", c->chosen, " | ", c->fastest, " | ",
               fixed_text(1e6 * c->fastest_seconds, 1), " |\n");
  return out;
}

std::string json_line(const TimedChoice& choice) {
  if (choice.fastest.empty())
    return JsonObject().add("bench", "choices").add("key", choice.key.text()).add("chosen", choice.chosen).line();
  JsonObject seconds;
  for (const CandidateTrial& trial : choice.trials) seconds.add(trial.candidate, trial.seconds);
  return JsonObject()
      .add("bench", "choices")
      .add("key", choice.key.text())
      .add("chosen", choice.chosen)
      .add("fastest", choice.fastest)
      .add("chosen_seconds", choice.chosen_seconds)
      .add("fastest_seconds", choice.fastest_seconds)
      .add_raw("seconds", seconds.line())
      .line();
}

}  // namespace thtrain

#include "tests/fuzz/random_scan.h"

#include <algorithm>

#include "compiler/base/str.h"

namespace thtrain {
namespace {

Dims element_dims(size_t rank) {
  return rank == 0 ? Dims{} : rank == 1 ? Dims{3} : Dims{2, 3};
}

std::string taps_text(const std::vector<int64_t>& taps) {
  return str("{", join(taps, ", "), "}");
}

}  // namespace

int64_t RandomScan::Sequence::before() const {
  return -std::min<int64_t>(0, *std::min_element(taps.begin(), taps.end()));
}
int64_t RandomScan::Sequence::ahead() const {
  return std::max<int64_t>(0, *std::max_element(taps.begin(), taps.end()));
}

RandomScan::RandomScan(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {
  draw();
}

double RandomScan::number() {
  return static_cast<double>(below(2001)) / 1000 - 1;
}

Expr RandomScan::input(const std::string& name, size_t rank, std::optional<int64_t> first_axis, bool is_mask) {
  Dims dims = element_dims(rank);
  if (first_axis) dims.insert(dims.begin(), *first_axis);
  Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim.value());
  Tensor value = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < value.size(); ++i)
    value.data<double>()[i] = is_mask ? static_cast<double>(below(2)) : number();
  inputs_.push_back(known_ ? tensor(name, dims, DType::kFloat64) : tensor_of_rank(name, dims.size(), DType::kFloat64));
  values_.push_back(value);
  return inputs_.back();
}

std::vector<int64_t> RandomScan::some_taps(bool of_state) {
  if (of_state) {
    static const std::vector<std::vector<int64_t>> all = {{-1}, {-1}, {-1}, {-2, -1}, {-1, -2}, {-2}, {-3, -1}, {-3}};
    return all[below(all.size())];
  }
  static const std::vector<std::vector<int64_t>> all = {{0}, {0}, {0}, {-2, 0}, {0, 1}, {2, -1}, {0, 0}, {1}, {-1}};
  return all[below(all.size())];
}

RandomStep::Value RandomScan::some_value(size_t rank, const std::vector<size_t>& ranks, bool may_nest) {
  RandomStep::Value out{.rank = rank, .terms = {}};
  const size_t terms = 1 + below(3);
  for (size_t k = 0; k < terms; ++k)
    out.terms.push_back({below(ranks.size()), below(ranks.size()), below(7), 0.9 * number()});
  if (may_nest && one_in(4)) {
    using Inner = RandomStep::Inner;
    static const Inner all[] = {Inner::kSteps, Inner::kUntil, Inner::kRows, Inner::kTaps};
    out.inner = all[below(4)];
  }
  return out;
}

void RandomScan::draw() {
  known_ = one_in(2);
  limit_ = static_cast<int64_t>(1 + below(5));
  go_backwards_ = one_in(4);
  const bool has_until = one_in(4);
  if (one_in(5)) truncate_ = 1 + static_cast<int64_t>(below(3));
  const size_t sequences = below(4);
  steps_ = sequences == 0 ? Steps::kNumber : static_cast<Steps>(below(4));
  if (sequences == 0 && one_in(2)) steps_ = Steps::kVariable;
  if (one_in(12)) limit_ = 0;
  const bool negative = (steps_ == Steps::kNumber || steps_ == Steps::kVariable) && one_in(3);
  n_steps_ = negative ? -limit_ : limit_;

  // The shortest sequence decides where nothing else does.
  std::vector<size_t> mask_arguments;
  for (size_t k = 0; k < sequences; ++k) {
    Sequence s{.input = {}, .rank = below(3), .taps = some_taps(false), .length = 0};
    const bool is_mask = one_in(5);
    if (is_mask) {
      s.rank = 0;
      s.taps = {0};
      mask_arguments.push_back(argument_ranks_.size());
    }
    const bool is_shortest = k == 0 && (steps_ == Steps::kOfSequences || steps_ == Steps::kOfInput);
    s.length = limit_ + s.before() + s.ahead() + (is_shortest ? 0 : static_cast<int64_t>(below(3)));
    s.input = input(str("u", k), s.rank, s.length, is_mask);
    for (size_t i = 0; i < s.taps.size(); ++i) argument_ranks_.push_back(s.rank);
    text_ +=
        str("u", k, is_mask ? " mask" : "", " rank ", s.rank, " length ", s.length, " taps ", taps_text(s.taps), "; ");
    sequences_.push_back(std::move(s));
  }
  const size_t outputs = 1 + below(3);
  std::vector<std::pair<size_t, size_t>> previous;  // of outputs: an argument that is one of its own values
  for (size_t k = 0; k < outputs; ++k) {
    State s{.initial = {}, .rank = below(3), .taps = {}};
    if (!one_in(4)) {
      s.taps = some_taps(true);
      const int64_t depth = -*std::min_element(s.taps.begin(), s.taps.end());
      const bool is_plain = s.taps == std::vector<int64_t>{-1};
      s.initial = input(str("first", k), s.rank, is_plain ? std::optional<int64_t>() : depth);
      previous.emplace_back(k, argument_ranks_.size());
      for (size_t i = 0; i < s.taps.size(); ++i) argument_ranks_.push_back(s.rank);
    }
    text_ += str("output ", k, " rank ", s.rank, " taps ", taps_text(s.taps), "; ");
    states_.push_back(std::move(s));
  }
  const size_t others = sequences == 0 ? 1 : below(3);
  for (size_t k = 0; k < others; ++k) {
    non_sequences_.push_back(input(str("c", k), below(3), {}));
    argument_ranks_.push_back(non_sequences_.back().rank());
  }
  if (one_in(2)) {
    found_.push_back(sin(input("w", below(3), {})));
    argument_ranks_.push_back(found_.back().rank());
  }
  const size_t variables = one_in(3) ? 1 + below(2) : 0;
  for (size_t k = 0; k < variables; ++k) {
    const size_t rank = below(3);
    Shape shape;
    for (const Dim& dim : element_dims(rank)) shape.push_back(dim.value());
    Tensor value = Tensor::empty(DType::kFloat64, shape);
    for (int64_t i = 0; i < value.size(); ++i) value.data<double>()[i] = number();
    shared_.emplace_back(value, str("shared", k));
    shared_values_.push_back(value);
    argument_ranks_.push_back(rank);
  }
  if (argument_ranks_.empty()) {
    non_sequences_.push_back(input("c0", 1, {}));
    argument_ranks_.push_back(1);
  }

  for (const State& s : states_) step_.outputs.push_back(some_value(s.rank, argument_ranks_, true));
  for (const auto& [k, argument] : previous)
    if (!mask_arguments.empty()) {
      step_.outputs[k].mask = mask_arguments[0];
      step_.outputs[k].before = argument;
    }
  for (const Shared& variable : shared_)
    step_.shared.push_back(some_value(variable.type().rank(), argument_ranks_, false));
  if (has_until) {
    step_.until = some_value(below(2), argument_ranks_, false);
    step_.threshold = 0.5 * number();
  }
  if (steps_ == Steps::kVariable) {
    count_ = iscalar("n");
    inputs_.push_back(count_);
    values_.push_back(Tensor(static_cast<int32_t>(n_steps_)));
  } else if (steps_ == Steps::kOfInput) {
    const Sequence& s = sequences_[0];
    count_ = length(s.input, 0) - (s.before() + s.ahead());
  }
  static const char* const kinds[] = {"of the sequences", "a number", "a variable", "of an input"};
  text_ += str("steps ", n_steps_, " ", kinds[static_cast<size_t>(steps_)], go_backwards_ ? ", backwards" : "",
               has_until ? ", until" : "", truncate_ >= 0 ? str(", truncated ", truncate_) : "", ", ", variables,
               " shared", known_ ? "" : ", lengths unknown");
  for (const RandomStep::Value& value : step_.outputs)
    if (value.inner != RandomStep::Inner::kNone) text_ += str(", inner ", static_cast<int>(value.inner));
}

std::vector<Expr> RandomScan::variables() const {
  std::vector<Expr> out;
  for (const Expr& value : inputs_)
    if (is_float(value.dtype())) out.push_back(value);
  for (const Shared& variable : shared_) out.push_back(variable.expr());
  return out;
}

RandomScan::Result RandomScan::as_scan() const {
  ScanOptions options{.non_sequences = {non_sequences_.begin(), non_sequences_.end()},
                      .truncate_gradient = truncate_,
                      .go_backwards = go_backwards_,
                      .name = "random"};
  for (const Sequence& s : sequences_) options.sequences.push_back({s.input, s.taps});
  for (const State& s : states_) {
    if (s.taps.empty())
      options.outputs_info.push_back(std::nullopt);
    else
      options.outputs_info.push_back({s.initial, s.taps});
  }
  if (steps_ == Steps::kNumber) options.n_steps = n_steps_;
  if (steps_ == Steps::kVariable || steps_ == Steps::kOfInput) options.n_steps = count_;
  auto run = [&](std::vector<Expr> arguments) {
    arguments.insert(arguments.end(), found_.begin(), found_.end());
    for (const Shared& variable : shared_) arguments.push_back(variable.expr());
    RandomStep::Result made = step_(arguments, false);
    std::vector<Update> updates;
    for (size_t k = 0; k < shared_.size(); ++k) updates.push_back({shared_[k], made.shared[k]});
    return std::tuple(made.outputs, updates, made.done);
  };
  Scanned<std::vector<Expr>> made;
  if (step_.until)
    made = scan(
        [&](const std::vector<Expr>& given) {
          const auto [outputs, updates, done] = run(given);
          return std::tuple(outputs, updates, until(done));
        },
        options);
  else
    made = scan(
        [&](const std::vector<Expr>& given) {
          const auto [outputs, updates, done] = run(given);
          return std::pair(outputs, updates);
        },
        options);
  Result out{made.outputs, {}, made.updates};
  for (const Shared& variable : shared_) out.shared.push_back(updated(made.updates, variable));
  return out;
}

std::vector<std::vector<Expr>> RandomScan::histories(int64_t steps, bool truncated, std::vector<Expr>& shared,
                                                     std::vector<Expr>* conditions) const {
  std::vector<std::vector<Expr>> out(states_.size());
  std::vector<size_t> depths(states_.size());
  for (size_t k = 0; k < states_.size(); ++k) {
    const State& s = states_[k];
    if (s.taps.empty()) continue;
    depths[k] = static_cast<size_t>(-*std::min_element(s.taps.begin(), s.taps.end()));
    if (s.taps == std::vector<int64_t>{-1})
      out[k] = {s.initial};
    else
      for (size_t i = 0; i < depths[k]; ++i) out[k].push_back(s.initial[static_cast<int64_t>(i)]);
  }
  for (const Shared& variable : shared_) shared.push_back(variable.expr());
  for (int64_t t = 0; t < steps; ++t) {
    std::vector<Expr> arguments;
    for (const Sequence& s : sequences_)
      for (int64_t tap : s.taps)
        arguments.push_back(s.input[(runs_backwards() ? s.length - 1 - s.ahead() - t : s.before() + t) + tap]);
    for (size_t k = 0; k < states_.size(); ++k)
      for (int64_t tap : states_[k].taps) arguments.push_back(out[k][out[k].size() - static_cast<size_t>(-tap)]);
    for (const std::vector<Expr>& more : {non_sequences_, found_, shared})
      arguments.insert(arguments.end(), more.begin(), more.end());
    RandomStep::Result made = step_(arguments, true);
    const bool is_constant = truncated && truncate_ >= 0 && t < steps - truncate_;
    auto given = [&](const Expr& value) { return is_constant ? stop_gradient(value) : value; };
    for (size_t k = 0; k < states_.size(); ++k) out[k].push_back(given(made.outputs[k]));
    for (size_t k = 0; k < shared.size(); ++k) shared[k] = given(made.shared[k]);
    if (conditions) conditions->push_back(made.done);
  }
  for (size_t k = 0; k < states_.size(); ++k)
    out[k].erase(out[k].begin(), out[k].begin() + static_cast<std::ptrdiff_t>(depths[k]));
  return out;
}

RandomScan::Result RandomScan::unrolled(int64_t steps, bool truncated) const {
  Result out;
  const std::vector<std::vector<Expr>> all = histories(steps, truncated, out.shared, nullptr);
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k].empty()) {
      Dims dims = element_dims(states_[k].rank);
      dims.insert(dims.begin(), 0);
      out.outputs.push_back(zeros(dims, DType::kFloat64));
    } else {
      out.outputs.push_back(stack({all[k].begin(), all[k].end()}));
    }
  }
  return out;
}

std::vector<Expr> RandomScan::conditions() const {
  std::vector<Expr> out, shared;
  histories(limit_, false, shared, &out);
  return out;
}

}  // namespace thtrain

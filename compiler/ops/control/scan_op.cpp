// The loop: states that a body carries from iteration to iteration, sequences that it walks, values that it gives in
// each iteration.
#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/ir/effects.h"
#include "compiler/kernel/region_builder.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/error_rules.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

// ---- parts ---------------------------------------------------------------------------------------------------------

int64_t StateTaps::depth() const {
  return *std::max_element(delays.begin(), delays.end());
}

std::vector<StateTaps> plain_states(size_t count) {
  return std::vector<StateTaps>(count);
}

// As a property: the delays of each state, and a 0 after them; nothing where all states are plain.
static Ints encoded(const std::vector<StateTaps>& taps) {
  if (std::all_of(taps.begin(), taps.end(), [](const StateTaps& t) { return t.is_plain(); })) return {};
  Ints out;
  for (const StateTaps& t : taps) {
    out.insert(out.end(), t.delays.begin(), t.delays.end());
    out.push_back(0);
  }
  return out;
}

static std::vector<StateTaps> decoded(const Ints& encoded, size_t states) {
  if (encoded.empty()) return plain_states(states);
  std::vector<StateTaps> out;
  StateTaps next{{}};
  for (int64_t delay : encoded)
    if (delay > 0)
      next.delays.push_back(delay);
    else
      out.push_back(std::exchange(next, {{}}));
  return out;
}

static size_t inputs_of(const std::vector<StateTaps>& taps) {
  size_t out = 0;
  for (const StateTaps& t : taps) out += t.delays.size();
  return out;
}

ScanParts::ScanParts(const Node& node)
    : count(node.props.get<Dims>("count").at(0)),
      states(static_cast<size_t>(node.props.get<int64_t>("states"))),
      sequences(static_cast<size_t>(node.props.get<int64_t>("sequences"))),
      captures(node.inputs.size() - states - sequences - carries_token(*node.bodies[0])),
      elements(node.types.size() - 2 * states - carries_token(*node.bodies[0])),
      until(node.props.get<bool>("until")),
      token(carries_token(*node.bodies[0])),
      truncate(node.props.get_or<int64_t>("truncate", -1)),
      unbatched(node.props.get_or<bool>("unbatched", false)),
      body(*node.bodies[0]) {
  taps = decoded(node.props.get_or<Ints>("taps", {}), states);
  body_states_ = inputs_of(taps);
}

size_t ScanParts::body_state(size_t state, size_t delay) const {
  size_t out = delay;
  for (size_t i = 0; i < state; ++i) out += taps[i].delays.size();
  return out;
}

std::vector<Expr> make_scan(const ScanShape& shape, GraphPtr body, std::vector<Expr> inputs,
                            const std::source_location& where) {
  Props props{{"count", Dims{shape.count}},
              {"states", static_cast<int64_t>(shape.taps.size())},
              {"sequences", static_cast<int64_t>(shape.sequences)},
              {"until", shape.until}};
  if (Ints taps = encoded(shape.taps); !taps.empty()) props.set("taps", std::move(taps));
  if (shape.truncate >= 0) props.set("truncate", shape.truncate);
  if (!shape.name.empty()) props.set("name", shape.name);
  if (shape.unbatched) props.set("unbatched", true);
  const std::shared_ptr<const Node> node =
      make_node(scan_op(), std::move(inputs), std::move(props), {std::move(body)}, where);
  std::vector<Expr> out;
  for (size_t o = 0; o < node->types.size(); ++o) out.emplace_back(node, o);
  return out;
}

namespace {

// ---- types ---------------------------------------------------------------------------------------------------------

Type with_axis(const Dim& length, Type type) {
  type.dims.insert(type.dims.begin(), length);
  return type;
}

// Of a value of state i: what it begins with, without the axis of several.
Type value_type(const TypeArgs& a, size_t i, const StateTaps& taps) {
  Type out = a.type(i);
  if (taps.is_plain()) return out;
  a.require(out.rank() > 0, str("state ", i, " begins with several values, and the first ones are a scalar"));
  a.require_equal(out.dims[0], taps.depth(), str("the number of first values of state ", i, " differs from its taps"));
  out.dims.erase(out.dims.begin());
  return out;
}

void require_count(const TypeArgs& a, const Dim& count) {
  const char* what = "the number of iterations is negative";
  if (count.is_known()) {
    a.require(count.value() >= 0, what, "at least 0");
    a.require(count.value() < std::numeric_limits<int64_t>::max() / 2, "the number of iterations is too large",
              "less than 2^62");
  } else if (!is_nonnegative(count)) {
    a.require_equal(max(count, Dim(0)), count, what);
  }
}

std::vector<Type> infer_scan_op(const TypeArgs& a) {
  const Graph& body = *a.bodies[0];
  a.require(a.props.get<Dims>("count").size() == 1, "a loop has one number of iterations");
  const Dim count = a.props.get<Dims>("count")[0];
  const size_t states = static_cast<size_t>(a.props.get<int64_t>("states"));
  const size_t sequences = static_cast<size_t>(a.props.get<int64_t>("sequences"));
  const bool until = a.props.get<bool>("until"), token = carries_token(body);
  require_count(a, count);
  const Ints& encoded = a.props.get_or<Ints>("taps", {});
  a.require(std::all_of(encoded.begin(), encoded.end(), [](int64_t delay) { return delay >= 0; }) &&
                (encoded.empty() || encoded.back() == 0),
            "a delay of a state is negative");
  const std::vector<StateTaps> taps = decoded(encoded, states);
  a.require(taps.size() == states, "the taps are those of another number of states");
  for (const StateTaps& t : taps) a.require(!t.delays.empty(), "a state is not read");
  a.require(states + sequences <= a.inputs.size() && body.inputs.size() == a.inputs.size() - states + inputs_of(taps),
            "the body takes another number of values");
  a.require(body.outputs.size() >= states + until + token, "the body must give each state its next value");
  for (size_t k = states; k < states + sequences; ++k) {
    a.require(a.type(k).rank() > 0, "a sequence is a scalar");
    a.require_equal(a.type(k).dims[0], count, "the iterations and the length of a sequence differ");
  }
  std::vector<Type> out, histories;
  for (size_t i = 0; i < states; ++i) {
    const Type value = value_type(a, i, taps[i]);
    a.require(body.outputs[i].type() == value,
              str("state ", i, " changes its type: the body gives ", readable(body.outputs[i].type().text())),
              readable(value.text()));
    out.push_back(value);
    histories.push_back(with_axis(Dim(taps[i].depth()) + count, value));
  }
  out.insert(out.end(), histories.begin(), histories.end());
  const size_t end = body.outputs.size() - until - token;
  for (size_t k = states; k < end; ++k) out.push_back(with_axis(count, body.outputs[k].type()));
  if (until) {
    const Type& done = body.outputs[end].type();
    a.require(done.is_scalar() && is_bool(done.dtype),
              str("whether the loop ends is no bool scalar, but ", readable(done.text())), "bool[]");
    a.require(states > 0 && taps[states - 1].is_plain() && a.type(states - 1).is_scalar() &&
                  a.type(states - 1).dtype == DType::kInt64,
              "the last state does not count the iterations");
  }
  if (token) out.push_back(token_type());
  return out;
}

// ---- the reference -------------------------------------------------------------------------------------------------

// x[index] = value, along the first axis. Nothing where nobody reads x: then it has no elements.
void put(Tensor& x, int64_t index, const Tensor& value) {
  if (x.dim(0) == 0) return;
  const Tensor dense = value.contiguous();
  if (dense.bytes() > 0)
    std::memcpy(static_cast<char*>(x.raw()) + static_cast<size_t>(index) * dense.bytes(), dense.raw(), dense.bytes());
}
Tensor get(const Tensor& x, int64_t index) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  Tensor out = Tensor::zeros(x.dtype(), shape);
  if (out.bytes() > 0)
    std::memcpy(out.raw(), static_cast<const char*>(x.raw()) + static_cast<size_t>(index) * out.bytes(), out.bytes());
  return out;
}

// The iterations of the reference, on values (or on bounds of errors with them).
struct Iterations {
  const ScanParts& parts;
  std::vector<std::vector<Tensor>> last;  // of each state the last values, the oldest first, as many as it is deep
  std::vector<Tensor> outputs;

  Iterations(const ScanParts& parts, std::span<const Tensor> inputs, std::vector<Tensor> zeros)
      : parts(parts), last(parts.states), outputs(std::move(zeros)) {
    for (size_t i = 0; i < parts.states; ++i)
      for (int64_t slot = 0; slot < parts.taps[i].depth(); ++slot) {
        last[i].push_back(parts.taps[i].is_plain() ? inputs[i] : get(inputs[i], slot));
        put(outputs[parts.history(i)], slot, last[i].back());
      }
  }
  std::vector<Tensor> body_inputs(int64_t iteration, std::span<const Tensor> inputs) const {
    std::vector<Tensor> out;
    for (size_t i = 0; i < parts.states; ++i)
      for (int64_t delay : parts.taps[i].delays) out.push_back(last[i][last[i].size() - static_cast<size_t>(delay)]);
    for (size_t k = 0; k < parts.sequences; ++k) out.push_back(get(inputs[parts.sequence(k)], iteration));
    for (size_t k = 0; k < parts.captures; ++k) out.push_back(inputs[parts.capture(k)]);
    if (parts.token) out.push_back(inputs.back());
    return out;
  }
  void take(int64_t iteration, const std::vector<Tensor>& next) {
    for (size_t i = 0; i < parts.states; ++i) {
      last[i].erase(last[i].begin());
      last[i].push_back(next[i].copy());
      put(outputs[parts.history(i)], iteration + parts.taps[i].depth(), next[i]);
    }
    for (size_t k = 0; k < parts.elements; ++k) put(outputs[parts.element(k)], iteration, next[parts.body_element(k)]);
  }
  std::vector<Tensor> finish() {
    for (size_t i = 0; i < parts.states; ++i) outputs[i] = last[i].back().copy();
    return std::move(outputs);
  }
};

int64_t value_of(const Dim& length, const std::function<int64_t(const std::string&)>& length_of) {
  return length.is_known() ? length.value() : length.evaluate(length_of);
}

std::vector<Tensor> reference(const ReferenceArgs& a) {
  const ScanParts parts(a.node);
  std::vector<Tensor> zeros;
  for (size_t o = 0; o < a.node.types.size(); ++o)
    zeros.push_back(a.node.types[o].kind == TypeKind::kToken ? Tensor(false) : a.make_output(o));
  Iterations iterations(parts, a.inputs, std::move(zeros));
  const int64_t count = value_of(parts.count, a.length_of);
  for (int64_t t = 0; t < count; ++t) {
    const std::vector<Tensor> next = a.run_body(parts.body, iterations.body_inputs(t, a.inputs));
    iterations.take(t, next);
    if (parts.until && next[parts.body_done()].as_int() != 0) break;
  }
  return iterations.finish();
}

// The errors of an iteration are those that the next one begins with.
std::vector<Tensor> error(const ErrorArgs& a) {
  const ScanParts parts(a.node);
  std::vector<Tensor> zeros, no_errors;
  for (size_t o = 0; o < a.node.types.size(); ++o) {
    zeros.push_back(Tensor::zeros(a.node.types[o].dtype, a.outputs[o].shape()));
    no_errors.push_back(a.make_error(o));
  }
  Iterations values(parts, a.inputs, std::move(zeros)), errors(parts, a.errors, std::move(no_errors));
  const int64_t count = value_of(parts.count, a.length_of);
  for (int64_t t = 0; t < count; ++t) {
    const auto [next, moved] = a.run_body(parts.body, values.body_inputs(t, a.inputs), errors.body_inputs(t, a.errors));
    if (parts.until && moved[parts.body_done()].as_double() != 0)
      return unknown_errors(a);  // one iteration more or less
    values.take(t, next);
    errors.take(t, moved);
    if (parts.until && next[parts.body_done()].as_int() != 0) break;
  }
  return errors.finish();
}

// ---- native code ---------------------------------------------------------------------------------------------------

// Where one state lies while the loop runs. Where its history is read, it lives there: iteration t reads slots of the
// iterations before and writes slot t + depth. Else a plain state has one location, which each iteration updates, and a
// deeper one a ring of `depth` slots, of which each iteration updates the oldest.
struct StateLocation {
  bool is_history = false, is_ring = false;
  kernel::RegionValue all;  // the history, the ring, or the one location
};

class Lowering {
 public:
  explicit Lowering(kernel::RegionBuilder& b) : b_(b), parts_(b.node()) {}

  void run() {
    for (size_t i = 0; i < parts_.states; ++i) begin(i);
    for (size_t k = 0; k < parts_.elements; ++k)
      if (b_.is_read(parts_.element(k))) b_.output(parts_.element(k));
    b_.loop(parts_.count, [&](const Dim& t) { return iteration(t); });
  }

 private:
  bool keeps_history(size_t i) const { return b_.is_read(parts_.history(i)); }

  // Slot k of the values that state i has had, counted from its first one.
  kernel::RegionValue slot(size_t i, const Dim& k) {
    const Dim depth = parts_.taps[i].depth();
    return b_.slot(locations_[i].all, locations_[i].is_ring ? k - depth * floor_div(k, depth) : k);
  }

  // The first values, where the loop finds them.
  void begin(size_t i) {
    const StateTaps& taps = parts_.taps[i];
    const bool is_plain = taps.is_plain();
    // Which slot is the last one is not known where the body ends the loop: a plain state is then kept besides.
    const bool is_history = keeps_history(i) && !(is_plain && parts_.until);
    const bool is_ring = !is_history && !is_plain;
    const Type& first = b_.node().inputs[i].type();
    locations_.push_back({is_history, is_ring,
                          is_history      ? b_.output(parts_.history(i))
                          : is_ring       ? b_.temporary(first)
                          : b_.is_read(i) ? b_.output(i)
                                          : b_.temporary(first)});
    if (is_plain) {
      b_.copy(b_.input(i), is_history ? slot(i, 0) : locations_[i].all);
      if (!is_history && keeps_history(i)) b_.copy(b_.input(i), b_.slot(b_.output(parts_.history(i)), 0));
    } else {
      for (int64_t k = 0; k < taps.depth(); ++k) b_.copy(b_.slot(b_.input(i), k), slot(i, k));
    }
    if ((is_history || is_ring) && !parts_.until) b_.set_output(i, slot(i, parts_.count + (taps.depth() - 1)));
    if (keeps_last_apart(i)) b_.copy(b_.slot(b_.input(i), taps.depth() - 1), b_.output(i));
  }
  // Nobody knows in which slot the last value will be: each iteration writes it to a location of its own too.
  bool keeps_last_apart(size_t i) const { return !parts_.taps[i].is_plain() && parts_.until && b_.is_read(i); }

  std::optional<kernel::RegionValue> iteration(const Dim& t) {
    std::vector<kernel::RegionValue> inputs, outputs;
    Graph iteration{.inputs = parts_.body.inputs, .outputs = {}, .updates = {}, .effects = parts_.body.effects};
    auto give = [&](size_t output, kernel::RegionValue location) {
      iteration.outputs.push_back(parts_.body.outputs[output]);
      outputs.push_back(location);
    };
    for (size_t i = 0; i < parts_.states; ++i) {
      const StateTaps& taps = parts_.taps[i];
      const StateLocation& location = locations_[i];
      const bool has_slots = location.is_history || location.is_ring;
      for (int64_t delay : taps.delays)
        inputs.push_back(has_slots ? slot(i, t + (taps.depth() - delay)) : location.all);
      // In a ring the newest value replaces the oldest.
      give(i, location.is_ring ? slot(i, t) : location.is_history ? slot(i, t + taps.depth()) : location.all);
      if (!location.is_history && keeps_history(i)) give(i, b_.slot(b_.output(parts_.history(i)), t + 1));
      if (keeps_last_apart(i)) give(i, b_.output(i));
    }
    for (size_t k = 0; k < parts_.sequences; ++k) inputs.push_back(b_.slot(b_.input(parts_.sequence(k)), t));
    for (size_t k = 0; k < parts_.captures; ++k) inputs.push_back(b_.input(parts_.capture(k)));
    if (parts_.token) {
      inputs.push_back(b_.input(b_.node().inputs.size() - 1));
      give(parts_.body_token(), b_.output(b_.node().types.size() - 1));
    }
    for (size_t k = 0; k < parts_.elements; ++k)
      if (b_.is_read(parts_.element(k))) give(parts_.body_element(k), b_.slot(b_.output(parts_.element(k)), t));
    std::optional<kernel::RegionValue> done;
    if (parts_.until) give(parts_.body_done(), *(done = b_.temporary(parts_.body.outputs[parts_.body_done()].type())));
    b_.body(iteration, inputs, outputs);
    return done;
  }

  kernel::RegionBuilder& b_;
  const ScanParts parts_;
  std::vector<StateLocation> locations_;
};

void lower_scan_op(kernel::RegionBuilder& b) {
  Lowering(b).run();
}

// ---- cases ----------------------------------------------------------------------------------------------------------

std::vector<OpCase> cases_scan_op() {
  const Type vector{.dtype = DType::kFloat64, .dims = {3}};
  auto build = [](int64_t count) {
    return [count](const std::vector<Expr>& x) {
      return repeat(count, {x[0], x[1]}, [&](const std::vector<Expr>& s) {
        return std::vector<Expr>{tanh(s[1] * x[2]), s[0] + 0.5 * s[1]};
      });
    };
  };
  auto build_until = [](const std::vector<Expr>& x) {
    const Repeated out = repeat_until(5, {x[0]}, [&](const std::vector<Expr>& s) {
      Expr next = 1.5 * s[0] + x[1];
      return Iteration{{next}, gt(sum(sqr(next)), 6)};
    });
    return out.state;
  };
  return {
      {.name = "three", .inputs = {vector, vector, vector}, .build = build(3), .bound = 64},
      {.name = "one", .inputs = {vector, vector, vector}, .build = build(1), .bound = 64},
      {.name = "none", .inputs = {vector, vector, vector}, .build = build(0), .bound = 64},
      {.name = "until", .inputs = {vector, vector}, .build = build_until, .bound = 64},
  };
}

}  // namespace

const Op& scan_op() {
  static const Op op{
      .name = "scan",
      .doc =
          "state = body(state, element of each sequence, captures), `count` times, or until the body says so. A state "
          "may be read several iterations back.\n"
          "Shapes: first values of the states, sequences [count, ...], captures; gives the last values of the states, "
          "all their values [depth + count, ...], elements [count, ...] of what else the body gives.\n"
          "dtypes: any; a state keeps its own.\n"
          "Gradient: another scan, from the last iteration to the first.\n"
          "Edge cases: without an iteration the states stay as they were.\n"
          "Example: running sums of [1, 2, 3]: [1, 3, 6]",
      .infer = infer_scan_op,
      .reference = reference,
      .error = error,
      .gradient = scan_gradient,
      .jvp = scan_jvp,
      .lower_region = lower_scan_op,
      .iterations = &kScanOfIterations,
      .overwrites =
          [](const Node& node, size_t output, size_t input) {
            const ScanParts parts(node);
            return output == input && input < parts.states && parts.taps[input].is_plain();
          },
      .foldable = false,
      .connection = ConnectionsOfBodies{scan_connections},
      .cases = cases_scan_op,
  };
  return op;
}

}  // namespace thtrain

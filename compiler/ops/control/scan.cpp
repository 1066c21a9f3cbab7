#include "compiler/ops/control/scan.h"

#include <algorithm>

#include "compiler/base/escape.h"
#include "compiler/ir/default_updates.h"
#include "compiler/ir/effects.h"
#include "compiler/ops/control/body.h"
#include "compiler/ops/control/scan_parts.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/length_list.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

std::string taps_text(const std::vector<int64_t>& taps) {
  std::string out;
  for (int64_t tap : taps) out += str(out.empty() ? "" : ", ", tap);
  return "[" + out + "]";
}

std::string name_or(const Expr& value, const std::string& otherwise) {
  return value.name().empty() ? otherwise : escaped(value.name());
}

Type without_axis(Type type) {
  type.dims.erase(type.dims.begin());
  return type;
}

// Builds the loop: first what it walks and how often, then the body, then the node.
class ScanBuilder {
 public:
  using Replace = std::function<std::vector<Expr>(const Node& loop)>;

  ScanBuilder(const ScanStep& step, const ScanOptions& options, const std::source_location& where, Replace replace = {})
      : step_(step), o_(options), where_(where), replace_(std::move(replace)), backwards_(options.go_backwards) {
    if (o_.truncate_gradient < -1 || o_.truncate_gradient == 0)
      fail(o_.truncate_gradient == 0 ? "truncate_gradient is 0, which leaves no gradient"
                                     : "truncate_gradient is negative",
           "at least 1, the number of steps that a gradient goes back through, or -1 for all",
           std::to_string(o_.truncate_gradient));
    find_steps();
    for (size_t k = 0; k < o_.sequences.size(); ++k) add_sequence(k);
    for (size_t k = 0; k < o_.outputs_info.size(); ++k) add_state(k);
    make_loop();
  }

  // All steps: along a new first axis.
  Scanned<std::vector<Expr>> all() {
    Scanned<std::vector<Expr>> out{{}, updates_};
    std::optional<Dim> ran;
    if (until_) ran = defined_length(define_length(loop_[iterations_], loop_[iterations_], count_, where_));
    for (const Output& output : outputs_) {
      const bool is_state = output.state.has_value();
      const Dim depth = is_state ? Dim(taps_[*output.state].depth()) : Dim(0);
      const Expr& values = loop_[is_state ? history(*output.state) : element(output.element)];
      out.outputs.push_back(ran || is_state ? slice_of_axis(Operand(values, where_), 0, depth, ran.value_or(count_))
                                            : values);
    }
    return out;
  }

  // Of a loop that was replaced: last values of states, all steps of elements.
  Scanned<std::vector<Expr>> replaced() {
    Scanned<std::vector<Expr>> out{{}, updates_};
    for (const Output& output : outputs_)
      out.outputs.push_back(loop_[output.state ? *output.state : element(output.element)]);
    return out;
  }

  Scanned<std::vector<Expr>> last() {
    const Origin origin = Origin::here(where_);
    InheritOrigin inherit(origin);
    Scanned<std::vector<Expr>> out{{}, updates_};
    for (const Output& output : outputs_) {
      if (output.state)
        out.outputs.push_back(loop_[*output.state]);
      else
        out.outputs.push_back(until_
                                  ? subtensor(loop_[element(output.element)], {Index(loop_[iterations_] - 1, where_)})
                                  : subtensor(loop_[element(output.element)], {Index(-1, where_)}));
    }
    return out;
  }

 private:
  // An output of the step function: a state of the loop, or an element.
  struct Output {
    std::optional<size_t> state = {};
    size_t element = 0;
  };

  [[noreturn]] void fail(const std::string& what, const std::string& expected, const std::string& got = {},
                         const std::string& hint = {}) const {
    fail_build(where_, whose(what), expected, got, hint);
  }
  std::string whose(const std::string& part) const {
    return str(o_.name.empty() ? "scan" : str("scan ", escaped(o_.name)), ": ", part);
  }
  std::string sequence_name(size_t k) const { return name_or(o_.sequences[k].input, str("sequence ", k)); }
  std::string output_name(size_t k) const {
    const bool has_name = k < o_.outputs_info.size() && o_.outputs_info[k].initial.has_value() &&
                          !o_.outputs_info[k].initial.name().empty();
    return has_name ? str("output ", k, " (", escaped(o_.outputs_info[k].initial.name()), ")") : str("output ", k);
  }

  // ---- sequences and the number of steps

  // The time of element 0, and how many elements before and after the steps the taps need. Time 0 counts as read: taps
  // that all lie on one side of it do not make the loop longer.
  static int64_t first_time(const ScanSequence& s) {
    return std::min<int64_t>(0, *std::min_element(s.taps.begin(), s.taps.end()));
  }
  static int64_t margin(const ScanSequence& s) {
    return std::max<int64_t>(0, *std::max_element(s.taps.begin(), s.taps.end())) - first_time(s);
  }

  void find_steps() {
    for (size_t k = 0; k < o_.sequences.size(); ++k) {
      const ScanSequence& s = o_.sequences[k];
      if (s.input.rank() == 0)
        fail(str("the sequence ", sequence_name(k), " is a scalar"), "a value with an axis to walk along",
             value_text(s.input), "values that are the same in every step are non_sequences");
      if (s.taps.empty()) fail(str("the sequence ", sequence_name(k), " has no taps"), "one tap or more, such as {0}");
      const Dim steps = s.input.dims()[0] - margin(s);
      if (steps.is_known() && steps.value() < 0)
        fail(str("the sequence ", sequence_name(k), " is too short for its taps ", taps_text(s.taps)),
             str("at least ", margin(s), " elements"), value_text(s.input));
      if (!o_.n_steps) count_ = k == 0 ? steps : min(count_, steps);
    }
    if (!o_.n_steps) {
      if (o_.sequences.empty())
        fail("the number of steps is not known", "n_steps, or a sequence", "no sequences and no n_steps");
      return;
    }
    const Expr n = o_.n_steps->expr();
    if (!n.type().is_scalar() || !is_int(n.dtype())) fail("n_steps is no integer scalar", "int64[]", value_text(n));
    const std::optional<Dim> known = symbolic_value(n);
    sign_is_known_ = known && (known->is_known() || is_nonnegative(*known));
    if (!sign_is_known_) {
      count_ = computed_length(Operand(maximum(n, neg(n)), where_));
    } else if (count_ = *known; count_.is_known() && count_.value() < 0) {
      count_ = -count_.value();
      backwards_ = !backwards_;
    }
  }

  void add_sequence(size_t k) {
    const ScanSequence& s = o_.sequences[k];
    const std::string what =
        o_.n_steps ? str("the sequence ", sequence_name(k), " has not enough elements for ",
                         sign_is_known_ ? "n_steps" : "|n_steps|")
                   : str("the sequence ", sequence_name(k), " is too short for its taps ", taps_text(s.taps));
    const Dim needed = (o_.n_steps ? count_ : Dim(0)) + margin(s), given = s.input.dims()[0];
    if (needed.is_known() && given.is_known() && given.value() < needed.value())
      fail(what, str("at least ", needed.value(), " elements"), value_text(s.input));
    const Expr input = require_rows(Operand(s.input, where_), needed, whose(what));
    for (int64_t tap : s.taps) {
      sequences_.push_back(sign_is_known_ ? steps_of(input, tap - first_time(s), margin(s))
                                          : either_way(input, tap - first_time(s), margin(s)));
      elements_.push_back(make_body_input(without_axis(sequences_.back().type()), name_or(s.input, "element"), where_));
    }
  }

  // The elements of all steps in their order, from `first` on. Backwards, the steps begin at the end of what the taps
  // allow.
  Expr steps_of(const Expr& input, int64_t first, int64_t margin) const {
    const Origin origin = Origin::here(where_);
    InheritOrigin inherit(origin);
    const Dim begin = backwards_ ? input.dims()[0] - margin - count_ : Dim(0);
    const Expr part = slice_of_axis(Operand(input, where_), 0, begin + first, count_);
    return backwards_ ? subtensor(part, {Slice{.step = -1}}) : part;
  }
  // The same where only a call knows the sign of n_steps: which elements, is computed.
  Expr either_way(const Expr& input, int64_t first, int64_t margin) const {
    const Origin origin = Origin::here(where_);
    InheritOrigin inherit(origin);
    const Expr n = o_.n_steps->expr(), step = arange(steps_number());
    const Expr up = step + first, down = length(input, 0) - step + (first - margin - 1);
    return take(Operand(input, where_), switch_(lt(n, 0), backwards_ ? up : down, backwards_ ? down : up));
  }
  Expr steps_number() const { return maximum(o_.n_steps->expr(), neg(o_.n_steps->expr())); }

  // ---- states

  void add_state(size_t k) {
    const ScanOutput& info = o_.outputs_info[k];
    if (!info.initial.has_value()) {
      if (!info.taps.empty())
        fail(str(output_name(k), " has taps and no initial value"), "an initial value, or no taps",
             taps_text(info.taps));
      outputs_.push_back({});
      return;
    }
    if (info.taps.empty()) fail(str(output_name(k), " has an initial value and no taps"), "taps such as {-1}");
    StateTaps taps{{}};
    for (int64_t tap : info.taps) {
      if (tap >= 0)
        fail(str(output_name(k), " has the tap ", tap), "negative taps: values of earlier steps", taps_text(info.taps));
      if (std::find(taps.delays.begin(), taps.delays.end(), -tap) != taps.delays.end())
        fail(str(output_name(k), " has the tap ", tap, " twice"), "each tap once", taps_text(info.taps));
      taps.delays.push_back(-tap);
    }
    Type type = info.initial.type();
    if (!taps.is_plain()) {
      if (type.rank() == 0)
        fail(str(output_name(k), " has the taps ", taps_text(info.taps), " and a scalar as initial value"),
             str("initial values along the first axis, ", taps.depth(), " of them"), value_text(info.initial));
      if (type.dims[0].is_known() && !type.dims[0].is(taps.depth()))
        fail(str("the initial values of ", output_name(k), " do not fit the taps ", taps_text(info.taps)),
             str(taps.depth(), " values along the first axis"), value_text(info.initial));
      type.dims.erase(type.dims.begin());
    }
    for (size_t d = 0; d < taps.delays.size(); ++d)
      state_inputs_.push_back(make_body_input(type, name_or(info.initial, "state"), where_));
    outputs_.push_back({.state = taps_.size()});
    initial_.push_back(info.initial);
    if (!taps.is_plain()) {
      Type all = info.initial.type();
      all.dims[0] = taps.depth();
      const std::string what = str("the initial values of ", output_name(k), " do not fit the taps ");
      initial_.back() = typed_as(info.initial, all, whose(what + taps_text(info.taps)), where_);
    }
    state_types_.push_back(type);
    taps_.push_back(std::move(taps));
  }

  // ---- the body

  std::vector<Expr> arguments() const {
    std::vector<Expr> out = elements_;
    size_t first = 0;
    for (size_t k = 0, state = 0; k < outputs_.size(); ++k) {
      if (!outputs_[k].state) continue;
      const std::vector<int64_t>& delays = taps_[state++].delays;
      for (int64_t tap : o_.outputs_info[k].taps)
        out.push_back(
            state_inputs_[first + static_cast<size_t>(std::find(delays.begin(), delays.end(), -tap) - delays.begin())]);
      first += delays.size();
    }
    for (const Operand& value : o_.non_sequences) out.push_back(value.expr());
    return out;
  }

  std::string arguments_text() const {
    std::string out;
    auto add = [&](const std::string& name, const char* of, int64_t tap) {
      out += str(out.empty() ? "" : ", ", name, of, tap == 0 ? "[t]" : str("[t", tap > 0 ? "+" : "", tap, "]"));
    };
    for (size_t k = 0; k < o_.sequences.size(); ++k)
      for (int64_t tap : o_.sequences[k].taps) add(sequence_name(k), "", tap);
    for (size_t k = 0; k < o_.outputs_info.size(); ++k)
      for (int64_t tap : o_.outputs_info[k].taps) add(output_name(k), "", tap);
    for (size_t k = 0; k < o_.non_sequences.size(); ++k)
      out += str(out.empty() ? "" : ", ", name_or(o_.non_sequences[k].expr(), str("non-sequence ", k)));
    return out.empty() ? "no values" : out;
  }

  ScanStep::Result call_step() const {
    const std::vector<Expr> given = arguments();
    if (step_.parameters() && *step_.parameters() != given.size())
      fail(str("the step function takes ", *step_.parameters(), *step_.parameters() == 1 ? " value" : " values",
               ", and gets ", given.size()),
           arguments_text(), {}, "sequences come first, then the outputs that have taps, then the non-sequences");
    return step_(given);
  }

  // The next value of a state, of its type.
  Expr next_value(size_t k, const Expr& value) const {
    const Type& type = state_types_[*outputs_[k].state];
    if (value.dtype() != type.dtype && promote(value.dtype(), type.dtype) != type.dtype)
      fail(str(output_name(k), " is of a wider dtype than its initial value"),
           str(readable(type.text()), ", as the initial value"), value_text(value),
           "cast the initial value to the dtype of the step's result, or the result to that of the initial value");
    if (value.rank() != type.rank())
      fail(str(output_name(k), " has other axes than its initial value"), readable(type.text()), value_text(value));
    const Expr cast_value = value.dtype() == type.dtype ? value : cast(value, type.dtype);
    for (size_t axis = 0; axis < type.rank(); ++axis)
      if (value.dims()[axis].is_known() && type.dims[axis].is_known() && !(value.dims()[axis] == type.dims[axis]))
        fail(str(output_name(k), " has another shape than its initial value"), readable(type.text()),
             value_text(value));
    return typed_as(cast_value, type, whose(output_name(k)), where_);
  }

  void take_outputs(const ScanStep::Result& result) {
    if (o_.outputs_info.empty()) outputs_.resize(result.outputs.size());
    if (outputs_.size() != result.outputs.size())
      fail(str("the step function gives ", result.outputs.size(), result.outputs.size() == 1 ? " output" : " outputs",
               ", and outputs_info has ", outputs_.size()),
           "one output for each entry of outputs_info, in their order", {},
           "std::nullopt stands for an output that no later step reads");
    for (const Expr& value : result.outputs) require_value(value, "an output of the step function", where_);
  }

  // Those of the step function, and of the generators that its draws read: each step moves them on.
  std::vector<Update> all_updates(const ScanStep::Result& result, uint64_t first_serial) const {
    Graph graph{.inputs = {}, .outputs = result.outputs, .updates = result.updates};
    if (result.until) graph.outputs.push_back(*result.until);
    std::vector<Update> out = result.updates;
    for (const Update& update : default_updates(graph))
      if (update.value.has_value() && update.value.node().serial >= first_serial) out.push_back(update);
    return out;
  }

  BodyParts build_body() {
    const uint64_t first_serial = next_serial();  // a draw that was built before is one for all steps
    const ScanStep::Result result = call_step();
    take_outputs(result);
    BodyParts parts;
    std::vector<Expr> states, elements;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (outputs_[k].state) {
        states.push_back(next_value(k, result.outputs[k]));
      } else {
        outputs_[k].element = elements.size();
        elements.push_back(result.outputs[k]);
      }
    }
    for (const Update& update : all_updates(result, first_serial)) {
      if (!is_shared(update.variable))
        fail("an update is of no shared variable", "a Shared", value_text(update.variable));
      if (std::any_of(updates_.begin(), updates_.end(),
                      [&](const Update& other) { return other.variable.same(update.variable); }))
        fail(str("two updates of ", name_or(update.variable, "a shared variable")), "one update for each variable");
      // Lengths that only a call knows are checked when it begins, as function() does for its updates.
      const std::string whose_update = str("the update of ", name_or(update.variable, "a shared variable"));
      const Expr value = typed_as(update.value, update.variable.type(), whose(whose_update), where_);
      if (value.type() != update.variable.type())
        fail(str(whose_update, " is of another type"), readable(update.variable.type().text()),
             value_text(update.value));
      updates_.push_back({update.variable, {}});
      initial_.push_back(update.variable);
      taps_.push_back({});
      state_inputs_.push_back(make_body_input(update.variable.type(), name_or(update.variable, "variable"), where_));
      parts.replaced.emplace_back(update.variable, state_inputs_.back());
      states.push_back(value);
    }
    until_ = result.until.has_value();
    if (until_) {
      const Expr& done = *result.until;
      if (!done.type().is_scalar() || !is_bool(done.dtype()))
        fail("the condition of until is no bool scalar", "bool[]", value_text(done));
      iterations_ = taps_.size();
      initial_.push_back(make_constant(Tensor(int64_t{0}), where_));
      taps_.push_back({});
      state_inputs_.push_back(make_body_input(initial_.back().type(), "steps", where_));
      states.push_back(add(state_inputs_.back(), 1));
    }
    parts.inputs = state_inputs_;
    parts.inputs.insert(parts.inputs.end(), elements_.begin(), elements_.end());
    parts.outputs = states;
    parts.outputs.insert(parts.outputs.end(), elements.begin(), elements.end());
    if (until_) parts.outputs.push_back(*result.until);
    return parts;
  }

  void check_strict(const std::vector<Expr>& captures) const {
    if (!o_.strict) return;
    for (const Expr& value : captures)
      if (std::none_of(o_.non_sequences.begin(), o_.non_sequences.end(),
                       [&](const Operand& given) { return given.expr().same(value); }))
        fail(str("the step function reads ", name_or(value, value.node().op->name), ", which is no non-sequence"),
             "with strict all that it reads from outside among the non_sequences", value_text(value));
  }

  void make_loop() {
    Body body = make_body([&] { return build_body(); }, where_);
    check_strict(body.captures);
    std::vector<Expr> inputs = initial_;
    inputs.insert(inputs.end(), sequences_.begin(), sequences_.end());
    inputs.insert(inputs.end(), body.captures.begin(), body.captures.end());
    auto make = [&] {
      return make_scan({.count = count_,
                        .taps = taps_,
                        .sequences = sequences_.size(),
                        .until = until_,
                        .truncate = o_.truncate_gradient,
                        .name = o_.name},
                       std::move(body.graph), std::move(inputs), where_);
    };
    loop_ = replace_ ? replaced_loop(make) : make();
    const size_t first = taps_.size() - until_ - updates_.size();
    for (size_t k = 0; k < updates_.size(); ++k) updates_[k].value = loop_[first + k];
  }

  std::vector<Expr> replaced_loop(const std::function<std::vector<Expr>()>& make) const {
    if (until_) fail("the step function gives until(condition)", "a number of steps that is known before the loop");
    std::vector<Expr> loop;
    {
      EffectScope own;  // the loop itself is not run: what it prints is printed by what stands for it
      loop = make();
    }
    return loop.empty() ? loop : replace_(loop[0].node());
  }

  size_t history(size_t state) const { return taps_.size() + state; }
  size_t element(size_t k) const { return 2 * taps_.size() + k; }

  const ScanStep& step_;
  const ScanOptions& o_;
  const std::source_location& where_;
  const Replace replace_;  // what stands for the loop; none: the loop itself
  bool backwards_;
  bool sign_is_known_ = true;  // of n_steps
  Dim count_ = 0;
  std::vector<Expr> sequences_, elements_;  // one for each tap of each sequence: outside, and in the body
  std::vector<Expr> initial_;               // of the states: outputs, then shared variables, then the steps that ran
  std::vector<StateTaps> taps_;
  std::vector<Type> state_types_;   // of the values of outputs
  std::vector<Expr> state_inputs_;  // in the body, one for each delay of each state
  std::vector<Output> outputs_;
  std::vector<Update> updates_;
  bool until_ = false;
  size_t iterations_ = 0;  // the state that counts the steps
  std::vector<Expr> loop_;
};

}  // namespace

Scanned<std::vector<Expr>> scan_all(const ScanStep& step, const ScanOptions& options,
                                    const std::source_location& where) {
  return ScanBuilder(step, options, where).all();
}

Scanned<std::vector<Expr>> scan_last(const ScanStep& step, const ScanOptions& options,
                                     const std::source_location& where) {
  return ScanBuilder(step, options, where).last();
}

Scanned<std::vector<Expr>> scan_replaced(const ScanStep& step, const ScanOptions& options,
                                         const std::function<std::vector<Expr>(const Node& loop)>& replace,
                                         const std::source_location& where) {
  return ScanBuilder(step, options, where, replace).replaced();
}

Expr updated(const std::vector<Update>& updates, const Expr& variable, std::source_location where) {
  require_value(variable, "updated: the variable", where);
  for (const Update& update : updates)
    if (update.variable.same(variable)) return update.value;
  fail_build(where, "there is no update of the variable", "a variable that the loop updates", value_text(variable));
}

}  // namespace thtrain

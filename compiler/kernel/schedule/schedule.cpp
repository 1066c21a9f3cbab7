#include "compiler/kernel/schedule/schedule.h"

#include <algorithm>

#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/vector_maths.h"

namespace thtrain::kernel {

std::string ScheduleChoice::text() const {
  std::string out = lanes == 1 ? "one element at a time" : str("vectors of ", lanes, " over ", over);
  if (accumulators > 0) out += str(", ", accumulators, accumulators == 1 ? " accumulator" : " accumulators");
  if (two_levels) out += " on two levels";
  if (at_once > 1) out += str(", ", at_once, " side by side");
  if (tail == Tail::kMasked) out += ", tail masked";
  if (tail == Tail::kNarrower) out += ", tail in narrower vectors";
  if (gathers == Gathers::kRows) out += ", rows by index";
  if (gathers == Gathers::kLanes) out += ", elements by index";
  if (stores == Stores::kPrefetched) out += ", stores prefetched";
  if (stores == Stores::kNonTemporal) out += ", stores non-temporal";
  if (stores == Stores::kByLength) out += ", stores prefetched or, if long, non-temporal";
  return out;
}

std::vector<LoopAxis> collapse(const std::vector<LoopAxis>& axes) {
  std::vector<LoopAxis> out;
  for (const LoopAxis& axis : axes) {
    if (axis.length.is(1)) continue;
    bool joined = !out.empty() && out.back().kind == axis.kind;
    for (size_t k = 0; joined && k < axis.strides.size(); ++k)
      joined = out.back().strides[k] == axis.strides[k] * axis.length;
    if (joined)
      out.back() = {out.back().length * axis.length, axis.strides, axis.kind};
    else
      out.push_back(axis);
  }
  return out;
}

int whole_lanes(const StepBuilder& b, size_t widest) {
  return b.target().lanes_of_bytes(widest);
}

void each_vector(Code& code, const std::string& name, const Term& first, const Term& last, int lanes,
                 std::optional<int64_t> length, const std::function<void(Term, Term)>& body) {
  const bool are_known = first.node().prim == Prim::kConstant && last.node().prim == Prim::kConstant;
  if (are_known) length = last.node().integer - first.node().integer;
  if (!length || *length >= lanes)
    code.loop(name, first, last - Term(lanes - 1), Term(lanes), LoopMark::kVector, [&](Term i) { body(i, {}); });
  if (lanes == 1 || (length && *length % lanes == 0)) return;
  if (are_known) return body(first + Term(*length / lanes * lanes), Term(*length % lanes));
  const Term rest = code.let("rest", first + (last - first) / Term(lanes) * Term(lanes));
  code.if_(rest < last, [&] { body(rest, code.let("count", last - rest)); });
}

Term checked_position(StepBuilder& b, const Index& index, const Term& number, const Term& reported) {
  const Term length = b.length(index.length), given = b.code().let("index", cast(number, DType::kInt64));
  Term out = given;
  if (index.from_end && is_signed_int(number.dtype()))
    out = b.code().let("position", select(given < Term(0), given + length, given));
  if (index.check) b.require(out >= Term(0) && out < length, *index.check, given, reported ? reported : length);
  return out;
}

bool calls_library(const Term& term, const Target& target) {
  if (term.node().prim == Prim::kMath && !has_polynomial(term.node().name, target)) return true;
  return std::any_of(term.node().args.begin(), term.node().args.end(),
                     [&](const Term& arg) { return calls_library(arg, target); });
}

// A reduction of what one load gives, and nothing else; the result may have another dtype than the accumulators.
static bool is_plain(const Nest& nest) {
  const std::vector<Nest::Value>& values = nest.values();
  if (values.size() != 2 || nest.stores().size() != 1) return false;
  const Term& stored = nest.stores()[0].value;
  const Term result = stored.node().prim == Prim::kCast ? stored.node().args[0] : stored;
  return !values[0].location.is_indexed() && values[1].kind == Nest::Value::Kind::kReduction &&
         nest.value_of(values[1].term) == size_t{0} && nest.value_of(result) == size_t{1};
}

void schedule(StepBuilder& b, const Nest& nest, std::string name, std::string comment) {
  using Kind = Nest::Value::Kind;
  const auto has = [&](Kind kind) {
    return std::any_of(nest.values().begin(), nest.values().end(),
                       [&](const Nest::Value& value) { return value.kind == kind; });
  };
  const bool reduces = has(Kind::kReduction), carries = has(Kind::kCarried) || has(Kind::kWhere);
  TH_CHECK(!reduces || (nest.bounds.empty() && !carries), "a nest with bounds or carried numbers reduces");
  if (b.target().is_device() && !carries) {
    if (!reduces && schedule_device_squares(b, nest, name, comment)) return;
    const auto schedule_it = reduces ? schedule_device_rows : schedule_device_elements;
    return schedule_it(b, nest, std::move(name), std::move(comment));
  }
  if (b.target().is_device() && schedule_device_product(b, nest, name, comment)) return;
  const auto schedule_it = carries                        ? schedule_carried
                           : !reduces                     ? schedule_elements
                           : !is_plain(nest)              ? schedule_rows
                           : nest.values()[1].how->better ? schedule_arg_reduction
                                                          : schedule_reduction;
  schedule_it(b, nest, std::move(name), std::move(comment));
}

}  // namespace thtrain::kernel

#include "compiler/kernel/schedule/accumulators.h"

namespace thtrain::kernel {

DType lane_dtype(size_t bytes) {
  return bytes == 1 ? DType::kInt8 : bytes == 2 ? DType::kInt16 : bytes == 4 ? DType::kInt32 : DType::kInt64;
}

Term start(const Accumulation& how, DType element, int lanes) {
  Term identity = how.identity(how.dtype);
  if (lanes == 1 || !is_bool(identity.dtype()) || is_bool(element)) return splat(identity, lanes);
  // A mask of the width that comparing the elements gives.
  int64_t value = identity.node().integer;
  return cast(splat(constant_int(element, value), lanes), DType::kBool);
}

DType wide_of(DType accumulator) {
  return accumulator == DType::kFloat32 ? DType::kFloat64 : accumulator;
}

Term combine_lanes(const Accumulation& how, const Term& accumulator) {
  // The extrema of truth values are all and any.
  bool mask = is_bool(accumulator.dtype());
  std::string operation = mask && how.lanes == "max" ? "or" : mask && how.lanes == "min" ? "and" : how.lanes;
  return reduce_lanes(operation, accumulator);
}

Term accumulate(const Accumulation& how, const Term& accumulator, const Term& element) {
  return how.combine(accumulator, cast(element, accumulator.dtype()));
}

Term in_first_lanes(const Term& count, const Term& x, const Term& otherwise) {
  const DType lane = lane_dtype(size_of(x.dtype()));
  return select(iota(lane, x.lanes()) < splat(cast(count, lane), x.lanes()), x, otherwise);
}

Dim product_of(const std::vector<LoopAxis>& axes) {
  Dim out = 1;
  for (const LoopAxis& axis : axes) out = out * axis.length;
  return out;
}

void check_elements(StepBuilder& b, const Accumulation& how, const std::vector<LoopAxis>& reduced,
                    const std::vector<LoopAxis>& kept) {
  const Dim count = product_of(reduced), results = product_of(kept);
  if (!how.no_elements || count.is_known() || results.is(0)) return;
  const Term n = b.length(count);
  const Term some = kept.empty() ? n > Term(0) : n > Term(0) || b.length(results) == Term(0);
  b.require(some, *how.no_elements, n, 1);
}

void Accumulator::add(Code& code, size_t part, Term x, const Term& count) const {
  x = splat(x, lanes);
  if (is_bool(x.dtype()) && x.type().mask_bytes > 1) {  // a comparison's mask, to one as narrow as a loaded bool
    auto number = [&](int64_t value) { return splat(constant_int(DType::kInt8, value), lanes); };
    x = select(x, number(1), number(0)) != number(0);
  }
  if (count) x = in_first_lanes(count, cast(x, how->dtype), identity());  // lanes that do not exist change nothing
  code.assign(parts[part], accumulate(*how, parts[part], code.let("x", cast(x, how->dtype))));
}

void Accumulator::add_pair(Code& code, size_t part, TermPair x, const Term& count) const {
  const Term neutral = splat(how->identity(how->dtype), lanes), none = splat(constant_int(how->dtype, 0), lanes);
  for (auto [now, otherwise] : {std::pair(&x.first, neutral), std::pair(&x.second, none)}) {
    *now = code.let("x", splat(cast(*now, how->dtype), lanes));
    if (count) *now = code.let("x", in_first_lanes(count, *now, otherwise));
  }
  const TermPair out = how->combine_pairs({parts[part], seconds[part]}, x);
  const Term first = code.let("first", out.first), second = code.let("second", out.second);
  code.assign(parts[part], first);
  code.assign(seconds[part], second);
}

TermPair Accumulator::combined_pair(Code& code, bool in_one) const {
  const auto combine = [&](const TermPair& a, const TermPair& b) {
    const TermPair out = how->combine_pairs(a, b);
    return TermPair{code.let("part", out.first), code.let("part", out.second)};
  };
  std::vector<TermPair> pairs;
  for (size_t i = 0; i < parts.size(); ++i) pairs.emplace_back(parts[i], seconds[i]);
  while (pairs.size() > 1) {
    std::vector<TermPair> half;
    for (size_t i = 0; i < pairs.size(); i += 2) half.push_back(combine(pairs[i], pairs[i + 1]));
    pairs = half;
  }
  TermPair out = pairs[0];
  if (!in_one || lanes == 1) return out;
  // Neighbours in one, twice each, until all lanes are the same.
  const auto neighbours = [](Term (*lanes_of)(Term, Term), const TermPair& x) {
    return TermPair{lanes_of(x.first, x.first), lanes_of(x.second, x.second)};
  };
  for (int left = lanes; left > 1; left /= 2) out = combine(neighbours(even_lanes, out), neighbours(odd_lanes, out));
  return {reduce_lanes("max", out.first), reduce_lanes("max", out.second)};
}

Term Accumulator::combined(Code& code, bool in_one) const {
  std::vector<Term> terms = parts;
  while (terms.size() > 1) {
    std::vector<Term> half;
    for (size_t i = 0; i < terms.size(); i += 2) half.push_back(code.let("part", how->combine(terms[i], terms[i + 1])));
    terms = half;
  }
  return in_one ? combine_lanes(*how, terms[0]) : terms[0];
}

void Accumulator::flush(Code& code, bool in_one) const {
  code.assign(total, how->combine(total, cast(combined(code, in_one), total.dtype())));
  for (const Term& part : parts) code.assign(part, identity());
}

void each_accumulated(Code& code, const Term& n, int parts, int lanes, std::optional<int64_t> length,
                      const std::function<void(Term, Term, int)>& body) {
  const int64_t step = static_cast<int64_t>(parts) * lanes;
  Term rest = 0;
  if (parts > 1) {
    const bool known = n.node().prim == Prim::kConstant;
    const int64_t number = known ? n.node().integer : 0;
    if (!known || number >= step)
      code.loop("j", 0, n - Term(step - 1), Term(step), LoopMark::kVector, [&](Term j) {
        for (int k = 0; k < parts; ++k) body(j + Term(k * lanes), {}, k);
      });
    rest = known ? Term(number / step * step) : code.let("rest", n / Term(step) * Term(step));
  }
  each_vector(code, "j", rest, n, lanes, length, [&](Term j, Term count) { body(j, count, count ? parts - 1 : 0); });
}

}  // namespace thtrain::kernel

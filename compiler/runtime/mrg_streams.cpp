#include "compiler/runtime/mrg_streams.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/base/error.h"
#include "compiler/ir/default_updates.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {

struct MrgRandomStreams::Made {
  Mrg31k3p at;
  std::string name;
  std::vector<Shared> states;
};

namespace {

constexpr int64_t kMostStreams = 15360;

int64_t default_streams(const Dims& dims) {
  const Dim n = product(dims);
  if (!n.is_known()) return kMostStreams;
  const int64_t count = n.value() > 6 ? n.value() / 6 : n.value();
  return std::clamp<int64_t>(count, 1, kMostStreams);
}

// Streams from here on, a substream apart; the maker goes on to the next stream.
Tensor take_streams(Mrg31k3p& maker, int64_t streams) {
  Tensor out = Tensor::empty(DType::kInt32, {6, streams});
  Mrg31k3p one = maker;
  for (int64_t s = 0; s < streams; ++s) {
    for (int64_t k = 0; k < 6; ++k) out.data<int32_t>()[k * streams + s] = one.state()[static_cast<size_t>(k)];
    one.jump(kMrgSubstreamJump);
  }
  maker.jump(kMrgStreamJump);
  return out;
}

Mrg31k3p::State repeated(int64_t seed) {
  if (seed <= 0 || seed >= Mrg31k3p::kModulus2)
    throw UserError(Message{.what = "the seed of MRG31k3p is out of range",
                            .expected = str("an integer from 1 to ", Mrg31k3p::kModulus2 - 1),
                            .got = str(seed)});
  Mrg31k3p::State out;
  out.fill(static_cast<int32_t>(seed));
  return out;
}

// The parameters in the dtype of the result, which they decide where none is given.
struct Parameters {
  DType dtype;
  Expr first, second;
};
Parameters in_one_dtype(const Operand& first, const Operand& second, std::optional<DType> dtype) {
  DType widest = floatX();
  for (const Operand* one : {&first, &second})
    if (!one->is_literal() && one->expr().dtype() == DType::kFloat64) widest = DType::kFloat64;
  const DType wanted = dtype.value_or(widest);
  auto cast_of = [&](const Operand& one) { return one.is_literal() ? one.for_dtype(wanted) : cast(one, wanted); };
  return {wanted, cast_of(first), cast_of(second)};
}

// A row of probabilities for each row, and its running sums.
Expr rows_of(const Operand& p, const char* builder) {
  const Expr rows = p.expr();
  if (rows.rank() != 2 || !is_float(rows.dtype()))
    fail_build(p.where(), str(builder, ": the probabilities are no matrix of floats"), "one row for each draw",
               value_text(rows));
  return rows;
}

// The first position whose running sum is above u, for each row.
Expr position_of(const Expr& p, const Expr& u) {
  const Expr before = cast(cumsum(p, 1) <= expand_dims(cast(u, p.dtype()), {1}), DType::kInt64);
  return minimum(sum(before, 1), length(p, 1) - 1);
}

}  // namespace

MrgRandomStreams::MrgRandomStreams(int64_t seed, std::string name, std::source_location where)
    : MrgRandomStreams(located(where, [&] { return repeated(seed); }), std::move(name), where) {}

MrgRandomStreams::MrgRandomStreams(const Mrg31k3p::State& seed, std::string name, std::source_location where)
    : made_(std::make_shared<Made>(Made{Mrg31k3p(seed), std::move(name), {}})) {
  located(where, [&] { Mrg31k3p::check_seed(seed); });
}

Expr MrgRandomStreams::standard(const LengthList& size, DType dtype, std::optional<int64_t> streams,
                                const std::source_location& where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  Made& m = *made_;
  const int64_t count = streams.value_or(default_streams(size.dims));
  if (count < 1)
    fail_build(where, "MRG31k3p: the number of streams is not positive", "1 or more", std::to_string(count));
  Mrg31k3p maker = m.at;  // a draw that is refused takes no stream
  const Shared state(located(where, [&] { return take_streams(maker, count); }), str(m.name, "/", m.states.size()),
                     true, where);
  give_default_updates(state);
  const Drawn out = draw_mrg_uniform(Operand(state, where), size, dtype, where);
  m.at = maker;
  m.states.push_back(state);
  return out.sample;
}

Expr MrgRandomStreams::uniform(const LengthList& size, const Operand& low, const Operand& high,
                               std::optional<DType> dtype, std::optional<int64_t> streams,
                               std::source_location where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  const Parameters p = in_one_dtype(low, high, dtype);
  return standard(size, p.dtype, streams, where) * (p.second - p.first) + p.first;
}

Expr MrgRandomStreams::any_normal(const LengthList& size, const Operand& mean, const Operand& deviation, bool truncate,
                                  std::optional<DType> dtype, std::optional<int64_t> streams,
                                  const std::source_location& where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  const Parameters p = in_one_dtype(mean, deviation, dtype);
  const Dim n = product(size.dims), half = floor_div(n + 1, 2);
  const std::vector<Expr> u = split(standard({half * 2}, p.dtype, streams, where), {half, half});
  auto radius_of = [](const Expr& x) { return sqrt(-2.0 * log(x)); };
  const Expr angle = 2 * std::numbers::pi * u[1], radius = radius_of(u[0]);
  const std::vector<Expr> directions{cos(angle), sin(angle)};
  std::vector<Operand> parts;
  if (!truncate) {
    for (const Expr& direction : directions) parts.push_back(radius * direction);
  } else {
    std::vector<Expr> kept, outside;
    for (const Expr& direction : directions) {
      const Expr z = radius * direction, is_outside = logical_or(z<-2.0, z> 2.0);
      kept.push_back(take(z, flatnonzero(logical_not(is_outside))));
      outside.push_back(flatnonzero(is_outside));
    }
    const Dim first = outside[0].dims()[0], second = outside[1].dims()[0];
    const Expr again = uniform({first + second}, std::exp(-2.0), 1.0, p.dtype, streams, where);
    const std::vector<Expr> radii = split(radius_of(again), {first, second});
    for (size_t k = 0; k < 2; ++k) {
      parts.push_back(kept[k]);
      parts.push_back(radii[k] * take(directions[k], outside[k]));
    }
  }
  Expr all = join(0, parts);
  if (truncate) all = specify_lengths(all, {half * 2});
  const Dim over = half * 2 - n;
  if (!over.is(0)) all = split(all, {n, over})[0];
  return reshape(all, size) * p.second + p.first;
}

Expr MrgRandomStreams::normal(const LengthList& size, const Operand& mean, const Operand& deviation,
                              std::optional<DType> dtype, std::optional<int64_t> streams,
                              std::source_location where) const {
  return any_normal(size, mean, deviation, false, dtype, streams, where);
}

Expr MrgRandomStreams::truncated_normal(const LengthList& size, const Operand& mean, const Operand& deviation,
                                        std::optional<DType> dtype, std::optional<int64_t> streams,
                                        std::source_location where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  // The deviation of standard normal numbers between -2 and 2.
  constexpr double kDeviation = 0.87962566103423978;
  const Parameters p = in_one_dtype(mean, deviation, dtype);
  return any_normal(size, p.first, p.second / kDeviation, true, p.dtype, streams, where);
}

Expr MrgRandomStreams::binomial(const LengthList& size, int64_t n, const Operand& p, std::optional<DType> dtype,
                                std::optional<int64_t> streams, std::source_location where) const {
  const Origin origin = Origin::here(where);
  const InheritOrigin inherit(origin);
  if (n < 0) fail_build(where, "binomial: the number of trials is negative", "0 or more", std::to_string(n));
  const Parameters own = in_one_dtype(p, 0.0, {});
  Dims dims = size.dims;
  if (n != 1) dims.insert(dims.begin(), n);
  const Expr hits = standard(dims, own.dtype, streams, where) < own.first;
  const DType wanted = dtype.value_or(DType::kInt64);
  return n == 1 ? cast(hits, wanted) : cast(sum(cast(hits, DType::kInt64), 0), wanted);
}

Expr MrgRandomStreams::multinomial(const Operand& p, int64_t n, std::optional<DType> dtype,
                                   std::optional<int64_t> streams) const {
  const Origin origin = Origin::here(p.where());
  const InheritOrigin inherit(origin);
  const Expr rows = rows_of(p, "multinomial");
  if (n < 1) fail_build(p.where(), "multinomial: the number of trials is not positive", "1 or more", std::to_string(n));
  const Dim count = rows.dims()[0];
  const Expr u = reshape(standard({count * n}, floatX(), streams, p.where()), {Dim(n), count});
  const Expr before = cast(expand_dims(cumsum(rows, 1), {0}) <= expand_dims(cast(u, rows.dtype()), {2}), DType::kInt64);
  const Expr position = minimum(sum(before, 2), length(rows, 1) - 1);
  const Expr hits = eq(expand_dims(position, {2}), arange(length(rows, 1)));
  return cast(sum(cast(hits, DType::kInt64), 0), dtype.value_or(DType::kInt64));
}

Expr MrgRandomStreams::choice(const Operand& p, int64_t n, std::optional<DType> dtype,
                              std::optional<int64_t> streams) const {
  const Origin origin = Origin::here(p.where());
  const InheritOrigin inherit(origin);
  Expr rows = rows_of(p, "choice");
  const Dim &count = rows.dims()[0], &k = rows.dims()[1];
  constexpr int64_t kMostResults = 1 << 16;  // each is a few nodes of the graph
  const Dim most = k.is_known() ? Dim(std::min(k.value(), kMostResults)) : k;
  if (n < 1 || n > kMostResults || (most.is_known() && n > most.value()))
    fail_build(p.where(), "choice: so many different results are not there",
               n > kMostResults ? str("at most ", kMostResults) : str("from 1 to ", most.text()), std::to_string(n));
  const Expr u = reshape(standard({count * n}, floatX(), streams, p.where()), {Dim(n), count});
  std::vector<Operand> positions;
  for (int64_t i = 0; i < n; ++i) {
    const Expr position = position_of(rows, u[Index(i)]);
    positions.push_back(position);
    if (i + 1 == n) break;
    rows = switch_(eq(arange(length(rows, 1)), expand_dims(position, {1})), 0.0, rows);
    rows = rows / sum(rows, 1, true);
  }
  return cast(stack(positions, 1), dtype.value_or(DType::kInt64));
}

void MrgRandomStreams::seed(const Mrg31k3p::State& seed, std::source_location where) const {
  located(where, [&] { Mrg31k3p::check_seed(seed); });
  made_->at = Mrg31k3p(seed);
  for (const Shared& state : made_->states)
    state.set_value(take_streams(made_->at, state.type().dims[1].value()), true);
}

void MrgRandomStreams::seed(int64_t seed, std::source_location where) const {
  this->seed(located(where, [&] { return repeated(seed); }), where);
}

std::vector<Shared> MrgRandomStreams::states() const {
  return made_->states;
}

}  // namespace thtrain

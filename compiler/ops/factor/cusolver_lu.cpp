#include "compiler/ops/factor/cusolver_lu.h"

#include "compiler/ops/device_candidates.h"
#include "compiler/ops/factor/column_matrices.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/key_reader.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kLuFactors = "lu_factors", *kOwnLu = "own", *kCusolverLu = "cuSOLVER";

// `count` matrices [n, n].
struct LuKey {
  DType dtype = DType::kFloat32;
  int64_t count = 0, n = 0;
};

// "complex64 2x9"
std::string text_of(const LuKey& k) {
  return str(name_of(k.dtype), " ", k.count, "x", k.n);
}

std::optional<LuKey> read_lu_key(const std::string& text) {
  LuKey out;
  KeyReader reader(text);
  const std::string dtype = text.substr(0, text.find(' '));
  const std::optional<DType> named = dtype_named(dtype);
  if (!named || !(is_float(*named) || is_complex(*named)) || !reader.take(dtype) || !reader.take(" "))
    return std::nullopt;
  out.dtype = *named;
  return reader.numbers({&out.count, &out.n}, 1, int64_t{1} << 40) && reader.is_at_end() ? std::optional(out)
                                                                                         : std::nullopt;
}

std::optional<LuKey> key_of_lu(const StepBuilder& b) {
  const Type& type = b.input(0).type;
  const Dim count = count_of(type), &n = type.dims.back();
  if (!count.is_known() || !n.is_known() || count.is(0) || n.is(0)) return std::nullopt;
  return LuKey{type.dtype, count.value(), n.value()};
}

std::optional<Graph> example_of_lu(const std::string& properties) {
  const std::optional<LuKey> k = read_lu_key(properties);
  if (!k) return std::nullopt;
  const Expr x = make_input({.dtype = k->dtype, .dims = {k->count, k->n, k->n}}, "x");
  const LuFactors f = lu(x);
  return Graph{{x}, {f.packed, f.rows, f.sign}, {}};
}

// A thread for each matrix: the rows in their order behind all exchanges, and the sign of that.
void order_rows(StepBuilder& b, const LuKey& k, const kernel::Operand& exchanges) {
  constexpr int kThreads = 64;
  kernel::Code& code = b.code();
  const Term m = code.let("m", b.block() * Term(kThreads) + b.thread());
  code.if_(m < Term(k.count), [&] {
    const Term first = code.let("first", m * Term(k.n)), sign = code.var("sign", Term(1));
    code.loop("i", Term(k.n), [&](const Term& i) { b.store(b.output(1), first + i, i); });
    code.loop("i", Term(k.n), [&](const Term& i) {
      const Term with = code.let("with", b.load(exchanges, first + i) - Term(1));
      const Term here = code.let("here", b.load(b.output(1), first + i)),
                 there = code.let("there", b.load(b.output(1), first + with));
      b.store(b.output(1), first + i, there);
      b.store(b.output(1), first + with, here);
      code.assign(sign, kernel::select(with == i, sign, Term(0) - sign));
    });
    b.store(b.output(2), m, sign);
  });
  b.finish_device_kernel("lu_rows", "the rows after all exchanges, and their sign",
                         Dim((k.count + kThreads - 1) / kThreads), kThreads, "a thread for each matrix");
}

void call_cusolver_lu(StepBuilder& b) {
  const LuKey k = *key_of_lu(b);
  kernel::Operand work = b.workspace(k.dtype, k.count * k.n * k.n);
  const kernel::Operand exchanges = b.workspace(DType::kInt64, k.count * k.n),
                        info = b.workspace(DType::kInt32, k.count);
  transpose_matrices(b, k.count, k.n, k.n, b.input(0), work, "the matrices of in0 by columns");
  b.call_library({cusolver_lu_function(b.target(), k.dtype),
                  {Dim(k.count), Dim(k.n), PointerTo{work.index}, PointerTo{exchanges.index}, PointerTo{info.index}}});
  transpose_matrices(b, k.count, k.n, k.n, work, b.output(0), "the packed factors by rows");
  order_rows(b, k, exchanges);
}

bool has_lu_kernel(const std::string& properties) {
  return is_float(read_lu_key(properties)->dtype);
}

std::optional<Candidate> find_lu(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<LuKey> k = read_lu_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwnLu) return Candidate{.name = kOwnLu};
  if (name != kCusolverLu) return std::nullopt;
  const int64_t number = static_cast<int64_t>(size_of(k->dtype));
  return Candidate{.name = kCusolverLu,
                   .workspace_bytes = k->count * (k->n * k->n * number + k->n * 8 + 4),
                   .functions = {cusolver_lu_function(target, k->dtype).name},
                   .is_of_device = true};
}

}  // namespace

// Of floats there is a kernel; complex matrices the host factorizes where cuSOLVER is not installed, which is not worth
// a trial.
const Computation& lu_factors() {
  static const Computation computation{kLuFactors, kOwnLu, example_of_lu,
                                       [](const ChoiceKey& key, const Target&, int, double) {
                                         return std::string(has_lu_kernel(key.properties) ? kOwnLu : kCusolverLu);
                                       }};
  return computation;
}

CandidateSource lu_candidates() {
  return own_and_library(kLuFactors, kOwnLu, kCusolverLu, find_lu, has_lu_kernel);
}

void lower_chosen_lu(StepBuilder& b, void (*otherwise)(StepBuilder&)) {
  const std::optional<LuKey> key = key_of_lu(b);
  if (!key || !b.chooser() || b.chooser()->choose({kLuFactors, text_of(*key)}) != kCusolverLu) return otherwise(b);
  call_cusolver_lu(b);
}

}  // namespace thtrain

#include "compiler/ops/factor/cusolver_steps.h"

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/device_candidates.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/column_matrices.h"
#include "compiler/ops/factor/cusolver_qr.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/leading.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kFactors = "matrix_factors", *kCusolver = "cuSOLVER", *kOwn = "own";
constexpr const char* kOps[] = {"cholesky", "eigh", "svd", "qr"};
constexpr int kSolverThreads = kernel::kDeviceThreads;

// `count` matrices [m, n]; with_vectors: of eigh and svd.
struct FactorKey {
  std::string op;
  DType dtype = DType::kFloat32;
  int64_t count = 0, m = 0, n = 0;
  bool with_vectors = false;
};

// "eigh complex64 2x9x9 vectors"
std::string text_of(const FactorKey& k) {
  return str(k.op, " ", name_of(k.dtype), " ", k.count, "x", k.m, "x", k.n, k.with_vectors ? " vectors" : "");
}

std::optional<FactorKey> read_factor_key(const std::string& text) {
  FactorKey out;
  KeyReader reader(text);
  for (const char* op : kOps)
    if (out.op.empty() && reader.take(op)) out.op = op;
  bool has_dtype = false;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128})
    if (!has_dtype && reader.take(str(" ", name_of(dtype), " "))) {
      out.dtype = dtype;
      has_dtype = true;
    }
  if (out.op.empty() || !has_dtype) return std::nullopt;
  if (!reader.numbers({&out.count, &out.m, &out.n}, 1, int64_t{1} << 40)) return std::nullopt;
  out.with_vectors = reader.take(" vectors");
  const bool is_shape = out.op == "svd" || out.op == "qr" ? out.m >= out.n : out.m == out.n;
  const bool is_job = out.op == "eigh" || out.op == "svd" || !out.with_vectors;
  return reader.is_at_end() && is_shape && is_job ? std::optional(out) : std::nullopt;
}

std::optional<FactorKey> key_of_factors(const StepBuilder& b) {
  const Type& type = b.input(0).type;
  const Dim count = count_of(type), &m = type.dims[type.rank() - 2], &n = type.dims.back();
  for (const Dim& length : {count, m, n})
    if (!length.is_known() || length.is(0)) return std::nullopt;
  return FactorKey{std::string(b.node().op->name),
                   type.dtype,
                   count.value(),
                   m.value(),
                   n.value(),
                   b.node().props.get_or<bool>("vectors", false)};
}

// Of a positive definite matrix; the diagonal is far from what is off it for any numbers.
Expr definite(const Expr& x) {
  return x + static_cast<double>(20 * x.dims().back().value()) * eye(x.dims().back(), {}, 0, x.dtype());
}

std::optional<Graph> example_of_factors(const std::string& properties) {
  const std::optional<FactorKey> k = read_factor_key(properties);
  if (!k) return std::nullopt;
  const Expr x = make_input({.dtype = k->dtype, .dims = {k->count, k->m, k->n}}, "x");
  if (k->op == "cholesky") return Graph{{x}, {cholesky(definite(x))}, {}};
  if (k->op == "qr") return Graph{{x}, outputs_of(apply(qr_op(), {x}).node()), {}};
  const Op& op = k->op == "eigh" ? eigh_op() : svd_op();
  return Graph{{x}, outputs_of(apply(op, {x}, {{"vectors", k->with_vectors}}).node()), {}};
}

/// The kernels around a call: one that copies the matrices to where cuSOLVER works, and tells which are not finite, and
/// one thread that fails where a matrix has no factors.
class SolverStep {
 public:
  SolverStep(StepBuilder& b, const kernel::RuntimeCheck& check)
      : b_(b),
        code_(b.code()),
        key_(*key_of_factors(b)),
        check_(check),
        real_(real_dtype(key_.dtype)),
        matrix_(key_.m * key_.n),
        is_lower_factor_(key_.op == "cholesky"),
        wrong_(b.workspace(DType::kInt32, key_.count)),
        info_(b.workspace(DType::kInt32, key_.count)) {}

  void cholesky() {
    copy(
        b_.output(), [&](const Term& row, const Term& column) { return row * Term(key_.n) + column; }, true);
    b_.call_library({cusolver_cholesky_function(b_.target(), key_.dtype),
                     {Dim(key_.count), Dim(key_.n), PointerTo{b_.output().index}, PointerTo{info_.index}}});
    require();
  }

  void eigh() {
    const kernel::Operand work = b_.workspace(key_.dtype, key_.count * matrix_);
    copy(
        work, [&](const Term& row, const Term& column) { return row * Term(key_.n) + column; }, true);
    b_.call_library({cusolver_eigh_function(b_.target(), key_.dtype),
                     {Dim(key_.count), Dim(key_.n), Dim(key_.with_vectors), PointerTo{work.index},
                      PointerTo{b_.output(0).index}, PointerTo{info_.index}}});
    if (key_.with_vectors) store_vectors(work, b_.output(1), true, nullptr, nullptr);
    require();
  }

  void svd() {
    const kernel::Operand work = b_.workspace(key_.dtype, key_.count * matrix_),
                          u = b_.workspace(key_.dtype, key_.with_vectors ? key_.count * matrix_ : 1),
                          v = b_.workspace(key_.dtype, key_.with_vectors ? key_.count * key_.n * key_.n : 1);
    copy(
        work, [&](const Term& row, const Term& column) { return column * Term(key_.m) + row; }, false);
    b_.call_library({cusolver_svd_function(b_.target(), key_.dtype),
                     {Dim(key_.count), Dim(key_.m), Dim(key_.n), Dim(key_.with_vectors), PointerTo{work.index},
                      PointerTo{b_.output(key_.with_vectors ? 1 : 0).index}, PointerTo{u.index}, PointerTo{v.index},
                      PointerTo{info_.index}}});
    if (key_.with_vectors) store_vectors(u, b_.output(0), false, &v, &b_.output(2));
    require();
  }

 private:
  // The lesser number, of those that are not 0.
  static Term first_of(const Term& a, const Term& b) {
    const Term none = kernel::constant_int(DType::kInt32, 0);
    return kernel::select(b != none && (a == none || b < a), b, a);
  }

  // A block for each matrix. Of a Hermitian one what is above the diagonal is 0, and the imaginary part of the
  // diagonal; an element that is not finite is 0, and makes the matrix wrong, a factor from its row on.
  void copy(const kernel::Operand& to, const std::function<Term(const Term& row, const Term& column)>& location,
            bool is_hermitian) {
    const std::string found = code_.shared_array("found", DType::kInt32, kSolverThreads);
    const Term first = code_.let("first", b_.block() * Term(matrix_)), none = kernel::constant_int(DType::kInt32, 0),
               zero = kernel::constant(real_, 0);
    const Term bad = code_.var("bad", none);
    code_.loop(
        "e", b_.thread(), Term(matrix_), Term(kSolverThreads), kernel::LoopMark::kSequential, [&](const Term& e) {
          const Term row = code_.let("row", e / Term(key_.n)), column = code_.let("column", e - row * Term(key_.n));
          Parts x = load_number(b_, b_.input(0), first + e);
          if (is_hermitian) x.re = code_.let("given", kernel::select(column > row, zero, x.re));
          if (is_hermitian && x.is_complex()) x.im = code_.let("given", kernel::select(column >= row, zero, x.im));
          Term is_finite = code_.let("is_finite", x.re - x.re == zero);
          if (x.is_complex()) is_finite = code_.let("are_finite", is_finite && x.im - x.im == zero);
          const Term number = is_lower_factor_ ? row + Term(1) : Term(1);
          code_.assign(bad, kernel::select(is_finite, bad, first_of(bad, kernel::cast(number, DType::kInt32))));
          for (Term* part : {&x.re, &x.im})
            if (*part) *part = kernel::select(is_finite, *part, zero);
          store_number(b_, to, first + location(row, column), x);
        });
    code_.store(found, b_.thread(), 1, bad);
    code_.barrier();
    code_.if_(b_.thread() == Term(0), [&] {
      const Term all = code_.var("all", none);
      code_.loop("t", Term(kSolverThreads), [&](const Term& t) {
        code_.assign(all, first_of(all, code_.let("other", kernel::load(found, DType::kInt32, 1, t, 1))));
      });
      b_.store(wrong_, b_.block(), all);
    });
    b_.finish_device_kernel("copy_matrices", "the matrices of in0 as cuSOLVER takes them", Dim(key_.count),
                            kSolverThreads, "a block for each matrix");
  }

  // A thread for each vector: column j of `to` is row j of `from`, or its conjugate, divided by the sign of its leading
  // element; row j of `to_rows` is column j of `from_rows`, times that sign.
  void store_vectors(const kernel::Operand& from, const kernel::Operand& to, bool conjugates,
                     const kernel::Operand* from_columns, const kernel::Operand* to_rows) {
    const int64_t n = key_.n, length = key_.m;
    const Term e = code_.let("e", b_.block() * Term(kSolverThreads) + b_.thread());
    code_.if_(e < Term(key_.count * n), [&] {
      const Term m = code_.let("m", e / Term(n)), j = code_.let("j", e - m * Term(n));
      const Term begin = code_.let("begin", (m * Term(n) + j) * Term(length));
      const auto element = [&](const Term& i) {
        Parts x = load_number(b_, from, begin + i);
        if (conjugates && x.is_complex()) x.im = -x.im;
        return x;
      };
      const Term zero = kernel::constant(real_, 0), most = code_.var("most", zero),
                 leading = code_.var("leading", Term(length));
      code_.loop("i", Term(length), [&](const Term& i) {
        const Term size = modulus(code_, element(i), real_);
        code_.assign(most, kernel::select(size > most, size, most));
      });
      const Term least = code_.let("least", most * kernel::constant(real_, kLeadingPart));
      code_.loop("i", Term(length), [&](const Term& i) {
        const Term is_leading = leading == Term(length) && modulus(code_, element(i), real_) >= least;
        code_.assign(leading, kernel::select(is_leading, i, leading));
      });
      const Parts first = element(kernel::select(leading == Term(length), Term(0), leading));
      const Term size = modulus(code_, first, real_);
      const Parts sign = sign_of(code_, first, size, real_);
      code_.loop("i", Term(length), [&](const Term& i) {
        Parts x = times(element(i), sign, true);
        if (x.is_complex()) x = {kernel::select(i == leading, size, x.re), kernel::select(i == leading, zero, x.im)};
        store_number(b_, to, (m * Term(length) + i) * Term(n) + j, x);
      });
      if (!from_columns) return;
      code_.loop("i", Term(n), [&](const Term& i) {
        const Parts x = load_number(b_, *from_columns, (m * Term(n) + i) * Term(n) + j);
        store_number(b_, *to_rows, (m * Term(n) + j) * Term(n) + i, times(x, sign));
      });
    });
    b_.finish_device_kernel("store_vectors", "vectors by their leading elements",
                            kernel::blocks_for(key_.count * n, kSolverThreads), kSolverThreads,
                            "a thread for each vector");
  }

  // The first matrix without factors; of one that is not finite nothing else is said.
  void require() {
    code_.loop("m", Term(key_.count), [&](const Term& m) {
      const Term info = code_.let("info", b_.load(info_, m)), wrong = code_.let("wrong", b_.load(wrong_, m)),
                 found = code_.let("found", kernel::cast(first_of(info, wrong), DType::kInt64));
      b_.require(found == Term(0), check_, found, m);
    });
    b_.finish_device_kernel("factors_check", "has a matrix no factors?", 1, 1, "one thread");
  }

  StepBuilder& b_;
  kernel::Code& code_;
  const FactorKey key_;
  const kernel::RuntimeCheck check_;
  const DType real_;
  const int64_t matrix_;  // elements
  const bool is_lower_factor_;
  const kernel::Operand wrong_, info_;
};

bool has_kernel(const FactorKey& key) {
  return key.op == "cholesky" && is_float(key.dtype);
}

int64_t solver_workspace(const FactorKey& k) {
  const int64_t matrix = k.m * k.n, square = k.n * k.n, bytes = static_cast<int64_t>(size_of(k.dtype));
  const int64_t elements = k.op == "cholesky" ? 0
                           : k.op == "eigh"   ? k.count * matrix
                           : k.op == "qr"     ? k.count * (matrix + 2 * k.n)
                           : k.with_vectors   ? k.count * (2 * matrix + square)
                                              : k.count * matrix + 2;
  return elements * bytes + 2 * k.count * static_cast<int64_t>(sizeof(int32_t));
}

bool has_factor_kernel(const std::string& properties) {
  return has_kernel(*read_factor_key(properties));
}

std::optional<Candidate> find_factors(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<FactorKey> k = read_factor_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwn) return Candidate{.name = kOwn};
  if (name != kCusolver) return std::nullopt;
  std::vector<std::string> functions;
  if (k->op == "cholesky") functions = {cusolver_cholesky_function(target, k->dtype).name};
  if (k->op == "eigh") functions = {cusolver_eigh_function(target, k->dtype).name};
  if (k->op == "svd") functions = {cusolver_svd_function(target, k->dtype).name};
  if (k->op == "qr")
    functions = {cusolver_reflections_function(target, k->dtype).name, cusolver_q_function(target, k->dtype).name};
  return Candidate{.name = kCusolver,
                   .workspace_bytes = solver_workspace(*k),
                   .functions = std::move(functions),
                   .is_of_device = true};
}

}  // namespace

const Computation& matrix_factors() {
  static const Computation computation{kFactors, kOwn, example_of_factors,
                                       [](const ChoiceKey& key, const Target&, int, double) {
                                         return std::string(has_factor_kernel(key.properties) ? kOwn : kCusolver);
                                       }};
  return computation;
}

CandidateSource device_factors() {
  return own_and_library(kFactors, kOwn, kCusolver, find_factors, has_factor_kernel);
}

void lower_decomposition(StepBuilder& b, const kernel::RuntimeCheck& check, void (*otherwise)(StepBuilder&)) {
  const std::optional<FactorKey> key = key_of_factors(b);
  const ChoiceKey asked{kFactors, key ? text_of(*key) : ""};
  // Without a chooser, the rule's answer without libraries.
  if (!key || !b.chooser() || b.chooser()->choose(asked) != kCusolver) return otherwise(b);
  if (key->op == "qr") return call_cusolver_qr(b, key->count, key->m, key->n);
  SolverStep step(b, check);
  if (key->op == "cholesky") return step.cholesky();
  key->op == "eigh" ? step.eigh() : step.svd();
}

}  // namespace thtrain

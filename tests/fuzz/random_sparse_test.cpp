// Random programs of sparse matrices: the same results by the references, natively and in debug mode, and gradients of
// both kinds that the dense matrix has. All numbers are small integers, so that every order of a sum gives the same
// bits and elements that cancel are 0. THTRAIN_FUZZ_SEED and THTRAIN_FUZZ_CASES make a longer run of it.
#include <gtest/gtest.h>

#include <random>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "tests/support/fuzz_settings.h"

namespace thtrain {
namespace {

/// A sparse matrix and the dense one that it must be: with gradients of all elements, where it is regular.
struct Pair {
  Sparse sparse;
  Expr whole;
};

class SparseProgram {
 public:
  explicit SparseProgram(uint64_t seed) : random_(seed) {
    rows_ = number(1, 5);
    columns_ = number(1, 5);
    if (one_in(8)) (one_in(2) ? rows_ : columns_) = 0;
    is_regular_ = one_in(3);
    for (int64_t i = number(1, 2); i > 0; --i) add_leaf();
    for (int64_t i = number(2, 6); i > 0; --i) add_step();
    for (int64_t i = number(1, 3); i > 0; --i) add_result();
    finish();
  }

  const std::string& text() const { return text_; }

  /// By the references, and where it is asked for natively too, with the checks of the debug mode and without.
  std::string wrong(bool with_native) const {
    const auto run = [&](const std::vector<Out>& outputs, Mode mode) {
      return function(inputs_, outputs, {},
                      {.mode = mode, .threads = 1, .unused_inputs = UnusedInputs::kAllowed})(arguments_);
    };
    const auto want = run(dense_, Mode::kReference);
    for (Mode mode : {Mode::kReference, Mode::kDebug, Mode::kNative}) {
      if (mode != Mode::kReference && !with_native) break;
      const auto got = run(sparse_, mode);
      for (size_t i = 0; i < got.size(); ++i)
        if (const auto where = difference(got[i], want[i], 1e-9))
          return str("result ", i, " in mode ", static_cast<int>(mode), ": ", *where, "\n", got[i].text(), "\n",
                     want[i].text());
    }
    return {};
  }

 private:
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return number(1, n) == 1; }

  Tensor drawn(const Shape& shape, int64_t zeros_in_ten) {
    Tensor out = Tensor::zeros(DType::kFloat64, shape);
    for (int64_t i = 0; i < out.size(); ++i)
      if (number(1, 10) > zeros_in_ten) out.data<double>()[i] = static_cast<double>(number(-2, 2));
    return out;
  }
  Expr dense_input(const Shape& shape, int64_t zeros_in_ten = 0) {
    const Expr x = tensor(str("x", inputs_.size()), Dims(shape.begin(), shape.end()), DType::kFloat64);
    inputs_.push_back(x);
    arguments_.push_back(drawn(shape, zeros_in_ten));
    wrt_.push_back(x);
    return x;
  }

  // Of a regular matrix the dense input is what gradients are taken by, else the stored elements.
  void add_leaf() {
    const SparseFormat format = one_in(2) ? SparseFormat::kCsr : SparseFormat::kCsc;
    const bool is_csr = format == SparseFormat::kCsr;
    if (is_regular_) {
      const Expr x = dense_input({rows_, columns_}, 6);
      text_ += is_csr ? "csr_from_dense " : "csc_from_dense ";
      pairs_.push_back({regular(is_csr ? csr_from_dense(x) : csc_from_dense(x), x), x});
      return;
    }
    const std::string name = str("a", inputs_.size());
    const DType of_indices = one_in(3) ? DType::kInt64 : DType::kInt32;
    const Sparse a = is_csr ? csr_matrix(name, rows_, columns_, DType::kFloat64, of_indices)
                            : csc_matrix(name, rows_, columns_, DType::kFloat64, of_indices);
    SparseTensor value = SparseTensor::from_dense(drawn({rows_, columns_}, number(3, 10)), format);
    value.indices = value.indices.cast(of_indices);
    value.indptr = value.indptr.cast(of_indices);
    for (const In& in : inputs_of({a})) inputs_.push_back(in);
    for (const Tensor& part : arguments_of({value})) arguments_.push_back(part);
    wrt_.push_back(a.data);
    text_ += is_csr ? "csr_matrix " : "csc_matrix ";
    const auto [i, j] = coordinates(a);
    pairs_.push_back({a, set_subtensor(zeros({rows_, columns_}, DType::kFloat64)[{i, j}], a.data)});
  }

  const Pair& some() { return pairs_[static_cast<size_t>(number(0, static_cast<int64_t>(pairs_.size()) - 1))]; }
  Pair of_shape(const Pair& like) {
    std::vector<Pair> fitting;
    for (const Pair& each : pairs_)
      if (each.sparse.rows == like.sparse.rows && each.sparse.columns == like.sparse.columns) fitting.push_back(each);
    return fitting[static_cast<size_t>(number(0, static_cast<int64_t>(fitting.size()) - 1))];
  }
  Slice slice(const Dim& length) {
    const int64_t n = length.value();
    Slice out;
    if (!one_in(3)) out.start = number(-n, n);
    if (!one_in(3)) out.stop = number(-n, n);
    if (one_in(3)) out.step = one_in(2) ? number(1, 3) : number(-3, -1);
    return out;
  }
  Index index(const Dim& length) {
    const int64_t n = length.value();
    if (n == 0 || one_in(2)) return slice(length);
    Tensor names = Tensor::empty(DType::kInt64, {number(0, 4)});
    for (int64_t i = 0; i < names.size(); ++i) names.data<int64_t>()[i] = number(-n, n - 1);
    return make_constant(names);
  }

  void add_step() {
    const Pair a = some(), b = of_shape(a);
    const Expr& x = a.whole;
    const int64_t m = a.sparse.rows.value(), n = a.sparse.columns.value();
    const auto add = [&](const char* name, const Sparse& sparse, const Expr& whole) {
      text_ += str(name, ' ');
      pairs_.push_back({sparse, whole});
    };
    switch (number(0, 15)) {
      case 0:
        return add("neg", -a.sparse, -x);
      case 1:
        return add("T", a.sparse.T(), transpose(x));
      case 2:
        return add("to_csr", to_csr(a.sparse), x);
      case 3:
        return add("to_csc", to_csc(a.sparse), x);
      case 4:
        return add("plus", a.sparse + b.sparse, x + b.whole);
      case 5:
        return add("minus", a.sparse - b.sparse, x - b.whole);
      case 6:
        return add("multiply", multiply(a.sparse, b.sparse), x * b.whole);
      case 7:  // a stored element that is 0 has a structured derivative, until it is removed
        return is_regular_ ? add("remove_zeros", remove_zeros(a.sparse), x) : add("twice", a.sparse + a.sparse, x * 2);
      case 8: {
        const Expr s = dense_input({m});
        return add("row_scale", row_scale(a.sparse, s), x * expand_dims(s, {1}));
      }
      case 9: {
        const Expr s = dense_input({n});
        return add("column_scale", column_scale(a.sparse, s), x * s);
      }
      case 10: {
        const Index rows = index(a.sparse.rows), columns = index(a.sparse.columns);
        return add("subtensor", subtensor(a.sparse, {rows, columns}),
                   subtensor(subtensor(x, {rows}), {all(), columns}));
      }
      case 11:
        return add("vstack", vstack({a.sparse, b.sparse}), vstack({x, b.whole}));
      case 12:
        return add("hstack", hstack({a.sparse, b.sparse}), hstack({x, b.whole}));
      case 13:
        return add("product", dot(a.sparse, b.sparse.T()), dot(x, transpose(b.whole)));
      case 14: {
        const Expr y = dense_input({m, n});
        return add("times_dense", multiply(a.sparse, y), x * y);
      }
      default:
        return add("scaled", a.sparse * 2, x * 2);
    }
  }

  void add_result() {
    const Pair a = some(), b = of_shape(a);
    const Expr& x = a.whole;
    const int64_t m = a.sparse.rows.value(), n = a.sparse.columns.value();
    const auto add = [&](const char* name, const Expr& sparse, const Expr& whole) {
      text_ += str(name, ' ');
      sparse_.emplace_back(sparse);
      dense_.emplace_back(whole);
    };
    switch (number(0, 8)) {
      case 0:
        return add("sum", sum(a.sparse), sum(x));
      case 1:
        return add("sum_0", sum(a.sparse, 0), sum(x, {0}));
      case 2:
        return add("sum_1", sum(a.sparse, 1), sum(x, {1}));
      case 3:
        return add("diagonal", diagonal(a.sparse), diagonal(x));
      case 4: {
        const Expr y = dense_input({n, number(0, 3)});
        return add("dot", dot(a.sparse, y), dot(x, y));
      }
      case 5: {
        const Expr y = dense_input({m});
        return add("vector_dot", dot(y, a.sparse), dot(y, x));
      }
      case 6:
        return add("lt", cast(dense(lt(a.sparse, b.sparse)), DType::kFloat64), cast(lt(x, b.whole), DType::kFloat64));
      case 7:
        return add("eq", cast(eq(a.sparse, b.sparse), DType::kFloat64), cast(eq(x, b.whole), DType::kFloat64));
      default:
        return add("dense", dense(a.sparse), x);
    }
  }

  // The gradient of the sum of squares, by all leaves.
  void finish() {
    const auto cost = [&](const Pair& last, const std::vector<Out>& outputs, bool is_sparse) {
      Expr out = sum(is_sparse ? dense(last.sparse) : last.whole);
      for (const Out& each : outputs) out = out + sum(each.expr * each.expr);
      return out;
    };
    const Pair last = pairs_.back();
    const GradOptions options{.disconnected = Disconnected::kZero};
    const auto by_sparse = grad(cost(last, sparse_, true), wrt_, options),
               by_dense = grad(cost(last, dense_, false), wrt_, options);
    sparse_.insert(sparse_.end(), by_sparse.begin(), by_sparse.end());
    dense_.insert(dense_.end(), by_dense.begin(), by_dense.end());
  }

  std::mt19937_64 random_;
  int64_t rows_ = 0, columns_ = 0;
  bool is_regular_ = false;
  std::vector<In> inputs_;
  std::vector<Tensor> arguments_;
  std::vector<Expr> wrt_;
  std::vector<Pair> pairs_;
  std::vector<Out> sparse_, dense_;
  std::string text_;
};

// Compiling takes nearly all of the time: one program of five is compiled. A structured gradient is by the stored
// elements, of which the dense program is made too; a regular one is by the dense matrix.
TEST(RandomSparse, GiveWhatDenseMatricesDoInEveryMode) {
  const FuzzSettings settings = fuzz_settings(1, 100);
  SCOPED_TRACE(settings.text());
  for (int64_t i = 0; i < settings.cases; ++i) {
    const uint64_t seed = settings.seed + static_cast<uint64_t>(i);
    const SparseProgram program(seed);
    EXPECT_EQ(program.wrong(i % 5 == 0), "") << "seed " << seed << ": " << program.text();
  }
}

}  // namespace
}  // namespace thtrain

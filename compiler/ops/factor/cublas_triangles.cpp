#include "compiler/ops/factor/cublas_triangles.h"

#include "compiler/ops/device_candidates.h"
#include "compiler/ops/factor/column_matrices.h"
#include "compiler/ops/factor/factor_functions.h"
#include "compiler/ops/factor/matrices.h"
#include "compiler/ops/key_reader.h"
#include "compiler/ops/shape/copy_loops.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {
namespace {

using kernel::ChoiceKey;
using kernel::PointerTo;
using kernel::StepBuilder;
using kernel::Target;
using kernel::Term;

constexpr const char *kTriangles = "triangular_equations", *kOwnTriangles = "own", *kCublasTriangles = "cuBLAS";

// `count` matrices [n, n] and right-hand sides [n, k].
struct TriangleKey {
  DType dtype = DType::kFloat32;
  int64_t count = 0, n = 0, k = 0;
  Triangle triangle;
};

// "complex64 2x9x3 upper transposed unit"
std::string text_of(const TriangleKey& key) {
  const Triangle& t = key.triangle;
  return str(name_of(key.dtype), " ", key.count, "x", key.n, "x", key.k, t.lower ? " lower" : " upper",
             t.transposed ? " transposed" : "", t.unit ? " unit" : "");
}

std::optional<TriangleKey> read_triangle_key(const std::string& text) {
  TriangleKey out;
  KeyReader reader(text);
  const std::string dtype = text.substr(0, text.find(' '));
  const std::optional<DType> named = dtype_named(dtype);
  if (!named || !(is_float(*named) || is_complex(*named)) || !reader.take(dtype) || !reader.take(" "))
    return std::nullopt;
  out.dtype = *named;
  if (!reader.numbers({&out.count, &out.n, &out.k}, 1, int64_t{1} << 40)) return std::nullopt;
  out.triangle.lower = reader.take(" lower");
  if (!out.triangle.lower && !reader.take(" upper")) return std::nullopt;
  out.triangle.transposed = reader.take(" transposed");
  out.triangle.unit = reader.take(" unit");
  return reader.is_at_end() ? std::optional(out) : std::nullopt;
}

std::optional<TriangleKey> key_of_triangles(const StepBuilder& b, const Triangle& triangle) {
  const Type& type = b.output().type;
  const Dim count = count_of(type), &n = type.dims[type.rank() - 2], &k = type.dims.back();
  for (const Dim& length : {count, n, k})
    if (!length.is_known() || length.is(0)) return std::nullopt;
  return TriangleKey{type.dtype, count.value(), n.value(), k.value(), triangle};
}

// The diagonal is far from what is off it for any numbers.
std::optional<Graph> example_of_triangles(const std::string& properties) {
  const std::optional<TriangleKey> key = read_triangle_key(properties);
  if (!key) return std::nullopt;
  const Expr a = make_input({.dtype = key->dtype, .dims = {key->count, key->n, key->n}}, "a"),
             x = make_input({.dtype = key->dtype, .dims = {key->count, key->n, key->k}}, "b");
  const Expr regular = a + static_cast<double>(20 * key->n) * eye(key->n, {}, 0, key->dtype);
  return Graph{{a, x}, {triangular_solve(regular, x, key->triangle)}, {}};
}

// A thread for each element of the diagonals.
void require_regular(StepBuilder& b, const TriangleKey& key, const kernel::RuntimeCheck& check) {
  kernel::Code& code = b.code();
  const Term zero = kernel::constant(real_dtype(key.dtype), 0);
  code.loop("e", b.begin(), b.end(), 1, kernel::LoopMark::kSequential, [&](const Term& e) {
    const Term matrix = code.let("matrix", e / Term(key.n)), i = code.let("i", e - matrix * Term(key.n));
    const Parts x = load_number(b, b.input(0), e * Term(key.n) + i);
    const Term is_regular = x.is_complex() ? x.re != zero || x.im != zero : x.re != zero;
    b.require(is_regular, check, i + Term(1), matrix);
  });
  b.finish_kernel("diagonals_check", "is there a 0 on a diagonal of in0?", Dim(key.count * key.n), 1);
}

void call_cublas_triangles(StepBuilder& b, const TriangleKey& key, const kernel::RuntimeCheck& check) {
  const Triangle& t = key.triangle;
  if (!t.unit) require_regular(b, key, check);
  if (!b.overwrites(1))
    move_kernel(b, kernel::placed(parts_of(b.input(1))), kernel::placed(parts_of(b.output())), "copy",
                "out0 = in1, in whose place the equations are solved", true);
  b.call_library({cublas_triangles_function(b.target(), key.dtype),
                  {Dim(key.count), Dim(key.n), Dim(key.k), Dim(t.lower), Dim(t.transposed), Dim(t.unit),
                   PointerTo{b.input(0).index}, PointerTo{b.output().index}}});
}

bool has_triangle_kernel(const std::string& properties) {
  return is_float(read_triangle_key(properties)->dtype);
}

std::optional<Candidate> find_triangles(const ChoiceKey& key, const std::string& name, const Target& target) {
  const std::optional<TriangleKey> k = read_triangle_key(key.properties);
  if (!k || !target.is_device()) return std::nullopt;
  if (name == kOwnTriangles) return Candidate{.name = kOwnTriangles};
  if (name != kCublasTriangles) return std::nullopt;
  return Candidate{
      .name = kCublasTriangles, .functions = {cublas_triangles_function(target, k->dtype).name}, .is_of_device = true};
}

}  // namespace

// Of floats there is a kernel; complex equations the host solves where cuBLAS is not installed, which is not worth a
// trial.
const Computation& triangular_equations() {
  static const Computation computation{
      kTriangles, kOwnTriangles, example_of_triangles, [](const ChoiceKey& key, const Target&, int, double) {
        return std::string(has_triangle_kernel(key.properties) ? kOwnTriangles : kCublasTriangles);
      }};
  return computation;
}

CandidateSource triangle_candidates() {
  return own_and_library(kTriangles, kOwnTriangles, kCublasTriangles, find_triangles, has_triangle_kernel);
}

void lower_chosen_triangles(StepBuilder& b, const Triangle& triangle, const kernel::RuntimeCheck& check,
                            void (*otherwise)(StepBuilder&)) {
  const std::optional<TriangleKey> key = key_of_triangles(b, triangle);
  if (!key || !b.chooser() || b.chooser()->choose({kTriangles, text_of(*key)}) != kCublasTriangles) return otherwise(b);
  call_cublas_triangles(b, *key, check);
}

}  // namespace thtrain

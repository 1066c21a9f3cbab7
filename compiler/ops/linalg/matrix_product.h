// Products of two matrices, by dot, batched_dot or gemm: what they ask a choice for, and how a candidate writes their
// step.
#pragma once

#include <optional>

#include "compiler/kernel/nest.h"
#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/linalg/gemm_kernel.h"
#include "compiler/ops/linalg/product_key.h"

namespace thtrain {

/// Is the node a product of two float matrices, dot or gemm?
bool is_matrix_product(const Node& node);
/// May a step of it call cuBLAS? Of a device's, products of floats and of complex numbers may.
inline bool is_for_cublas(DType dtype, const kernel::Target& target) {
  return target.is_device() && (is_float(dtype) || is_complex(dtype));
}
/// The input that holds its left factor; the right one is the next.
size_t first_factor(const Node& product);

/// The product of a node whose factors lie in these layouts; nullopt where a length or a stride is not known, or a
/// length is 0 or 1.
std::optional<MatrixProduct> known_product(const Node& node, const Layout& a, const Layout& b);

/// out = alpha a . b + beta in0, as a step of dot or gemm computes it; for a literal 0 as beta there is no in0.
struct ProductStep {
  kernel::Operand a, b;
  GemmFactor alpha = 1.0, beta = 0.0;
  bool reads_c = false;
};
/// Of a step whose node is a product, and whose layouts a library can take.
ProductStep product_step(kernel::StepBuilder& builder);

/// Writes the step: by the chosen candidate where the lengths are known, else by the library; by its definition where
/// there is none.
void lower_matrix_product(kernel::StepBuilder& builder);

/// By its definition; also a product of vectors, and gemv.
void lower_loops_loop_products(kernel::StepBuilder& builder);
/// Is that the name of a candidate of a device that lowers so?
bool is_by_loops(const std::string& candidate);
/// Ends the kernel of a product's nest: on a device in such tiles, where it is computed in tiles.
void schedule_product(kernel::StepBuilder& builder, const kernel::Nest& nest, const std::string& name,
                      const std::string& comment, const std::optional<kernel::DeviceTiling>& tiling);
/// A factor of the node, and its address as a library's function takes it.
GemmFactor factor_of(const Node& node, size_t input);
kernel::LibraryArgument factor_at(const kernel::StepBuilder& builder, const GemmFactor& factor);
/// Calls a library's function that has gemm's parameters (library_functions.h) for the step. What it adds to lies in
/// the output.
void call_product(kernel::StepBuilder& builder, const kernel::LibraryFunction& function, const ProductStep& step);
/// The same with what is added to copied there.
void call_product(kernel::StepBuilder& builder, const kernel::LibraryFunction& function);
/// Computes the step by a generated kernel. `product` is that of the step.
void lower_tiled_product(kernel::StepBuilder& builder, const MatrixProduct& product, const GemmTiling& tiling);

/// A product by its definition, as a nest over rows, columns and what is summed: the products of an element are added
/// from the first to the last, in the dtype of the operands. A vector on the left is a row, on the right a column;
/// other operands may have axes of a batch.
struct ProductNest {
  ProductNest(const kernel::Operand& a, const kernel::Operand& b, const kernel::Operand& out);
  void store();  // the sums as they are

  kernel::Nest nest;
  Parts sum;
  kernel::Location to;
};

/// Each of `count` products by its definition, of row-major operands. Sums of float32 products accumulate in float64
/// and are rounded once.
void reference_products(const Tensor& a, const Tensor& b, int64_t count, int64_t m, int64_t k, int64_t n, Tensor& out);

/// Input 0 in the output, so that a product can be added to it: a copy, unless the step writes over input 0.
void copy_addend(kernel::StepBuilder& builder);

}  // namespace thtrain

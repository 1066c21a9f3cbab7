// Constructors of the inputs of a graph.
#pragma once

#include "compiler/ir/node.h"

namespace thtrain {

// ---- inputs and constants ------------------------------------------------------------------------------------------

// Lengths that are not given are named after the variable: "x.0". A length is a number or a name: matrix("x", {"n",
// 784}). The dtype is floatX unless given.

/// An input of these lengths and of this dtype.
Expr tensor(const std::string& name, const Dims& lengths, DType dtype,
            std::source_location where = std::source_location::current());
/// An input of `rank` axes of any length.
Expr tensor_of_rank(const std::string& name, size_t rank, DType dtype,
                    std::source_location where = std::source_location::current());
/// An input of floatX without axes: a number.
Expr scalar(const std::string& name, std::source_location where = std::source_location::current());
/// An input of floatX with one axis.
Expr vector(const std::string& name, std::source_location where = std::source_location::current());
Expr vector(const std::string& name, const Dims& lengths, std::source_location where = std::source_location::current());
/// An input of floatX with two axes.
Expr matrix(const std::string& name, std::source_location where = std::source_location::current());
Expr matrix(const std::string& name, const Dims& lengths, std::source_location where = std::source_location::current());
/// An input of floatX with three axes, and with four.
Expr tensor3(const std::string& name, std::source_location where = std::source_location::current());
Expr tensor4(const std::string& name, std::source_location where = std::source_location::current());
/// An input of int64: a number, a vector, a matrix.
Expr iscalar(const std::string& name, std::source_location where = std::source_location::current());
Expr ivector(const std::string& name, std::source_location where = std::source_location::current());
Expr imatrix(const std::string& name, std::source_location where = std::source_location::current());

}  // namespace thtrain

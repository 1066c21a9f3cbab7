// Constructors of the inputs of a graph.
#pragma once

#include "compiler/ir/node.h"

namespace thtrain {

// Lengths that are not given are named after the variable: "x.0". A length is a number or a name: matrix("x", {"n",
// 784}). The dtype is floatX unless given.

Expr tensor(const std::string& name, const Dims& lengths, DType dtype,
            std::source_location where = std::source_location::current());
Expr tensor_of_rank(const std::string& name, size_t rank, DType dtype,
                    std::source_location where = std::source_location::current());
Expr scalar(const std::string& name, std::source_location where = std::source_location::current());
Expr vector(const std::string& name, std::source_location where = std::source_location::current());
Expr matrix(const std::string& name, std::source_location where = std::source_location::current());
Expr tensor3(const std::string& name, std::source_location where = std::source_location::current());
Expr tensor4(const std::string& name, std::source_location where = std::source_location::current());
Expr matrix(const std::string& name, const Dims& lengths, std::source_location where = std::source_location::current());
Expr vector(const std::string& name, const Dims& lengths, std::source_location where = std::source_location::current());
/// int64
Expr iscalar(const std::string& name, std::source_location where = std::source_location::current());
Expr ivector(const std::string& name, std::source_location where = std::source_location::current());
Expr imatrix(const std::string& name, std::source_location where = std::source_location::current());

}  // namespace thtrain

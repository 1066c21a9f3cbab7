// Vectors in C++: loads, stores, and terms that make vectors, move their lanes or reduce them. Each is a helper's call.
#pragma once

#include <string>
#include <vector>

#include "compiler/kernel/dialect.h"

namespace thtrain::kernel::cpp {

using Texts = std::vector<std::string>;

std::string load_text(const TermNode& load, const Texts& args, Helpers& helpers);
std::string store_text(const Store& store, const StoreText& text, Helpers& helpers);

std::string in_register_text(const TermNode& n, const std::string& a, Helpers& h);

/// May a tile's sum of that type have a register of its own?
bool has_own_register(const TermType& type);
/// The declaration of a tile's sum, up to its value.
std::string sum_text(const TermType& type, const std::string& name, int64_t number, Helpers& h);
/// The instruction that adds args[0] * args[1] to the sum.
std::string add_product_text(const TermNode& fma, const std::string& sum, const std::vector<std::string>& args,
                             Helpers& h);
std::string splat_text(const TermNode& splat, const std::string& element, Helpers& helpers);
/// The helper's name.
std::string splat_helper(const TermType& type, Helpers& helpers);
std::string iota_text(const TermNode& iota, Helpers& helpers);

/// Halves onto halves, in a fixed order.
std::string reduce_text(const TermNode& reduce, const std::string& vector, Helpers& helpers);
std::string interleave_text(const TermNode& interleave, const Texts& args);

}  // namespace thtrain::kernel::cpp

// Which word of a list somebody meant who wrote a word that is not in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The candidate that a value of a configuration stands for in other words; "" where none is likely. In this order: the
/// same letters in another style (`BatchNorm`); what other programs call it (`fc` for `dense`); a misspelling
/// (nearest_name); the same words in another order (`norm_batch`); a name that a candidate is a part of
/// (`MaxPooling2D` for `pool`), the longest one; the beginning of a candidate (`leaky` for `leaky_relu`), the first
/// one.
std::string near_value(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace thtrain

// Which name somebody meant who wrote another one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thtrain {

/// The candidate that `name` is most likely a misspelling of; "" where none is near. The first of equally near ones.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace thtrain

// Which classes a model takes for which: the picture of a confusion matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thtrain {

/// PATH.png and PATH.svg, as Canvas::write(): counts[i][j] examples of class i that were taken for class j, dark where
/// they are a large part of their class. Cells are 44 pixels wide, less where there are more than 16 classes; numbers
/// that would not be readable are left out.
std::vector<std::string> draw_confusion_matrix(const std::string& path, const std::vector<std::vector<int64_t>>& counts,
                                               const std::vector<std::string>& class_names, const std::string& title);

}  // namespace thtrain

// The shipped experiments with few examples and two epochs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/lab_support.h"

namespace thtrain {

/// The names of configs/labs, in order.
std::vector<std::string> lab_names();

/// The lab with two epochs in each phase, and with so many examples where it can take fewer; nothing where its data is
/// not there.
std::optional<Experiment> small_lab(const std::string& name, int64_t train, int64_t others,
                                    std::vector<std::string> overrides);

/// One of the paper's networks for large images?
bool is_of_paper(const std::string& name);

/// A few minibatches of 20 examples, with small layers and images where the layers are not wanted whole. MNIST's labs
/// train on digits, those of files on small files in `folder`. Nothing where the lab's data is not there.
std::optional<Experiment> smallest_lab(const std::string& name, const TemporaryFolder& folder,
                                       std::vector<std::string> overrides, bool has_whole_layers = false);

}  // namespace thtrain

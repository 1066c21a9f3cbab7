// What a model keeps of the data that it was trained on: the means and deviations of standardized numbers.
//
//   data/mean, data/scale                  of the examples, [numbers] or [1]
//   data/target_mean, data/target_scale    of values to approximate
//
// They are next to the weights in best.npz and in checkpoints.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "datasets/dataset.h"
#include "trainers/checkpoint.h"

namespace thtrain {

/// As arrays of `floatx`; none where nothing is standardized. Null counts as that.
NamedArrays arrays_of(const std::shared_ptr<const Standardization>& standardization, DType floatx);

/// Takes these arrays out of those of a model; null where there are none. UserError in the name of `source`: one of a
/// pair is missing, they are no vectors of one length, or a number is not finite or no deviation.
std::shared_ptr<const Standardization> take_standardization(std::map<std::string, Tensor>& arrays,
                                                            const std::string& source);

/// UserError in the name of `source`, where the standardization was learned of examples of other lengths than
/// `split`'s.
void check_standardization(const Standardization& standardization, const Split& split, const std::string& source);

}  // namespace thtrain

// What a model keeps of the data that it was trained on: the means and deviations of standardized numbers, and what
// fills missing values.
//
//   data/mean, data/scale                  of the examples, [numbers] or [1]
//   data/target_mean, data/target_scale    of values to approximate
//   data/fill, data/indicator              of the columns of a table, [columns]: what fills a missing value, and
//                                          whether (1 or 0) the column has an indicator of them
//
// They are next to the weights in best.npz and in checkpoints.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "datasets/dataset.h"
#include "trainers/checkpoint.h"

namespace thtrain {

/// As arrays of `floatx`; none where nothing is standardized or filled. Null counts as that.
NamedArrays arrays_of(const std::shared_ptr<const Standardization>& standardization, DType floatx);

/// Takes these arrays out of those of a model; null where there are none. UserError in the name of `source`: one of a
/// pair is missing, they are no vectors of one length, or a number is not finite or no deviation, an
/// indicator is neither 0 nor 1.
std::shared_ptr<const Standardization> take_standardization(std::map<std::string, Tensor>& arrays,
                                                            const std::string& source);

/// UserError in the name of `source`, where what it keeps (nothing: an empty one) was learned of examples of other
/// lengths than `split`'s, and where `split` fills missing values and it does not.
void check_standardization(const Standardization& standardization, const Split& split, const std::string& source);

}  // namespace thtrain

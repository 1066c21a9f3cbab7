// What the ops of draws from MT19937 states share.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/op.h"
#include "compiler/ops/random/random.h"

namespace thtrain {

/// The first output: a state like the one that is input 0. UserError where that is none.
Type state_type(const TypeArgs& args);
/// The property "dims", each length of which is at least 0.
const Dims& drawn_dims(const TypeArgs& args);
/// The op with what all draws share: results are exact, natively too, but nothing is known where an input is not;
/// inputs are row-major; the next state may be written over the state. `flops`: for each number.
Op draw_op(Op op, int64_t flops);
/// The next state and the numbers of such a node.
Drawn drawn(const Op& op, std::vector<Expr> inputs, Props props, const std::source_location& where);
/// A state whose words are the input (uint32 [624]) and which has used `position` of them, for cases.
Expr state_of_words(const Expr& words, int64_t position = 624);
/// The input of these words.
Type words_type();
/// Words of any bits, as the inputs of a case have them.
inline constexpr int64_t kWordsHigh = int64_t{1} << 32;

}  // namespace thtrain

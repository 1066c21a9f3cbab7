// Everything that a program needs to build expressions, differentiate them and run them.
#pragma once

#include "compiler/autodiff/forward.h"   // jvp, vjp
#include "compiler/autodiff/gradient.h"  // grad
#include "compiler/autodiff/jacobian.h"  // jacobian, hessian
#include "compiler/autodiff/verify_grad.h"
#include "compiler/base/random_state.h"  // RandomState: NumPy's numbers
#include "compiler/ir/graph.h"           // Update
#include "compiler/ir/node.h"            // Expr
#include "compiler/ir/print.h"           // graph_text, expr_text
#include "compiler/ir/print_tree.h"      // tree_text, dot_text
#include "compiler/ir/tensor.h"          // Tensor
#include "compiler/ir/variables.h"       // scalar, vector, matrix, ...
#include "compiler/ops/clone_replace.h"  // shapes_of
#include "compiler/ops/control/checkpointed_scan.h"
#include "compiler/ops/control/if_else.h"  // if_else
#include "compiler/ops/control/op_from_function.h"
#include "compiler/ops/control/op_from_graph.h"
#include "compiler/ops/control/placement.h"
#include "compiler/ops/control/repeat.h"  // repeat, repeat_until
#include "compiler/ops/control/scan.h"    // scan, map, reduce, foldl, foldr
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/control/vmap.h"  // vmap
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/effect/effect.h"  // print, check
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/decompositions.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/factor/matrix_functions.h"
#include "compiler/ops/fft/fft.h"
#include "compiler/ops/image/neighbours.h"
#include "compiler/ops/image/pad.h"
#include "compiler/ops/image/upsample.h"
#include "compiler/ops/image/windows.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/activations.h"
#include "compiler/ops/nnet/ctc.h"
#include "compiler/ops/nnet/losses.h"
#include "compiler/ops/nnet/normalization.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"  // sort, argsort
#include "compiler/ops/pool/pool.h"
#include "compiler/ops/random/random.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/max_abs.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/sparse/sparse.h"
#include "compiler/runtime/eval.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_file.h"
#include "compiler/runtime/mrg_streams.h"
#include "compiler/runtime/random_streams.h"
#include "compiler/runtime/shared.h"
#include "compiler/runtime/sparse_values.h"
#include "compiler/tuning/user_candidates.h"  // load_candidates

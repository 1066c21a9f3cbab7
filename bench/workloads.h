// What thtrain and the ceilings run for a case of a benchmark. The peers' side is bench/peers/.
#pragma once

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measurement.h"
#include "compiler/ir/node.h"
#include "compiler/ir/tensor.h"
#include "compiler/kernel/target.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// What decides a workload besides its case.
struct WorkloadOptions {
  DType dtype = DType::kFloat32;
  int threads = 1;
  bool borrow = true;                         // outputs: the function's own buffers, or new ones
  std::optional<kernel::Target> target = {};  // of training steps; without it this machine
};

/// The layers and the batch of a training step: "784-500-10/60". UserError for another text.
struct NetCase {
  std::vector<int64_t> sizes;
  int64_t batch;
};
NetCase net_case(const std::string& text);
/// Floating-point operations of one example: two for each weight forward and for its gradient, and two for each weight
/// above the first layer for what goes down.
double flops_per_example(const NetCase& net);

/// A formula and a number of elements: "poly2/100000". UserError for another text.
struct ElementwiseCase {
  std::string formula;
  int64_t size;
};
ElementwiseCase elementwise_case(const std::string& text);
/// "a+1", "2a+3b", "poly2" (a**2 + b**2 + 2*a*b), "2a+b^10", "sigm_tanh" (1/(1+exp(-a))*tanh(b)).
const std::vector<std::string>& elementwise_formulae();

/// Rows, inner length, columns, and whether the operands are stored transposed: "60x784x500/NN".
struct GemmCase {
  int64_t m, k, n;
  bool a_transposed, b_transposed;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n); }
};
GemmCase gemm_case(const std::string& text);

/// What of a loop is computed, on vectors of which length: "state/100", "gradient/100". UserError for another text.
struct LoopCase {
  bool gradient;
  int64_t size;
};
LoopCase loop_case(const std::string& text);

/// Which generator gives numbers of which distribution, and how many: "mrg_uniform/1000000", "mt_normal/1000".
/// UserError for another text.
struct RandomCase {
  std::string generator;  // "mrg", "mt"
  bool normal;            // standard normal, else uniform in [0, 1)
  int64_t size;
};
RandomCase random_case(const std::string& text);

/// A transform of complex or of real numbers, and its lengths: "fft/1000x1000", "rfft/1024". UserError for another
/// text.
struct FftCase {
  bool is_real = false;
  std::vector<int64_t> shape = {};
  double elements() const {
    return std::accumulate(shape.begin(), shape.end(), 1.0,
                           [](double so_far, int64_t length) { return so_far * static_cast<double>(length); });
  }
  double flops() const;  // 5 N log2(N) for N elements, half of it for real ones
};
FftCase fft_case(const std::string& text);

/// What is computed of a square matrix, and its side, or how many of which side: "cholesky/500", "solve/...", "qr/...",
/// "eigh/...", "svd/10000x6". UserError for another text.
struct FactorCase {
  std::string what = {};
  int64_t n = 1, count = 1;
  double elements() const { return static_cast<double>(count) * static_cast<double>(n) * static_cast<double>(n); }
  double flops() const;  // n^3 / 3, 2/3 n^3, 8/3 n^3, 9 n^3, 20 n^3 of each matrix, in this order
};
FactorCase factor_case(const std::string& text);

/// A product of a sparse matrix or a training step, its lengths, and the percentage of the elements that is stored:
/// "dot/10000x10000x64/0.1" has 64 dense columns, "dense/..." and "stored/..." are its gradients,
/// "sparse/10000x10000/1" is the product of two, "logistic/100x100000/0.1" has a batch and features. UserError for
/// another text.
struct SparseCase {
  std::string what;
  int64_t rows, columns, n;
  double percent;
};
SparseCase sparse_case(const std::string& text);

/// What of the language is computed, of values of which dtype (the run's, or int64), and their lengths:
/// "sort/1000000", "int64_argsort/1000x1000", "matmul/1000x4x4"; bench/peers/language.py lists them. UserError for
/// another text.
struct LanguageCase {
  std::string what;
  bool is_int64;
  std::vector<int64_t> shape;
  double elements() const {
    return std::accumulate(shape.begin(), shape.end(), 1.0,
                           [](double so_far, int64_t length) { return so_far * static_cast<double>(length); });
  }
};
LanguageCase language_case(const std::string& text);

/// A recurrent network's kind, inputs, hidden units and steps, and the batch: "lstm-128-256-100/32", "tanh-...".
/// UserError for another text.
struct RnnCase {
  bool lstm;
  int64_t inputs, hidden, steps, batch;
  int64_t gates() const { return lstm ? 4 : 1; }
};
RnnCase rnn_case(const std::string& text);
/// Floating-point operations of the products for one sequence: two for each weight and step forward and for its
/// gradient, and two for each weight of the state for what goes back.
double flops_per_sequence(const RnnCase& what);

/// A restricted Boltzmann machine's visible and hidden units, the steps of its chain, and the batch: "784-500-15/20".
/// UserError for another text.
struct RbmCase {
  int64_t visible, hidden, k, batch;
};
RbmCase rbm_case(const std::string& text);
/// Floating-point operations of the products for one example: two for each weight for the first hidden units, four in
/// each step of the chain, and four for the update.
double flops_per_example(const RbmCase& what);

/// A convolution of images without flipped filters, and which of its three passes:
/// "i64x56x48,k128x5x3,b16,s2x1,p1x2/fprop" is 16 images of 64 channels, 56 wide and 48 high, 128 filters 5 wide and 3
/// high, strides and zeros around the image with the horizontal number first; "/inputs" and "/weights" are the
/// gradients. The grammar is convnet-benchmarks', with p added: the parts in any order; without b the batch is 128, s2
/// is s2x1. UserError, which names the part, for another text.
struct ConvCase {
  ConvPass pass = ConvPass::kForward;
  int64_t batch = 128, channels = 1, width = 1, height = 1, filters = 1, kernel_width = 1, kernel_height = 1;
  int64_t stride_x = 1, stride_y = 1, pad_x = 0, pad_y = 0;
  int64_t out_width() const { return (width + 2 * pad_x - kernel_width) / stride_x + 1; }
  int64_t out_height() const { return (height + 2 * pad_y - kernel_height) / stride_y + 1; }
  double flops() const;  // two for each weight and position, padding too
};
ConvCase conv_case(const std::string& text);
/// The three cases of each configuration, once; words 1 to 5, or L1 to L5, are the layers of convnet-benchmarks with
/// batch 16. UserError, which names the word and its part, for another one.
std::vector<std::string> conv_cases(const std::vector<std::string>& words);

/// The maxima or means of square windows of images, or the gradient to the images: "max/16x64x56x48/w3s2p1" is a batch
/// of 16 with 64 channels, 56 high and 48 wide, the window, the stride and the padding on each side;
/// "max_gradient/...", "mean/..." and "mean_gradient/...". Means count the padding. UserError for another text.
struct PoolCase {
  bool is_gradient = false, is_mean = false;
  int64_t batch = 1, channels = 1, height = 1, width = 1, window = 1, stride = 1, padding = 0;
  int64_t pooled(int64_t length) const {
    return length + 2 * padding < window ? 0 : (length + 2 * padding - window) / stride + 1;
  }
  double elements() const { return static_cast<double>(batch * channels) * static_cast<double>(height * width); }
  double windows() const {
    return static_cast<double>(batch * channels) * static_cast<double>(pooled(height) * pooled(width));
  }
};
PoolCase pool_case(const std::string& text);

/// A network of two convolutions, two poolings and two dense layers, and the batch: "convsmall/1", "convmed/60",
/// "convlarge/60" of the Theano paper, "lenet/500" of the Deep Learning Tutorials. UserError for another text.
struct ConvnetCase {
  int64_t image, kernel, pool1, pool2;
  int64_t maps1 = 6, maps2 = 16, hidden = 120, examples = 120;
  double learning_rate = 0.01;
  bool is_lenet = false;  // tanh(pool(conv) + b), else tanh(pool(tanh(conv + b)))
  int64_t batch = 1;
  int64_t pooled1() const { return (image - kernel + 1) / pool1; }
  int64_t pooled2() const { return (pooled1() - kernel + 1) / pool2; }
};
ConvnetCase convnet_case(const std::string& text);
/// As for dense networks: no gradient goes down to the images.
double flops_per_example(const ConvnetCase& net);

/// A training step of a dense network (bench/peers/net.py says of which kind); units are examples.
Workload net_workload(const std::string& text, const WorkloadOptions& options);
/// How long it takes from the first expression of such a step to a function that can be called; "1000-layers" is one of
/// so many layers of 16 units at batch 60.
double seconds_to_build(const std::string& text, const WorkloadOptions& options);
/// A call of a compiled formula; units are elements.
Workload elementwise_workload(const std::string& text, const WorkloadOptions& options);
/// A matrix product into a matrix that stays; units are 10^9 operations.
Workload gemm_workload(const std::string& text, const WorkloadOptions& options);

/// 1,000 iterations of s = s + c s (1 - s), or the gradient of the last s's sum by s and c; units are iterations. The
/// same written by hand in C++ and compiled with the flags of generated code is what `loops` calls the ceiling; it has
/// one thread.
Workload loop_workload(const std::string& text, const WorkloadOptions& options);
Workload loop_by_hand(const std::string& text, const WorkloadOptions& options);
/// What the two compute: one row, or one for each gradient.
std::pair<Tensor, Tensor> loop_results(const std::string& text, const WorkloadOptions& options);

/// A training step of a recurrent network (bench/peers/rnn.py says of which kind); units are sequences. rnn_costs():
/// the cost at each of the first `calls` steps.
Workload rnn_workload(const std::string& text, const WorkloadOptions& options);
std::vector<double> rnn_costs(const std::string& text, const WorkloadOptions& options, int calls);

/// An update by contrastive divergence (bench/peers/rbm.py); units are examples. rbm_weights(): the weights [visible,
/// hidden] after so many updates whose uniform numbers are RandomState(7)'s: for each update those of the hidden units
/// of all steps, then those of the visible ones.
Workload rbm_workload(const std::string& text, const WorkloadOptions& options);
Tensor rbm_weights(const std::string& text, const WorkloadOptions& options, int calls);

/// The operands of a pass, x and w, dy and w, or x and dy; and what it gives of them.
std::array<Shape, 2> conv_shapes(const ConvCase& c);
Expr conv_of(const ConvCase& c, const Expr& first, const Expr& second);
/// A pass of a convolution whose lengths are all known (bench/peers/conv.py); units are 10^9 operations, and `chosen`
/// is the candidate that computes it. conv_result(): what it gives.
Workload conv_workload(const std::string& text, const WorkloadOptions& options);
Tensor conv_result(const std::string& text, const WorkloadOptions& options);

/// A pooling or its gradient (bench/peers/pool.py); units are elements of the images, and `chosen` is the candidate
/// that computes it. pool_result(): what it gives.
Workload pool_workload(const std::string& text, const WorkloadOptions& options);
Tensor pool_result(const std::string& text, const WorkloadOptions& options);

/// A training step of a network with convolutions (bench/peers/convnet.py); units are examples. convnet_costs(): the
/// cost at each of the first `calls` steps.
Workload convnet_workload(const std::string& text, const WorkloadOptions& options);
std::vector<double> convnet_costs(const std::string& text, const WorkloadOptions& options, int calls);

/// A call that draws so many numbers; units are numbers.
Workload random_workload(const std::string& text, const WorkloadOptions& options);

/// A call of an operation on arrays (bench/peers/language.py); units are elements.
Workload language_workload(const std::string& text, const WorkloadOptions& options);

/// A transform along all axes; units are 10^9 operations. fft_result(): what a call gives.
Workload fft_workload(const std::string& text, const WorkloadOptions& options);
Tensor fft_result(const std::string& text, const WorkloadOptions& options);

/// A factorization of one matrix or of a batch, or equations with one right-hand side each; units are 10^9 operations.
/// factor_results(): what a call gives.
Workload factor_workload(const std::string& text, const WorkloadOptions& options);
std::vector<Tensor> factor_results(const std::string& text, const WorkloadOptions& options);

/// A product of sparse matrices or a training step of logistic regression on one (bench/peers/sparse.py); units are
/// 10^9 operations. sparse_results(): what a call gives.
Workload sparse_workload(const std::string& text, const WorkloadOptions& options);
std::vector<Tensor> sparse_results(const std::string& text, const WorkloadOptions& options);

/// What the machine allows for the same case, in the same units: for networks, recurrent ones and Boltzmann machines,
/// convolutions and products multiply-adds between registers, for formulae reading and writing arrays of the same size,
/// with the better of ordinary and streaming stores, on one thread or on all. UserError where the case is too small to
/// have one.
Workload net_ceiling(const std::string& text, const WorkloadOptions& options);
Workload elementwise_ceiling(const std::string& text, const WorkloadOptions& options);
Workload gemm_ceiling(const std::string& text, const WorkloadOptions& options);
Workload rnn_ceiling(const std::string& text, const WorkloadOptions& options);
Workload rbm_ceiling(const std::string& text, const WorkloadOptions& options);
Workload conv_ceiling(const std::string& text, const WorkloadOptions& options);
Workload convnet_ceiling(const std::string& text, const WorkloadOptions& options);
Workload factor_ceiling(const std::string& text, const WorkloadOptions& options);
/// As the elementwise formula a+1 that reads and writes as many bytes as the images and what is pooled have.
Workload pool_ceiling(const std::string& text, const WorkloadOptions& options);
/// As the elementwise formula a+1 on as many elements of the run's dtype.
Workload language_ceiling(const std::string& text, const WorkloadOptions& options);
/// As the elementwise formula a+1 that reads and writes as many bytes as the matrix and the dense operands have.
Workload sparse_ceiling(const std::string& text, const WorkloadOptions& options);
/// As the elementwise formula a+1 on as many bytes.
Workload fft_ceiling(const std::string& text, const WorkloadOptions& options);
/// Writing an array of that size.
Workload random_ceiling(const std::string& text, const WorkloadOptions& options);

}  // namespace thtrain

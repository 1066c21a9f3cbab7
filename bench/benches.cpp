// The benchmarks: what they measure, and their cases.
#include "bench/large_graphs.h"
#include "bench/run.h"
#include "bench/start.h"
#include "bench/workloads.h"
#include "compiler/base/error.h"

namespace thtrain {

const std::vector<Bench>& benches() {
  static const std::vector<Bench> all = [] {
    std::vector<std::string> formulae;
    for (const std::string& formula : elementwise_formulae())
      for (const char* size : {"1000", "5000", "10000", "50000", "100000", "1000000", "10000000"})
        formulae.push_back(str(formula, '/', size));
    formulae.push_back("a+1/4");
    std::vector<std::string> numbers;
    for (const char* kind : {"mrg_uniform", "mrg_normal", "mt_uniform", "mt_normal"})
      for (const char* size : {"1000", "100000", "1000000"}) numbers.push_back(str(kind, '/', size));
    std::vector<std::string> operations;
    for (const char* what :
         {"sort", "int64_sort", "argsort", "int64_argsort", "topk", "int64_topk", "unique", "int64_unique"})
      for (const char* lengths : {"1000000", "1000x1000"}) operations.push_back(str(what, '/', lengths));
    for (const char* count : {"1000x", "10000x"})
      for (const char* matrix : {"4x4", "16x16", "64x64"}) operations.push_back(str("matmul/", count, matrix));
    for (const char* rows : {"take", "scatter_add", "mask_rows"}) operations.push_back(str(rows, "/100000x128"));
    for (const char* what :
         {"mask", "set_mask", "sum0", "sum1", "max0", "max1", "argmax0", "argmax1", "cumsum0", "cumsum1"})
      operations.push_back(str(what, "/4000x3000"));
    for (const char* what : {"attention/32x128x8x64", "cumsum0/1000000", "per_example/128x784x100x10"})
      operations.emplace_back(what);
    std::vector<std::string> graphs;
    for (const char* kind : {"mlp", "chain", "sum"})
      for (const char* nodes : {"100", "1000", "10000", "100000"}) graphs.push_back(str(kind, '/', nodes));
    for (const char* start : {"cold/784-500-10/20", "warm/784-500-10/20", "cold/1000-layers"}) graphs.push_back(start);
    std::vector<std::string> starts;
    for (const std::string& experiment : start_cases()) starts.push_back("cold/" + experiment);
    const std::vector<std::string> convolutions = conv_cases(
        {"i3x64x64,k128x7x7,b64", "i32x15x80,k64x5x5,b256", "i128x36x12,k64x6x3,b256", "i1x256x256,k6x7x7,b20",
         "i64x56x56,k64x3x3,p1x1,b16", "i256x14x14,k256x3x3,p1x1,b16", "i64x56x56,k256x1x1,b16"});
    std::vector<std::string> poolings;
    for (const char* what : {"max", "max_gradient", "mean", "mean_gradient"})
      for (const char* windows : {"16x64x112x112/w3s2p1", "16x64x56x56/w3s2p1", "16x64x56x56/w3s1p1",
                                  "16x64x56x56/w2s2p0", "60x20x24x24/w2s2p0"})
        poolings.push_back(str(what, '/', windows));
    std::vector<std::string> transforms;
    for (const char* lengths : {"1024", "1048576", "1000000", "1009", "1000x1000", "128x128x128"})
      for (const char* what : {"fft", "rfft"}) transforms.push_back(str(what, '/', lengths));
    std::vector<std::string> factors;
    for (const char* what : {"cholesky", "solve", "qr", "eigh", "svd"})
      for (const char* lengths : {"100", "500", "1000", "10000x6"}) factors.push_back(str(what, '/', lengths));
    std::vector<std::string> products;
    for (const char* what : {"dot", "dense", "stored"})
      for (const char* n : {"1", "16", "64"})
        for (const char* percent : {"0.1", "1", "10"}) products.push_back(str(what, "/10000x10000x", n, '/', percent));
    for (const char* other : {"sparse/10000x10000/0.1", "sparse/2000x2000/1", "logistic/100x100000/0.1"})
      products.emplace_back(other);
    for (const std::string& kind : large_graph_kinds()) graphs.push_back(str("cold/", kind, "/10000"));
    return std::vector<Bench>{
        {"mlp",
         "net",
         "examples/s",
         "training steps of multi-layer perceptrons (Fig. 5 of the Theano paper)",
         {"784-500-10/60", "784-500-10/1", "784-1000-1000-1000-10/60", "784-1000-1000-1000-10/1"},
         {"20-15-10/12"},
         {"none"}},
        {"logreg",
         "net",
         "examples/s",
         "training steps of logistic regression",
         {"784-10/60", "784-10/600"},
         {"20-10/12"},
         {"none"}},
        {"elementwise",
         "elementwise",
         "elements/s",
         "elementwise formulae (Fig. 7 of the Theano paper)",
         formulae,
         {"poly2/1000"},
         {"owned", "borrowed"}},
        {"gemm",
         "gemm",
         "GFLOP/s",
         "matrix products",
         {"2048x2048x2048/NN", "60x784x500/NN", "784x60x500/TN", "60x500x784/NT", "32x256x256/NN", "1x256x256/NN"},
         {"6x7x5/TN"},
         {"none"}},
        {"loops",
         "loops",
         "iterations/s",
         "loops of 1,000 iterations compared with the same loop written by hand",
         {"state/4", "state/100", "state/10000", "gradient/4", "gradient/100", "gradient/10000"},
         {"gradient/100"},
         {"none"}},
        {"random",
         "random_numbers",
         "numbers/s",
         "random numbers of both generators",
         numbers,
         {"mrg_uniform/1000"},
         {"owned", "borrowed"}},
        {"language",
         "language",
         "elements/s",
         "operations on arrays",
         operations,
         {"sort/100", "int64_topk/7x120", "unique/100", "matmul/5x4x4", "per_example/5x6x4x3"},
         {"borrowed"}},
        {"rnn",
         "rnn",
         "sequences/s",
         "training steps of recurrent networks",
         {"tanh-128-256-100/32", "tanh-128-256-100/1", "lstm-128-256-100/32", "lstm-128-256-100/1"},
         {"tanh-5-6-7/3"},
         {"none"}},
        {"rbm",
         "rbm",
         "examples/s",
         "updates of restricted Boltzmann machines by contrastive divergence",
         {"784-500-1/20", "784-500-15/20", "1024-1024-1/60"},
         {"20-15-3/12"},
         {"none"}},
        {"conv",
         "conv",
         "GFLOP/s",
         "convolutions and their two gradients",
         convolutions,
         conv_cases({"i2x7x6,k3x3x2,b4,s2x1,p1x0"}),
         {"none"}},
        {"pool",
         "pool",
         "elements/s",
         "maxima and means of windows of images, and their gradients",
         poolings,
         {"max_gradient/2x3x9x10/w3s2p1"},
         {"none"}},
        {"convnet",
         "convnet",
         "examples/s",
         "training steps of networks with convolutions (Fig. 6 of the Theano paper), and of LeNet",
         {"convsmall/1", "convsmall/60", "convmed/1", "convmed/60", "convlarge/1", "convlarge/60", "lenet/60",
          "lenet/500"},
         {"convsmall/1"},
         {"none"}},
        {"fft",
         "fft",
         "GFLOP/s",
         "transforms of Fourier of complex and of real numbers",
         transforms,
         {"fft/100", "rfft/6x10"},
         {"borrowed"}},
        {"factor",
         "factor",
         "GFLOP/s",
         "factorizations of matrices, and linear equations",
         factors,
         {"solve/9", "eigh/5x3"},
         {"none"}},
        {"sparse",
         "sparse",
         "GFLOP/s",
         "products of sparse matrices, their gradients, and a training step of logistic regression",
         products,
         {"dot/30x40x3/10", "dense/30x40x1/10", "stored/30x40x5/10", "sparse/30x40/10", "logistic/30x40/10"},
         {"borrowed"}},
        {"compile",
         "compile",
         "nodes/s",
         "passes, planner and printer on large graphs",
         graphs,
         {"chain/100"},
         {"none"}},
        {"start",
         "compile",
         "starts/s",
         "from an experiment to the end of its first training step, with nothing compiled before",
         starts,
         {"cold/mlp_digits"},
         {"none"}},
    };
  }();
  return all;
}

}  // namespace thtrain

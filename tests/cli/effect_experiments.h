// The experiments in which the keys of the schema are tried.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace thtrain {

inline const char* const kRest =
    "[[model.layers]]\ntype = \"flatten\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"activation\"\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// The same for optimizers without a learning rate.
inline const std::string kRestWithoutRate = [] {
  std::string out = kRest;
  const std::string rate = "learning_rate = 0.5\n";
  return out.erase(out.find(rate), rate.size());
}();

/// The same with a graph of the other layers, for their keys.
inline const char* const kGraph =
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\nname = \"start\"\n"
    "[[model.layers]]\ntype = \"maxout\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"prelu\"\n"
    "[[model.layers]]\ntype = \"add\"\ninputs = [\"prelu1\", \"start\"]\n"
    "[[model.layers]]\ntype = \"concat\"\ninputs = [\"add1\", \"start\"]\n"
    "[[model.layers]]\ntype = \"columns\"\ncount = 5\n"
    "[[model.layers]]\ntype = \"scale\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// Layers of sequences: each example has two steps of two numbers.
inline const char* const kSequences =
    "[[model.layers]]\ntype = \"rnn\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"lstm\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"gru\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"bidirectional\"\nunits = 3\n"
    "[[model.layers]]\ntype = \"last_step\"\n"
    "[[model.layers]]\ntype = \"mean_steps\"\ninputs = [\"bidirectional1\"]\n"
    "[[model.layers]]\ntype = \"concat\"\ninputs = [\"last_step1\", \"mean_steps1\"]\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// Layers of symbols: each example has two times two.
inline const char* const kSymbols =
    "[[model.layers]]\ntype = \"embedding\"\nunits = 3\ncount = 4\n"
    "[[model.layers]]\ntype = \"one_hot\"\ncount = 4\ninputs = [\"x\"]\n"
    "[[model.layers]]\ntype = \"flatten\"\ninputs = [\"embedding1\"]\n"
    "[[model.layers]]\ntype = \"flatten\"\ninputs = [\"one_hot1\"]\n"
    "[[model.layers]]\ntype = \"concat\"\ninputs = [\"flatten1\", \"flatten2\"]\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// A model of two outputs, of which the second gives the examples again.
inline const char* const kOutputs =
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\nname = \"start\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 4\nname = \"copy\"\ninputs = [\"start\"]\n"
    "[[loss.outputs]]\nlayer = \"softmax\"\n"
    "[[loss.outputs]]\nlayer = \"copy\"\ntype = \"squared_error\"\ncompare_with = \"inputs\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// The layers that draw random numbers, and one with the weights of another, in a classifier.
inline const char* const kNoise =
    "[[model.layers]]\ntype = \"flatten\"\n"
    "[[model.layers]]\ntype = \"dropout\"\n"
    "[[model.layers]]\ntype = \"corrupt\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\nname = \"code\"\n"
    "[[model.layers]]\ntype = \"transposed\"\nof = \"code\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\nname = \"again\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// Layers of images: each example is one of two rows and columns.
inline const char* const kImages =
    "[[model.layers]]\ntype = \"flatten\"\n"
    "[[model.layers]]\ntype = \"conv\"\nimage_shape = [1, 2, 2]\nunits = 4\nsize = 3\npadding = \"half\"\n"
    "[[model.layers]]\ntype = \"batch_norm\"\n"
    "[[model.layers]]\ntype = \"local_response_norm\"\n"
    "[[model.layers]]\ntype = \"upsample\"\n"
    "[[model.layers]]\ntype = \"conv_transposed\"\nunits = 2\nsize = 3\n"
    "[[model.layers]]\ntype = \"pool\"\n"
    "[[model.layers]]\ntype = \"layer_norm\"\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// A restricted Boltzmann machine.
inline const char* const kMachine =
    "scale = 0.25\n"  // of [data]
    "[[model.layers]]\ntype = \"rbm\"\nunits = 3\n"
    "[loss]\ntype = \"contrastive_divergence\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// A machine for each step: each example has two steps of two numbers.
inline const char* const kMachineSteps =
    "scale = 0.25\n"  // of [data]
    "[[model.layers]]\ntype = \"rnn_rbm\"\nunits = 3\nrecurrent_units = 2\n"
    "[loss]\ntype = \"contrastive_divergence\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// A factorization machine, whose value a classifier takes.
inline const char* const kFactors =
    "[[model.layers]]\ntype = \"factorization\"\nfactors = 2\n"
    "[[model.layers]]\ntype = \"softmax\"\n"
    "[trainer]\nlearning_rate = 0.1\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

/// A model that gives one value, for the objectives that take no classes.
inline const char* const kValue =
    "[[model.layers]]\ntype = \"dense\"\nunits = 3\nactivation = \"tanh\"\n"
    "[[model.layers]]\ntype = \"dense\"\nunits = 1\n"
    "[trainer]\nlearning_rate = 0.5\nbatch_size = 3\nepochs = 3\n"
    "[compiler]\nmode = \"reference\"\nthreads = 1\n"
    "[output]\nplots = false\n";

struct Location {
  const char* rest;
  size_t layer;
  bool sequences = false;  // the examples are sequences
};
/// Every layer has to be here.
inline const std::map<std::string, Location> kLayers = {{"flatten", {kRest, 0}},
                                                        {"dense", {kRest, 1}},
                                                        {"activation", {kRest, 2}},
                                                        {"softmax", {kRest, 3}},
                                                        {"maxout", {kGraph, 1}},
                                                        {"prelu", {kGraph, 2}},
                                                        {"add", {kGraph, 3}},
                                                        {"concat", {kGraph, 4}},
                                                        {"columns", {kGraph, 5}},
                                                        {"scale", {kGraph, 6}},
                                                        {"factorization", {kFactors, 0}},
                                                        {"dropout", {kNoise, 1}},
                                                        {"corrupt", {kNoise, 2}},
                                                        {"transposed", {kNoise, 4}},
                                                        {"rbm", {kMachine, 0}},
                                                        {"rnn_rbm", {kMachineSteps, 0, true}},
                                                        {"rnn", {kSequences, 0, true}},
                                                        {"lstm", {kSequences, 1, true}},
                                                        {"gru", {kSequences, 2, true}},
                                                        {"bidirectional", {kSequences, 3, true}},
                                                        {"last_step", {kSequences, 4, true}},
                                                        {"mean_steps", {kSequences, 5, true}},
                                                        {"conv", {kImages, 1}},
                                                        {"batch_norm", {kImages, 2}},
                                                        {"local_response_norm", {kImages, 3}},
                                                        {"upsample", {kImages, 4}},
                                                        {"conv_transposed", {kImages, 5}},
                                                        {"pool", {kImages, 6}},
                                                        {"layer_norm", {kImages, 7}},
                                                        {"embedding", {kSymbols, 0}},
                                                        {"one_hot", {kSymbols, 1}}};

/// [data] of each source; every source has to be here.
inline const std::map<std::string, std::string> kSources = {
    {"npy", "train = \"x.npy\"\ntrain_labels = \"y.npy\"\nn_valid = 4\ntest = \"tx.npy\"\ntest_labels = \"ty.npy\"\n"},
    {"idx", "train = \"x.idx\"\ntrain_labels = \"y.idx\"\nn_valid = 4\n"},
    {"csv", "train = \"t.csv\"\nn_valid = 4\n"},
    {"digits", "n_train = 20\nn_valid = 10\nn_test = 10\n"},
    {"cifar10", "train = [\"c.bin\"]\nn_valid = 4\n"},
    {"libsvm", "train = [\"l.txt\"]\nn_valid = 4\n"},
    {"png_folders", "train = [\"p\"]\nn_valid = 4\n"},
    {"mnist", "n_train = 20\nn_valid = 10\nn_test = 10\n"},
};

}  // namespace thtrain

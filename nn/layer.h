// What every layer is: options that a configuration may give, parameters and state with names, and an expression of a
// minibatch.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "config/config.h"
#include "nn/init.h"
#include "nn/param.h"

namespace thtrain {

class Layer;
struct SparseExamples;

/// What the minibatch is for: some layers compute something else while they learn.
enum class Phase {
  kTraining,
  kEvaluation,
  kGeneration,  // evaluation in which layers go on from the state that the minibatch before it left
};

/// What a layer is made with.
struct LayerInput {
  std::vector<std::string> names;      // of what it takes
  std::vector<Shape> shapes;           // of one example of each; of a sequence, of one of its steps
  DType dtype;                         // of parameters
  RandomState& random;                 // where first weights come from
  int64_t classes = 0;                 // of the data; 0: not known
  std::vector<bool> is_sequence = {};  // of each input; none: no input is a sequence
  int64_t batch = 0;                   // examples of a training minibatch; 0: not known
  std::span<const std::shared_ptr<const Layer>> before = {};  // all layers that precede it
  /// Channels, height and width of the one input where it is the examples and these are images, which may come as rows
  /// [channels * height * width] or without channels, [height, width].
  std::optional<std::array<int64_t, 3>> image = {};

  bool has_sequence() const { return std::find(is_sequence.begin(), is_sequence.end(), true) != is_sequence.end(); }
};

/// What a minibatch is computed for, and what is found besides its values.
struct LayerPass {
  Phase phase;
  std::vector<Update>& updates;  // of Layer::state(), added to in training and generation
  /// Of sequences: floats [steps, batch], 1 at the steps that a sequence has and 0 behind its end; empty where all have
  /// the same length.
  Expr mask = {};
  /// Of a minibatch that is sparse (nn/sparse_examples.h); null: it is dense.
  const SparseExamples* sparse = nullptr;
  /// Is it a shard of a minibatch? Sums over the minibatch are then nn/minibatch_sum.h's.
  bool is_shard = false;
};

/// What every layer's options begin with. Those of a layer L are `struct Options : LayerOptions`, in which `Makes` is L
/// and `kName` its type.
struct LayerOptions {
  std::string name = {};                    // "": its type and a number, "dense1"
  std::vector<std::string> inputs = {};     // layers before it, or inputs of the model; none: the layer before it
  bool trained = true;                      // false: its parameters stay as they start
  std::optional<int64_t> seed = {};         // of a generator of its own, that its first weights come from
  Section section = {};                     // where a configuration has them
  double rate_factor = 1;                   // of the learning rate, for its parameters
  std::optional<double> weight_decay = {};  // of its weight matrices, instead of the optimizer's

  // What a kind says of a layer before there is one: its options hide these where the answer is another one.

  /// How many numbers the layer gives for an example, where the options say it.
  std::optional<int64_t> outputs() const { return {}; }
  /// The integers from 0 that stand for symbols.
  struct Symbols {
    std::optional<int64_t> count = {};  // none: as many as the data has classes
  };
  /// Those that the layer takes; nothing where it takes numbers of any kind.
  std::optional<Symbols> symbols() const { return {}; }
  /// From now on the layer goes on, in each minibatch of generation, from the state that the one before it left: one
  /// step of a sequence in each call. Nothing changes where it looks at no other step. UserError where it cannot, which
  /// says `what` such a model is to write.
  void go_step_by_step(const std::string& /*what*/) {}

  /// What a kind says of itself and of its options, and how it makes a layer.
  struct Maker {
    bool takes_rows = false, takes_images = false, keeps_numbers = false, is_recurrent = false, is_classifier = false,
         is_affine = false, exceeds_shares = false, generates_sequences = false;  // Layer::kTakesRows and so on
    std::shared_ptr<const Layer> (*make)(const LayerOptions& of_this_kind, const LayerInput& input) = nullptr;
    std::optional<int64_t> (*outputs)(const LayerOptions& of_this_kind) = nullptr;
    std::optional<Symbols> (*symbols)(const LayerOptions& of_this_kind) = nullptr;
    void (*go_step_by_step)(LayerOptions& of_this_kind, const std::string& what) = nullptr;
    std::string_view (*activation)(const LayerOptions& of_this_kind) = nullptr;  // "" where it has no such option

    template <class Options>
    static constexpr Maker of() {
      using L = typename Options::Makes;
      return {.takes_rows = L::kTakesRows,
              .takes_images = L::kTakesImages,
              .keeps_numbers = L::kKeepsNumbers,
              .is_recurrent = L::kIsRecurrent,
              .is_classifier = L::kIsClassifier,
              .is_affine = L::kIsAffine,
              .exceeds_shares = L::kExceedsShares,
              .generates_sequences = L::kGeneratesSequences,
              .make = [](const LayerOptions& options, const LayerInput& input) -> std::shared_ptr<const Layer> {
                return std::make_shared<const L>(static_cast<const Options&>(options), input);
              },
              .outputs = [](const LayerOptions& o) { return static_cast<const Options&>(o).outputs(); },
              .symbols = [](const LayerOptions& o) { return static_cast<const Options&>(o).symbols(); },
              .go_step_by_step = [](LayerOptions& o,
                                    const std::string& what) { static_cast<Options&>(o).go_step_by_step(what); },
              .activation = [](const LayerOptions& o) -> std::string_view {
                if constexpr (requires(const Options& own) { own.activation; })
                  return static_cast<const Options&>(o).activation;
                else
                  return {};
              }};
    }
  };
  /// Those of nn/layer_list.inc: a line `TH_LAYER(dense)` stands for `LayerKind dense_layer()`.
  static const std::vector<Kind<LayerOptions>>& kinds();
};

using LayerKind = Kind<LayerOptions>;

/// Of a layer L.
template <class L>
constexpr LayerKind layer_kind() {
  return kind<typename L::Options, LayerOptions>();
}

class Layer {
 public:
  /// Does it take rows of numbers only? Then examples of any shape are given to it as rows, and so do images [channels,
  /// height, width] of other layers.
  static constexpr bool kTakesRows = false;
  /// Does it take images only? Then examples that are images are given to it as [channels, height, width].
  static constexpr bool kTakesImages = false;
  /// Does it give the numbers that it takes, in another shape?
  static constexpr bool kKeepsNumbers = false;
  /// Does what it gives at a step of a sequence depend on other steps?
  static constexpr bool kIsRecurrent = false;
  /// Is it the classifier at the end of a model, whose outputs are the classes? Then it has logits().
  static constexpr bool kIsClassifier = false;
  /// Is it f(x W + b)? The W and b of such layers mean the same: from phase to phase they take each other's.
  static constexpr bool kIsAffine = false;
  /// Does it give numbers that are not from 0 to 1, where it has no `activation` that says it?
  static constexpr bool kExceedsShares = false;
  /// Is it a MachineLayer that draws sequences by itself (nn/boltzmann_machine.h)?
  static constexpr bool kGeneratesSequences = false;

  Layer(std::string_view type, const LayerOptions& options, Shape output)
      : type_(type), options_(options), output_(std::move(output)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  const std::string& name() const { return options_.name; }
  const std::string& type() const { return type_; }  // "dense"
  const ConfigPosition& position() const { return options_.section.position; }
  /// The lengths of what one example becomes.
  const Shape& output_shape() const { return output_; }
  const std::vector<Param>& params() const { return params_; }
  /// What it remembers from one minibatch to the next besides its parameters, each of a dtype of its own; not trained.
  const std::vector<Param>& state() const { return state_; }

  /// Those of state() that begin with zeros in every epoch.
  virtual std::vector<Param> carried_state() const { return {}; }
  /// Those of state() that are generators of random numbers: what is evaluated does not depend on them.
  virtual std::vector<Param> generators() const { return {}; }

  /// Does it compute with whole sequences? Then inputs that are sequences come as [steps, batch, lengths of a step...].
  /// To other layers each step comes as an example of its own: [steps * batch, lengths of a step...].
  virtual bool takes_sequences() const { return false; }
  /// Is what it gives a sequence, where one of its inputs is?
  virtual bool gives_sequence() const { return true; }

  /// Of a classifier: z [batch, classes] of an input, whose softmax it gives, in the layer's scope. Empty of others.
  virtual Expr logits(const Expr& /*input*/, const SparseExamples* /*sparse*/) const { return {}; }

  /// Of a minibatch: each input [batch, lengths of one example...] -> [batch, output_shape()...]; where it takes and
  /// gives sequences, [steps, batch, output_shape()...]. In training, updates of state() are added to those of `pass`.
  /// The nodes carry the layer's name and its location in the configuration.
  Expr operator()(std::span<const Expr> inputs, LayerPass& pass) const {
    Scope scope(name(), position());
    return forward(inputs, pass);
  }

 protected:
  virtual Expr forward(std::span<const Expr> inputs, LayerPass& pass) const = 0;

  /// A new parameter `<layer>/<name>` that starts as `value`, cast to `dtype`; not trained where the options say so.
  Shared add_param(const std::string& name, const Tensor& value, DType dtype, bool penalized);
  /// A new array `<layer>/<name>` of state() that starts as `value`, in its dtype.
  Shared add_state(const std::string& name, const Tensor& value);
  /// The parameters and the state of a layer that it is made of.
  void add_arrays_of(const Layer& part);

 private:
  std::string type_;
  LayerOptions options_;
  Shape output_;
  std::vector<Param> params_, state_;
};

// ---- what layers declare --------------------------------------------------------------------------------------------

void check_layer_name(const LayerOptions& options, Findings& findings);

/// The keys of every layer.
void describe_layer(Fields<LayerOptions> f);
/// Of a layer with parameters.
void describe_trained(Fields<LayerOptions> f);
/// Of a layer that draws random numbers while it learns.
void describe_noise_seed(Fields<LayerOptions> f);

/// `standard`: what the layer starts with where nothing is said.
void check_init(const Section& section, const Init& init, const Init& standard, Findings& findings);
void describe_init(Fields<LayerOptions> f, Init LayerOptions::*init);
/// Of a layer with a matrix of weights.
template <class T, class Base>
void describe_init(Fields<T>& f, Init Base::*init) {
  describe_init(Fields<LayerOptions>(f), static_cast<Init LayerOptions::*>(init));
}

// ---- what layers ask for --------------------------------------------------------------------------------------------

/// UserError at the layer's location: what one example is does not suit the layer.
[[noreturn]] void fail_layer(std::string_view type, const LayerOptions& layer, const LayerInput& input,
                             std::string expected, std::string hint);

/// The shape of the one input. UserError where there are several.
const Shape& only_input(std::string_view type, const LayerOptions& layer, const LayerInput& input);
/// The shapes of the inputs. UserError where there is one alone.
const std::vector<Shape>& several_inputs(std::string_view type, const LayerOptions& layer, const LayerInput& input);
/// The length of the one input, whose examples are rows of numbers. UserError where they are not.
int64_t row_length(std::string_view type, const LayerOptions& layer, const LayerInput& input);
/// UserError where the one input is no sequence.
void require_sequence(std::string_view type, const LayerOptions& layer, const LayerInput& input);
/// UserError where the weights of this many units, `columns` for each, fill more than this machine's memory.
void check_units(const LayerOptions& layer, int64_t units, int64_t row_length, DType dtype, int64_t columns = 1);

/// What is wrong with the name of an input: `before` are the names that it may be, `after` those of the layer itself
/// and of later ones. Nothing where it is right.
std::optional<Message> wrong_input(std::string_view type, const LayerOptions& layer, const std::string& name,
                                   const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace thtrain

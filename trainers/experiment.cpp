#include "trainers/experiment.h"

#include <algorithm>
#include <set>

namespace thtrain {

constexpr double kLargestSeed = 4294967295.0;  // 2^32 - 1: what NumPy's RandomState takes

// ---- [data] ----

template <class T>
void SplitConfig::describe_split(Fields<T>& f) {
  f.choice("split", &T::split,
           {{"last", SplitBy::kOrder}, {"shuffled", SplitBy::kShuffled}, {"stratified", SplitBy::kStratified}})
      .help(
          "Which examples of the training file `n_valid` takes: the last ones, ones drawn at random, or ones drawn at "
          "random from each class, as many as is its part.");
  f.field("split_seed", &T::split_seed)
      .range(between(0, kLargestSeed))
      .help("Seed of that draw; the numbers are those of NumPy's RandomState.");
}

// What would change nothing is a mistake.
static void check_split(const SplitConfig& c, bool is_cut, Findings& findings) {
  if (c.split != SplitBy::kOrder && !is_cut)
    findings.add({.what = "data.split has no effect",
                  .expected = "data.n_valid above 0",
                  .config = c.at("split"),
                  .hint = "it says which examples data.n_valid takes from data.train"});
  if (c.split == SplitBy::kOrder && c.split_seed != 0)
    findings.add({.what = "data.split_seed has no effect",
                  .expected = "data.split = \"shuffled\" or \"stratified\"",
                  .config = c.at("split_seed")});
}

void MnistConfig::describe(Fields<MnistConfig>& f) {
  f.about(
      "MNIST's 70,000 handwritten digits of 28x28 pixels, looked for in the config's folder, then in "
      "`$THTRAIN_DATA`, then in the user's cache folder: `$XDG_CACHE_HOME/thtrain/data`, or `~/.cache/thtrain/data`.");
  f.field("n_train", &MnistConfig::n_train)
      .range(between(1, 60000))
      .unit("examples")
      .help("Training examples, the first of the training file unless `split` says otherwise.");
  f.field("n_valid", &MnistConfig::n_valid)
      .range(between(0, 59999))
      .unit("examples")
      .help("Validation examples, the last of the training file unless `split` says otherwise.");
  f.field("n_test", &MnistConfig::n_test)
      .range(between(0, 10000))
      .unit("examples")
      .help("Test examples, the first of the test file.");
  f.field("scale", &MnistConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
  describe_split(f);
  f.check([](const MnistConfig& c, Findings& findings) {
    check_split(c, true, findings);
    if (c.n_train + c.n_valid <= 60000) return;
    findings.add({.what = "data.n_train + data.n_valid is more than there is",
                  .expected = "at most 60000 (examples)",
                  .got = str(c.n_train, " + ", c.n_valid),
                  .config = c.at(c.has("n_train") ? "n_train" : "n_valid"),
                  .hint = "both are taken from MNIST's training file"});
  });
}

void DigitsConfig::describe(Fields<DigitsConfig>& f) {
  f.about(
      "The built-in generator of handwritten-like digits of 28x28 pixels: the same seed gives the same digits "
      "everywhere.");
  f.field("n_train", &DigitsConfig::n_train).range(at_least(1)).unit("examples").help("Training examples.");
  f.field("n_valid", &DigitsConfig::n_valid).range(at_least(0)).unit("examples").help("Validation examples.");
  f.field("n_test", &DigitsConfig::n_test).range(at_least(0)).unit("examples").help("Test examples.");
  f.field("seed", &DigitsConfig::seed).range(between(0, kLargestSeed)).help("Seed of the generator.");
  f.field("scale", &DigitsConfig::scale).range(above(0)).help("What the pixels, 0 to 255, are multiplied by.");
}

template <class T>
static void describe_memory_limit(Fields<T>& f) {
  f.field("memory_limit", &T::memory_limit)
      .range(above(0))
      .unit("GiB")
      .help(
          "What the examples may fill in memory. More is read while training from .npy files and IDX files that are "
          "not packed, and is an error elsewhere. Not given: half of the memory that there is.");
}

static void check_one_validation_set(const Section& c, bool has_file, int64_t n_valid, Findings& findings) {
  if (has_file && n_valid > 0)
    findings.add({.what = "data.valid and data.n_valid are both given",
                  .expected = "one of them",
                  .config = c.at("n_valid"),
                  .hint = "data.n_valid takes examples of data.train, where there is no data.valid"});
}

template <class T>
void ArrayFiles::describe_files(Fields<T>& f) {
  f.field("train", &T::train).required().help("File of the training examples, one for each row.");
  f.field("train_labels", &T::train_labels).required().help("File of their labels, integers from 0.");
  f.field("valid", &T::valid).help("File of the validation examples.");
  f.field("valid_labels", &T::valid_labels).help("File of their labels.");
  f.field("test", &T::test).help("File of the test examples.");
  f.field("test_labels", &T::test_labels).help("File of their labels.");
  f.field("n_valid", &T::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
  f.field("scale", &T::scale).range(above(0)).help("What the examples are multiplied by.");
  describe_split(f);
  describe_memory_limit(f);
  f.check([](const T& c, Findings& findings) {
    check_split(c, !c.valid && c.n_valid > 0, findings);
    auto pair = [&](const std::optional<std::string>& data, const std::optional<std::string>& labels,
                    std::string name) {
      if (data.has_value() == labels.has_value()) return;
      std::string have = data ? name : name + "_labels", lack = data ? name + "_labels" : name;
      findings.add({.what = str("data.", lack, " is missing"),
                    .expected = str("a file to go with data.", have),
                    .config = c.at(have)});
    };
    pair(c.valid, c.valid_labels, "valid");
    pair(c.test, c.test_labels, "test");
    check_one_validation_set(c, c.valid.has_value(), c.n_valid, findings);
  });
}

void NpyConfig::describe(Fields<NpyConfig>& f) {
  f.about(
      "Arrays in .npy files, or in .npz files as `file.npz[name]`. A path is looked for in the config's folder, then "
      "in "
      "`$THTRAIN_DATA`, then in `$XDG_CACHE_HOME/thtrain/data` or `~/.cache/thtrain/data`; one that was typed on the "
      "command line, in the working folder.");
  describe_files(f);
}

void IdxConfig::describe(Fields<IdxConfig>& f) {
  f.about("Arrays in files of MNIST's IDX format, with or without gzip. Paths are looked for as those of `npy`.");
  describe_files(f);
}

void CsvConfig::describe(Fields<CsvConfig>& f) {
  f.about("Tables of numbers in text files. Paths are looked for as those of `npy`.");
  f.field("train", &CsvConfig::train).required().help("File of the training examples, one in each line.");
  f.field("valid", &CsvConfig::valid).help("File of the validation examples.");
  f.field("test", &CsvConfig::test).help("File of the test examples.");
  f.field("label_column", &CsvConfig::label_column)
      .help("Column of the label: its name in the header, `first` or `last`.");
  f.field("header", &CsvConfig::header)
      .help("Whether the first line names the columns. Not given: it does if none of its cells is a number.");
  using Delimiter = CsvOptions::Delimiter;
  f.choice("delimiter", &CsvConfig::delimiter,
           {{"auto", Delimiter::kAuto},
            {"comma", Delimiter::kComma},
            {"semicolon", Delimiter::kSemicolon},
            {"tab", Delimiter::kTab},
            {"space", Delimiter::kSpace}})
      .synonyms({"sep", "separator", "delim"})
      .help("What stands between cells; `auto` finds a comma, semicolon or tab in the first line.");
  f.field("n_valid", &CsvConfig::n_valid)
      .range(at_least(0))
      .unit("examples")
      .help("Where there is no `valid`: validation examples, taken from `train`.");
  f.field("scale", &CsvConfig::scale).range(above(0)).help("What the columns are multiplied by, the label's apart.");
  describe_split(f);
  describe_memory_limit(f);
  f.check([](const CsvConfig& c, Findings& findings) {
    check_split(c, !c.valid && c.n_valid > 0, findings);
    check_one_validation_set(c, c.valid.has_value(), c.n_valid, findings);
  });
}

SetSizes set_sizes(const DataConfig& data) {
  auto of_files = [](const auto& c) {
    return SetSizes{.train = -1, .valid = c.valid ? -1 : c.n_valid, .test = c.test ? -1 : 0};
  };
  if (auto* c = std::get_if<MnistConfig>(&data)) return {c->n_train, c->n_valid, c->n_test};
  if (auto* c = std::get_if<DigitsConfig>(&data)) return {c->n_train, c->n_valid, c->n_test};
  if (auto* c = std::get_if<NpyConfig>(&data)) return of_files(*c);
  if (auto* c = std::get_if<IdxConfig>(&data)) return of_files(*c);
  return of_files(std::get<CsvConfig>(data));
}

// ---- the other sections ----

void LossConfig::describe(Fields<LossConfig>& f) {
  f.about("What training minimizes: the mean over the minibatch of -log p[label], plus the penalties on the weights.");
  f.field("l1", &LossConfig::l1)
      .range(at_least(0))
      .help("Factor of the sum of |W| over the weight matrices, without biases.");
  f.field("l2", &LossConfig::l2)
      .range(at_least(0))
      .synonyms({"weight_decay"})
      .help("Factor of the sum of W^2 over the weight matrices, without biases.");
}

void TrainerConfig::describe(Fields<TrainerConfig>& f) {
  using C = TrainerConfig;
  f.about(
      "Stochastic gradient descent on minibatches. With `patience` it stops early, as the Deep Learning Tutorials do: "
      "training goes on while the count of minibatches is below the patience, and a validation error below "
      "`improvement_threshold` times the best raises the patience to `patience_increase` times the count.");
  f.absent({"optimizer", "optimiser", "method", "algorithm", "solver"},
           "the optimizer is always stochastic gradient descent; learning_rate, momentum and nesterov set it");
  f.field("learning_rate", &C::learning_rate)
      .range(above(0))
      .synonyms({"lr", "eta", "step_size", "base_lr"})
      .help("Factor of the gradient in each step.");
  f.field("momentum", &C::momentum)
      .range(from_below(0, 1))
      .help("Part of the previous step that is added to the next one.");
  f.field("nesterov", &C::nesterov)
      .help("Whether the gradient is taken where the momentum alone would lead (Nesterov's momentum).");
  f.field("batch_size", &C::batch_size)
      .range(at_least(1))
      .unit("examples")
      .synonyms({"minibatch_size", "bs"})
      .help("Number of examples in a minibatch.");
  f.field("epochs", &C::epochs)
      .range(at_least(1))
      .unit("epochs")
      .synonyms({"n_epochs", "max_epochs", "num_epochs"})
      .help("Largest number of passes over the training set.");
  f.field("shuffle", &C::shuffle)
      .help(
          "Whether each epoch takes the training examples in a new order, drawn with `seed`; without it, in that of "
          "the file.");
  f.field("full_batches_only", &C::full_batches_only)
      .synonyms({"drop_last"})
      .help(
          "Leave out the last examples of a set where they do not fill a minibatch, in training, validation and test.");
  f.field("patience", &C::patience)
      .range(at_least(0))
      .unit("minibatches")
      .help("Minibatches to train before an early stop is possible; 0: no early stop.");
  f.field("patience_increase", &C::patience_increase)
      .range(at_least(1))
      .help("Factor: at an improvement the patience becomes this times the count of minibatches.");
  f.field("improvement_threshold", &C::improvement_threshold)
      .range(between(0, 1))
      .help("An error below this times the best one counts as an improvement.");
  f.field("validation_frequency", &C::validation_frequency)
      .range(at_least(1))
      .unit("minibatches")
      .help(
          "Minibatches from one validation to the next. Not given: an epoch, or half of `patience` where that is "
          "less.");
  f.choice("test_at", &C::test_at,
           {{"best", C::TestAt::kBest},
            {"epoch", C::TestAt::kEpoch},
            {"end", C::TestAt::kEnd},
            {"never", C::TestAt::kNever}})
      .help("When the test error is measured: at each new best validation error, after each epoch, at the end.");
  f.field("checkpoint_seconds", &C::checkpoint_seconds)
      .range(at_least(0))
      .unit("seconds")
      .help("Seconds from one checkpoint to the next; 0: no checkpoints by time. The end of a run always writes one.");
  f.field("checkpoint_epochs", &C::checkpoint_epochs)
      .range(at_least(0))
      .unit("epochs")
      .help("Epochs from one checkpoint to the next; 0: no checkpoints by epochs.");
  f.check([](const C& c, Findings& findings) {
    if (c.nesterov && c.momentum == 0)
      findings.add({.what = "trainer.nesterov has no effect",
                    .expected = "trainer.momentum above 0",
                    .got = "0",
                    .config = c.at("nesterov"),
                    .hint = "give a momentum such as 0.9, or leave nesterov out"});
    if (c.patience == 1 && !c.validation_frequency)
      findings.add({.what = "trainer.patience is too small",
                    .expected = "at least 2 (minibatches), or 0",
                    .got = "1",
                    .config = c.at("patience"),
                    .hint = "validation happens every half patience"});
    if (c.patience > 0 && c.validation_frequency.value_or(0) > c.patience)
      findings.add({.what = "trainer.validation_frequency is above trainer.patience",
                    .expected = str("at most ", c.patience, " (minibatches)"),
                    .got = std::to_string(*c.validation_frequency),
                    .config = c.at("validation_frequency"),
                    .hint = "training would stop before its first validation"});
  });
}

void CompilerConfig::describe(Fields<CompilerConfig>& f) {
  f.about("How expressions become machine code.");
  f.choice("floatX", &CompilerConfig::floatX, {{"float32", DType::kFloat32}, {"float64", DType::kFloat64}})
      .synonyms({"dtype", "precision"})
      .help("The floating type of examples and weights.");
  f.choice("mode", &CompilerConfig::mode,
           {{"native", CompilerConfig::Mode::kNative},
            {"reference", CompilerConfig::Mode::kReference},
            {"debug", CompilerConfig::Mode::kDebug}})
      .help("`native` compiles; `reference` interprets, slowly, and needs no compiler; `debug` compares the two.");
  f.choice("optimizer", &CompilerConfig::optimizer,
           {{"default", CompilerConfig::Optimizer::kDefault},
            {"strict", CompilerConfig::Optimizer::kStrict},
            {"fast", CompilerConfig::Optimizer::kFast}})
      .help("Which rewrites are allowed: `strict` keeps every bit, `fast` assumes that no value is infinite or NaN.");
  f.field("threads", &CompilerConfig::threads)
      .range(between(0, kMaxThreads))
      .unit("threads")
      .synonyms({"num_threads", "jobs"})
      .help("Threads of a compiled function; 0: those of OMP_NUM_THREADS, or all cores where that is not set.");
  f.choice("tune", &CompilerConfig::tune,
           {{"never", Tune::kNever}, {"cached", Tune::kCached}, {"always", Tune::kAlways}})
      .help(
          "How one of several implementations (of a matrix product) is chosen. `never`: by a built-in rule; `cached`: "
          "by what "
          "`thtrain "
          "tune` measured on this machine, or by the rule where it measured nothing; `always`: measured before the "
          "first "
          "step where it was not before.");
  f.field("background", &CompilerConfig::background)
      .help(
          "Start training at once in reference mode while the training step is compiled, and change to native code "
          "when it "
          "is ready. The step at which that happens, and so the exact results, differ from run to run.");
}

void OutputConfig::describe(Fields<OutputConfig>& f) {
  f.about("Each run gets a folder of its own.");
  f.field("root", &OutputConfig::root)
      .synonyms({"run_dir", "output_dir", "save_path"})
      .help("Folder in which the folders of runs are made.");
  f.field("plots", &OutputConfig::plots).help("Draw the learning curves into the run's folder.");
}

void Experiment::describe(Fields<Experiment>& f) {
  f.absent({"optimizer", "optimiser"},
           "the optimizer is always stochastic gradient descent; [trainer] has learning_rate, momentum and nesterov");
  f.field("seed", &Experiment::seed)
      .range(between(0, kLargestSeed))
      .synonyms({"random_seed"})
      .help("Seed of the initial weights and of the shuffling; the numbers are those of NumPy's RandomState.");
  f.variant("data", &Experiment::data, "source").required().help("What to train on.");
  f.field("model", &Experiment::model);
  f.field("loss", &Experiment::loss);
  f.field("trainer", &Experiment::trainer);
  f.field("compiler", &Experiment::compiler);
  f.field("output", &Experiment::output);
  f.check([](const Experiment& e, Findings& findings) {
    SetSizes sizes = set_sizes(e.data);
    const TrainerConfig& trainer = e.trainer;
    auto fits = [&](int64_t size, std::string set) {
      if (size <= 0 || !trainer.full_batches_only || trainer.batch_size <= size) return;
      findings.add({.what = str("trainer.batch_size is larger than the ", set, " set"),
                    .expected = str("at most ", size, " (examples)"),
                    .got = std::to_string(trainer.batch_size),
                    .config = trainer.at("batch_size"),
                    .hint = "trainer.full_batches_only = false allows it"});
    };
    fits(sizes.train, "training");
    fits(sizes.valid, "validation");
    fits(sizes.test, "test");
    if (trainer.patience > 0 && sizes.valid == 0)
      findings.add({.what = "trainer.patience needs validation examples",
                    .expected = "data.n_valid above 0",
                    .got = "0",
                    .config = trainer.at("patience"),
                    .hint = "trainer.patience = 0 trains all epochs"});
  });
}

std::string resolved_toml(const Experiment& experiment) {
  return toml_text(resolved_config(experiment));
}

static void find_paths(const Schema& schema, const std::string& key, const std::string& path,
                       std::set<std::string>& found) {
  for (const FieldSpec& field : schema.fields) {
    const std::string inner = path.empty() ? field.name : str(path, '.', field.name);
    const bool is_synonym = std::count(field.synonyms.begin(), field.synonyms.end(), key) > 0;
    if (field.name == key || is_synonym) found.insert(inner);
    if (field.tag == key) found.insert(str(inner, '.', key));
    const bool is_list = field.access->container == FieldAccess::Container::kList;
    const std::string element = is_list ? str(inner, ".0") : inner;
    if (field.access->value == FieldAccess::Value::kTable) find_paths(field.access->schema(), key, element, found);
    for (const Alternative& kind : field.access->alternatives) find_paths(kind.schema(), key, element, found);
  }
}

std::string path_of_key(const std::string& key) {
  std::set<std::string> found;
  find_paths(schema_of<Experiment>(), key, "", found);
  return found.size() == 1 && found.begin()->find(".0.") == std::string::npos ? *found.begin() : "";
}

std::string config_reference() {
  return str("# Experiment files\n\n",
             "An experiment is a TOML file. Every key can also be given on the command line, as "
             "`trainer.learning_rate=0.1` or `model.layers.0.units=100`.\nThis page is made from the declarations in "
             "`trainers/experiment.cpp` and `trainers/experiment_model.cpp`.\n\n",
             reference_page<Experiment>());
}

}  // namespace thtrain

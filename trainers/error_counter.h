// Counting the examples that a model takes for another class.
#pragma once

#include <map>

#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "trainers/examples.h"

namespace thtrain {

class ErrorCounter {
 public:
  /// With `with_loss` it sums the losses too. Functions are compiled when they are first needed, one for each length of
  /// chunk.
  ErrorCounter(const Model& model, FunctionOptions options, bool with_loss = false)
      : model_(model), options_(std::move(options)), with_loss_(with_loss) {}

  struct Count {
    int64_t examples = 0;
    int64_t errors = 0;
    double loss_sum = 0;  // of -log p[label]; 0 unless it was wanted
    double error() const { return 100.0 * static_cast<double>(errors) / static_cast<double>(examples); }  // per cent
  };
  /// Begins to compile, in other threads, what count() needs of these examples and is not compiled yet.
  void begin(int64_t count, int64_t batch);
  /// Is one of them still at work?
  bool is_compiling() const;
  /// Takes what they have compiled by now; false where one is still at work.
  bool take_compiled();
  /// Waits for them, and compiles what was not begun. What a compiler threw comes from here, and not from count().
  void wait(int64_t count, int64_t batch);
  /// Over the first `count` examples, a chunk of `batch` or a multiple of it at a time.
  Count count(Examples& examples, int64_t count, int64_t batch);
  /// The function that does it, for all chunks but a shorter last one.
  Explanation explain(int64_t count, int64_t batch);
  const std::vector<kernel::Choice>& choices(int64_t count, int64_t batch);

 private:
  Function& of_length(int64_t count, bool background = false);

  const Model& model_;
  FunctionOptions options_;
  bool with_loss_;
  std::map<int64_t, Function> functions_;
};

/// The chunk for `count` examples in minibatches of `batch`: a multiple of `batch`, of at most about a thousand
/// examples, that divides `count` where a large one does.
int64_t evaluation_chunk(int64_t count, int64_t batch);

}  // namespace thtrain

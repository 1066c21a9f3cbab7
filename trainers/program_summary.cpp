// What a training program is, for people: layers, sizes and memory.
#include <algorithm>

#include "compiler/host/cache.h"
#include "compiler/ir/print.h"
#include "compiler/libraries/threads.h"
#include "trainers/program.h"

namespace thtrain {

// "float32[20, 784]", of sequences "float32[20, steps, 7]".
std::string TrainingProgram::minibatch_text(const Shape& one, bool is_sequence) const {
  Dims dims = {std::min(experiment_.trainer.batch_size, feed_->examples().size())};
  if (is_sequence) dims.push_back(known_steps_ < 0 ? Dim("steps") : Dim(known_steps_));
  dims.insert(dims.end(), one.begin(), one.end());
  return readable(Type{.dtype = floatX(), .dims = dims}.text());
}

std::vector<LayerSummary> TrainingProgram::layer_summaries() const {
  std::vector<LayerSummary> out;
  for (const auto& layer : model_.layers()) {
    const bool is_sequence = std::count(sequences_.begin(), sequences_.end(), layer->name()) > 0;
    int64_t parameters = 0;
    for (const Param& param : layer->params()) parameters += element_count(param.variable.type().known_shape());
    out.push_back({layer->name(), layer->type(), minibatch_text(layer->output_shape(), is_sequence), parameters});
  }
  return out;
}

ModelSummary TrainingProgram::summary() const {
  ModelSummary out;
  out.input = minibatch_text(input_.shape, input_.is_sequence);
  out.layers = layer_summaries();
  out.classes = classes_;
  out.metrics = names_;
  out.parameters = model_.parameter_count();
  out.parameter_bytes = out.parameters * static_cast<int64_t>(size_of(floatX()));
  for (const auto& [name, state] : step_state())
    out.optimizer_bytes += static_cast<int64_t>(state.get_value(true).bytes());
  out.data_bytes = feed_->examples().bytes() + valid_.bytes() + test_.bytes();
  if (train_sample_) out.data_bytes += train_sample_->bytes();
  const ProgramInfo& info = main_step().info();
  out.arena_bytes = info.arena_bytes;
  out.arena_lower_bound = info.memory_bound;
  out.train_examples = feed_->examples().size();
  out.valid_examples = valid_.size();
  out.test_examples = test_.size();
  out.train_used = is_batch_method() ? out.train_examples : used_of(out.train_examples);
  out.valid_used = used_of(out.valid_examples);
  out.test_used = used_of(out.test_examples);
  out.batch_size = experiment_.trainer.batch_size;
  out.batches = chunks_;
  out.kernels_compiled = compile_stats().kernels_compiled - kernels_before_;
  out.seconds_compile = info.seconds_passes + info.seconds_compile;
  out.is_compiling = is_compiling();
  out.reference_steps = info.reference_steps;
  out.threads = thread_count(static_cast<int>(experiment_.compiler.threads));
  return out;
}

}  // namespace thtrain

#include "nn/schedules/linear_warm_up.h"

namespace thtrain {

LinearWarmUp::LinearWarmUp(const Options& options, std::shared_ptr<Schedule> then)
    : Schedule(then->per()), options_(options), then_(std::move(then)) {
  if (options.length < 1)
    throw UserError(Message{.what = "warm-up: length is out of range",
                            .expected = "an integer, at least 1 (epochs or steps)",
                            .got = std::to_string(options.length)});
  if (!between(0, 1).contains(options.start))
    throw UserError(Message{
        .what = "warm-up: start is out of range", .expected = "a number from 0 to 1", .got = str(options.start)});
}

double LinearWarmUp::factor(int64_t count) const {
  if (count >= options_.length) return then_->factor(count - options_.length);
  double part = static_cast<double>(count) / static_cast<double>(options_.length);
  return (options_.start + (1 - options_.start) * part) * then_->factor(0);
}

}  // namespace thtrain

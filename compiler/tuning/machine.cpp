#include "compiler/tuning/machine.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "compiler/base/content_hash.h"
#include "compiler/base/error.h"
#include "compiler/host/cpu.h"
#include "compiler/host/memory_trials.h"
#include "compiler/store/tuning_store.h"
#include "compiler/tuning/rate_trials.h"

namespace thtrain {

using kernel::MemoryLimits;
using kernel::Target;

namespace {

struct Machine {
  Target target;
  LimitsFrom from = LimitsFrom::kMeasured;
};

// A new number where the same measurements would give other limits.
constexpr const char* kScheme = "memory limits and rates 5";
std::string entry_name(Target target) {
  target.cores = std::min(target.cores, 2);  // one core measures, and a second one that is woken
  target.memory = {};
  target.rates = {};
  return content_hash({kScheme, cpu().feature_text, target.text()});
}

// What the text names of that which is measured.
void take(const TargetParts& parts, Target& target) {
  MemoryLimits& memory = target.memory;
  memory.non_temporal_bytes = parts.non_temporal_bytes.value_or(memory.non_temporal_bytes);
  memory.store_prefetch_lines = parts.store_prefetch_lines.value_or(memory.store_prefetch_lines);
  memory.load_prefetch_lines = parts.load_prefetch_lines.value_or(memory.load_prefetch_lines);
  target.rates = parts.rates.value_or(target.rates);
}

bool has_limits(const TargetParts& parts) {
  return parts.non_temporal_bytes && parts.store_prefetch_lines && parts.load_prefetch_lines;
}

// The parts of a text that was written by Target::text(); nothing where it is no such text.
std::optional<TargetParts> parts_of(std::string_view text) {
  try {
    TargetParts out = parse_target(text);
    return has_limits(out) && out.rates ? std::optional(out) : std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// `target` with what was measured of it.
std::optional<Target> remembered(Target target) {
  const auto entry = tuning_store().read(kTuningFolder, entry_name(target));
  if (!entry) return std::nullopt;
  const std::optional<TargetParts> parts = parts_of(entry->content.substr(0, entry->content.find('\n')));
  if (!parts) return std::nullopt;
  take(*parts, target);
  return target;
}

// `again`: though another process has measured meanwhile. Else what it found holds, so that all take the same.
Target measured(Target target, bool again) {
  target.memory = measure_memory_limits(target);
  target.rates = measure_kernel_rates(target);
  if (!again)
    if (const std::optional<Target> known = remembered(target)) return *known;
  try {
    tuning_store().write(kTuningFolder, entry_name(target), target.text() + "\n");
  } catch (const UserError&) {
    // No folder can be written: the next process measures again.
  }
  return target;
}

Machine asked() {
  const Cpu& processor = cpu();
  const TargetParts& forced = forced_target();
  if (forced.is_of_no_processor()) {
    Target out = forced.isa == "c99" ? kernel::c99_target(processor.cores) : kernel::cuda_target(0, processor.cores);
    out.isa = *forced.isa;
    return {out, LimitsFrom::kForced};
  }
  Machine out{{.isa = processor.isa,
               .vector_bytes = processor.vector_bytes,
               .first_cache_bytes = processor.first_cache_bytes,
               .second_cache_bytes = processor.second_cache_bytes,
               .last_cache_bytes = processor.last_cache_bytes,
               .cores = processor.cores}};
  if (has_limits(forced)) {
    out.from = LimitsFrom::kForced;
  } else if (forced.caches) {
    out.target.memory = usual_memory_limits(out.target);
    out.from = LimitsFrom::kRule;
  } else {
    const std::optional<Target> known = remembered(out.target);
    out.from = known ? LimitsFrom::kRemembered : LimitsFrom::kMeasured;
    out.target = known ? *known : measured(out.target, false);
  }
  take(forced, out.target);
  return out;
}

std::mutex mutex;
Machine& locked_machine() {
  static Machine once = asked();
  return once;
}

}  // namespace

Target machine() {
  std::lock_guard lock(mutex);
  return locked_machine().target;
}

LimitsFrom limits_from() {
  std::lock_guard lock(mutex);
  return locked_machine().from;
}

void measure_machine_again() {
  std::lock_guard lock(mutex);
  Machine& now = locked_machine();
  if (now.from == LimitsFrom::kForced || now.from == LimitsFrom::kRule) return;
  now.target = measured(now.target, true);
  take(forced_target(), now.target);
  now.from = LimitsFrom::kMeasured;
}

void use_target(Target target) {
  std::lock_guard lock(mutex);
  locked_machine() = {std::move(target), LimitsFrom::kForced};
}

void use_limits_of(std::string_view text) {
  const std::optional<TargetParts> parts = parts_of(text);
  if (!parts) return;
  std::lock_guard lock(mutex);
  Machine& now = locked_machine();
  if (now.from == LimitsFrom::kForced || now.from == LimitsFrom::kRule) return;
  Target then = now.target;
  take(*parts, then);
  if (then.text() != text) return;
  now = {then, LimitsFrom::kRun};
}

}  // namespace thtrain

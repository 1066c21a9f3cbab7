#include "reports/profile_report.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "reports/json.h"

namespace thtrain {
namespace {

std::string padded(const std::string& text, int width) {
  char out[256];
  std::snprintf(out, sizeof out, "%*s", width, text.c_str());
  return out;
}

double per_call(const Profile& profile, double seconds) {
  return profile.calls > 0 ? seconds / static_cast<double>(profile.calls) : 0;
}

double seconds_in_steps(const Profile& profile) {
  double out = 0;
  for (const StepProfile& step : profile.steps) out += step.seconds;
  return out;
}

// Of one run of a step.
double seconds_of(const StepProfile& step) {
  return step.calls > 0 ? step.seconds / static_cast<double>(step.calls) : 0;
}

// The part of the machine's ceiling that a step reaches; nothing where it computes and moves nothing.
std::optional<double> share_of_ceiling(const StepProfile& step, const std::optional<MachineRates>& rates) {
  if (!rates || step.calls == 0 || step.seconds == 0) return {};
  if (!rates->device.empty() && !step.is_on_device) return {};
  double least = std::max(step.flops / rates->flops, step.bytes / rates->stream_rate(step.bytes));
  return least > 0 ? std::optional(least / seconds_of(step)) : std::nullopt;
}

// Seconds by layer or by loop, the largest first.
std::vector<std::pair<std::string, double>> seconds_by(const Profile& profile, std::string StepProfile::*key) {
  std::map<std::string, double> sums;
  for (const StepProfile& step : profile.steps) sums[(step.*key).empty() ? "(none)" : step.*key] += step.seconds;
  std::vector<std::pair<std::string, double>> out(sums.begin(), sums.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

bool has_roles(const Profile& profile) {
  return std::any_of(profile.steps.begin(), profile.steps.end(), [](const StepProfile& s) { return !s.role.empty(); });
}

bool has_loops(const Profile& profile) {
  return std::any_of(profile.steps.begin(), profile.steps.end(), [](const StepProfile& s) { return !s.loop.empty(); });
}

// How often each rule fired, the most frequent first.
std::vector<std::pair<std::string, int64_t>> by_rule(const Explanation& explanation) {
  std::map<std::string, int64_t> counts;
  for (const Fired& fired : explanation.fired) ++counts[fired.rule];
  std::vector<std::pair<std::string, int64_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

std::string percent(double part) {
  return fixed_text(100 * part, 1) + " %";
}

// What the shares are shares of, with a word where one is above 100 %.
std::string ceiling_lines(const Profile& profile, const MachineRates& rates) {
  std::string out = str(
      "ceiling", rates.device.empty() ? "" : str(" of ", rates.device), ": ", fixed_text(1e-9 * rates.flops, 1),
      " GFLOP/s; GB/s", rates.streams[0].size > 0 ? ", by the bytes that a step moves: " : ": ",
      join(rates.streams, ", ",
           [](const MachineRates::Stream& s) {
             return str(fixed_text(1e-9 * s.bytes_per_second, 1), s.size > 0 ? str(" (", bytes_text(s.size), ")") : "");
           }),
      "\n");
  const bool any_above = std::any_of(profile.steps.begin(), profile.steps.end(), [&](const StepProfile& step) {
    return share_of_ceiling(step, rates).value_or(0) > 1;
  });
  if (any_above)
    out +=
        "         above 100 %: the step found its data in a faster cache than arrays of its size usually have, or the "
        "machine was busier when the ceiling was measured\n";
  return out;
}

}  // namespace

double MachineRates::stream_rate(double bytes) const {
  size_t first = 0;
  while (first + 1 < streams.size() && streams[first + 1].size <= bytes) ++first;
  double best = 0;
  for (size_t i = first; i < streams.size(); ++i) best = std::max(best, streams[i].bytes_per_second);
  return best;
}

std::string profile_table(const Profile& profile, const Explanation& explanation,
                          const std::optional<MachineRates>& rates) {
  double inside = seconds_in_steps(profile), all = std::max(profile.seconds, 1e-12);
  std::string out = str("profile of ", profile.function, ": ", profile.calls, " calls, ", profile.threads, " thread",
                        profile.threads == 1 ? "" : "s", ", ", fixed_text(1e6 * per_call(profile, profile.seconds), 1),
                        " us a call, ", fixed_text(1e6 * per_call(profile, profile.seconds - inside), 1),
                        " of them between the steps\n");
  if (!profile.clock.empty())
    out += str("steps on the device: times of ", profile.clock, "; each launch is waited for here\n");
  out += str(padded("step", 4), padded("us a call", 12), padded("share", 9), padded("GFLOP/s", 10), padded("GB/s", 9),
             padded(rates ? "of ceiling" : "", 12), has_roles(profile) ? "  code, role\n" : "  code\n");
  for (size_t i = 0; i < profile.steps.size(); ++i) {
    const StepProfile& step = profile.steps[i];
    double once = seconds_of(step);
    std::optional<double> share = share_of_ceiling(step, rates);
    out += str(padded(std::to_string(i), 4), padded(fixed_text(1e6 * per_call(profile, step.seconds), 2), 12),
               padded(percent(step.seconds / all), 9),
               padded(once > 0 && step.flops > 0 ? fixed_text(1e-9 * step.flops / once, 1) : "", 10),
               padded(once > 0 ? fixed_text(1e-9 * step.bytes / once, 1) : "", 9),
               padded(share ? percent(*share) : "", 12), "  ", step.code, step.role.empty() ? "" : str(", ", step.role),
               step.scope.empty() ? "" : str("  [", step.scope, "]"), step.loop.empty() ? "" : str("  in ", step.loop),
               "\n");
  }
  if (rates) out += ceiling_lines(profile, *rates);
  auto share_text = [&](const auto& entry) { return str(entry.first, " ", percent(entry.second / all)); };
  if (has_roles(profile))
    out += str("roles:   ", join(seconds_by(profile, &StepProfile::role), ", ", share_text), "\n");
  out += str("layers:  ", join(seconds_by(profile, &StepProfile::scope), ", ", share_text), "\n");
  if (has_loops(profile))
    out += str("loops:   ", join(seconds_by(profile, &StepProfile::loop), ", ", share_text), "\n");
  out += str("passes:  ",
             join(explanation.passes, ", ",
                  [](const PassRecord& pass) { return str(pass.name, " ", fixed_text(1e3 * pass.seconds, 2), " ms"); }),
             "\n");
  std::vector<std::pair<std::string, int64_t>> rules = by_rule(explanation);
  if (!rules.empty())
    out += str("rules:   ", join(rules, ", ", [](const auto& entry) { return str(entry.first, " ", entry.second); }),
               "\n");
  if (profile.arena_bytes >= 0)
    out +=
        str("memory:  ", profile.arena_bytes, " bytes of temporaries, ", profile.memory_bound, " live at the peak\n");
  return out;
}

std::string profile_json(const Profile& profile, const Explanation& explanation,
                         const std::optional<MachineRates>& rates) {
  auto list = [](const auto& entries, auto line) { return str("[", join(entries, ", ", line), "]"); };
  JsonObject out;
  out.add("function", profile.function).add("threads", profile.threads).add("calls", profile.calls);
  out.add("seconds", profile.seconds).add("seconds_in_steps", seconds_in_steps(profile));
  if (rates && !rates->device.empty()) out.add("ceiling_of", rates->device);
  if (rates)
    out.add("ceiling_flops", rates->flops)
        .add_raw("ceiling_bytes", list(rates->streams, [](const MachineRates::Stream& s) {
                   return JsonObject().add("size", s.size).add("bytes_per_second", s.bytes_per_second).line();
                 }));
  out.add_raw(
      "steps", list(profile.steps, [&](const StepProfile& step) {
        JsonObject o;
        o.add("step", step.step).add("code", step.code).add("layer", step.scope);
        if (!step.role.empty()) o.add("role", step.role);
        if (!step.loop.empty()) o.add("loop", step.loop);
        o.add("calls", step.calls).add("seconds", step.seconds).add("flops", step.flops).add("bytes", step.bytes);
        if (std::optional<double> share = share_of_ceiling(step, rates)) o.add("of_ceiling", *share);
        return o.line();
      }));
  if (has_roles(profile))
    out.add_raw("roles", list(seconds_by(profile, &StepProfile::role), [](const auto& entry) {
                  return JsonObject().add("role", entry.first).add("seconds", entry.second).line();
                }));
  out.add_raw("layers", list(seconds_by(profile, &StepProfile::scope), [](const auto& entry) {
                return JsonObject().add("layer", entry.first).add("seconds", entry.second).line();
              }));
  if (has_loops(profile))
    out.add_raw("loops", list(seconds_by(profile, &StepProfile::loop), [](const auto& entry) {
                  return JsonObject().add("loop", entry.first).add("seconds", entry.second).line();
                }));
  out.add_raw("passes", list(explanation.passes, [](const PassRecord& pass) {
                JsonObject o;
                o.add("pass", pass.name).add("seconds", pass.seconds);
                return o.line();
              }));
  out.add_raw("rules", list(by_rule(explanation), [](const auto& entry) {
                return JsonObject().add("rule", entry.first).add("fired", entry.second).line();
              }));
  out.add("arena_bytes", profile.arena_bytes).add("memory_bound", profile.memory_bound);
  return out.lines();
}

std::string profile_trace(const Profile& profile) {
  std::string out = "{\"traceEvents\": [\n";
  for (size_t i = 0; i < profile.time_line.size(); ++i) {
    const StepTime& time = profile.time_line[i];
    const StepProfile& step = profile.steps[time.step];
    JsonObject arguments, event;
    arguments.add("call", time.call).add("step", static_cast<int64_t>(time.step));
    arguments.add("flops", step.flops).add("bytes", step.bytes);
    event.add("name", step.code).add("cat", step.scope.empty() ? "(none)" : step.scope).add("ph", "X");
    event.add("ts", 1e6 * time.begin).add("dur", 1e6 * time.length).add("pid", 1).add("tid", 1);
    event.add_raw("args", arguments.line());
    out += event.line() + (i + 1 < profile.time_line.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

}  // namespace thtrain

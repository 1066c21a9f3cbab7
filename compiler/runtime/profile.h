// Where the time of a function's calls goes: by step, with what each step computes and moves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thtrain {

// ---- functions ------------------------------------------------------------------------------------------------------

/// One step of the program, over all profiled calls.
struct StepProfile {
  std::string step = {};   // "fused_reduction", "gemm", "row-major copy"
  std::string code = {};   // the kernel or the library's entry that ran: "kernel add_tanh", "gemm_f32"
  std::string scope = {};  // the layer that it belongs to: "hidden"; empty where it belongs to none
  std::string role = {};   // "forward", "gradient", "update", or several: "gradient+update" (ir/roles.h)
  // The loops around it, the outermost first, with the names that scan was given: "scan rows / scan lstm", "scan" where
  // it has none; empty outside loops. `calls` counts iterations then.
  std::string loop = {};
  bool is_on_device = false;  // a kernel of a device, or a copy to it or from it
  int64_t calls = 0;
  double seconds = 0;  // of all calls
  double flops = 0;    // floating-point operations of one call
  double bytes = 0;    // read and written by one call, each operand once
};

/// A step of one call, as a time line shows it.
struct StepTime {
  size_t step;           // in Profile::steps
  int64_t call;          // from 0
  double begin, length;  // seconds; begin counts from the first profiled call
};

/// Where the time of a function's profiled calls went.
struct Profile {
  std::string function;
  int threads = 1;
  int64_t calls = 0;
  double seconds = 0;               // in the compiled code, all calls
  std::vector<StepProfile> steps;   // in order of execution
  std::string clock = {};           // of steps on a device: "events of the NVIDIA H200"; else empty, and the host's
  std::vector<StepTime> time_line;  // of the first calls, kTimedCalls of them
  int64_t arena_bytes = -1;         // temporaries; -1 where a call decides it
  int64_t memory_bound = -1;        // bytes live at the peak

  static constexpr int64_t kTimedCalls = 100;
};

}  // namespace thtrain

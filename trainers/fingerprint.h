// What decides the bits of a run besides its experiment: recorded in its folder and its checkpoints, compared when it
// goes on.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace thtrain {

struct CompilerConfig;

/// Names and values, for people and for comparing: "threads" = "2".
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// thtrain's build, threads, processor, width of vectors, BLAS kernels and compiler, as a function compiled now would
/// see them. `threads` as in the experiment (0: chosen here).
Fingerprint machine_fingerprint(int64_t threads);
/// Of the device that computes: card, driver and what compiles its kernels. Nothing where the processor does.
Fingerprint device_fingerprint(const CompilerConfig& config);

/// What a run says of steps that the reference did because the compiler was not done: nothing else has their bits.
inline constexpr const char* kNativeEntry = "native code";
/// How a run computes its products, convolutions and the like: "COMPUTATION: CHOICE, ...".
inline constexpr const char* kChoicesEntry = "choices";
/// Data of phases behind the one of the run: "training data of phase b".
inline constexpr const char* kOfPhase = " data of phase ";
/// The value under that name; null: there is none.
std::string* find_entry(Fingerprint& fingerprint, std::string_view name);

/// A line for each pin that differs or is there only once: "threads: 2 then, 4 now". Of kChoicesEntry a line for each
/// computation that another choice does: "choices: conv ...: rows 4x5 (4) then, tile 12x2 (3) now".
std::vector<std::string> differences(const Fingerprint& then, const Fingerprint& now);

/// One "name = value" on each line, and back (lines that are none are left out): how a checkpoint keeps them.
std::string fingerprint_text(const Fingerprint& fingerprint);
Fingerprint fingerprint_of(const std::string& text);

}  // namespace thtrain

// NVRTC of the emulated device: what it makes is text, which the host's compiler has taken.
#include <cstring>

#include <string>

#include "compiler/cuda/emulated/driver.h"
#include "compiler/cuda/emulated/machine.h"
#include "compiler/cuda/emulated/module.h"

struct _nvrtcProgram {  // NOLINT: their name
  std::string text, image, log;
};

namespace thtrain::cuda::emulated {
namespace {

constexpr Status kInvalidInput = 3, kInvalidProgram = 4, kInvalidOption = 5, kRefused = 6;  // nvrtcResult

Status version(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return 0;
}

Status create(_nvrtcProgram** program, const char* text, const char*, int headers, const char* const*,
              const char* const*) {
  if (!program || !text || headers != 0) return kInvalidInput;
  *program = new _nvrtcProgram{.text = text, .image = {}, .log = {}};
  return 0;
}

Status destroy(_nvrtcProgram** program) {
  if (!program || !*program) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

// Options decide nothing here: the host's compiler is told to contract, flush and approximate nothing.
Status compile(_nvrtcProgram* program, int count, const char* const* options) {
  if (!program) return kInvalidProgram;
  for (int i = 0; i < count; ++i)
    if (std::strncmp(options[i], "--", 2) != 0) return kInvalidOption;
  program->image = image_of(program->text, machine()->options.checks);
  program->log = load(program->image).trouble;
  return program->log.empty() ? 0 : kRefused;
}

Status image_size(_nvrtcProgram* program, size_t* bytes) {
  if (!program || program->image.empty()) return kInvalidProgram;
  *bytes = program->image.size() + 1;
  return 0;
}

Status image(_nvrtcProgram* program, char* bytes) {
  if (!program || program->image.empty()) return kInvalidProgram;
  std::memcpy(bytes, program->image.c_str(), program->image.size() + 1);
  return 0;
}

Status log_size(_nvrtcProgram* program, size_t* bytes) {
  if (!program) return kInvalidProgram;
  *bytes = program->log.size() + 1;
  return 0;
}

Status log(_nvrtcProgram* program, char* bytes) {
  if (!program) return kInvalidProgram;
  std::memcpy(bytes, program->log.c_str(), program->log.size() + 1);
  return 0;
}

}  // namespace

const Nvrtc& nvrtc() {
  static constexpr Nvrtc kEmulated = {.nvrtcVersion = version,
                                      .nvrtcCreateProgram = create,
                                      .nvrtcDestroyProgram = destroy,
                                      .nvrtcCompileProgram = compile,
                                      .nvrtcGetCUBINSize = image_size,
                                      .nvrtcGetCUBIN = image,
                                      .nvrtcGetProgramLogSize = log_size,
                                      .nvrtcGetProgramLog = log};
  return kEmulated;
}

}  // namespace thtrain::cuda::emulated

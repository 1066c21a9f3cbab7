// The program `thtrain-trial`, which tries candidates of shared objects for programs that link the compiler.
#include <string>
#include <vector>

#include "compiler/tuning/trial_process.h"

int main(int argc, char** argv) {
  return thtrain::run_trial_process({argv + (argc > 0), argv + argc});
}

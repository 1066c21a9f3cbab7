// The parameters of functions that programs call: C++ for the runtime, and text for the programs.
#pragma once

/// A list of parameters as text.
#define TH_TEXT_OF(...) TH_TEXT_OF_TOKENS(__VA_ARGS__)
#define TH_TEXT_OF_TOKENS(...) #__VA_ARGS__

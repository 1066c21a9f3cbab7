// The stranger's own: thtrain's is at <thtrain/compiler/api.h>.
#pragma once

constexpr int kStrangersApi = 2;

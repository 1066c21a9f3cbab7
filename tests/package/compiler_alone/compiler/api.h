// The stranger's own: thtrain's stands at <thtrain/compiler/api.h>.
#pragma once

constexpr int kStrangersApi = 2;

// The stranger's own.
#pragma once

constexpr int kStrangersModel = 1;

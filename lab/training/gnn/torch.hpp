// LibTorch, precompiled once for this folder. Nothing outside of training/ includes it.
#pragma once

#include <torch/torch.h>

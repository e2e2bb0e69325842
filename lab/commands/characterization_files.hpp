// A characterisation as a folder of CSV files: scalars, shared_sweep, private_sweep, gemm. Written by `forerun-lab
// characterize` and by the stand-alone program of lab/profiler/cuda; read to draw and to judge it on any machine.
#pragma once

#include <string>

#include "base/result.hpp"
#include "profiler/characterize.hpp"

namespace forerun {

Result<Characterization> read_characterization(const std::string& folder);
Status write_characterization(const Characterization& result, const std::string& folder);

}  // namespace forerun

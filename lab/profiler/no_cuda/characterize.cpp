// Stands in for cuda/characterize.cu where Forerun was built without the CUDA toolkit.
#include "profiler/characterize.hpp"

namespace forerun {

Result<Characterization> characterize(const CharacterizeOptions&) {
  return bad_input(
      "this forerun-lab was built without CUDA, so it cannot characterise a GPU; "
      "build it on a machine with the CUDA toolkit (nvcc, cuBLASLt) and an NVIDIA driver");
}

}  // namespace forerun

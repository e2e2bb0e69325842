// Spaces, answers by the thousand and searches, for forerun.sweep and forerun.search.
#pragma once

#include <pybind11/pybind11.h>

#include "service/service.hpp"

namespace forerun::python {

// `service`: the module's own. Errors are thrown through `fail`, which does not return.
void bind_spaces(pybind11::module_& m, const Service& (*service)(), void (*fail)(const Error&));

}  // namespace forerun::python

// `forerun predict -`: a JSON request per line in, a report per line out, in the same order, on all cores.
#pragma once

#include <istream>
#include <ostream>

#include "service/service.hpp"

namespace forerun {

// Answers as soon as the available lines have been read, so that a program can talk to it over a pipe.
int predict_lines(const Service& service, std::istream& in, std::ostream& out);

}  // namespace forerun

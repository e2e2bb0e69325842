// `forerun predict -`: a JSON request per line in, a report per line out, in the same order, on all cores.
#pragma once

#include <istream>
#include <ostream>

#include "service/service.hpp"

namespace forerun {

// Answers as soon as the available lines have been read, so that a program can talk to it over a pipe.
// `strict`: status 2 when a line fails, else 0.
int predict_lines(const Service& service, std::istream& in, std::ostream& out, bool strict = false);

}  // namespace forerun

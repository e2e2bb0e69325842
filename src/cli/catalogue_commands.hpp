// `forerun devices`, `networks` and `predictors`: lists of what is available, as tables or JSON. They return the exit
// status.
#pragma once

#include <ostream>
#include <string>

#include "service/service.hpp"

namespace forerun {

int show_devices(const Catalogue& catalogue, const std::string& id, bool json, std::ostream& out, std::ostream& err);
int show_networks(const std::string& name, bool json, std::ostream& out, std::ostream& err);
int show_predictors(const Service& service, bool json, std::ostream& out);

}  // namespace forerun

// The catalogues as JSON, one line each, the same for the command line, HTTP and Python.
#pragma once

#include <string>

#include "service/service.hpp"

namespace forerun {

[[nodiscard]] std::string devices_json(const Catalogue& catalogue);  // {"devices": [...]}
[[nodiscard]] std::string networks_json();                           // {"networks": [...]}
[[nodiscard]] std::string predictors_json(
    const Service& service);               // {"predictors": [...]}, with their accuracy reports
[[nodiscard]] std::string metrics_json();  // {"metrics": [...]}: the table of records/metric.hpp
[[nodiscard]] std::string regions_json();  // {"regions": [...]}

}  // namespace forerun

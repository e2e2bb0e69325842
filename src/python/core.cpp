// forerun._core: JSON text in, JSON text out. The interpreter is not held while the service works.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "python/options_json.hpp"
#include "python/space_bindings.hpp"
#include "readers/networks.hpp"
#include "readers/reader.hpp"
#include "service/catalogue_json.hpp"
#include "service/json.hpp"
#include "service/options.hpp"
#include "service/service.hpp"
#include "service/version.hpp"

namespace py = pybind11;

namespace forerun::python {
namespace {

// An Error on its way to becoming a ForerunError.
struct Failure {
  Error error;
};

template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(result).value();
}

// Made at first use, kept for the life of the process: threads may still be asking when the interpreter ends.
const Service& service() {
  static const auto* const kService = new Result<std::unique_ptr<Service>>(Service::create());
  if (!*kService) throw Failure{kService->error()};
  return *kService->value();
}

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BadInput: return "bad_input";
    case ErrorKind::NotFound: return "not_found";
    case ErrorKind::TooLarge:
    case ErrorKind::TooCostly: return "too_large";
    case ErrorKind::Deadline:
    case ErrorKind::Interrupted: return "interrupted";
    case ErrorKind::Io: return "io";
    case ErrorKind::Internal: return "internal";
  }
  return "internal";
}

// Looks for Ctrl-C; the interpreter's exception is set where there was one.
bool is_interrupted() {
  const py::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;
}

// The request, with the network read from memory where it was given as bytes.
Request to_request(const std::string& json, const std::optional<std::string_view>& contents) {
  Request request = unwrap(parse_request(json));
  request.cancel = CancelToken::polling(is_interrupted);
  if (contents) {
    if (request.network) throw Failure{bad_input("the network comes either as bytes or as a configuration, not both")};
    if (request.model.empty()) request.model = "model";
    request.network = unwrap(read_network_bytes(*contents, request.model, request.cancel));
  }
  request.is_transient = request.network != nullptr;
  return request;
}

template <typename Report>
using Question = Result<Report> (Service::*)(const Request&) const;

template <typename Report, Question<Report> kAsk>
std::string answer(const std::string& json, const std::optional<py::bytes>& contents) {
  std::optional<std::string_view> bytes;
  if (contents) bytes = std::string_view(*contents);
  try {
    const py::gil_scoped_release released;
    return to_json(unwrap((service().*kAsk)(to_request(json, bytes))));
  } catch (const Failure&) {
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();  // KeyboardInterrupt goes first
    throw;
  }
}

void set_error(PyObject* type, const char* kind, const std::string& message) {
  const py::object instance = py::reinterpret_borrow<py::object>(type)(py::str(message));
  instance.attr("kind") = kind;
  PyErr_SetObject(type, instance.ptr());
}

}  // namespace
}  // namespace forerun::python

PYBIND11_MODULE(_core, m) {
  using namespace forerun;
  using namespace forerun::python;
  m.doc() = "Forerun's service: requests and reports as JSON text.";
  m.attr("version") = std::string(program_version());

  py::dict members;
  members["kind"] = "bad_input";
  static PyObject* error_type =
      PyErr_NewExceptionWithDoc("forerun.ForerunError",
                                "The request or the file is wrong; the message says what, where and what to do.\n\n"
                                "`kind`: bad_input, not_found, too_large, io or internal (our own fault).",
                                PyExc_Exception, members.ptr());
  if (error_type == nullptr) throw py::error_already_set();
  m.attr("ForerunError") = py::reinterpret_borrow<py::object>(error_type);
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Failure& failure) {
      set_error(error_type, python::name_of(failure.error.kind), failure.error.message);
    }
  });

  const auto request = py::arg("request");
  const auto contents = py::arg("contents") = py::none();
  m.def("inspect", answer<InspectReport, &Service::inspect>, request, contents);
  m.def("predict", answer<PredictReport, &Service::predict>, request, contents);
  m.def("advise", answer<AdviseReport, &Service::advise>, request, contents);
  m.def("plan", answer<PlanReport, &Service::plan>, request, contents);
  m.def("mig", answer<MigReport, &Service::mig>, request, contents);
  m.def("roofline", answer<RooflineReport, &Service::roofline>, request, contents);
  const auto released = py::call_guard<py::gil_scoped_release>();
  m.def(
      "devices", [] { return devices_json(service().catalogue()); }, released);
  m.def(
      "device",
      [](const std::string& name) { return service().catalogue().describe(unwrap(service().catalogue().find(name))); },
      py::arg("name"), released);
  m.def("networks", networks_json, released);
  m.def(
      "network",
      [](const std::string& name) {
        if (!is_shipped_network(name)) unwrap(find_network(name));  // its error names the nearest ones
        return std::string(network_text(name));
      },
      py::arg("name"), released);
  m.def("metrics", [] { return metrics_json(); });
  m.def(
      "predictors", [] { return predictors_json(service()); }, released);
  m.def("options", options_json);
  bind_spaces(m, service, [](const Error& error) { throw Failure{error}; });
  m.def(
      "run",
      [](const std::vector<std::string>& arguments) { return run_cli(arguments, std::cin, std::cout, std::cerr); },
      py::arg("arguments"), released);
}

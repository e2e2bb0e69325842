// Finds and loads the PostgreSQL back end. It is a module of its own because libpq and what it brings (TLS, LDAP,
// Kerberos) take 12 ms to load, more than the rest of the program does, and most runs never ask for it.
#include "store/postgres_store.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/postgres_module/module.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// Beside the program or the library this code is in, one folder up (test programs), or installed under lib/.
std::vector<std::string> module_places() {
  std::vector<fs::path> folders;
  std::error_code ignored;
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&module_places), &self) != 0 && self.dli_fname != nullptr) {
    folders.push_back(fs::absolute(self.dli_fname, ignored).parent_path());
  }
  folders.push_back(fs::read_symlink("/proc/self/exe", ignored).parent_path());
  std::vector<std::string> places;
  for (const fs::path& folder : folders) {
    for (const char* relative : {".", "..", "../lib/forerun", "../lib"}) {
      const fs::path place = folder / relative / kPostgresModule;
      if (fs::exists(place, ignored)) places.push_back(place.string());
    }
  }
  return places;
}

}  // namespace

Result<std::unique_ptr<Store>> open_postgres(const std::string& url, OpenMode mode) {
  std::string reason = std::string(kPostgresModule) + " is not in the program's folder or in ../lib/forerun";
  for (const std::string& place : module_places()) {
    void* module = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: stores of it may live on
    if (module == nullptr) {
      reason = ::dlerror();
      continue;
    }
    const auto open = reinterpret_cast<OpenPostgres>(::dlsym(module, kPostgresEntry));
    if (open == nullptr) return internal_error(place + ": not this program's PostgreSQL module");
    Result<std::unique_ptr<Store>> store = internal_error("the PostgreSQL module gave no answer");
    open(url, mode, store);
    return store;
  }
  return not_found("PostgreSQL stores need a module that cannot be loaded: " + reason);
}

}  // namespace forerun

#include "readers/torch/pickle.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/checked.hpp"
#include "readers/printable.hpp"
#include "readers/torch/element_types.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::size_t kMaxStack = 1 << 20;
constexpr std::size_t kMaxValues = 4 << 20;  // made by one pickle
constexpr std::size_t kMaxRank = 64;
constexpr int kMaxNesting = 300;

class PickleReader {
 public:
  PickleReader(std::string_view bytes, Pickle& pickle) : bytes_(bytes), pickle_(pickle) {}

  PickleReader(const PickleReader&) = delete;
  PickleReader& operator=(const PickleReader&) = delete;
  // Whatever the result does not hold is emptied, so that values that hold each other are freed.
  ~PickleReader() {
    for (const auto& [list, object] : made_containers_) {
      if (list != nullptr && !kept_.contains(list.get())) list->clear();
      if (object != nullptr && !kept_.contains(object.get())) {
        object->attributes.clear();
        object->entries.clear();
      }
    }
  }

  // The result must be a tree, or share branches: no value may hold itself.
  Status keep_tree() {
    std::unordered_set<const void*> open;
    if (keep(pickle_.root, open, 0)) return ok();
    kept_.clear();
    pickle_.root = {};
    return wrong("a value holds itself, or values are nested too deep");
  }

  Status read() {
    while (at_ < bytes_.size()) {
      const char opcode = bytes_[at_++];
      if (opcode == '.') {
        if (stack_.size() != 1) return wrong("it does not end with one value");
        pickle_.root = std::move(stack_.back());
        return ok();
      }
      if (++made_ > kMaxValues || stack_.size() > kMaxStack) return Error{ErrorKind::TooLarge, "it is too large"};
      FORERUN_CHECK(step(opcode));
    }
    return wrong("it is cut short");
  }

 private:
  bool keep(const Argument& value, std::unordered_set<const void*>& open, int depth) {
    const List* list = value.as<List>();
    const Object* object = value.as<Object>();
    const void* place = list != nullptr     ? static_cast<const void*>(list->get())
                        : object != nullptr ? static_cast<const void*>(object->get())
                                            : nullptr;
    if (place == nullptr) return true;
    if (depth > kMaxNesting || open.contains(place)) return false;
    if (!kept_.insert(place).second) return true;
    open.insert(place);
    bool sound = true;
    if (list != nullptr) {
      for (const Argument& item : **list) sound = sound && keep(item, open, depth + 1);
    } else {
      for (const auto& [name, item] : (*object)->attributes) sound = sound && keep(item, open, depth + 1);
      for (const auto& [key, item] : (*object)->entries)
        sound = sound && keep(key, open, depth + 1) && keep(item, open, depth + 1);
    }
    open.erase(place);
    return sound;
  }

  Error wrong(const std::string& what) const {
    return bad_input("not a pickle of PyTorch's: " + what + " (byte " + std::to_string(at_) + ")");
  }

  Status step(char opcode) {
    switch (opcode) {
      case '\x80': return skip(1);  // version
      case '\x95': return skip(8);  // frame
      case '(': marks_.push_back(stack_.size()); return ok();
      case 'N': return push({});
      case '\x88': return push({true});
      case '\x89': return push({false});
      case 'J': return number(4, true);
      case 'K': return number(1, false);
      case 'M': return number(2, false);
      case '\x8a': return long_number();
      case 'G': return real();
      case 'X': return text(4);
      case '\x8c': return text(1);
      case 'T': return text(4);
      case 'U': return text(1);
      case 'B': return text(4);
      case 'C': return text(1);
      case ']': return push(make_list());
      case ')': return push(make_list());
      case '}': return push(dictionary());
      case 't':
      case 'l': return list_of_marked();
      case '\x85': return list_of(1);
      case '\x86': return list_of(2);
      case '\x87': return list_of(3);
      case 'a': return append(1);
      case 'e': return append_marked();
      case 's': return set_items_from(stack_.size() < 2 ? 0 : stack_.size() - 2);
      case 'u': return set_marked_items();
      case 'd': return dictionary_of_marked();
      case 'c': return global();
      case '\x93': return stack_global();
      case 'R': return reduce();
      case '\x81': return instance();
      case 'b': return build();
      case 'Q': return persistent();
      case '0': return drop();
      case 'q': return remember_numbered(1);
      case 'r': return remember_numbered(4);
      case '\x94': return remember(memo_.size());
      case 'h': return recall(1);
      case 'j': return recall(4);
      default: return wrong("opcode " + std::to_string(int(static_cast<unsigned char>(opcode))) + " is not known");
    }
  }

  Result<std::string_view> take(std::size_t size) {
    if (size > bytes_.size() - at_) return wrong("it is cut short");
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  Result<std::uint64_t> little(std::size_t size) {
    FORERUN_TRY(const std::string_view taken, take(size));
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }
  Status skip(std::size_t size) {
    FORERUN_TRY(const std::string_view ignored, take(size));
    (void)ignored;
    return ok();
  }
  Status push(Argument value) {
    if (const List* list = value.as<List>()) made_containers_.emplace_back(*list, nullptr);
    if (const Object* object = value.as<Object>()) made_containers_.emplace_back(nullptr, *object);
    stack_.push_back(std::move(value));
    return ok();
  }
  Status number(std::size_t size, bool is_signed) {
    FORERUN_TRY(const std::uint64_t value, little(size));
    return push({is_signed ? std::int64_t(std::int32_t(value)) : std::int64_t(value)});
  }
  Status long_number() {
    FORERUN_TRY(const std::uint64_t size, little(1));
    if (size > 8) return wrong("a number is too large");
    FORERUN_TRY(std::uint64_t value, little(size));
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << (8 * size);
    return push({std::clamp(std::int64_t(value), -kSizeLimit, kSizeLimit)});
  }
  Status real() {
    FORERUN_TRY(const std::string_view taken, take(8));
    std::uint64_t bits = 0;
    for (const char c : taken) bits = bits << 8 | static_cast<unsigned char>(c);
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return push({value});
  }
  Status text(std::size_t size_bytes) {
    FORERUN_TRY(const std::uint64_t size, little(size_bytes));
    FORERUN_TRY(const std::string_view taken, take(size));
    return push({std::string(taken)});
  }

  static Argument dictionary() {
    auto object = std::make_shared<ScriptObject>();
    object->form = ScriptObject::Form::Dictionary;
    return {std::move(object)};
  }

  Result<std::size_t> pop_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return wrong("a mark is missing");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }
  Status list_from(std::size_t start) {
    std::vector<Argument> items(std::make_move_iterator(stack_.begin() + std::ptrdiff_t(start)),
                                std::make_move_iterator(stack_.end()));
    stack_.resize(start);
    return push(make_list(std::move(items)));
  }
  Status list_of_marked() {
    FORERUN_TRY(const std::size_t mark, pop_mark());
    return list_from(mark);
  }
  Status list_of(std::size_t count) {
    if (stack_.size() < count) return wrong("a value is missing");
    return list_from(stack_.size() - count);
  }
  Status append(std::size_t count) {
    if (stack_.size() < count + 1) return wrong("a value is missing");
    return append_from(stack_.size() - count);
  }
  Status append_marked() {
    FORERUN_TRY(const std::size_t mark, pop_mark());
    return append_from(mark);
  }
  Status append_from(std::size_t start) {
    const List* list = start == 0 ? nullptr : stack_[start - 1].as<List>();
    if (list == nullptr) return wrong("something is appended to what is no list");
    for (std::size_t i = start; i < stack_.size(); ++i) {
      if (const List* item = stack_[i].as<List>(); item != nullptr && *item == *list)
        return wrong("a list holds itself");
      (*list)->push_back(stack_[i]);
    }
    stack_.resize(start);
    return ok();
  }
  Status set_marked_items() {
    FORERUN_TRY(const std::size_t mark, pop_mark());
    return set_items_from(mark);
  }
  Status set_items_from(std::size_t start) {
    const Object* object = start == 0 ? nullptr : stack_[start - 1].as<Object>();
    if (object == nullptr || (stack_.size() - start) % 2 != 0) return wrong("an entry is set in what is no dictionary");
    for (std::size_t i = start; i + 1 < stack_.size(); i += 2)
      (*object)->entries.emplace_back(stack_[i], stack_[i + 1]);
    stack_.resize(start);
    return ok();
  }
  Status dictionary_of_marked() {
    FORERUN_TRY(const std::size_t mark, pop_mark());
    FORERUN_CHECK(push(dictionary()));
    std::rotate(stack_.begin() + std::ptrdiff_t(mark), stack_.end() - 1, stack_.end());
    return set_items_from(mark + 1);
  }

  Status global() {
    std::string name;
    for (int part = 0; part < 2; ++part) {
      const std::size_t end = bytes_.find('\n', at_);
      if (end == std::string_view::npos) return wrong("a name is cut short");
      name += (part == 0 ? "" : ".") + std::string(bytes_.substr(at_, end - at_));
      at_ = end + 1;
    }
    return push(make_named(std::move(name)));
  }
  Status stack_global() {
    if (stack_.size() < 2) return wrong("a name is missing");
    const auto* module = stack_[stack_.size() - 2].as<std::string>();
    const auto* name = stack_.back().as<std::string>();
    if (module == nullptr || name == nullptr) return wrong("a name is no text");
    Argument named = make_named(*module + "." + *name);
    stack_.resize(stack_.size() - 2);
    return push(std::move(named));
  }

  Result<std::pair<std::string, List>> pop_call() {
    if (stack_.size() < 2) return wrong("a value is missing");
    const Object* function = stack_[stack_.size() - 2].as<Object>();
    const List* arguments = stack_.back().as<List>();
    if (function == nullptr || arguments == nullptr) return wrong("a call has no name or no arguments");
    std::pair<std::string, List> call((*function)->name, *arguments);
    stack_.resize(stack_.size() - 2);
    return call;
  }

  Status reduce() {
    FORERUN_TRY(const auto call, pop_call());
    const auto& [name, list] = call;
    const std::vector<Argument>& arguments = *list;
    if (name == "torch._utils._rebuild_tensor_v2" || name == "torch._utils._rebuild_qtensor") return tensor(arguments);
    if (name == "collections.OrderedDict") return push(dictionary());
    // Functions that hand on their first argument.
    const bool passes = name == "torch._utils._rebuild_parameter" || name.starts_with("torch.jit._pickle.");
    if (passes) return push(arguments.empty() ? Argument{} : arguments.front());
    // A class called with arguments: kept by name; what it would compute is never needed.
    auto object = std::make_shared<ScriptObject>();
    object->name = name;
    return push({std::move(object)});
  }

  Status instance() {
    FORERUN_TRY(const auto call, pop_call());
    auto object = std::make_shared<ScriptObject>();
    object->name = call.first;
    return push({std::move(object)});
  }

  // The state of an instance: a dictionary of its attributes.
  Status build() {
    if (stack_.size() < 2) return wrong("a value is missing");
    const Argument state = std::move(stack_.back());
    stack_.pop_back();
    const Object* object = stack_.back().as<Object>();
    const Object* attributes = state.as<Object>();
    if (object == nullptr || attributes == nullptr) return ok();
    if (*object == *attributes) return wrong("an object is its own state");
    for (const auto& [name, value] : (*attributes)->entries) {
      if (const auto* key = name.as<std::string>()) (*object)->attributes[*key] = value;
    }
    return ok();
  }

  // ('storage', type, key, device, elements)
  Status persistent() {
    if (stack_.empty()) return wrong("a storage is missing");
    const List* id = stack_.back().as<List>();
    if (id == nullptr || (*id)->size() < 5) return wrong("a storage is described in a way that is not known");
    const Object* type = (**id)[1].as<Object>();
    const auto* key = (**id)[2].as<std::string>();
    if (type == nullptr || key == nullptr) return wrong("a storage has no type or no key");
    auto storage = std::make_shared<ScriptObject>();
    storage->name = "storage";
    storage->path = *key;
    storage->attributes["type"] = {ElementType{element_type_of((*type)->name)}};
    stack_.pop_back();
    return push({std::move(storage)});
  }

  // (storage, offset, size, stride, …)
  Status tensor(const std::vector<Argument>& arguments) {
    const Object* storage = arguments.size() < 4 ? nullptr : arguments[0].as<Object>();
    const List* sizes = arguments.size() < 4 ? nullptr : arguments[2].as<List>();
    if (storage == nullptr || sizes == nullptr || (*sizes)->size() > kMaxRank || (*storage)->name != "storage")
      return wrong("a tensor has no storage or no size");
    StoredTensor tensor;
    tensor.storage = (*storage)->path;
    if (const auto type = (*storage)->attributes.find("type"); type != (*storage)->attributes.end())
      tensor.type = type->second.as<ElementType>()->type;
    if (const auto* offset = arguments[1].as<std::int64_t>()) tensor.offset = *offset;
    for (const Argument& size : **sizes) {
      const auto* number = size.as<std::int64_t>();
      if (number == nullptr || *number < 0) return wrong("a tensor's size is no number");
      tensor.dims.push_back(*number);
    }
    pickle_.tensors.push_back(std::move(tensor));
    return push({Stored{std::int32_t(pickle_.tensors.size() - 1)}});
  }

  Status drop() {
    if (stack_.empty()) return wrong("a value is missing");
    stack_.pop_back();
    return ok();
  }
  Status remember_numbered(std::size_t size) {
    FORERUN_TRY(const std::uint64_t place, little(size));
    return remember(place);
  }
  Status remember(std::uint64_t place) {
    if (stack_.empty() || place > memo_.size() + (1 << 20) || place > kMaxValues)
      return wrong("a value is remembered at a place that does not exist");
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
    return ok();
  }
  Status recall(std::size_t size) {
    FORERUN_TRY(const std::uint64_t place, little(size));
    if (place >= memo_.size()) return wrong("a value is recalled that was never made");
    return push(memo_[place]);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t made_ = 0;
  Pickle& pickle_;
  std::vector<Argument> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Argument> memo_;
  std::vector<std::pair<List, Object>> made_containers_;
  std::unordered_set<const void*> kept_;
};

}  // namespace

Result<Pickle> read_pickle(std::string_view bytes, const std::string& what) {
  Pickle pickle;
  PickleReader reader(bytes, pickle);
  Status status = reader.read();
  if (status) status = reader.keep_tree();
  if (!status) return Error{status.error().kind, what + ": " + status.error().message};
  return pickle;
}

}  // namespace forerun::pytorch

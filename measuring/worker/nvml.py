"""NVML through ctypes: energy counter, device memory, clocks, temperature. Every reading is None where NVML or a permission is missing."""
import ctypes


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    def __init__(self, index=0):
        self.handle = None
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
            if self.lib.nvmlInit_v2() != 0:
                return
            handle = ctypes.c_void_p()
            if self.lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                self.handle = handle
        except OSError:
            pass

    def _read(self, function, value, *arguments):
        if self.handle is None:
            return None
        status = getattr(self.lib, function)(self.handle, *arguments, ctypes.byref(value))
        return value if status == 0 else None

    def energy_mj(self):
        value = self._read("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong())
        return None if value is None else value.value

    def power_w(self):
        value = self._read("nvmlDeviceGetPowerUsage", ctypes.c_uint())
        return None if value is None else value.value / 1000

    def used_mb(self):
        value = self._read("nvmlDeviceGetMemoryInfo", _Memory())
        return None if value is None else value.used / 2**20

    def clock_mhz(self, domain):  # 1 = SM, 2 = memory
        value = self._read("nvmlDeviceGetClockInfo", ctypes.c_uint(), domain)
        return None if value is None else value.value

    def temperature_c(self):
        value = self._read("nvmlDeviceGetTemperature", ctypes.c_uint(), 0)
        return None if value is None else value.value

    def driver(self):
        if self.handle is None:
            return None
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self.lib.nvmlSystemGetDriverVersion(text, 96) == 0 else None

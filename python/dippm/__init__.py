"""The published inference predictor's module, answered by Forerun: `import dippm` works unchanged. See forerun.dippm."""
from forerun.dippm import Answer, predict

__all__ = ["Answer", "predict"]

"""The published training predictor's module, answered by Forerun: `import trappm` works unchanged. See forerun.trappm."""
from forerun.trappm import Answer, predict

__all__ = ["Answer", "predict"]

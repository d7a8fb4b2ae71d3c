"""Export of fitted estimators to ONNX models, for engines without Python."""

from evlearn.export.onnx.export import to_onnx

__all__ = ["to_onnx"]

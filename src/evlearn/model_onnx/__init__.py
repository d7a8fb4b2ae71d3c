"""Fitted estimators as ONNX models: masses computed by any engine that runs these, without Python."""

from evlearn.model_onnx.export import to_onnx

__all__ = ["to_onnx"]

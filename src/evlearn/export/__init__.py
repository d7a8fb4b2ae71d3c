"""Fitted estimators outside Python: model files, SQL queries and ONNX models."""

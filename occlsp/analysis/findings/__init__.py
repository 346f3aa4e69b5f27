"""Findings: one module each, and the table of them all."""

from occlsp.analysis.findings.table import BY_CODE, RULES, findings, severity_of

__all__ = ["BY_CODE", "RULES", "findings", "severity_of"]

"""Coefficients of :mod:`core.library.confidence`, written by tests/benchmarks/fit_confidence.py."""

from __future__ import annotations

from collections.abc import Mapping

Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

# mtrag: AUC 0.893, false at 90% answered 0.28 | at 0.4: answered 0.94 from the right place 0.89, false 0.47 | at 0.5: answered 0.93 from the right place 0.89, false 0.40 | at 0.6: answered 0.92 from the right place 0.87, false 0.30 | at 0.66: answered 0.91 from the right place 0.86, false 0.28
# clapnq: AUC 0.873, false at 90% answered 0.35 | at 0.4: answered 0.97 from the right place 0.97, false 0.59 | at 0.5: answered 0.93 from the right place 0.93, false 0.52 | at 0.6: answered 0.91 from the right place 0.91, false 0.48 | at 0.66: answered 0.91 from the right place 0.91, false 0.44
# left_out: AUC 0.982, false at 90% answered 0.02 | at 0.4: answered 0.95 from the right place 0.92, false 0.10 | at 0.5: answered 0.92 from the right place 0.89, false 0.05 | at 0.6: answered 0.90 from the right place 0.87, false 0.03 | at 0.66: answered 0.89 from the right place 0.86, false 0.02
# near: AUC 0.779, false at 90% answered 0.55 | at 0.4: answered 0.96 from the right place 0.92, false 0.75 | at 0.5: answered 0.94 from the right place 0.91, false 0.70 | at 0.6: answered 0.93 from the right place 0.90, false 0.64 | at 0.66: answered 0.91 from the right place 0.88, false 0.61
# few: AUC 0.988, false at 90% answered 0.01 | at 0.4: answered 0.95 from the right place 0.91, false 0.03 | at 0.5: answered 0.92 from the right place 0.89, false 0.02 | at 0.6: answered 0.90 from the right place 0.87, false 0.01 | at 0.66: answered 0.89 from the right place 0.86, false 0.00
# tiny: AUC 0.996, false at 90% answered 0.00 | at 0.4: answered 0.96 from the right place 0.96, false 0.00 | at 0.5: answered 0.95 from the right place 0.95, false 0.00 | at 0.6: answered 0.93 from the right place 0.93, false 0.00 | at 0.66: answered 0.91 from the right place 0.91, false 0.00
# fastapi_questions: AUC 0.850, false at 90% answered 0.20 | at 0.4: answered 0.93 from the right place 0.90, false 0.20 | at 0.5: answered 0.88 from the right place 0.85, false 0.20 | at 0.6: answered 0.85 from the right place 0.85, false 0.20 | at 0.66: answered 0.78 from the right place 0.78, false 0.15
# fastapi_training: AUC 0.894, false at 90% answered 0.30 | at 0.4: answered 0.83 from the right place 0.81, false 0.22 | at 0.5: answered 0.81 from the right place 0.78, false 0.17 | at 0.6: answered 0.73 from the right place 0.72, false 0.12 | at 0.66: answered 0.71 from the right place 0.69, false 0.10
# fastapi_heldout: AUC 0.861, false at 90% answered 0.30 | at 0.4: answered 0.68 from the right place 0.62, false 0.20 | at 0.5: answered 0.65 from the right place 0.60, false 0.20 | at 0.6: answered 0.57 from the right place 0.57, false 0.10 | at 0.66: answered 0.53 from the right place 0.53, false 0.05
WITH_VECTORS: Coefficients = (
    -9.5279,
    {
        "passage_coverage": -1.7098,
        "sentence_coverage": 1.1384,
        "window_coverage": 5.335,
        "union_coverage": -1.1041,
        "term_coverage": 5.7565,
        "term_coverage_squared": -2.8597,
        "heading_coverage": -0.6146,
        "bm25": 0.445,
        "bm25_top": 0.3474,
        "bm25_gap": -0.8657,
        "length": 7.6123,
        "cosine": 4.7889,
        "cosine_second": 3.9386,
        "cosine_gap": 5.2847,
        "agreement": 0.581,
        "unknown_terms": 0.5789,
        "unknown_names": 2.0522,
        "missing_names": -7.6155,
        "missing_quantity": -6.5104,
        "opposed": -3.4055,
        "unsaid_number": -1.6848,
        "unsaid_amount": -2.7319,
    },
)
# mtrag: AUC 0.828, false at 90% answered 0.55 | at 0.4: answered 0.91 from the right place 0.85, false 0.60 | at 0.5: answered 0.87 from the right place 0.81, false 0.45 | at 0.6: answered 0.84 from the right place 0.78, false 0.40 | at 0.66: answered 0.79 from the right place 0.74, false 0.38
# clapnq: AUC 0.787, false at 90% answered 0.54 | at 0.4: answered 0.89 from the right place 0.87, false 0.49 | at 0.5: answered 0.85 from the right place 0.84, false 0.42 | at 0.6: answered 0.79 from the right place 0.79, false 0.34 | at 0.66: answered 0.74 from the right place 0.74, false 0.31
# left_out: AUC 0.970, false at 90% answered 0.06 | at 0.4: answered 0.94 from the right place 0.90, false 0.14 | at 0.5: answered 0.92 from the right place 0.88, false 0.09 | at 0.6: answered 0.90 from the right place 0.87, false 0.07 | at 0.66: answered 0.88 from the right place 0.85, false 0.04
# near: AUC 0.756, false at 90% answered 0.58 | at 0.4: answered 0.95 from the right place 0.92, false 0.78 | at 0.5: answered 0.94 from the right place 0.90, false 0.71 | at 0.6: answered 0.92 from the right place 0.88, false 0.65 | at 0.66: answered 0.90 from the right place 0.87, false 0.60
# few: AUC 0.978, false at 90% answered 0.03 | at 0.4: answered 0.91 from the right place 0.87, false 0.04 | at 0.5: answered 0.89 from the right place 0.85, false 0.02 | at 0.6: answered 0.87 from the right place 0.83, false 0.01 | at 0.66: answered 0.85 from the right place 0.81, false 0.01
# tiny: AUC 0.989, false at 90% answered 0.01 | at 0.4: answered 0.94 from the right place 0.94, false 0.01 | at 0.5: answered 0.93 from the right place 0.93, false 0.01 | at 0.6: answered 0.88 from the right place 0.88, false 0.01 | at 0.66: answered 0.85 from the right place 0.85, false 0.01
# fastapi_questions: AUC 0.861, false at 90% answered 0.35 | at 0.4: answered 0.88 from the right place 0.85, false 0.35 | at 0.5: answered 0.75 from the right place 0.75, false 0.25 | at 0.6: answered 0.65 from the right place 0.65, false 0.15 | at 0.66: answered 0.65 from the right place 0.65, false 0.10
# fastapi_training: AUC 0.878, false at 90% answered 0.37 | at 0.4: answered 0.84 from the right place 0.77, false 0.22 | at 0.5: answered 0.82 from the right place 0.76, false 0.20 | at 0.6: answered 0.77 from the right place 0.73, false 0.13 | at 0.66: answered 0.72 from the right place 0.71, false 0.12
# fastapi_heldout: AUC 0.870, false at 90% answered 0.35 | at 0.4: answered 0.75 from the right place 0.60, false 0.15 | at 0.5: answered 0.62 from the right place 0.55, false 0.15 | at 0.6: answered 0.53 from the right place 0.45, false 0.10 | at 0.66: answered 0.45 from the right place 0.42, false 0.05
LEXICAL_ALONE: Coefficients = (
    -8.4965,
    {
        "passage_coverage": -0.2597,
        "sentence_coverage": 1.677,
        "window_coverage": 5.5842,
        "union_coverage": -0.1659,
        "term_coverage": 9.1426,
        "term_coverage_squared": -6.1631,
        "heading_coverage": 1.8886,
        "bm25": 0.2788,
        "bm25_top": 2.4449,
        "bm25_gap": -0.7241,
        "length": 7.595,
        "unknown_terms": 1.3143,
        "unknown_names": -0.462,
        "missing_names": -5.8643,
        "missing_quantity": -7.5343,
        "opposed": -3.598,
        "unsaid_number": -1.4785,
        "unsaid_amount": -2.3089,
    },
)

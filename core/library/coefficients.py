"""Coefficients of :mod:`core.library.confidence`, written by tests/benchmarks/fit_confidence.py."""

from __future__ import annotations

from collections.abc import Mapping

Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

# mtrag: AUC 0.883, false at 90% answered 0.28 | at 0.4: answered 0.95 from the right place 0.92, false 0.53 | at 0.5: answered 0.95 from the right place 0.92, false 0.40 | at 0.66: answered 0.92 from the right place 0.89, false 0.28 | at 0.8: answered 0.87 from the right place 0.85, false 0.23 | at 0.9: answered 0.77 from the right place 0.75, false 0.17
# clapnq: AUC 0.873, false at 90% answered 0.41 | at 0.4: answered 0.97 from the right place 0.97, false 0.58 | at 0.5: answered 0.93 from the right place 0.93, false 0.52 | at 0.66: answered 0.89 from the right place 0.89, false 0.37 | at 0.8: answered 0.83 from the right place 0.83, false 0.27 | at 0.9: answered 0.71 from the right place 0.71, false 0.15
# left_out: AUC 0.982, false at 90% answered 0.02 | at 0.4: answered 0.95 from the right place 0.93, false 0.10 | at 0.5: answered 0.93 from the right place 0.91, false 0.05 | at 0.66: answered 0.90 from the right place 0.88, false 0.02 | at 0.8: answered 0.85 from the right place 0.84, false 0.01 | at 0.9: answered 0.76 from the right place 0.75, false 0.00
# near: AUC 0.777, false at 90% answered 0.55 | at 0.4: answered 0.96 from the right place 0.94, false 0.78 | at 0.5: answered 0.94 from the right place 0.92, false 0.71 | at 0.66: answered 0.92 from the right place 0.90, false 0.61 | at 0.8: answered 0.87 from the right place 0.86, false 0.50 | at 0.9: answered 0.79 from the right place 0.78, false 0.37
# few: AUC 0.988, false at 90% answered 0.01 | at 0.4: answered 0.94 from the right place 0.92, false 0.03 | at 0.5: answered 0.93 from the right place 0.91, false 0.02 | at 0.66: answered 0.89 from the right place 0.87, false 0.00 | at 0.8: answered 0.83 from the right place 0.82, false 0.00 | at 0.9: answered 0.73 from the right place 0.73, false 0.00
# tiny: AUC 0.997, false at 90% answered 0.00 | at 0.4: answered 0.96 from the right place 0.96, false 0.00 | at 0.5: answered 0.95 from the right place 0.95, false 0.00 | at 0.66: answered 0.93 from the right place 0.93, false 0.00 | at 0.8: answered 0.87 from the right place 0.87, false 0.00 | at 0.9: answered 0.81 from the right place 0.81, false 0.00
# fastapi_questions: AUC 0.850, false at 90% answered 0.25 | at 0.4: answered 0.93 from the right place 0.93, false 0.30 | at 0.5: answered 0.90 from the right place 0.90, false 0.25 | at 0.66: answered 0.82 from the right place 0.82, false 0.20 | at 0.8: answered 0.72 from the right place 0.72, false 0.10 | at 0.9: answered 0.45 from the right place 0.45, false 0.10
# fastapi_training: AUC 0.899, false at 90% answered 0.30 | at 0.4: answered 0.86 from the right place 0.82, false 0.22 | at 0.5: answered 0.81 from the right place 0.80, false 0.18 | at 0.66: answered 0.74 from the right place 0.73, false 0.12 | at 0.8: answered 0.66 from the right place 0.65, false 0.07 | at 0.9: answered 0.57 from the right place 0.56, false 0.07
# fastapi_heldout: AUC 0.850, false at 90% answered 0.30 | at 0.4: answered 0.78 from the right place 0.70, false 0.20 | at 0.5: answered 0.65 from the right place 0.62, false 0.15 | at 0.66: answered 0.50 from the right place 0.50, false 0.05 | at 0.8: answered 0.45 from the right place 0.45, false 0.05 | at 0.9: answered 0.33 from the right place 0.33, false 0.05
WITH_VECTORS: Coefficients = (
    -8.9328,
    {
        "passage_coverage": -2.4402,
        "sentence_coverage": 1.6198,
        "window_coverage": 4.7345,
        "union_coverage": -1.2602,
        "term_coverage": 5.5847,
        "term_coverage_squared": -2.6021,
        "heading_coverage": -1.0327,
        "bm25": 1.4424,
        "bm25_top": 3.0762,
        "bm25_gap": -3.8745,
        "length": 6.0053,
        "cosine": 5.0802,
        "cosine_second": 3.4433,
        "cosine_gap": 5.2694,
        "agreement": 0.4426,
        "unknown_terms": 0.2587,
        "unknown_names": 0.1547,
        "missing_names": -5.8161,
        "missing_quantity": -6.7311,
        "opposed": -3.5524,
        "missing_number": -1.7213,
        "missing_amount": -2.7562,
    },
)
# mtrag: AUC 0.819, false at 90% answered 0.53 | at 0.4: answered 0.91 from the right place 0.85, false 0.55 | at 0.5: answered 0.86 from the right place 0.80, false 0.40 | at 0.66: answered 0.78 from the right place 0.74, false 0.30 | at 0.8: answered 0.66 from the right place 0.62, false 0.21 | at 0.9: answered 0.53 from the right place 0.53, false 0.09
# clapnq: AUC 0.787, false at 90% answered 0.57 | at 0.4: answered 0.86 from the right place 0.86, false 0.46 | at 0.5: answered 0.81 from the right place 0.81, false 0.37 | at 0.66: answered 0.73 from the right place 0.73, false 0.27 | at 0.8: answered 0.59 from the right place 0.59, false 0.17 | at 0.9: answered 0.45 from the right place 0.45, false 0.09
# left_out: AUC 0.969, false at 90% answered 0.06 | at 0.4: answered 0.94 from the right place 0.91, false 0.13 | at 0.5: answered 0.92 from the right place 0.89, false 0.08 | at 0.66: answered 0.86 from the right place 0.84, false 0.03 | at 0.8: answered 0.79 from the right place 0.77, false 0.01 | at 0.9: answered 0.66 from the right place 0.65, false 0.01
# near: AUC 0.751, false at 90% answered 0.62 | at 0.4: answered 0.95 from the right place 0.92, false 0.74 | at 0.5: answered 0.94 from the right place 0.91, false 0.70 | at 0.66: answered 0.89 from the right place 0.87, false 0.60 | at 0.8: answered 0.84 from the right place 0.82, false 0.47 | at 0.9: answered 0.73 from the right place 0.71, false 0.33
# few: AUC 0.981, false at 90% answered 0.02 | at 0.4: answered 0.91 from the right place 0.87, false 0.03 | at 0.5: answered 0.89 from the right place 0.85, false 0.01 | at 0.66: answered 0.85 from the right place 0.81, false 0.00 | at 0.8: answered 0.73 from the right place 0.70, false 0.00 | at 0.9: answered 0.58 from the right place 0.56, false 0.00
# tiny: AUC 0.989, false at 90% answered 0.01 | at 0.4: answered 0.94 from the right place 0.94, false 0.01 | at 0.5: answered 0.91 from the right place 0.91, false 0.01 | at 0.66: answered 0.86 from the right place 0.86, false 0.01 | at 0.8: answered 0.80 from the right place 0.80, false 0.01 | at 0.9: answered 0.70 from the right place 0.70, false 0.00
# fastapi_questions: AUC 0.846, false at 90% answered 0.40 | at 0.4: answered 0.90 from the right place 0.88, false 0.40 | at 0.5: answered 0.78 from the right place 0.78, false 0.30 | at 0.66: answered 0.68 from the right place 0.68, false 0.10 | at 0.8: answered 0.57 from the right place 0.57, false 0.05 | at 0.9: answered 0.35 from the right place 0.35, false 0.05
# fastapi_training: AUC 0.877, false at 90% answered 0.35 | at 0.4: answered 0.85 from the right place 0.78, false 0.28 | at 0.5: answered 0.79 from the right place 0.76, false 0.20 | at 0.66: answered 0.72 from the right place 0.71, false 0.13 | at 0.8: answered 0.66 from the right place 0.64, false 0.12 | at 0.9: answered 0.54 from the right place 0.53, false 0.05
# fastapi_heldout: AUC 0.869, false at 90% answered 0.30 | at 0.4: answered 0.78 from the right place 0.65, false 0.15 | at 0.5: answered 0.68 from the right place 0.57, false 0.15 | at 0.66: answered 0.40 from the right place 0.38, false 0.10 | at 0.8: answered 0.30 from the right place 0.28, false 0.00 | at 0.9: answered 0.15 from the right place 0.15, false 0.00
LEXICAL_ALONE: Coefficients = (
    -7.7376,
    {
        "passage_coverage": -1.5807,
        "sentence_coverage": 1.0382,
        "window_coverage": 4.4392,
        "union_coverage": -0.2544,
        "term_coverage": 8.5428,
        "term_coverage_squared": -5.3974,
        "heading_coverage": 0.7343,
        "bm25": 4.6896,
        "bm25_top": 3.9674,
        "bm25_gap": -2.3253,
        "length": 6.9164,
        "unknown_terms": 0.6444,
        "unknown_names": -0.5914,
        "missing_names": -5.7153,
        "missing_quantity": -3.2955,
        "opposed": -3.4432,
        "missing_number": -1.4149,
        "missing_amount": -2.3992,
    },
)

#: The networks that a fit has seen. Of others the cosines are brought to the scale of the first, or taken as they are.
BY_NETWORK: Mapping[str, Coefficients] = {
    "all-MiniLM-L6-v2": WITH_VECTORS,
}

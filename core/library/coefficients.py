"""Coefficients of :mod:`core.library.confidence`, written by tests/benchmarks/fit_confidence.py."""

from __future__ import annotations

from collections.abc import Mapping

Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

# squad2 whole: AUC 0.975 | at 0.4: answered 0.96 from the right place 0.90, false 0.15 | at 0.5: answered 0.94 from the right place 0.89, false 0.10 | at 0.6: answered 0.93 from the right place 0.87, false 0.08
# squad2 few: AUC 0.996 | at 0.4: answered 0.95 from the right place 0.91, false 0.01 | at 0.5: answered 0.93 from the right place 0.89, false 0.00 | at 0.6: answered 0.92 from the right place 0.88, false 0.00
# squad2 tiny: AUC 0.992 | at 0.4: answered 0.95 from the right place 0.90, false 0.03 | at 0.5: answered 0.93 from the right place 0.89, false 0.02 | at 0.6: answered 0.89 from the right place 0.86, false 0.01
# fastapi_questions: AUC 0.865 | at 0.4: answered 0.95 from the right place 0.93, false 0.25 | at 0.5: answered 0.88 from the right place 0.88, false 0.20 | at 0.6: answered 0.75 from the right place 0.75, false 0.20
# fastapi_training: AUC 0.888 | at 0.4: answered 0.86 from the right place 0.83, false 0.27 | at 0.5: answered 0.78 from the right place 0.76, false 0.23 | at 0.6: answered 0.77 from the right place 0.76, false 0.17
# fastapi_heldout: AUC 0.836 | at 0.4: answered 0.68 from the right place 0.65, false 0.20 | at 0.5: answered 0.62 from the right place 0.60, false 0.15 | at 0.6: answered 0.42 from the right place 0.42, false 0.10
WITH_VECTORS: Coefficients = (
    -5.5879,
    {
        "passage_coverage": 0.5877,
        "sentence_coverage": 3.146,
        "union_coverage": -1.3901,
        "term_coverage": 2.7189,
        "heading_coverage": -1.5813,
        "bm25": -0.1151,
        "bm25_top": 0.385,
        "bm25_gap": 1.556,
        "length": 1.3248,
        "cosine": 1.2929,
        "cosine_second": 5.398,
        "cosine_gap": 2.7124,
        "agreement": 0.8796,
        "unknown_terms": -2.5815,
        "unknown_names": 1.7173,
        "missing_names": -6.8421,
        "missing_quantity": -7.4808,
    },
)
# squad2 whole: AUC 0.958 | at 0.4: answered 0.92 from the right place 0.87, false 0.16 | at 0.5: answered 0.90 from the right place 0.85, false 0.11 | at 0.6: answered 0.86 from the right place 0.83, false 0.07
# squad2 few: AUC 0.991 | at 0.4: answered 0.90 from the right place 0.87, false 0.01 | at 0.5: answered 0.87 from the right place 0.83, false 0.00 | at 0.6: answered 0.83 from the right place 0.79, false 0.00
# squad2 tiny: AUC 0.984 | at 0.4: answered 0.91 from the right place 0.87, false 0.02 | at 0.5: answered 0.87 from the right place 0.84, false 0.02 | at 0.6: answered 0.83 from the right place 0.80, false 0.01
# fastapi_questions: AUC 0.864 | at 0.4: answered 0.82 from the right place 0.82, false 0.40 | at 0.5: answered 0.80 from the right place 0.80, false 0.15 | at 0.6: answered 0.68 from the right place 0.68, false 0.15
# fastapi_training: AUC 0.866 | at 0.4: answered 0.82 from the right place 0.75, false 0.28 | at 0.5: answered 0.78 from the right place 0.75, false 0.22 | at 0.6: answered 0.75 from the right place 0.72, false 0.15
# fastapi_heldout: AUC 0.850 | at 0.4: answered 0.72 from the right place 0.65, false 0.20 | at 0.5: answered 0.57 from the right place 0.53, false 0.20 | at 0.6: answered 0.50 from the right place 0.45, false 0.10
LEXICAL_ALONE: Coefficients = (
    -6.2546,
    {
        "passage_coverage": -0.8583,
        "sentence_coverage": 2.328,
        "union_coverage": -0.2718,
        "term_coverage": 4.4212,
        "heading_coverage": -1.4352,
        "bm25": 5.5737,
        "bm25_top": 1.9076,
        "bm25_gap": 0.6916,
        "length": 6.7161,
        "unknown_terms": -1.3542,
        "unknown_names": -0.9255,
        "missing_names": -3.105,
        "missing_quantity": -6.7866,
    },
)

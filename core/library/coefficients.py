"""Coefficients of :mod:`core.library.confidence`, written by tests/benchmarks/fit_confidence.py."""

from __future__ import annotations

from collections.abc import Mapping

Coefficients = tuple[float, Mapping[str, float]]  # bias, then weight by feature name

# squad2 whole: AUC 0.975 | at 0.4: answered 0.95 from the right place 0.90, false 0.12 | at 0.5: answered 0.93 from the right place 0.88, false 0.09 | at 0.6: answered 0.91 from the right place 0.85, false 0.07
# squad2 few: AUC 0.997 | at 0.4: answered 0.95 from the right place 0.90, false 0.00 | at 0.5: answered 0.93 from the right place 0.88, false 0.00 | at 0.6: answered 0.90 from the right place 0.86, false 0.00
# fastapi_questions: AUC 0.871 | at 0.4: answered 0.95 from the right place 0.95, false 0.25 | at 0.5: answered 0.93 from the right place 0.93, false 0.20 | at 0.6: answered 0.82 from the right place 0.82, false 0.20
# fastapi_training: AUC 0.891 | at 0.4: answered 0.87 from the right place 0.84, false 0.27 | at 0.5: answered 0.79 from the right place 0.78, false 0.20 | at 0.6: answered 0.76 from the right place 0.75, false 0.15
# fastapi_heldout: AUC 0.846 | at 0.4: answered 0.75 from the right place 0.70, false 0.15 | at 0.5: answered 0.55 from the right place 0.53, false 0.15 | at 0.6: answered 0.47 from the right place 0.47, false 0.10
WITH_VECTORS: Coefficients = (
    -5.8765,
    {
        "passage_coverage": -0.2438,
        "sentence_coverage": 2.2796,
        "union_coverage": -1.3977,
        "term_coverage": 3.0483,
        "heading_coverage": -0.7839,
        "bm25": 2.2979,
        "bm25_top": 1.9798,
        "bm25_gap": -0.7902,
        "length": 2.5254,
        "cosine": 1.4867,
        "cosine_second": 5.1919,
        "cosine_gap": 0.6791,
        "agreement": 0.8985,
        "unknown_terms": -2.6695,
        "unknown_names": 0.9213,
        "missing_names": -4.4889,
        "missing_quantity": -6.5791,
    },
)
# squad2 whole: AUC 0.957 | at 0.4: answered 0.92 from the right place 0.87, false 0.12 | at 0.5: answered 0.88 from the right place 0.84, false 0.09 | at 0.6: answered 0.84 from the right place 0.81, false 0.06
# squad2 few: AUC 0.994 | at 0.4: answered 0.94 from the right place 0.90, false 0.00 | at 0.5: answered 0.91 from the right place 0.87, false 0.00 | at 0.6: answered 0.86 from the right place 0.84, false 0.00
# fastapi_questions: AUC 0.870 | at 0.4: answered 0.88 from the right place 0.85, false 0.30 | at 0.5: answered 0.78 from the right place 0.78, false 0.20 | at 0.6: answered 0.68 from the right place 0.68, false 0.15
# fastapi_training: AUC 0.862 | at 0.4: answered 0.79 from the right place 0.75, false 0.28 | at 0.5: answered 0.78 from the right place 0.74, false 0.20 | at 0.6: answered 0.74 from the right place 0.72, false 0.15
# fastapi_heldout: AUC 0.850 | at 0.4: answered 0.70 from the right place 0.62, false 0.20 | at 0.5: answered 0.60 from the right place 0.55, false 0.20 | at 0.6: answered 0.53 from the right place 0.47, false 0.10
LEXICAL_ALONE: Coefficients = (
    -5.5446,
    {
        "passage_coverage": -1.173,
        "sentence_coverage": 1.8877,
        "union_coverage": -1.0713,
        "term_coverage": 4.5931,
        "heading_coverage": 0.1097,
        "bm25": 4.9729,
        "bm25_top": 3.4492,
        "bm25_gap": -0.4416,
        "length": 6.0042,
        "unknown_terms": -2.1869,
        "unknown_names": -0.4095,
        "missing_names": -2.8365,
        "missing_quantity": -6.3594,
    },
)

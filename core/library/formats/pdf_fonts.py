"""Fonts of Chinese, Japanese and Korean whose encodings pypdf does not know; PDF files name them and do not hold them."""

from __future__ import annotations

from itertools import product

#: Python's codec for predefined CMaps (ISO 32000-1, table 118), by their names without "-H" and "-V". A codec may
#: know more characters than its CMap. CNS-EUC has none, and neither have the codes of H and V.
CODECS = {
    "GBKp-EUC": "gbk",
    "B5pc": "cp950", "HKscs-B5": "big5hkscs",
    "83pv-RKSJ": "cp932", "90msp-RKSJ": "cp932", "90pv-RKSJ": "cp932", "Add-RKSJ": "cp932", "Ext-RKSJ": "cp932",
    "EUC": "euc_jp",
    "KSC-EUC": "cp949", "KSCpc-EUC": "cp949", "KSCms-UHC": "cp949", "KSCms-UHC-HW": "cp949",
    "UniKS-UTF16": "utf-16-be",
}  # fmt: skip


def teach_encodings() -> None:
    """Add what pypdf does not know to its table, which it has no public way to extend."""
    from pypdf._cmap import _predefined_cmap

    for (name, codec), direction in product(CODECS.items(), "HV"):
        _predefined_cmap.setdefault(f"/{name}-{direction}", codec)

"""Write requirements.txt anew, which hosts with a Procfile build from: the pins of pyproject.toml, as pip needs them.

pip knows nothing of what pyproject.toml tells uv to leave out, so what pip installs beside is pinned here too. The
file holds no hashes: pip would then refuse the folder itself. Needs the network, since uv resolves once more.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONLY_FOR_UV = re.compile(
    r"^(?:exclude-dependencies|override-dependencies) = \[.*?\]\n", re.MULTILINE | re.DOTALL
)
EXPORT = (
    "export", "--quiet", "--format", "requirements-txt", "--no-dev", "--no-emit-project", "--no-hashes", "--no-annotate",
    "--no-header",
)  # fmt: skip
HEADER = """\
# Hosts with a Procfile build from this. `python .ci/requirements.py` wrote it, from the pins of pyproject.toml.
# For another model's packages write its extra behind the dot, as in .[openai]
.
"""


def main() -> int:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(ONLY_FOR_UV.sub("", pyproject), encoding="utf-8")
        uv = str(ROOT / ".uv" / "bin" / "uv")
        exported = subprocess.run(
            [uv, *EXPORT], cwd=folder, capture_output=True, text=True, check=True
        ).stdout
    (ROOT / "requirements.txt").write_text(f"{HEADER}{exported}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

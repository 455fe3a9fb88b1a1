"""What is installed only on request: the packages of other providers' models, an extra of Footnote for each."""

from __future__ import annotations

EXTRAS = frozenset({"openai", "anthropic", "ollama"})


def how_to_install(provider: str, package: str) -> str:
    """What a model of this provider needs, as the rest of a sentence."""
    if provider in EXTRAS:
        return (
            f"needs packages that are not installed: uv sync --no-dev --extra {provider}, "
            f"or pip install '.[{provider}]', in Footnote's folder."
        )
    return f"needs a package: pip install {package.partition('.')[0].replace('_', '-')}."

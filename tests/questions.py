"""The questions of a copier.yml, and answers to them."""

import re
from typing import Any


def asked(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Name to details of what people are asked."""
    return {
        name: details
        for name, details in config.items()
        if not name.startswith("_") and details.get("when", True) is True
    }


def closed(config: dict[str, Any]) -> dict[str, list[str]]:
    """Name to all good answers, the default first, of questions where these can be listed."""
    return {
        name: _answers(details) for name, details in asked(config).items() if "choices" in details
    }


def rows(questions: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The defaults, then rows that hold each other answer to each question at least once."""
    return [
        {name: answers[min(n, len(answers) - 1)] for name, answers in questions.items()}
        for n in range(max(map(len, questions.values())))
    ]


def _answers(details: dict[str, Any]) -> list[str]:
    # Defaults name their own question: "{{ license | default('MIT') }}".
    choices = details["choices"]
    choices = list(choices.values()) if isinstance(choices, dict) else choices
    (default,) = re.findall(r"default\('(.*?)'\)", details["default"])
    return sorted(choices, key=lambda choice: choice != default)

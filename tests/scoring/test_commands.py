"""Commands for whoever keeps a scorer."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.django_db


def test_a_scorer_for_shipped_defenses_needs_no_engine(settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings.DEFENSE_RUNTIME, settings.SCORING_DEVICE = "process", "cpu"
    call_command("scorer_check")
    assert "Device: cpu, " in (said := capsys.readouterr().out) and said.endswith("Ready.\n")


def test_without_an_engine_it_says_so(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DEFENSE_RUNTIME, settings.SCORING_DEVICE = "docker", "cpu"
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
    with pytest.raises(CommandError, match="container engine"):
        call_command("scorer_check")


def test_an_engine_is_named_with_what_it_leaves_open(
    settings: Any, engine_address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from defense_kit import container

    settings.DEFENSE_RUNTIME, settings.SCORING_DEVICE = "docker", "cpu"
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    call_command("scorer_check")
    said = capsys.readouterr().out
    client = container.connect(engine_address)
    assert said.count("Open: ") == len(container.weaknesses(client))
    client.close()
    assert "Container engine: " in said and "Ready." in said

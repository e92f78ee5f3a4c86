"""What a service refuses, and what a run ends with, in one line."""

from collections.abc import Callable
from typing import Any

import pytest

from common.errors import DomainError
from defense_kit.faults import Fault, RunnerFault


def refused(code: str, act: Callable[..., Any], *given: Any, **told: Any) -> DomainError:
    """Do what is refused with this code; return the refusal."""
    with pytest.raises(DomainError) as found:
        act(*given, **told)
    assert found.value.code == code, found.value
    return found.value


def faulted(fault: Fault, act: Callable[..., Any], *given: Any, **told: Any) -> RunnerFault:
    """Do what ends with this fault of a run; return it."""
    with pytest.raises(RunnerFault) as found:
        act(*given, **told)
    assert found.value.fault == fault, found.value
    return found.value

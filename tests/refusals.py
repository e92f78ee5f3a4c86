"""What a service refuses, in one line."""

from collections.abc import Callable
from typing import Any

import pytest

from common.errors import DomainError


def refused(code: str, act: Callable[..., Any], *given: Any, **told: Any) -> DomainError:
    """Do what is refused with this code; return the refusal."""
    with pytest.raises(DomainError) as found:
        act(*given, **told)
    assert found.value.code == code, found.value
    return found.value

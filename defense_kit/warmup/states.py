"""Packs the state of an attack that is under way, so that a run that ends goes on from there."""

import io
import json
from dataclasses import fields
from typing import Any

import numpy as np

from defense_kit.warmup.boundary import BoundaryState
from defense_kit.warmup.spsa import SpsaState

State = SpsaState | BoundaryState
StateType = type[SpsaState] | type[BoundaryState]
_REST = "rest"  # of the fields, what are no arrays, as JSON


def packed(state: State) -> bytes:
    """Return a state as the bytes of an .npz file."""
    values = {each.name: getattr(state, each.name) for each in fields(state)}
    members: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    rest = json.dumps({name: value for name, value in values.items() if name not in members})
    members[_REST] = np.frombuffer(rest.encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **members)
    return file.getvalue()


def unpacked(data: bytes, of: StateType) -> State:
    """Return the state that `packed` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        values: dict[str, Any] = {name: file[name] for name in file.files if name != _REST}
        rest = json.loads(file[_REST].tobytes())
    lists = {name: tuple(value) for name, value in rest.items() if isinstance(value, list)}
    return of(**values, **(rest | lists))

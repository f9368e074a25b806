"""recollect.records.dataclass makes classes that behave as those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

DEFINITIONS: list[Callable[..., Any]] = [dataclass, dataclasses.dataclass]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: float = 1.5
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)
    secret: str = dataclasses.field(default="s", repr=False)
    count: ClassVar[int] = 3


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = dataclasses.field(default="n", kw_only=True)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name is empty")


@dataclass(slots=True)
class Mutable:
    x: int
    twice: int = dataclasses.field(init=False, default=0)

    def __repr__(self) -> str:
        return "own"


def test_it_is_made_compared_and_shown_by_its_fields() -> None:
    point = Point(1, tags=["a"])
    assert point == Point(1, 1.5, ["b"]) != Point(2)
    assert hash(point) == hash((1, 1.5, "s"))
    assert repr(point) == "Point(x=1, y=1.5, tags=['a'])"
    assert repr(Named(1, name="b")) == "Named(x=1, y=1.5, tags=[], name='b')"
    assert point != Named(1)
    assert Point(1).tags is not Point(1).tags
    match point:
        case Point(x, y):
            assert (x, y) == (1, 1.5)


def test_a_frozen_one_refuses_changes() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert dataclasses.replace(Named(1, name="b"), x=4) == Named(4, name="b")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="name is empty"):
        Named(1, name="")


def test_it_survives_pickle_and_copy() -> None:
    named = Named(1, 2.0, ["a"], name="b")
    assert pickle.loads(pickle.dumps(named)) == copy.deepcopy(named) == copy.copy(named) == named


def test_its_own_methods_stay_and_a_mutable_one_has_no_hash() -> None:
    mutable = Mutable(1)
    mutable.x = mutable.twice = 2
    assert repr(mutable) == "own"
    assert mutable.__hash__ is None
    with pytest.raises(AttributeError):
        mutable.other = 1


def test_its_signature_is_known_before_the_first_object_is_made() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        x: int
        y: list[int] = dataclasses.field(default_factory=list)

    class Plain(Fresh):
        __slots__ = ()

    assert [*inspect.signature(Fresh).parameters] == ["x", "y"] == [*inspect.signature(Plain).parameters]
    assert Plain(3).x == 3


@pytest.mark.parametrize("define", DEFINITIONS)
def test_either_kind_of_class_inherits_from_it(define: Callable[..., Any]) -> None:
    @define(frozen=True, slots=True)
    class Child(Point):
        name: str = "c"

    child: Any = Child(1, name="d")  # type: ignore[call-arg]
    assert (child.x, child.name, repr(child)[-9:]) == (1, "d", "name='d')")
    with pytest.raises(dataclasses.FrozenInstanceError):
        child.name = "e"
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Broken", (Point,), {}))

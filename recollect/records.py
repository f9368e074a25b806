"""``dataclass`` as in the standard library, for classes that are cheap to define.

The standard library compiles six methods for a frozen class, half a millisecond for each one that is imported. A
command imports more than a hundred and makes objects of a few. Here classes share methods, and ``__init__`` is compiled
when the first object is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False):
        """As in the standard library, with the arguments that are used here."""

        def define(cls: type) -> type:
            if any(dataclasses.is_dataclass(each) for each in cls.__mro__[1:]):  # rare
                return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)(cls)
            cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            parameters = cls.__dataclass_params__
            parameters.init = parameters.repr = True
            parameters.eq, parameters.frozen = eq, frozen  # as a class that inherits from this one expects
            for name, method in _methods(cls, frozen, slots, eq).items():
                if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                    setattr(cls, name, method)
            return cls

        return define


def _methods(cls: type, frozen: bool, slots: bool, eq: bool) -> dict[str, Any]:
    methods: dict[str, Any] = {"__repr__": _repr}
    if "__init__" not in cls.__dict__:
        methods |= {"__init__": _lazy_init(cls, frozen), "__signature__": _Signature(cls, frozen)}
    if eq:
        methods |= _comparing(cls) if frozen else {**_comparing(cls), "__hash__": None}
    if frozen:
        methods |= _refusing(cls)
    if frozen and slots:  # pickle would assign the attributes otherwise
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    return methods


def _lazy_init(cls: type, frozen: bool) -> Callable[..., None]:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        _compile_init(cls, frozen)(self, *args, **kwargs)

    return init


def _compile_init(cls: Any, frozen: bool) -> Callable[..., None]:
    """Make ``__init__``, and put it in the place of the one that calls this."""
    parameters, keywords, body = ["self"], list[str](), list[str]()
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        default, factory = field.default is not dataclasses.MISSING, field.default_factory is not dataclasses.MISSING
        names |= {f"_default_{name}": field.default, f"_factory_{name}": field.default_factory}
        slot = cls.__dict__.get(name) if frozen else None
        names[f"_set_{name}"] = slot.__set__ if isinstance(slot, MemberDescriptorType) else None
        if field.init:
            preset = f"=_default_{name}" if default else "=_missing" if factory else ""
            (keywords if field.kw_only else parameters).append(name + preset)
            if factory:
                value = f"_factory_{name}() if {name} is _missing else {name}"
        elif factory or default:
            value = f"_factory_{name}()" if factory else f"_default_{name}"
        else:
            continue
        if names[f"_set_{name}"]:  # faster than __setattr__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    signature = ", ".join([*parameters, *(["*", *keywords] if keywords else [])])
    exec(f"def __init__({signature}):\n " + "\n ".join(body or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {each.name: each.type for each in dataclasses.fields(cls) if each.init} | {"return": None}
    cls.__init__ = made
    return made


class _Signature:
    """The parameters of a class, for ``help`` and ``inspect.signature``."""

    def __init__(self, cls: type, frozen: bool) -> None:
        self.cls, self.frozen = cls, frozen

    def __get__(self, instance: object, owner: type) -> Any:
        import inspect

        signature = inspect.signature(_compile_init(self.cls, self.frozen))
        if owner is not self.cls:  # a class that inherits from it: None makes inspect look for its __init__
            return None
        return signature.replace(parameters=[*signature.parameters.values()][1:])


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparing(cls: Any) -> dict[str, Any]:
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    values: Callable[[Any], tuple[Any, ...]]
    if len(names) > 1:
        values = attrgetter(*names)
    else:  # attrgetter gives no tuple

        def values(self: Any) -> tuple[Any, ...]:
            return tuple(getattr(self, name) for name in names)

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_values(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hash_values}


def _refusing(cls: Any) -> dict[str, Any]:
    """What refuses changes of a frozen object; a class that inherits from it may have other attributes."""
    names = {each.name for each in dataclasses.fields(cls)}

    def set_attribute(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_attribute, "__delattr__": delete_attribute}


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)

"""Numba's contexts, which look up types and implementations, made to remember what they found.

By default Numba tries all implementations of an operation, such as a sum of strings, for every sum in the code. It
does so once for its type and again for its code. It also asks LLVM for the size of the type of every variable, and
takes an array apart into all its fields to count a reference to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import setitem
from types import BuiltinFunctionType
from typing import Any, ClassVar, cast

from numba.core.cpu import CPUContext
from numba.core.datamodel.models import OpaqueModel
from numba.core.datamodel.registry import register_default
from numba.core.runtime.context import NRTContext
from numba.core.types import Array, Boolean, Function, Number, Type, unliteral


class _Function(Function):
    """A function of Numba that remembers the types of its results."""

    def __init__(self, function: Any, context: Any) -> None:
        cast(Any, super()).__init__(function.templates)
        self._context = context
        self._known: dict[tuple[Any, ...], Any] = {}

    def get_call_type(self, _context: Any, given: Any, named: Mapping[str, Any]) -> Any:
        call = _general(given), *named.items()
        if call not in self._known:
            self._known[call] = cast(Any, super()).get_call_type(self._context, call[0], named)
        return self._known[call]


cast(Any, register_default)(_Function)(OpaqueModel)


def _general(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types of arguments. A constant has a type of its own, but operations on numbers and arrays ignore it."""
    if all(isinstance(type_, Number | Boolean | Array) for type_ in given):
        return tuple(map(cast(Any, unliteral), given))
    return tuple(given)


class Typing:
    """Numba's typing context, which remembers the types of operations."""

    _functions: ClassVar[dict[Any, Any]] = {}
    _calls: ClassVar[dict[tuple[Any, ...], Any]] = {}
    _fields: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_value_type(self, value: Any) -> Any:
        if not isinstance(value, BuiltinFunctionType):
            return self._context.resolve_value_type(value)
        if value not in self._functions:
            type_ = self._context.resolve_value_type(value)
            self._functions[value] = _Function(type_, self._context) if type(type_) is Function else type_
        return self._functions[value]

    def resolve_function_type(self, function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        resolve = self._context.resolve_function_type
        if isinstance(function, Type) and not isinstance(function, Function):  # kernels and methods
            return resolve(function, given, named)
        call = function, _general(given), *named.items()
        if call not in self._calls:
            self._calls[call] = resolve(function, call[1], named)
        return self._calls[call]

    def resolve_setitem(self, *given: Any) -> Any:
        return self.resolve_value_type(setitem).get_call_type(self, given, {})

    def resolve_static_getitem(self, value: Any, index: Any) -> Any:
        if not isinstance(index, int):
            return self._context.resolve_static_getitem(value, index)
        if (value, index) not in self._fields:
            self._fields[value, index] = self._context.resolve_static_getitem(value, index)
        return self._fields[value, index]


class _References(NRTContext):
    """Numba's counts of references. They only take those fields from a value that have a count."""

    def get_meminfos(self, builder: Any, type_: Any, value: Any) -> list[tuple[Any, Any]]:
        context = cast(Any, self)._context
        model = context.data_model_manager[type_]
        found = [(type_, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
        for inner, field in model.traverse(builder):
            if context.is_counted(inner):
                found += self.get_meminfos(builder, inner, field(value))
        return found


class Target(CPUContext):
    """Numba's target context, which remembers the sizes of types and which of them have counted references."""

    _sizes: ClassVar[dict[str, int]] = {}
    _counted: ClassVar[dict[Any, bool]] = {}

    @property
    def nrt(self) -> _References:
        return cast(_References, cast(Any, _References)(self, self.enable_nrt))

    def is_counted(self, type_: Any) -> bool:
        """Whether values of a type contain references that are counted."""
        if type_ not in self._counted:
            self._counted[type_] = self.data_model_manager[type_].contains_nrt_meminfo()
        return self._counted[type_]

    def get_function(self, function: Any, signature: Any, _firstcall: bool = True) -> Any:
        # Numba asks this of every array. The answer is no, but it takes long, because it looks for new modules first.
        if function == "__array__":
            raise NotImplementedError
        return cast(Any, super()).get_function(function, signature, _firstcall)

    def get_abi_sizeof(self, type_: Any) -> int:
        if (name := str(type_)) not in self._sizes:
            self._sizes[name] = cast(Any, super()).get_abi_sizeof(type_)
        return self._sizes[name]

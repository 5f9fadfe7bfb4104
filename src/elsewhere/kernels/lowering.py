"""A step of Numba's compiler that writes a function as instructions for LLVM, half as many as by default.

By default Numba counts references to the arguments and to parts of them, although the caller holds them. It copies an
array to the stack to look up one of its items, and clears every number after its last use. LLVM removes most of this,
but writing, reading and removing it takes long.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from numba.core import ir, lowering
from numba.core.types import Array, BaseTuple, Integer
from numba.np.arrayobj import fix_integer_index, load_item, store_item

from elsewhere.kernels.jit import items


class Lowering(lowering.Lower):
    """Numba's step, with shorter ways for what the caller holds, for numbers and for items of contiguous arrays."""

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that this function need not count, and those that need no place on the stack."""
        cast(Any, super())._find_singly_assigned_variable()
        self._held: set[str] = set()
        if self.generator_info:
            return
        self._items = self.context.typing_context.resolve_value_type(items)
        lines = [line for block in self.blocks.values() for line in block.find_insts(ir.Assign)]
        times = Counter(line.target.name for line in lines)
        for line in lines:  # A result is never among these, because Numba copies it to a variable of its own.
            if times[line.target.name] == 1 and self._is_held(line.value):
                self._held.add(line.target.name)
        # All other blocks follow the first one, so what it assigns is known there.
        first = {line.target.name for line in self.blocks[self.firstblk].find_insts(ir.Assign)}
        self._singly_assigned_vars |= {name for name in first if times[name] == 1 and not self._is_counted(name)}

    def _is_held(self, value: Any) -> bool:
        """Whether the caller holds a value until this function returns: arguments, parts, tuples of these."""
        if isinstance(value, ir.Var):
            return value.name in self._held
        if not isinstance(value, ir.Expr):
            return isinstance(value, ir.Arg)
        if value.op in ("getattr", "static_getitem", "exhaust_iter"):
            return isinstance(self._type(value.value), BaseTuple) and self._is_held(value.value)
        if value.op == "build_tuple":
            return all(not self._is_counted(item.name) for item in value.items)
        return value.op == "call" and self._type(value.func) == self._items and self._is_held(*value.args)

    def _is_counted(self, name: str) -> bool:
        return name not in self._held and self.context.is_counted(cast(Any, self).typeof(name))

    def lower_assign(self, type_: Any, line: Any) -> Any:
        counts = self.context.enable_nrt
        self.context.enable_nrt = counts and line.target.name not in self._held
        try:
            return cast(Any, super()).lower_assign(type_, line)
        finally:
            self.context.enable_nrt = counts

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._singly_assigned_vars or self._is_counted(name):
            cast(Any, super()).storevar(value, name, argidx)
        else:
            self.builder.store(value, cast(Any, self).getvar(name))

    def delvar(self, name: str) -> None:
        if self._is_counted(name):
            cast(Any, super()).delvar(name)

    def lower_getitem(self, result: Any, expression: Any, array: Any, index: Any, signature: Any) -> Any:
        if not self._is_item(array, index):
            return cast(Any, super()).lower_getitem(result, expression, array, index, signature)
        type_ = self._type(array)
        item = cast(Any, load_item)(self.context, self.builder, type_, self._place(array, index))
        return self.context.cast(self.builder, item, type_.dtype, result)

    def lower_setitem(self, array: Any, index: Any, value: Any, signature: Any) -> None:
        if not self._is_item(array, index):
            cast(Any, super()).lower_setitem(array, index, value, signature)
            return
        type_ = self._type(array)
        item = self.context.cast(self.builder, self._value(value), self._type(value), type_.dtype)
        cast(Any, store_item)(self.context, self.builder, type_, item, self._place(array, index))

    def _is_item(self, array: Any, index: Any) -> bool:
        """Whether it is one item of a contiguous array, with no need to check that it exists."""
        type_, axes = self._type(array), self._axes(index)
        is_contiguous = isinstance(type_, Array) and type_.layout == "C" and type_.ndim == len(axes)
        return is_contiguous and all(isinstance(axis, Integer) for axis in axes) and not self.context.enable_boundscheck

    def _axes(self, index: Any) -> tuple[Any, ...]:
        """The types of an index, one for each axis."""
        type_ = self._type(index)
        return tuple(cast(Any, type_)) if isinstance(type_, BaseTuple) else (type_,)

    def _place(self, array: Any, index: Any) -> Any:
        """A pointer to an item of an array."""
        builder, fields, at = self.builder, self._value(array), self._value(index)
        model = self.context.data_model_manager[self._type(array)]
        shape = model.get(builder, fields, "shape")
        place = None
        for axis, type_ in enumerate(self._axes(index)):
            size = builder.extract_value(shape, axis)
            given = builder.extract_value(at, axis) if isinstance(self._type(index), BaseTuple) else at
            step = cast(Any, fix_integer_index)(self.context, builder, type_, given, size)
            place = step if place is None else builder.add(builder.mul(place, size), step)
        return builder.gep(model.get(builder, fields, "data"), [place])

    def _type(self, variable: Any) -> Any:
        return cast(Any, self).typeof(variable.name)

    def _value(self, variable: Any) -> Any:
        return cast(Any, self).loadvar(variable.name)

"""How Numba compiles kernels that call each other, in half the time that it takes by default.

By default Numba optimises every function and translates it to machine code, and then each of its callers optimises it
again as a part of its own code, and so do the callers of these. Here a part is optimised only in the kernels that need
it. A kernel that another one calls is not optimised again. Numba also looks up the type of every single sum and
comparison in the code, and takes steps that are for closures and for expressions of whole arrays.

This relies on the inside of Numba, so `jit` uses it only with versions of Numba for which it was tested.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.types import Boolean, Function, Number
from numba.core.untyped_passes import InlineClosureLikes

_changes_code = cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)


class _Typing:
    """Numba's typing context, which remembers the types of operations on numbers."""

    _known: ClassVar[dict[tuple[Any, ...], Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        resolve = self._context.resolve_function_type
        on_numbers = not named and all(isinstance(type_, Number | Boolean) for type_ in given)
        if not on_numbers or not isinstance(function, Function):
            return resolve(function, given, named)
        if (function, given) not in self._known:
            self._known[function, given] = resolve(function, given, named)
        return self._known[function, given]


class _PartLibrary(JITCodeLibrary):
    """The code of a part alone, as it was generated."""

    def finalize(self) -> None:
        self._finalized = True


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel and of all that it calls, in machine code."""

    def finalize(self) -> None:
        optimised: dict[Any, None] = {}
        others: dict[Any, None] = {}
        found = list(self._linking_libraries)
        for library in found:
            if isinstance(library, _KernelLibrary):
                optimised[library] = None
            elif library not in others:
                others[library] = None
                if isinstance(library, _PartLibrary):
                    found += library._linking_libraries
        self._link(others)
        cast(Any, self)._optimize_final_module()
        self._link(optimised)
        self._final_module.verify()
        cast(Any, self)._finalize_final_module()

    def _link(self, libraries: dict[Any, None]) -> None:
        for library in libraries:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)


@_changes_code
class _KernelLowering(NativeLowering):
    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = cast(Any, _KernelLibrary)(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(cast(Any, super()).run_pass(state))


@_changes_code
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = cast(Any, _PartLibrary)(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        cast(Any, super()).run_pass(state)
        lowered = state["cr"]
        # Callers find the code under the function that Python would call. There is none, but it must be unique.
        key: Any = [].append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


class KernelCompiler(CompilerBase):
    """Numba's compiler for a kernel that Python calls."""

    lowering: type[NativeLowering] = _KernelLowering

    def __init__(self, typing: Any, *others: Any) -> None:
        cast(Any, super()).__init__(typing, *others)
        self.state.typingctx = _Typing(typing)

    def define_pipelines(self) -> list[Any]:
        pipeline = cast(Any, DefaultPassBuilder).define_nopython_pipeline(self.state)
        pipeline.passes = [
            (self.lowering if step is NativeLowering else step, description)
            for step, description in pipeline.passes
            if step not in (InlineClosureLikes, NopythonRewrites)
        ]
        pipeline.finalize()
        return [pipeline]


class PartCompiler(KernelCompiler):
    """Numba's compiler for a kernel that only others call."""

    lowering = _PartLowering

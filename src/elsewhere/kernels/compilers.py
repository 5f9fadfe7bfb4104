"""How Numba compiles kernels that call each other, in less than half the time that it takes by default.

By default Numba optimises every function and translates it to machine code, and then each of its callers optimises it
again as a part of its own code, and so do the callers of these. Here a part is optimised only in the kernels that need
it, and so are Numba's own functions, such as `np.zeros`. A kernel that another one calls is not optimised again. Numba
also takes steps that are for closures and for expressions of whole arrays. `lookups`, `assignments`, `lowering` and
`light_import` make other steps shorter. None of this changes what the code computes.

This relies on the inside of Numba, so `jit` uses it only with versions of Numba for which it was tested.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.decorators import jit
from numba.core.postproc import PostProcessor
from numba.core.target_extension import jit_registry, target_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import NativeLowering, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import GenericRewrites, InlineClosureLikes, IRProcessing, ReconstructSSA

from elsewhere.kernels.assignments import SingleAssignments
from elsewhere.kernels.light_import import import_arrays
from elsewhere.kernels.lookups import Target, Typing
from elsewhere.kernels.lowering import Lowering

import_arrays()

_CPU = target_registry["cpu"]
_changes_code = cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)


class _Library(JITCodeLibrary):
    """Code that is optimised once, as a whole. By default Numba optimises each function before that."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        steps, builder = cast(Any, self._codegen)._module_pass_manager()
        steps.run(self._final_module, builder)


class _PartLibrary(_Library):
    """The code of a part alone, as it was generated."""

    def finalize(self) -> None:
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The code with all that it calls, for functions of others that use the same function of Numba."""
        module = _own_module(self).clone()
        for library in self._linking_libraries:
            module.link_in(library._get_module_for_linking(), preserve=True)
        return module


class _KernelLibrary(_Library):
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
        self._optimize_final_module()
        self._link(optimised)
        self._final_module.verify()
        cast(Any, self)._finalize_final_module()

    def _link(self, libraries: dict[Any, None]) -> None:
        for library in libraries:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(_own_module(library), preserve=True)


def _own_module(library: Any) -> Any:
    """The code of a library, without the parts that it calls."""
    return cast(Any, JITCodeLibrary)._get_module_for_linking(library)


def _order_blocks(process: Any, **_options: Any) -> None:
    """Do what Numba does after each step, but do not find out how long variables are used."""
    process.func_ir.blocks = cast(Any, canonicalize_cfg)(process.func_ir.blocks)


class _WithoutLifetimes:
    """A step of Numba's compiler that does not find out how long variables are used. The last step finds it out."""

    def run_pass(self, state: Any) -> bool:
        processor = cast(Any, PostProcessor)
        run, processor.run = processor.run, _order_blocks
        try:
            return bool(cast(Any, super()).run_pass(state))
        finally:
            processor.run = run


@_changes_code
class _Processing(_WithoutLifetimes, IRProcessing):
    pass


@_changes_code
class _Rewrites(_WithoutLifetimes, GenericRewrites):
    pass


@_changes_code
class _StripPhis(_WithoutLifetimes, PreLowerStripPhis):
    pass


@_changes_code
class _KernelLowering(NativeLowering):
    _name = "kernel_lowering"
    lowering_class = Lowering

    def run_pass(self, state: Any) -> bool:
        state.library = cast(Any, _KernelLibrary)(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(cast(Any, super()).run_pass(state))


@_changes_code
class _PartLowering(NativeLowering):
    _name = "part_lowering"
    lowering_class = Lowering

    def run_pass(self, state: Any) -> bool:
        state.library = cast(Any, _PartLibrary)(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        cast(Any, super()).run_pass(state)
        lowered = state["cr"]
        # Callers find the code under the function that Python would call. There is none, but it must be unique.
        key: Any = [].append
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


#: Steps that take less time than those of Numba.
_INSTEAD: dict[Any, Any] = {
    IRProcessing: _Processing,
    GenericRewrites: _Rewrites,
    PreLowerStripPhis: _StripPhis,
    ReconstructSSA: _changes_code(SingleAssignments),
}


class KernelCompiler(CompilerBase):
    """Numba's compiler for a kernel that Python calls."""

    lowering: type[NativeLowering] = _KernelLowering
    #: Steps for closures and for expressions of whole arrays.
    without: tuple[Any, ...] = (InlineClosureLikes, NopythonRewrites)

    def __init__(self, typing: Any, *others: Any) -> None:
        cast(Any, super()).__init__(typing, *others)
        target = self.state.targetctx
        target.__class__ = Target
        target.typing_context = self.state.typingctx = Typing(typing)

    def _compile_core(self) -> Any:
        """Compile, and compile the functions of Numba that the code calls as parts of it."""
        numbas = {_CPU: jit_registry[_CPU]}
        jit_registry.update({_CPU: partial(jit, pipeline_class=FunctionCompiler)})
        try:
            return cast(Any, super())._compile_core()
        finally:
            jit_registry.update(numbas)

    def define_pipelines(self) -> list[Any]:
        pipeline = cast(Any, DefaultPassBuilder).define_nopython_pipeline(self.state)
        instead = {NativeLowering: self.lowering, **_INSTEAD}
        pipeline.passes = [
            (instead.get(step, step), description) for step, description in pipeline.passes if step not in self.without
        ]
        pipeline.finalize()
        return [pipeline]


class PartCompiler(KernelCompiler):
    """Numba's compiler for a kernel that only others call."""

    lowering = _PartLowering


class FunctionCompiler(PartCompiler):
    """Numba's compiler for its own functions that kernels call."""

    without = ()

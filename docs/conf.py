"""The documentation site: `make docs` builds it, and a warning fails."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

from elsewhere import __version__

project = "elsewhere"
author = "The elsewhere developers"
copyright = "The elsewhere developers"  # noqa: A001
release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "pictures/*.py"]
smartquotes = False  # an option begins with two hyphens
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]  # types are written for people; links to pages and sections are checked

# Pages: Markdown, with links to sections as on GitHub, and the notebooks of examples/ as they were run.
HERE = Path(__file__).parent
(HERE / "notebooks").mkdir(exist_ok=True)
for notebook in (HERE.parent / "examples").glob("*.ipynb"):
    shutil.copy(notebook, HERE / "notebooks")
myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
nb_execution_mode = "off"

# Reference: the docstrings, in the order of the pages.
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Look: nothing is fetched when a page is viewed, so no fonts, no scripts for formulas, no address of a search.
html_theme = "furo"
html_title = f"elsewhere {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    for part in ("description", "options"):
        app.connect(f"sphinx-click-process-{part}", _plain)


def _plain(app: Sphinx, context: object, lines: list[str]) -> None:
    """Help texts are plain text: an asterisk in them is a pattern."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def _inline(self: Any, node: nodes.math) -> None:
    """Browsers draw MathML by themselves."""
    self.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="formula">{_mathml(node, "block")}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, display: str) -> str:
    """The formula. A prime is a letter that is raised already: in a superscript, most fonts raise it twice."""
    formula = re.sub("''?", lambda found: "\N{PRIME}\N{DOUBLE PRIME}"[len(found[0]) - 1], node.astext())
    return convert(formula, display=display)

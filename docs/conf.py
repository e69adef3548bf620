"""How the documentation is built."""

from __future__ import annotations

import gc
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# The trees of all pages are kept to the end: looking through them for garbage takes long.
gc.set_threshold(500_000)

project = "Interlock"
author = "the Interlock authors"
release = version_of("interlock")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "generated_pages"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
# Types of the standard library: there is no page of ours to link them to.
nitpick_ignore_regex = [
    (r"py:.*", r"(collections|decimal|os|pathlib|enum|Iterable|Mapping|Path|Enum|Struct).*"),
    (r"py:.*", r"msgspec.*"),
    # Any path: a text, or what Python takes for one.
    (r"py:.*", r"interlock\.model\.entrance\.PathLike"),
    # Stands for what every door finds.
    (r"py:.*", r"interlock\.service\.policies\.policy_files\.Found"),
    # What is handed back as a receipt: its fields are those that were handed in.
    (r"py:.*", r"interlock\.model\.events\..*"),
    (r"py:.*", r"interlock\.model\.(budget\.(Amounts|Dimension|Limits)|approval\.Subject)"),
    # Filled in from the record only: nobody hands it in.
    (r"py:.*", r"interlock\.model\.budget_words\.UsedUp"),
    # Seams for whoever builds on the inside.
    (r"py:.*", r"interlock\.(ledger|ports|service\.(governor|operations|questions))\..*"),
    (r"py:.*", r"interlock\.model\.(turn_report|patience|step_history)\..*"),
    (r"py:.*", r"interlock\.policy\.(steps\.continue_gate|config\.run_sections)\..*"),
]

html_theme = "furo"
html_title = f"Interlock {release}"
html_static_path = ["_static"]
html_css_files = ["interlock.css"]
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
exclude_patterns = ["_build"]

"""What `asv publish` writes further for this project: its plugin has asv find this class.

asv opens a benchmark with its first values over commits, with all facts of a machine as buttons and
in legends, and takes some texts for HTML. `pages.js` mends that in the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asv.publishing import OutputPublisher
from asv.util import UserError

from cputrain.atomic import write_made

SCRIPT = Path(__file__).with_name("pages.js")
NAME = "cputrain.js"
"""Of the script in asv's folder of pages."""
BEFORE = '    <script language="javascript" type="text/javascript"\n            src="asv_ui.js">'
"""What it goes before in asv's page: asv.js is loaded then, and its pages are not."""


class ProjectPages(OutputPublisher):  # type: ignore[misc]
    """asv calls `publish` of each class of this kind, after its own."""

    name = "cputrain"
    button_label = "none"
    description = "The project's own words on asv's pages"

    @classmethod
    def publish(cls, conf: Any, *_: Any) -> None:
        """Put the script beside asv's, and into its page.

        Raises:
            UserError: the page is none that this was made for; asv ends with this line.
        """
        folder = Path(conf.html_dir)
        page = (folder / "index.html").read_text()
        if page.count(BEFORE) != 1:
            raise UserError(f"{folder}/index.html is not asv 0.6.6's: install requirements again")
        write_made(folder / NAME, SCRIPT.read_bytes())
        tag = f'    <script src="{NAME}"></script>\n'
        write_made(folder / "index.html", page.replace(BEFORE, tag + BEFORE))

"""countdown: the time that an offer still lasts, running down."""

import html
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import BaseModel, field_validator

from interventions.data_file import read_source
from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, RoleName, Text, figure, filled, whole
from interventions.edits.in_browser import PagePlaces, Verdict, as_read, inserted
from interventions.edits.showing import Change, ProductPlace

_STYLE = "display:block;margin:4px 0 8px;color:#b3261e;font-size:14px;font-weight:600;line-height:1.4"
_SCRIPT = read_source(__file__, "countdown.js")

_A_DAY = 24 * 60
Minutes = Annotated[
    Decimal | str,
    figure("a number of minutes", f"a whole number from 1 to {_A_DAY}", whole(1, _A_DAY)),
    FIGURE_SCHEMA,
]


class Countdown(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds a text after a role's element, in which `{time}` counts down from `minutes` at load."""

    leftover: ClassVar[Leftover] = ""
    script: ClassVar[str] = _SCRIPT

    after: RoleName = "product.title"
    text: Text = "Offer ends in {time}"
    minutes: Minutes = Decimal(15)

    @field_validator("text")
    @classmethod
    def _has_time(cls, text: str) -> str:
        if text.count("{time}") != 1:
            raise ValueError('the text must hold "{time}" once; write it like "Offer ends in {time}"')
        return text

    def words(self) -> str:
        return max(self.text.split("{time}"), key=len).strip()

    def roles(self) -> tuple[str, ...]:
        return (self.after,)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        before, after = map(re.escape, as_read(self.text).split("{time}"))
        running = re.compile(rf"{before}\d+(:\d\d){{1,2}}{after}")
        return inserted(there, self.after, "after", lambda text: bool(running.fullmatch(text)), self.text)

    def apply(self, showing: ProductPlace) -> Change:
        minutes = int(filled(self.minutes))
        start = f"{minutes}:00" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:00"
        before, after = (html.escape(part, quote=False) for part in self.text.split("{time}"))
        markup = (
            f'<span class="product-countdown-details" style="{_STYLE}">{before}'
            f'<span data-seconds="{minutes * 60}">{start}</span>{after}<script>{_SCRIPT}</script></span>'
        )
        text = self.text.replace("{time}", start)
        return showing.insert_at(self.after, "after", text, markup, style=_STYLE, script=_SCRIPT)

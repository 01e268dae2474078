"""Templates that would compute or grow for ever end; each test ends or times out."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, TemplateError
from jinja2.exceptions import SecurityError

from agents.language_model.bounded_templates import BoundedEnvironment

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True, scope="module")
def less_time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agents.language_model.bounded_templates.SECONDS", 0.2)
        yield


def rendered(source: str) -> str:
    environment = BoundedEnvironment(loader=DictLoader({"t": source}))
    return environment.render_bounded("t", {"html": "<p>a b</p>\n" * 9, "words": ["a", "b"], "step": 3})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "0.2 s"),
        ("{% for i in range(99999) %}{{ range(99999)|sum }}{% endfor %}", "0.2 s"),
        (
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}",
            "0.2 s",
        ),
        ("{{ 'a' * 10 ** 9 }}", "longer than"),
        ("{{ [1] * 10 ** 9 }}", "longer than"),
        ("{{ 10 ** (10 ** 10) }}", "longer than"),
        ("{{ 'a'|center(10 ** 9) }}", "larger than"),
        ("{{ 'a'.ljust(10 ** 9) }}", "larger than"),
        ("{{ '%1000000000d' % 1 }}", "join texts with ~"),
        ("{{ '{:1000000000}'.format(1) }}", "join them with ~"),
        ("{{ ('a\\n' * 9999999)|indent(99999) }}", "too long a text"),
        ("{{ ('a' * 9999999).replace('a', 'a' * 9999999) }}", "too long a text"),
        (
            "{% set n = namespace(x='aa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "longer than",
        ),
        (
            "{% set n = namespace(x='aa') %}"
            "{% for i in range(60) %}{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
            "longer than",
        ),
        ("{% for i in range(99999) %}{{ 'a' * 99999 }}{% endfor %}", "longer than"),
        ("{{ lipsum(99999) }}", "lipsum"),
    ],
)
def test_what_would_never_end_is_told(source: str, reason: str) -> None:
    with pytest.raises((SecurityError, TemplateError), match=reason):
        rendered(source)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 'a' ~ 'b' ~ step }}", "ab3"),
        ("{% for word in words %}{{ loop.index }}{{ word|upper }}{% endfor %}", "1A2B"),
        ("{{ words|join(', ') }} {{ html|truncate(20000)|length }}", "a, b 99"),
        ("{% set x %}{{ words|map('upper')|join }}{% endset %}{{ x|indent(2, true) }}", "  AB"),
        ("{% set x|upper %}a{% endset %}{{ x }} {{ 7 % 4 * 2 ** 3 + 1 }}", "A 25"),
        ("{% for a in words if a != 'b' recursive %}{{ a }}{% else %}none{% endfor %}", "a"),
        ("{{ words|selectattr('upper')|list|length }}{{ words|first }}{{ html.count('p') }}", "2a18"),
    ],
)
def test_usual_templates_are_rendered_as_ever(source: str, text: str) -> None:
    assert rendered(source) == text


PIECES = st.sampled_from(
    [
        *(
            "{% for i in range(99999) %}",
            "{% endfor %}",
            "{% for c in html %}",
            "{{ html * 999 }}",
            "{{ i }}",
        ),
        *(
            "{% set x %}",
            "{% endset %}",
            "{{ x ~ x }}",
            "{{ html|replace('', html) }}",
            "{{ html|indent(99) }}",
        ),
        *("{% macro f(n) %}", "{% endmacro %}", "{{ f(9) }}", "{{ words|join(html) }}", "{% if step %}"),
        *("{% endif %}", "{{ [html] * 9999 }}", "{{ 9 ** 9 ** 9 }}", "{{ html|wordwrap(1) }}", "{{ ("),
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_any_template_ends(source: str) -> None:
    with suppress(TemplateError, RecursionError, TypeError, ValueError, OverflowError):
        assert len(rendered(source)) <= 20_000_000

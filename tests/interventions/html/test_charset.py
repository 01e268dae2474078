"""Encodings are found as browsers find them."""

import pytest

from interventions.html.charset import detect, is_ascii_superset


@pytest.mark.parametrize(
    ("body", "content_type", "codec", "declared"),
    [
        (b"\xef\xbb\xbf<meta charset=gbk>", "text/html; charset=gbk", "utf-8", True),
        (b"\xff\xfea\0", "text/html; charset=utf-8", "utf-16-le", True),
        (b"\xfe\xff\0a", "", "utf-16-be", True),
        (b"<meta charset=gbk>", "text/html; charset=UTF-8", "utf-8", True),
        (b"", 'text/html;charset="utf-8"; x=y', "utf-8", True),
        (b"", "text/html; Charset = 'Shift_JIS'", "cp932", True),
        (b"<meta charset=gbk>", "text/html", "gb18030", True),
        (b"<META http-equiv=x content='text/html; charset=windows-1251'>", "", "cp1251", True),
        (b'<meta charset="utf-16">', "", "utf-8", True),
        (b"<meta charset=x-sjis>", "", "cp932", True),
        (b"<meta name=x content=y><meta  charset = 'euc-kr' >", "", "cp949", True),
        (b"<p>" + b" " * 1024 + b"<meta charset=gbk>", "", "utf-8", False),
        (b"", "text/html; charset=iso-8859-1", "cp1252", True),
        (b"", "text/html; charset=us-ascii", "cp1252", True),
        (b"", "text/html; charset=iso-8859-15", "iso8859-15", True),
        ("é".encode(), "text/html", "utf-8", False),
        (b"caf\xe9", "text/html", "cp1252", False),
        # Codecs that are no encodings of text, or that browsers do not know, count for nothing.
        (b"caf\xe9", "text/html; charset=rot13", "cp1252", False),
        (b"", "text/html; charset=hex", "utf-8", False),
        (b"", "text/html; charset=utf-7", "utf-8", False),
        (b"", "text/html; charset=cp037", "utf-8", False),
        (b"", "text/html; charset=nonsense\0", "utf-8", False),
    ],
)
def test_detection(body: bytes, content_type: str, codec: str, declared: bool) -> None:
    assert detect(body, content_type) == (codec, declared)


def test_markup_is_ascii_in_all_but_a_few() -> None:
    assert is_ascii_superset("utf-8")
    assert is_ascii_superset("gb18030")
    assert not is_ascii_superset("utf-16-le")
    assert not is_ascii_superset("iso2022_jp")

"""Awkward pages: each holds an element `#target` and a price `#price`, among what trips rewriters up.

Some hold siblings `.card` as well, or an attribute `data-x` of the price in one of its forms.
"""

# ruff: noqa: E501 - markup and messages stand as they are compared

TARGET = '<div id="target" class="a b">Quiet <i>Harbor</i> Oats</div>'
PRICE = '<span id="price" data-amount=12.5 title="was 12.50">$12.50</span>'
BOTH = f"{TARGET}\n{PRICE}"


def page(body: str, head: str = "", charset: str = '<meta charset="utf-8">') -> str:
    return f"<!doctype html><html lang=en><head>{charset}{head}<title>Oats</title></head>\n<body>{body}</body></html>\n"


def cards(wrapped: str = "{}", around: str = "<ul>{}</ul>", count: int = 4) -> str:
    """Siblings with the target and the price after them; `wrapped`: how one is written."""
    inner = (f"<a href=/{n}><b>Card {n}</b></a> <i>${n}.50</i>" for n in range(count))
    return around.format("\n ".join(wrapped.format(each) for each in inner)) + BOTH


LI = "<li class=card>{}</li>"
UTF8 = "text/html; charset=utf-8"
HTML = "text/html"

PAGES: dict[str, tuple[str, bytes]] = {
    name: (UTF8, text.encode())
    for name, text in {
        "plain": page(f"<main>\n<p>Before</p>\n{BOTH}\n<p>After – 10 €</p></main>"),
        "minified": page(f"<main>{TARGET}<div><a href=x>link</a></div>{PRICE}</main>"),
        "no-head": f"{BOTH}<p>after",
        "no-doctype": f"<body><p>quirks<table><tr><td>{BOTH}</table>",
        "bom": "\ufeff" + page(BOTH),
        "textarea": page(
            f"<textarea>\n\n<div id=target>no</div></textarea>\n{BOTH}<textarea>\n a</textarea>"
        ),
        "pre": page(f"<pre>\n\n  two\n</pre>\n{BOTH}<pre>\n{PRICE.replace('price', 'other')}</pre>"),
        "in-pre": page('<pre id="target">\n\nlines <b id="price" title=1 data-amount=2>$12.50</b>\n</pre>'),
        "attributes": page(
            f"""<p title="<div id='target'>" data-x='</p>' alt=<b>{BOTH}<i title='a>b'>x</i>"""
        ),
        "unquoted": page(
            "<p class=a id=first data-u=/a/b/>x<div id=target class=a/>text</div><span id=price data-amount=1>12.50</span>"
        ),
        "duplicates": page(
            '<div id=target ID=other class="a" CLASS=b>text</div><span id=price data-amount=1 data-amount=2>12.50</span>'
        ),
        "upper-case": page(BOTH)
        .replace("<div", "<DIV")
        .replace("</span", "</SPAN")
        .replace("class=", "CLASS="),
        "references": page(BOTH.replace('"target"', '"t&#97;rget"').replace("$12", "&#36;12")),
        "scripts": page(
            f'<script>var a = \'<div id="target">\' + (1 < 2) + "<\\/div>"; /* </p> */</script>{BOTH}'
            "<script>document.write('<p id=written>written</p>')</script><p>after"
        ),
        "escaped-script": page(f"<script><!-- if (a<b) <script>x</script> --></script>{BOTH}"),
        "comments": page(f"<!-- <div id=target> --><!--> -->{BOTH}<!-- a --!><p>x</p><!-- <b> -- ><i> -->"),
        "bogus-comments": page(f"<?xml version=1?><!x></ y>{BOTH}<![CDATA[ <p> ]]>"),
        "noscript-in-head": page(
            BOTH, '<noscript><img src="/pixel.gif"><div id=target></div></noscript><meta name=x>'
        ),
        "noscript-in-body": page(f"<noscript><div id=target><p></noscript>{BOTH}<noscript>&lt;</noscript>"),
        "unclosed-paragraphs": page(f"<p>one<p>two{BOTH}<p>three<div>four</p>"),
        "unclosed-target": page(f'<ul><li>a<li id="target">b <b>c</b> <li>d</ul>{PRICE}'),
        "unclosed-cells": page(
            '<table><tr><td id="target">a<td id="price" data-amount=2>$12.50<tr><td>b</table>'
        ),
        "foster-parenting": page(f"<table>{BOTH}<tr><td>cell</td></tr>text</table>after"),
        "in-table": page(f"<table><caption>c</caption><tr><td>{BOTH}</td></tr></table>"),
        "target-is-row": page(
            '<table><tr id="target"><td>a</td></tr><tr><td id="price" data-amount=2>12.50</td></tr></table>'
        ),
        "open-formatting": page(f"<div><b>bold</div><div>{BOTH}</div></b>after<i>x</p>"),
        "leaking-formatting": page(f'<p id="target">one <b>two</p><p>{PRICE}</p>'),
        "misnested": page(f"<b><p>one</b>two</p>{BOTH}<a href=1>x<a href=2>y</a>"),
        "broken-anchor": page(f'<a href=1><div id="target">x</a>y</div>{PRICE}'),
        "stray-end-tags": page(f"</p></div></br>{BOTH}</span></table></section>tail"),
        "svg": page(
            f"<svg viewBox='0 0 1 1'><title>t</title><path d='M0 0'/><a><style>.x{{}}</style></a></svg>{BOTH}"
        ),
        "math": page(f"<math><mi>x</mi><annotation-xml><p>y</annotation-xml></math>{BOTH}"),
        "in-svg": page(
            '<svg><g id="target"><text>x</text></g><text id="price" data-amount=2>12.50</text></svg>'
        ),
        "template": page(
            f"<template><div id=target>no</div><tr><td></template>{BOTH}<template>{TARGET}</template>"
        ),
        "custom-elements": page(f"<shop-card @click=go :x.y=1><shop-price>{BOTH}</shop-price></shop-card>"),
        "select": page(f"<select><option>a<option selected>b</select>{BOTH}"),
        "in-paragraph": page(
            '<p>one <span id="target">two</span> three <em id="price" data-amount=2>12.50</em></p>'
        ),
        "void-target": page(f'<p>one<img id="target" src="/x.gif">two<br>{PRICE}</p>'),
        "heading": page(f'<h1><span id="target">name</span></h1><h2>x<h3>{PRICE}</h3>'),
        "form": page(f"<form><form>{BOTH}</form><input value='</form>'>"),
        "iframe": page(f"<iframe srcdoc='<p>x</p>'><div id=target></iframe>{BOTH}<xmp><div id=target></xmp>"),
        "body-twice": page(f"x<body class=late id=second>{BOTH}<html data-late>"),
        "after-body": page("x") + BOTH,
        "end-of-file": page(BOTH).partition("</body>")[0] + "<p title='never closed> <div id=target>",
        "nul": page(f"a\0b{BOTH}"),
        "carriage-returns": page(f"a\r\nb\r{BOTH}\r\n"),
        "base": page(f'{BOTH}<img src="x.gif">', '<base href="/elsewhere/">'),
        "late-charset": page(f"<p>é €</p>{BOTH}", f"<!--{' ' * 1100}--><meta charset=utf-8>", charset=""),
        "markup-in-script": page(
            f"<script>var card = '<li class=card><b>Card</b></li>', end = '</li></ul>';</script>{cards(LI)}"
            "<script>if (1 < 2) { window.end = '</li>' }</script>"
        ),
        "json-ld": page(
            BOTH,
            '<script type="application/ld+json" id=data>\n{"@type": "Product", "name": "<b>\\u003c"}\n</script>',
        ),
        "large": page(f"{('<div><p>' + 'one <b>two</b> ' + 'three ' * 90 + '</p></div>') * 950}{cards(LI)}"),
        "deep": page(f"{'<div>' * 600}{BOTH}{'</div>' * 600}after"),
        "deep-inside": page(f"<div id=target>{'<x-y>' * 600}Harbor{'</x-y>' * 600}</div>after{PRICE}"),
        "title-references": page(BOTH, "<title>a &amp; b &lt;i></title>"),
        "title-in-body": page(f"<title>late</title>{BOTH}"),
        # Lists
        "cards": page(cards(LI)),
        "cards-minified": page(cards(LI).replace("\n ", "")),
        "cards-and-comments": page(cards(f"<!-- one -->{LI}<!-- </li> -->")),
        "cards-with-scripts": page(
            cards("<li class=card>{}<script>'</li>'</script><style>a{{}}</style></li>")
        ),
        "cards-nested": page(cards("<li class=card>{}<ul><li class=card><b>inner</b><li>x</ul></li>")),
        "cards-unclosed": page(cards("<li class=card>{}")),
        "cards-some-unclosed": page(cards(LI).replace("</li>", "", 1)),
        "cards-misnested": page(cards("<li class=card><b><i>x</b></i>{}</li>")),
        "cards-open-formatting": page(cards("<li class=card><em>x{}</li>")),
        "cards-stray-end": page(cards("<li class=card>x</p>{}</li>")),
        "cards-in-open-formatting": page(cards("<b>{}</b><div class=card>{{}}</div>".format("x"), "<em>{}")),
        "cards-in-divs": page(cards("<div class='card x'>{}</div>", "<div>\ntext{}text</div>")),
        "cards-among-others": page(cards("<li class=card>{}</li><li>advertisement</li>text")),
        "cards-in-spans": page(cards("<span class=card>{}</span>", "<p>{}</p>")),
        "cards-in-anchors": page(
            cards("<a class=card>{}</a>", "<div>{}</div>").replace("<a href", "<u href")
        ),
        "cards-in-custom-elements": page(
            cards(
                "<shop-card class=card><template><li></template>{}</shop-card>", "<shop-list>{}</shop-list>"
            )
        ),
        "cards-in-rows": page(
            cards("<tr class=card><td>{}</td></tr>", "<table><tbody>{}</tbody></table>", count=3)
        ),
        "cards-in-rows-without-tbody": page(cards("<tr class=card><td>{}</td></tr>", "<table>{}</table>")),
        "cards-in-bodies": page(cards("<tbody class=card><tr><td>{}</tbody>", "<table>{}</table>")),
        "cards-in-cells": page(cards("<td class=card>{}</td>", "<table><tr>{}</tr></table>")),
        "cards-in-unclosed-cells": page(cards("<td class=card>{}", "<table><tr>{}</table>")),
        "cards-in-paragraphs": page(cards("<p class=card>{}<div>x</div></p>", "<div>{}</div>")),
        "cards-in-definitions": page(cards("<dd class=card>{}</dd>", "<dl><dt>x{}</dl>")),
        "cards-end-page": page("<ul>" + LI.format("<b>one</b>") + "<li class=card><b>two</b>" + BOTH),
        # Attributes
        **{
            f"attribute-{name}": page(BOTH.replace(" title=", f" {text} title="))
            for name, text in {
                "double-quoted": 'data-x="a"',
                "single-quoted": "data-x='a\"'",
                "unquoted": "data-x=a/",
                "valueless": "data-x",
                "empty": 'data-x=""',
                "cut-off": "data-x=",
                "spaced": 'data-x = \n "a"',
                "duplicate": "data-x=a DATA-X='b'",
                "upper-case": "DATA-X=a",
                "reference": "data-x=&quot;a&quot;",
                "with-bracket": "data-x='>' data-y",
                "after-slash": "/data-x=a",
            }.items()
        },
        "attribute-last": page(
            BOTH.replace("title=", "data-x title=").replace('title="was 12.50"', "data-y=")
        ),
        "attribute-last-valueless": page(BOTH.replace(' title="was 12.50"', " data-x")),
        "attribute-last-empty": page(BOTH.replace(' title="was 12.50"', " data-x=")),
        "attribute-last-unquoted": page(BOTH.replace(' title="was 12.50"', " data-x=a")),
        "attribute-before-slash": page('<p><img id="price" data-x/><i id="target">x</i><input data-x=a/>'),
        "attribute-empty-before-slash": page('<p><img id="price" data-x= /><i id="target">x</i>'),
        # Words
        **{
            f"words-{name}": page(f'<div id="target">{text}</div>{PRICE}')
            for name, text in {
                "references": "Harb&#111;r Oat &#x43;ookies &amp; more, &hearts;",
                "spaces": "Oat \n\t Cookies, Oat&nbsp;Cookies, Oat&#32;Cookies Harbor",
                "parted": "Oat <b>Cookies</b> Oat<!-- --> Cookies, Har<wbr>bor",
                "many": "Harbor Harbor<i>Harbor</i>harbor HarborHarbor <b title=Harbor>Oat Cookies</b>",
                "in-script": "Harbor <script>'Harbor'</script><style>Harbor{}</style><textarea>Harbor</textarea>",
                "half-reference": "&Harbor; &#72arbor Har&ampbor Oat Cookies&amp",
            }.items()
        },
    }.items()
} | {
    "gbk": (HTML, page(f"<p>燕麦饼干 價格</p>{BOTH}<p>末尾", charset="<meta charset=gbk>").encode("gbk")),
    "gb18030": ("text/html; charset=gb18030", page(f"<p>😀</p>{BOTH}", charset="").encode("gb18030")),
    "big5": ("text/html; charset=big5", page(f"<p>功能許蓋</p>{BOTH}", charset="").encode("big5")),
    "shift-jis": (HTML, page(f"<p>表示ソース</p>{BOTH}", charset="<meta charset=shift_jis>").encode("cp932")),
    "euc-kr": ("text/html;charset=EUC-KR", page(f"<p>가격</p>{BOTH}", charset="").encode("euc_kr")),
    "latin-1": (
        "text/html; charset=iso-8859-1",
        page(f"<p>Crème – 10 €</p>{BOTH}", charset="").encode("cp1252"),
    ),
    "cp1252-undefined": (
        HTML,
        page(f"<p>@</p>{BOTH}", charset="").encode().replace(b"@", b"\x81\x8d\xe9\xff"),
    ),
    "utf-8-broken": (UTF8, page(f"<p>@</p>{BOTH}").encode().replace(b"@", b"\xff\xc3 \xe2\x82")),
    "utf-16-le": (HTML, page(f"<p>Crème 😀</p>{BOTH}").encode("utf-16")),
    "utf-16-be": ("text/html; charset=utf-16be", page(f"<p>Crème</p>{BOTH}", charset="").encode("utf-16-be")),
    "iso-2022-jp": (
        "text/html; charset=iso-2022-jp",
        page(f"<p>表示</p>{BOTH}", charset="").encode("iso2022_jp"),
    ),
    "gbk-words": (
        "text/html; charset=gbk",
        # The second byte of a character may be an ASCII letter.
        page(f'<div id="target">丄Harbor 丠arbor 侶HHarbor Oat Cookies</div>{PRICE}', charset="").encode(
            "gbk"
        ),
    ),
    "header-against-meta": (
        "text/html; charset=windows-1251",
        page(f"<p>Цена</p>{BOTH}", charset="<meta charset=utf-8>").encode("cp1251"),
    ),
}

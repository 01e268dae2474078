"""Phrases that shops write on buttons and links, about reviews and about the stock, in many languages."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from interventions.proposal.scan import text


class Phrases(NamedTuple):
    """What the shops of one language write."""

    add: tuple[str, ...]
    """Parts of the label of the button that puts a product into the cart."""
    buy: tuple[str, ...]
    """Whole labels of such a button: too short to mean it within a longer text."""
    cart: tuple[str, ...]
    """Names of the cart, in links to its page."""
    checkout: tuple[str, ...]
    """Parts of labels of what leads to the page that comes after the cart: never pressed."""
    order: tuple[str, ...] = ()
    """Parts of labels of what orders or pays, or may: never pressed, and as a link never opened."""


PHRASES: Final[Mapping[str, Phrases]] = {
    "en": Phrases(
        ("add to cart", "add to basket", "add to bag", "add to trolley", "add to order", "add it to cart",
         "add to my cart", "add to my bag", "add to my basket", "add to shopping cart", "put in cart"),
        ("buy", "buy now", "buy it now", "buy this", "add", "order", "order now", "purchase", "add item"),
        ("cart", "basket", "shopping bag", "my bag", "trolley"),
        ("checkout", "check out"),
        ("place order", "place your order", "pay", "pay now", "proceed to pay", "proceed to payment",
         "paypal", "klarna", "express checkout"),
    ),
    "de": Phrases(
        ("in den warenkorb", "in den einkaufswagen", "in den einkaufskorb", "zum warenkorb hinzufügen",
         "in warenkorb", "in die einkaufstasche", "in den korb"),
        ("kaufen", "jetzt kaufen", "bestellen", "jetzt bestellen"),
        ("warenkorb", "einkaufswagen", "einkaufskorb", "einkaufstasche"),
        ("zur kasse", "kasse gehen"),
        ("zahlungspflichtig", "kostenpflichtig", "bezahlen"),
    ),
    "fr": Phrases(
        ("ajouter au panier", "ajouter à mon panier", "mettre au panier", "ajouter dans le panier"),
        ("acheter", "ajouter", "j'achète", "acheter maintenant", "commander"),
        ("panier",),
        ("passer à la caisse", "passer en caisse"),
        ("passer la commande", "passer commande", "payer", "valider ma commande"),
    ),
    "es": Phrases(
        ("añadir al carrito", "añadir a la cesta", "anadir al carrito", "agregar al carrito",
         "agregar a la bolsa", "añadir a la bolsa", "añadir al carro", "agregar al carro"),
        ("comprar", "comprar ahora", "añadir", "agregar", "lo quiero"),
        ("carrito", "cesta", "carro de compra"),
        ("finalizar compra", "tramitar pedido"),
        ("pagar", "realizar pedido"),
    ),
    "it": Phrases(
        ("aggiungi al carrello", "metti nel carrello", "aggiungere al carrello"),
        ("acquista", "compra", "acquista ora", "compra ora", "aggiungi", "compralo"),
        ("carrello",),
        ("alla cassa",),
        ("concludi ordine", "procedi all'ordine", "paga"),
    ),
    "pt": Phrases(
        ("adicionar ao carrinho", "adicionar à sacola", "adicionar ao cesto", "colocar no carrinho"),
        ("comprar agora", "eu quero", "adicionar"),
        ("carrinho", "sacola", "cesto de compras"),
        ("finalizar a compra",),
        ("finalizar pedido", "fechar pedido"),
    ),
    "nl": Phrases(
        ("in winkelwagen", "in winkelmand", "in mijn winkelwagen", "in mijn winkelmand",
         "aan winkelwagen toevoegen", "toevoegen aan winkelwagen"),
        ("koop", "kopen", "koop nu", "nu kopen", "bestel", "bestellen"),
        ("winkelwagen", "winkelmand", "winkelmandje"),
        ("afrekenen", "naar de kassa"),
    ),
    "pl": Phrases(
        ("dodaj do koszyka", "do koszyka", "włóż do koszyka", "wrzuć do koszyka"),
        ("kup", "kup teraz", "kupuję", "kup to", "zamów"),
        ("koszyk",),
        ("do kasy", "przejdź do dostawy"),
        ("złóż zamówienie",),
    ),
    "sv": Phrases(
        ("lägg i varukorg", "lägg i korg", "lagg i varukorg", "lägg i kundvagn", "lägg till i varukorg",
         "lägg i varukorgen", "lägg i kundvagnen", "lägg i korgen"),
        ("köp", "köp nu", "beställ", "lägg till"),
        ("varukorg", "kundvagn"),
        ("till kassan",),
        ("slutför köp",),
    ),
    "da": Phrases(
        ("læg i kurv", "læg i indkøbskurv", "tilføj til kurv", "føj til kurv"),
        ("køb", "køb nu", "bestil"),
        ("indkøbskurv", "kurv"),
        ("til kassen",),
        ("gå til betaling",),
    ),
    "nb": Phrases(
        ("legg i handlekurv", "legg i handlevogn", "legg til i handlekurv", "kjøp nå"),
        ("kjøp", "legg til", "bestill"),
        ("handlekurv", "handlevogn"),
        ("gå til kassen", "til kassa"),
    ),
    "fi": Phrases(
        ("lisää ostoskoriin", "lisää koriin", "osta nyt"),
        ("osta", "lisää", "tilaa"),
        ("ostoskori",),
        ("kassalle", "siirry kassalle"),
    ),
    "cs": Phrases(
        ("do košíku", "přidat do košíku", "vložit do košíku", "pridať do košíka", "do košíka"),
        ("koupit", "koupit nyní", "kúpiť", "objednat"),
        ("košík", "nákupní košík"),
        ("k pokladně", "do pokladny"),
        ("pokračovat v objednávce",),
    ),
    "hu": Phrases(
        ("kosárba", "kosárba teszem", "kosárba rakom"),
        ("megveszem", "vásárlás", "megrendelem"),
        ("kosár",),
        ("pénztár", "tovább a pénztárhoz"),
    ),
    "ro": Phrases(
        ("adaugă în coș", "adauga in cos", "pune în coș"),
        ("cumpără", "cumpara", "comandă"),
        ("coș", "coșul de cumpărături"),
        (),
        ("finalizează comanda", "spre plată"),
    ),
    "el": Phrases(
        ("προσθήκη στο καλάθι", "στο καλάθι"),
        ("αγορά", "αγόρασε", "αγορά τώρα"),
        ("καλάθι",),
        ("ταμείο",),
        ("ολοκλήρωση παραγγελίας",),
    ),
    "tr": Phrases(
        ("sepete ekle", "sepete at"),
        ("satın al", "hemen al", "şimdi al"),
        ("sepet", "sepetim"),
        (),
        ("ödemeye geç", "siparişi tamamla", "alışverişi tamamla"),
    ),
    "ru": Phrases(
        ("в корзину", "добавить в корзину", "положить в корзину"),
        ("купить", "купить сейчас", "заказать"),
        ("корзина",),
        ("к оформлению",),
        ("оформить заказ", "оплатить"),
    ),
    "uk": Phrases(
        ("у кошик", "в кошик", "додати до кошика", "додати в кошик"),
        ("купити", "замовити"),
        ("кошик",),
        (),
        ("оформити замовлення", "сплатити"),
    ),
    "ja": Phrases(
        ("カートに入れる", "カートに追加", "カートへ", "かごに入れる", "カゴに入れる", "買い物かごに"),
        ("購入", "購入する", "今すぐ購入", "今すぐ買う", "買う", "カート"),
        ("カート", "買い物かご", "お買い物カゴ"),
        ("レジに進む", "ご購入手続き", "購入手続き"),
        ("注文を確定",),
    ),
    "zh": Phrases(
        ("加入购物车", "加入購物車", "添加到购物车", "放入购物车", "加到购物车"),
        ("购买", "立即购买", "購買", "立即購買", "我要买", "直接购买"),
        ("购物车", "購物車"),
        ("结算", "結帳", "去结算"),
        ("提交订单",),
    ),
    "ko": Phrases(
        ("장바구니 담기", "장바구니에 담기", "장바구니에 추가", "장바구니 넣기"),
        ("구매", "구매하기", "바로구매", "바로 구매", "담기", "장바구니"),
        ("장바구니",),
        (),
        ("주문하기", "결제하기"),
    ),
    "ar": Phrases(
        ("أضف إلى السلة", "أضف للسلة", "اضف الى السلة", "إضافة إلى السلة", "أضف إلى عربة التسوق",
         "إضافة إلى عربة التسوق", "أضف إلى الحقيبة"),
        ("اشتر الآن", "اشتري الآن", "شراء", "اشتر", "أضف"),
        ("سلة", "عربة التسوق", "سلة التسوق", "السلة"),
        (),
        ("إتمام الشراء", "الدفع", "إتمام الطلب"),
    ),
    "he": Phrases(
        ("הוסף לסל", "הוספה לסל", "הוסף לעגלה", "הוספה לעגלה"),
        ("קנה", "קנה עכשיו", "לרכישה"),
        ("סל הקניות", "עגלת קניות", "עגלה"),
        (),
        ("לתשלום", "מעבר לתשלום"),
    ),
    "hi": Phrases(
        ("कार्ट में जोड़ें", "कार्ट में डालें", "टोकरी में डालें"),
        ("खरीदें", "अभी खरीदें"),
        ("कार्ट", "टोकरी"),
        ("चेकआउट",),
        ("भुगतान करें",),
    ),
    "vi": Phrases(
        ("thêm vào giỏ", "thêm vào giỏ hàng", "cho vào giỏ"),
        ("mua", "mua ngay", "đặt mua"),
        ("giỏ hàng",),
        (),
        ("thanh toán", "đặt hàng"),
    ),
    "id": Phrases(
        ("tambah ke keranjang", "masukkan keranjang", "masukkan ke keranjang"),
        ("beli", "beli sekarang", "pesan"),
        ("keranjang",),
        (),
        ("bayar", "buat pesanan"),
    ),
    "th": Phrases(
        ("หยิบใส่ตะกร้า", "หยิบลงตะกร้า", "ใส่ตะกร้า", "เพิ่มลงตะกร้า", "เพิ่มลงในตะกร้า", "เพิ่มในตะกร้า", "เพิ่มลงในรถเข็น"),
        ("ซื้อ", "ซื้อเลย", "ซื้อทันที", "สั่งซื้อ"),
        ("ตะกร้า", "รถเข็น"),
        (),
        ("ชำระเงิน", "ดำเนินการสั่งซื้อ"),
    ),
    "fa": Phrases(
        ("افزودن به سبد خرید", "افزودن به سبد", "اضافه به سبد خرید"),
        ("خرید", "خرید کنید"),
        ("سبد خرید",),
        ("تسویه حساب",),
        ("پرداخت",),
    ),
    "bg": Phrases(
        ("добави в количката", "добави в кошницата", "в количката", "в кошницата"),
        ("купи", "купи сега", "поръчай"),
        ("количка", "кошница"),
        ("към касата",),
        ("завърши поръчката", "плащане"),
    ),
    "hr": Phrases(
        ("dodaj u košaricu", "stavi u košaricu", "u košaricu", "dodaj u korpu", "u korpu"),
        ("kupi", "kupi odmah", "naruči"),
        ("košarica", "korpa"),
        ("na blagajnu",),
        ("plaćanje", "završi narudžbu"),
    ),
}  # fmt: skip
"""Language -> what its shops write. The one table of these words."""

STOCK = re.compile(
    r"\b(?:in|out of) stock|sold out|only \d+ left|\bavailable\b|unavailable|pre-?order"
    r"|auf lager|lieferbar|ausverkauft|en stock|rupture|agotado|disponib|op voorraad|esaurito|esgotado"
    r"|na stanie|dostępn|i lager|på lager|varastossa|skladem|készleten|în stoc|stokta|в наличии|є в наявності"
    r"|在庫|有货|有貨|재고|متوفر|במלאי",
    re.I,
)
REVIEWS = re.compile(
    r"\b[\d.,]+\)?\s*(?:\w+\s)?(?:reviews?|ratings?|(?:rezension|bewertung|beoordeling)(?:en)?|avis|rese(?:ñ|n)as?"
    r"|opiniones|recensioni|avalia(?:ç|c)(?:õ|o)es|opini(?:i|e)|omd(?:ö|o)men|отзыв\w*|відгук\w*"
    r"|anmeldelser|arvostelua|arviota|hodnocení|értékelés|recenzii|yorum|değerlendirme|κριτικές"
    r"|meinung(?:en)?|ביקורות|חוות דעת)\b"
    r"|\d\s*(?:件の(?:レビュー|評価)|条评价|則評價|개의? ?리뷰)|(?:レビュー|리뷰|评价)\s*[(（]?\d"
    r"|\d\s*(?:تقييم|مراجعة)|\d\s*(?:รีวิว|ความคิดเห็น|đánh giá|ulasan|نظر)|\([\d.,]+\)$",
    re.I,
)


def says_add(label: str) -> bool:
    """Return whether a label says that it puts a product into the cart."""
    return len(label) <= 60 and bool(_ADD.search(plain(label)))


def says_buy(label: str) -> bool:
    """Return whether a label is one of the short words for buying, perhaps with a price or an icon."""
    return len(label) <= 40 and plain(label) in _BUY


def says_cart(label: str) -> bool:
    """Return whether a short label names the cart."""
    return len(label) <= 40 and bool(_CART.search(plain(label)))


def says_checkout(label: str) -> bool:
    """Return whether a label, or an address, leads to the checkout, orders or pays."""
    return bool(_CHECKOUT.search(plain(label)) or says_order(label))


def says_order(label: str) -> bool:
    """Return whether a label says, or may say, that something is ordered or paid."""
    return bool(_ORDER.search(plain(label)))


def opens_checkout(label: str) -> bool:
    """Return whether a label leads to the checkout, and says nothing of buying, ordering or paying."""
    ordering = says_order(label) or says_buy(label) or says_add(label)
    return len(label) <= 60 and bool(_CHECKOUT.search(plain(label))) and not ordering


def fills_cart(label: str) -> bool:
    """Return whether a button with this label puts a product into the cart."""
    return not says_checkout(label) and (says_add(label) or says_buy(label))


def is_cart_button(node: LexborNode) -> bool:
    """Return whether an element is the button that puts a product into the cart."""
    attributes = node.attributes
    if node.tag == "input" and (attributes.get("type") or "") in ("submit", "button"):
        labels = [attributes.get("value") or ""]
    elif node.tag in ("button", "a") or attributes.get("role") == "button":
        labels = [text(node), attributes.get("aria-label") or "", attributes.get("title") or ""]
    else:
        return False
    if any(says_checkout(label) for label in labels):
        return False
    # A link that says no more than "Buy" leads to the product, if not to the cart.
    short = node.tag != "a" or re.search(
        r"cart|basket|buy|add|^#|^$|^javascript", attributes.get("href") or ""
    )
    return any(says_add(label) or (short and says_buy(label)) for label in labels)


@lru_cache(maxsize=4096)
def plain(label: str) -> str:
    """Return the words of a label, in lower case, without figures, signs and icons."""
    letters = (
        char if unicodedata.category(char)[0] in "LM" or char == "'" else " " for char in label.casefold()
    )
    return " ".join("".join(letters).replace("’", "'").split())


def _any(groups: Iterable[tuple[str, ...]], end: str = r"\b") -> re.Pattern[str]:
    """A pattern for any of the phrases; in scripts with spaces they are whole words."""
    phrases = sorted({plain(each) for group in groups for each in group}, key=len, reverse=True)
    start = [r"\b" if each < "\u2e80" else "" for each in phrases]
    ends = [end if each < "\u0900" else "" for each in phrases]
    return re.compile("|".join(map("".join, zip(start, map(re.escape, phrases), ends, strict=True))))


_ADD = _any(each.add for each in PHRASES.values())
_BUY = frozenset(plain(label) for each in PHRASES.values() for label in each.buy)
_CART = _any((each.cart for each in PHRASES.values()), end="")  # names of the cart are inflected
_CHECKOUT = _any(each.checkout for each in PHRASES.values())
_ORDER = _any(each.order for each in PHRASES.values())

// What stands at places of a page, and what of it its reader is given.
//
// Where the whole page is shown (`wholePage`) a text may lie anywhere on it, else in the viewport. `pixels`: a picture
// of the viewport decides what can be read there; what has to be looked at is numbered (ink.js). `onTop`: nothing may lie
// over a text. `onlyPicture`: no attribute can be read. `isSeen`: whether an element is among what its reader is given;
// `bidOf`: its mark there.
({ wholePage, pixels, onTop, onlyPicture, isSeen, bidOf }) => {
  const ATTRIBUTES = ["href", "title", "alt", "name", "type", "placeholder", "role", "aria-label",
    "aria-expanded", "aria-selected", "for"];
  const NO_TEXT = "script, style, noscript, template";
  const INSERTED = /(^|\s)[\w-]+-details(\s|$)/;  // how edits mark what they put in
  const REPLACED = new Set(["IMG", "VIDEO", "CANVAS", "IFRAME", "OBJECT", "EMBED", "INPUT", "TEXTAREA", "SELECT"]);
  const CENTS = "sup, [class*=cents i], [class*=fraction i], [class*=decimal i]";  // as raised.py has them
  const PSEUDO = ["::before", "::after"];
  const MAX_FOUND = 100;
  const MAX_CARDS = 1000;
  const MAX_RULES = 100;
  const MAX_TEXT = 20_000;
  const MAX_NAME = 100;

  // `\s` holds U+FEFF, which takes no room: it parts no words.
  const squeeze = (text) => text.replace(/\uFEFF/g, "").replace(/\s+/g, " ").replace(/^ | $/g, "");
  const memo = (find, known = new Map()) => (key) => {
    if (!known.has(key)) known.set(key, find(key));
    return known.get(key);
  };
  const styleOf = memo((element) => getComputedStyle(element));
  const boxOf = memo((element) => element.getBoundingClientRect());
  const rootsFrom = (root) => {
    const list = [root], walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) {
      const { shadowRoot } = walker.currentNode;
      if (shadowRoot) list.push(...rootsFrom(shadowRoot));
    }
    return list;
  };
  const roots = rootsFrom(document);
  // Not `document.title`: a form, a picture or a frame may have this name.
  const title = () => Reflect.get(Document.prototype, "title", document);
  // Browsers do not know `:lexbor-contains("text")`, so the elements that hold such a text are named one by one.
  const pathTo = (element) => {
    const { parentElement: parent } = element;
    return parent ? `${pathTo(parent)} > :nth-child(${[...parent.children].indexOf(element) + 1})` : ":root";
  };
  const holding = (fits) => {
    const found = new Set(), walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (fits(walker.currentNode.data)) found.add(walker.currentNode.parentElement);
    return [...found].map(pathTo).join() || ":not(*)";
  };
  const named = (css) => css.replace(/:lexbor-contains\(\s*(["'])(.*?)\1\s*(i?)\s*\)/g, (written, quote, text, inAnyCase) =>
    `:is(${holding((data) => data.includes(text) || inAnyCase && data.toLowerCase().includes(text.toLowerCase()))})`);
  const query = memo((css) => {
    try { return roots.flatMap((root) => [...root.querySelectorAll(named(css))]); } catch { return null; }
  });

  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });

  const { innerWidth, innerHeight, scrollX, scrollY } = self;
  const viewport = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  // The elements to which a rule may give a style for which `test` holds; all, where that cannot be told.
  // `test` gets the declarations of rules, in which what is not declared is empty.
  const rulesOf = (sheet) => [...sheet.cssRules].flatMap((rule) => {
    const inner = rule.styleSheet ?? rule;
    return inner.cssRules?.length ? [rule, ...rulesOf(inner)] : rule;
  });
  let rules;
  const readRules = () => {
    try {
      const isDriven = ({ animationName, transitionProperty }) => !animationName && !transitionProperty;
      return roots.some((root) => root.getAnimations().some(isDriven)) ? null
        : roots.flatMap((root) => [...root.styleSheets, ...root.adoptedStyleSheets]).flatMap(rulesOf);
    } catch { return null; }  // a sheet of another origin is closed
  };
  const styledBy = (test) => {
    if (rules === undefined) rules = readRules();
    const told = rules?.filter(({ style }) => style && test(style));
    if (told?.length === 0) return [];
    const css = told?.map(({ selectorText }) => selectorText ?? "&").join() ?? "&";
    const own = css.replace(/::(before|after|marker)/g, ":is(*)");
    return !(told?.length > MAX_RULES || /&|::|:host|:scope/.test(own)) && query(own) || query("*");
  };

  // How text for screen readers only is hidden from the eye.
  const isClippedAway = (style) =>
    style.clip === "rect(0px, 0px, 0px, 0px)" && ["absolute", "fixed"].includes(style.position);

  const parentOf = (element) =>
    element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const lineOf = memo((element) => (element ? [element, ...lineOf(parentOf(element))] : []));  // up to the root
  const contains = (outer, inner) => lineOf(inner).includes(outer);

  const TINY = 4;
  const range = document.createRange();

  // Why a text, or a picture (an element), cannot be seen; empty: it can, as far as the page's layout tells.
  const isPicture = (element) => element.tagName === "IMG";
  const isText = (node) => node.nodeType === Node.TEXT_NODE;
  // The element that a text, or an element itself, is drawn by: the host of a shadow tree draws texts at its top.
  const holderOf = (node) => (isText(node) ? node.parentElement ?? node.getRootNode().host : node);
  const boxesOf = memo((node) => {
    range.selectNodeContents(node);
    return [...(isText(node) ? range : node).getClientRects()];
  });
  // Whether a text is drawn at all: not what stands in for an element, nor what is kept to be found.
  const isDrawn = (node) => styleOf(holderOf(node)).contentVisibility !== "hidden" && boxesOf(node).length > 0;
  const whyUnseen = memo((node) => {
    const element = holderOf(node);
    const isVisible = element.checkVisibility({ visibilityProperty: true, opacityProperty: !pixels });
    if (!isVisible || styleOf(element).contentVisibility === "hidden") return "hidden";
    if (isPicture(node) && (!element.complete || !element.naturalWidth)) return "not loaded";
    if (isPicture(node) && styleOf(element).content !== "normal") return "replaced";
    // What is only rendered on need has not made the page as long as it will be.
    const isSkipped = !element.checkVisibility({ contentVisibilityAuto: true });
    const { scrollWidth, scrollHeight } = document.documentElement;
    const page = { left: -scrollX, top: -scrollY, right: scrollWidth - scrollX,
      bottom: isSkipped ? Infinity : scrollHeight - scrollY };
    const boxes = boxesOf(node);
    // A tree over an element leaves its texts out. What stands in a field, the browser draws.
    if (!boxes.length) return element.closest("option, textarea") ? "" : "hidden";
    if (boxes.every(({ width, height }) => width < TINY || height < TINY)) return "tiny";
    const left = boxes.map((box) => intersect(box, wholePage ? page : viewport))
      .filter((box) => box.right - box.left >= TINY && box.bottom - box.top >= TINY);
    const area = (list) => list.reduce((sum, { left: x, right, top, bottom }) => sum + (right - x) * (bottom - top), 0);
    if (area(left) < area(boxes) / 2) return "out of view";
    if (!onTop) return "";
    const points = left.flatMap(({ left: x, right, top, bottom }) =>
      [1 / 6, 1 / 2, 5 / 6].map((share) => [x + share * (right - x), (top + bottom) / 2]));
    const covers = points.map(([x, y]) => coverAt(element, x, y)).filter((cover) => cover !== null);
    return covers.length > points.length / 2 ? nameOf(covers[0]) : "";
  });

  // What lies over an element at a point: an element that paints; `document` where something cuts the element off;
  // null: nothing. Elements that take no pointer are found only where all have to take it.
  const stack = (root, x, y) => root.elementsFromPoint(x, y).filter((each) => each.getRootNode() === root)
    .flatMap((each) => (each.shadowRoot ? [...stack(each.shadowRoot, x, y), each] : [each]));
  const isPainted = ({ opacity, backgroundImage, backgroundColor }) => opacity >= 0.5 &&
    (backgroundImage !== "none" || !/^rgba\(.*, 0(\.[0-4]\d*)?\)$/.test(backgroundColor));
  const paints = (cover, element) => !contains(cover, element) && !contains(element, cover) &&
    (REPLACED.has(cover.tagName) || isPainted(styleOf(cover)));
  const coverAt = (element, x, y) => {
    const there = stack(document, x, y);
    const at = there.findIndex((each) => contains(each, element) || contains(element, each));
    if (at < 0) return element.closest("[inert]") ? null : document;
    return there.slice(0, at).find((each) => paints(each, element)) ?? null;
  };
  const withPointers = (read) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { pointer-events: auto !important }");
    for (const root of roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    try { return read(); } finally {
      for (const root of roots) root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== sheet);
    }
  };
  // The words for what lies over an element: the outermost layer of the page of which it is a part.
  const nameOf = (cover) => {
    if (cover === document) return "cut off";
    const layer = lineOf(cover).findLast((each) => each.matches("dialog, [role*=dialog], [aria-modal], :popover-open") ||
      ["fixed", "absolute", "sticky"].includes(styleOf(each).position)) ?? cover;
    const label = layer.getAttribute("aria-label"), { id } = layer, [first] = layer.classList;
    const name = label ? `"${squeeze(label)}"` : id ? `#${id}` : first ? `.${first}` : `<${layer.tagName.toLowerCase()}>`;
    return `covered by a layer of the page: ${name}`.slice(0, MAX_NAME);
  };

  // What has to be looked at in the picture of the viewport is numbered. -1: the picture does not decide.
  const inks = new Map();
  const inkOf = (node) => {
    if (!pixels || !boxesOf(node).some((box) => box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight)) return -1;
    if (!inks.has(node)) inks.set(node, inks.size);
    return inks.get(node);
  };
  // Words for why a picture does not show a node, if it does not.
  const whyNoInk = (node) => {
    const element = holderOf(node);
    const { left, top, right, bottom } = boxesOf(node)[0], clear = lineOf(element).find((each) => styleOf(each).opacity < 0.1);
    if (clear) return clear.matches("html, body") ? "the page is transparent" : "transparent";
    const cover = coverAt(element, (left + right) / 2, (top + bottom) / 2);
    return cover ? nameOf(cover) : "not legible in the picture";
  };
  // Where the nodes are among all texts and pictures of the page, what they say, and why they may not be shown.
  const inked = () => {
    const places = new Map();
    for (const root of roots) {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
      while (inks.size && walker.nextNode()) {
        const { currentNode: node } = walker;
        if (isText(node) || isPicture(node)) places.set(node, places.size);
      }
    }
    return [...inks.keys()].map((node) =>
      ({ at: places.get(node) ?? -1, says: (node.data ?? "").slice(0, MAX_NAME), why: whyNoInk(node) }));
  };

  // The texts in an element in pieces, with a decimal sign before raised cents; `given`: those that its reader is given,
  // each with the numbers of what has to be seen of it.
  const piecesOf = (element, given) => {
    let text = "";
    const pieces = [], walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { currentNode: node } = walker, { parentElement, data } = node;
      if (parentElement.closest(NO_TEXT)) continue;
      if (given && (!isSeen(parentElement) || (squeeze(data) && whyUnseen(node)))) continue;
      const cents = /^\s*\d\d\s*$/.test(data) && /\d\s*$/.test(text) && parentElement.closest(CENTS);
      const isRaised = cents && cents !== element && element.contains(cents);
      const piece = `${isRaised ? (/\.\d+\s*$/.test(text) ? "," : ".") : ""}${data}`.slice(0, MAX_TEXT - text.length);
      text += piece;
      pieces.push([piece, given && squeeze(data) ? [inkOf(node)] : []]);
    }
    return pieces;
  };
  const textOf = (element, given) => piecesOf(element, given).map(([text]) => text).join("");
  const givenOf = (element) => (pixels ? piecesOf(element, true) : textOf(element, true));
  // Where an element is on the screen, and why nothing of its text, or of its picture, can be seen there; empty:
  // something can, if one of `inks` can.
  const onScreen = (element) => {
    const { left, top, width, height } = boxOf(element), seen = [], causes = [];
    const ask = (node, holder) => {
      const cause = whyUnseen(node) || (isSeen(holder) ? "" : "cut off");
      if (cause) causes.push(cause);
      else seen.push(inkOf(node));
    };
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    if (isPicture(element)) ask(element, element);
    while ((pixels || !seen.length) && walker.nextNode()) {
      const { currentNode: node } = walker;
      if (squeeze(node.data) && !node.parentElement.closest(NO_TEXT)) ask(node, node.parentElement);
    }
    return { box: [left, top, width, height].map(Math.round), why: seen.length ? "" : causes[0] ?? "", inks: seen };
  };
  const isInserted = (node) => INSERTED.test(node.getAttribute?.("class") ?? "");
  // Not `children`: a field of a form may have this name.
  const beside = (element) =>
    [...(element.parentNode?.childNodes ?? []), ...element.childNodes].filter(isInserted).map((other) => ({
      where: other.parentElement === element ? "inside"
        : element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? "after" : "before",
      text: textOf(other, false), given: givenOf(other), ...onScreen(other),
    }));
  // What no reader of the page is ever given.
  const UNREAD = {
    __proto__: null,
    "#text": (element) => element.textContent,
    "#comment": (element) => [...(element.parentNode?.childNodes ?? []), ...element.childNodes]
      .filter(({ nodeType }) => nodeType === Node.COMMENT_NODE).map(({ data }) => data).join("\n"),
  };
  const standing = (element, attribute, part) => {
    const told = { beside: beside(element), bid: bidOf(element), ...onScreen(element) };
    if (UNREAD[attribute]) return { text: UNREAD[attribute](element), given: null, ...told };
    if (attribute === "#look") {  // a picture holds it, also where it makes a text illegible
      const style = element.getAttribute("style") ?? "";
      return { text: style, given: (pixels || onTop) && !told.why ? style : "", ...told };
    }
    if (attribute === "#default") {  // the label of what is chosen from the start; given where it is chosen still
      const control = element.tagName === "OPTION" ? element : element.querySelector("input[type=radio i]");
      const label = squeeze(textOf(element, false)), isShown = isSeen(control?.closest("select") ?? element);
      const isDefault = control?.defaultChecked || control?.defaultSelected;
      return { text: isDefault ? label : "", given: isShown && (control?.checked || control?.selected) ? label : "", ...told };
    }
    if (attribute === null) return { text: textOf(element, false), given: givenOf(element), ...told };
    const holder = !part || element.matches(part) ? element : element.querySelector(part);
    const text = holder?.getAttribute(attribute) ?? "";
    const drawn = (address) => (told.why ? "" : pixels ? [[address, told.inks]] : address);
    if (attribute === "src" && isPicture(element)) {
      // Of several sources the browser may have taken another.
      const isDrawn = !element.currentSrc || element.currentSrc === new URL(text, document.baseURI).href;
      const address = isDrawn ? text : element.currentSrc;
      return { text: address, given: pixels || onTop ? drawn(address) : null, ...told };
    }
    // In a picture nobody reads attributes; a link there is what can be seen of it.
    const given = !isSeen(element) ? "" : !onlyPicture ? text : attribute === "href" ? drawn(text) : "";
    return { text, given: ATTRIBUTES.includes(attribute) ? given : null, ...told };
  };

  // What style sheets write before and after an element, and as its mark in a list: no text of the page.
  const written = (element) => {
    const texts = PSEUDO.map((where) => getComputedStyle(element, where).content);
    const { display, listStyleType } = styleOf(element);
    if (display.includes("list-item")) texts.push(listStyleType, getComputedStyle(element, "::marker").content);
    return texts.filter((text) => text.startsWith('"')).map((text) => squeeze(text.replace(/" "/g, "").slice(1, -1)));
  };

  // The addresses of the pictures that an element draws; smaller ones stand for pictures that are still to come.
  const pictured = (element) => {
    const drawn = isPicture(element) && element.naturalWidth >= TINY ? [element.currentSrc] : [];
    const behind = styleOf(element).backgroundImage.matchAll(/url\("([^"]*)"\)/g);
    return [...drawn, ...[...behind].map(([, address]) => address)];
  };

  // For each place (a selector, perhaps an attribute, of the element or of its first `part`) what stands there,
  // whoever is shown it, and what part of it the reader is given; null where the browser does not know the
  // selector. `list`: which elements have the same parent. `card`: only what stands in it.
  const found = (places, card) => places.map(({ css, attribute, part }) => {
    const parents = [];
    const here = !card ? query(css) : css === ":scope" ? [card] : query(css)?.filter((element) => contains(card, element));
    return here?.slice(0, MAX_FOUND).map((element) => {
      if (!parents.includes(element.parentNode)) parents.push(element.parentNode);
      return { ...standing(element, attribute, part), list: parents.indexOf(element.parentNode) };
    }) ?? null;
  });
  // The cards of each kind, with the address that leads to the product. Of those of which something can be seen
  // (`why` is empty) also what stands at the kind's places in them, and the texts and pictures that `held` has of them.
  const cardsOf = (kinds, held) => kinds.flatMap(({ css, link, spots }, kind) =>
    (query(css) ?? []).slice(0, MAX_CARDS).map((card) => {
      const { left, top, right, bottom, width, height } = boxOf(card), box = [left, top, width, height].map(Math.round);
      const isIn = left < innerWidth && right > 0 && top < innerHeight && bottom > 0;
      let why = !(width && height) && styleOf(card).display !== "contents" ? "hidden" : !wholePage && !isIn ? "out of view" : "";
      let seen = [];
      if (!why) ({ why, inks: seen } = onScreen(card));
      const images = seen.length || why === "out of view" ? []
        : [...card.querySelectorAll("img")].filter((element) => isSeen(element) && !whyUnseen(element));
      if (images.length) [why, seen] = ["", images.map(inkOf)];
      const at = query(link.css)?.find((element) => contains(card, element));
      const address = at && (link.attribute === null ? textOf(at, false) : at.getAttribute(link.attribute));
      const { own, pictures } = held.get(card);
      return { kind, link: address ?? "", box, why, inks: seen, found: why ? [] : found(spots, card),
        own: why ? "" : own.join("\n"), pictures: why ? [] : [...pictures] };
    }));
  return { found, cardsOf, query, roots, title, squeeze, written, pictured, intersect, isClippedAway, viewport, memo,
    styleOf, boxOf, parentOf, styledBy, whyUnseen, inkOf, inked, coverAt, withPointers, isDrawn, contains, ATTRIBUTES, NO_TEXT };
}

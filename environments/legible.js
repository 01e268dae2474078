// What stands at places of a page, and what of it can be read by the eye.
//
// Where the whole page is shown (`wholePage`) a text may lie anywhere on it, else in the viewport. Where a
// `picture` is shown, nothing may cover it either. `isSeen`: whether an element is among what its reader is
// given; `bidOf`: its mark there.
({ wholePage, picture, isSeen, bidOf }) => {
  const ATTRIBUTES = ["href", "title", "alt", "name", "type", "placeholder", "role", "aria-label",
    "aria-expanded", "aria-selected", "for"];
  const NO_TEXT = "script, style, noscript, template";
  const INSERTED = /(^|\s)[\w-]+-details(\s|$)/;  // how edits mark what they put in
  const MAX_FOUND = 100;
  const MAX_TEXT = 20_000;

  // `\s` holds U+FEFF, which takes no room: it parts no words.
  const squeeze = (text) => text.replace(/\uFEFF/g, "").replace(/\s+/g, " ").trim();
  const elements = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
    element.shadowRoot ? [element, ...elements(element.shadowRoot)] : [element]);
  const everything = elements(document);
  const roots = [document, ...everything.map((element) => element.shadowRoot).filter(Boolean)];
  const query = (css) => {
    try { return roots.flatMap((root) => [...root.querySelectorAll(css)]); } catch { return null; }
  };

  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });

  const viewport = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  // How text for screen readers only is hidden from the eye.
  const isClippedAway = (style) =>
    style.clip === "rect(0px, 0px, 0px, 0px)" && ["absolute", "fixed"].includes(style.position);

  // Whether a colour is see-through, and how light it is (WCAG 2: relative luminance).
  const colour = (text) => {
    const [red, green, blue, alpha = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    const linear = [red, green, blue].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return { alpha, light: 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] };
  };
  const parentOf = (element) =>
    element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const contains = (outer, inner) => {
    for (let at = inner; at; at = parentOf(at)) if (at === outer) return true;
    return false;
  };

  // Why the text of an element cannot be read by the eye, wherever it stands on the page; empty: it can.
  const faded = new Map();
  const whyFaded = (element) => {
    if (!faded.has(element)) faded.set(element, findWhyFaded(element));
    return faded.get(element);
  };
  const findWhyFaded = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return "hidden";
    const own = getComputedStyle(element);
    if (own.contentVisibility === "hidden") return "hidden";
    const ink = colour(own.webkitTextFillColor);
    let opacity = ink.alpha, ground = null;
    for (let at = element; at; at = parentOf(at)) {
      const style = at === element ? own : getComputedStyle(at);
      opacity *= Number(style.opacity);
      for (const [, share, unit] of style.filter.matchAll(/opacity\(([\d.]+)(%?)\)/g)) {
        opacity *= unit ? share / 100 : share;
      }
      if (/blur\((?!0(px)?\))/.test(style.filter) || style.maskImage !== "none") return "masked";
      if (ground === null) {
        const behind = colour(style.backgroundColor);
        if (style.backgroundImage !== "none") ground = undefined;
        else if (behind.alpha > 0.5) ground = behind.light;
      }
    }
    if (opacity < 0.1) return "transparent";
    if (ground === null) ground = 1;
    const contrast = ground === undefined ? Infinity
      : (Math.max(ink.light, ground) + 0.05) / (Math.min(ink.light, ground) + 0.05);
    return contrast < 1.1 && own.textShadow === "none" ? "as pale as its ground" : "";
  };

  // What of a box is left inside the elements around it that cut off what does not fit.
  const uncut = (box, element) => {
    let left = box;
    let placed = getComputedStyle(element).position;
    for (let at = parentOf(element); at && at !== document.scrollingElement; at = parentOf(at)) {
      const style = getComputedStyle(at);
      if (placed === "fixed") break;
      if (placed === "absolute" && style.position === "static") continue;
      if (at.tagName !== "BODY" && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
        left = intersect(left, at.getBoundingClientRect());
      }
      placed = style.position;
    }
    return left;
  };
  const isClipped = (element) => {
    for (let at = element; at; at = parentOf(at)) if (getComputedStyle(at).clipPath !== "none") return true;
    return false;
  };
  const TINY = 4;
  const range = document.createRange();

  // Why a text cannot be read by the eye; empty: it can.
  const unseen = new Map();
  const whyUnseen = (node) => {
    if (!unseen.has(node)) unseen.set(node, findWhyUnseen(node));
    return unseen.get(node);
  };
  const findWhyUnseen = (node) => {
    const element = node.parentElement;
    const why = whyFaded(element);
    if (why) return why;
    range.selectNodeContents(node);
    const page = { left: -scrollX, top: -scrollY, right: document.documentElement.scrollWidth - scrollX,
      bottom: document.documentElement.scrollHeight - scrollY };
    const boxes = [...range.getClientRects()];
    if (boxes.every(({ width, height }) => width < TINY || height < TINY)) return boxes.length ? "tiny" : "";
    const own = getComputedStyle(element);
    const cut = own.overflowX !== "visible" && own.display !== "inline" ? element.getBoundingClientRect() : page;
    const left = boxes.map((box) => intersect(uncut(intersect(box, cut), element), wholePage ? page : viewport))
      .filter((box) => box.right - box.left >= TINY && box.bottom - box.top >= TINY);
    const area = (list) => list.reduce((sum, { left: x, right, top, bottom }) => sum + (right - x) * (bottom - top), 0);
    if (area(left) < area(boxes) / 2) return "out of view";
    if (!picture && !isClipped(element)) return "";
    const isOnTop = (box) => [0.1, 0.5, 0.9].some((share) => {
      const [x, y] = [box.left + share * (box.right - box.left), (box.top + box.bottom) / 2];
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return wholePage;
      let hit = document.elementFromPoint(x, y);
      for (let inner; hit?.shadowRoot && (inner = hit.shadowRoot.elementFromPoint(x, y)) && inner !== hit;) {
        hit = inner;
      }
      return hit !== null && (contains(element, hit) || own.pointerEvents === "none" && contains(hit, element));
    });
    return left.some(isOnTop) ? "" : "covered or clipped";
  };

  // The texts in an element; `given`: those that its reader is given and can read by the eye.
  const textOf = (element, given) => {
    let text = "";
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (parentElement.closest(NO_TEXT)) continue;
      if (given && (!isSeen(parentElement) || (squeeze(data) && whyUnseen(walker.currentNode)))) continue;
      text += data;
    }
    return text.slice(0, MAX_TEXT);
  };
  // Where an element is on the screen, and why nothing of its text can be read there; empty: something can.
  const onScreen = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let why = null;
    while (why !== "" && walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (!squeeze(data) || parentElement.closest(NO_TEXT)) continue;
      const cause = whyUnseen(walker.currentNode) || (isSeen(parentElement) ? "" : "out of view");
      if (why === null || cause === "") why = cause;
    }
    return { box: [left, top, width, height].map(Math.round), why: why ?? "" };
  };
  const isInserted = (element) => INSERTED.test(element.getAttribute("class") ?? "");
  const beside = (element) =>
    [...(element.parentNode?.children ?? []), ...element.children].filter(isInserted).map((other) => ({
      where: other.parentElement === element ? "inside"
        : element.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? "after" : "before",
      text: textOf(other, false), given: textOf(other, true), ...onScreen(other),
    }));
  const standing = (element, attribute) => {
    if (attribute === null) {
      const text = textOf(element, false), given = textOf(element, true);
      return { text, given, beside: beside(element), bid: bidOf(element), ...onScreen(element) };
    }
    const text = element.getAttribute(attribute) ?? "";
    const given = !ATTRIBUTES.includes(attribute) ? null : isSeen(element) ? text : "";
    return { text, given, beside: beside(element), bid: bidOf(element), ...onScreen(element) };
  };

  // For each place (a selector, perhaps an attribute) what stands there, whoever is shown it, and what part of
  // it the reader is given; null where the browser does not know the selector.
  const found = (places) => places.map(({ css, attribute }) =>
    query(css)?.slice(0, MAX_FOUND).map((element) => standing(element, attribute)) ?? null);
  return { found, query, roots, everything, squeeze, intersect, isClippedAway, viewport, ATTRIBUTES, NO_TEXT };
}

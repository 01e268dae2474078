// The observation, in one call inside the page: pruned HTML of what the viewport shows, with marks.
//
// An element counts as visible when at least half of its area lies in the viewport (and in the scroll
// containers around it); a text is shown when its parent element is visible. Interactive elements get a
// `bid` attribute that stays the same for as long as the element lives.
//
// `shown`: where a tree is wanted too, the indices of the visible elements among all elements of the page; an
// open shadow tree comes right after its host.
//
// `found`: for each of `places` (a selector, perhaps an attribute) what stands there, whoever is shown it, and
// what part of it is in the observation and can be read on the screen; null where the browser does not know the
// selector. Where a `picture` is shown, nothing may cover it either. `own`: the page's title
// and the texts that the observation holds outside of `cards`, where `ownTexts` are wanted. `said`: the texts of the elements that
// meet the stop condition.
({ wholePage, tree, picture, stops, places, ownTexts, cards }) => {
  const SKIPPED = new Set(["HEAD", "SCRIPT", "STYLE", "LINK", "META", "NOSCRIPT", "TEMPLATE", "BR"]);
  const UNWRAPPED = new Set(["HTML", "BODY", "DIV", "SPAN", "I", "P", "PICTURE", "CENTER", "FONT"]);
  const INTERACTIVE = new Set(["BUTTON", "SELECT", "TEXTAREA", "SUMMARY"]);
  const ROLES = new Set(["button", "link", "tab", "checkbox", "radio", "option", "menuitem", "switch",
    "combobox", "textbox", "searchbox", "slider", "spinbutton"]);
  const ATTRIBUTES = ["href", "title", "alt", "name", "type", "placeholder", "role", "aria-label",
    "aria-expanded", "aria-selected", "for"];
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const MAX_OPTIONS = 100;
  const NO_TEXT = "script, style, noscript, template";
  const INSERTED = /(^|\s)[\w-]+-details(\s|$)/;  // how edits mark what they put in
  const MAX_FOUND = 100;
  const MAX_TEXT = 20_000;

  const escape = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);
  // `\s` holds U+FEFF, which takes no room: it parts no words.
  const squeeze = (text) => text.replace(/\uFEFF/g, "").replace(/\s+/g, " ").trim();
  const seen = new Set();
  const elements = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
    element.shadowRoot ? [element, ...elements(element.shadowRoot)] : [element]);
  const everything = elements(document);
  const roots = [document, ...everything.map((element) => element.shadowRoot).filter(Boolean)];
  const query = (css) => {
    try { return roots.flatMap((root) => [...root.querySelectorAll(css)]); } catch { return null; }
  };
  const inCards = new Set(cards.flatMap((css) => query(css) ?? []));
  const own = [];
  let around = 0;
  const note = (text) => { if (ownTexts && !around) own.push(text); return text; };

  // What a style sheet writes before and after an element is on the screen, but no text of the page.
  const noteGenerated = (element) => {
    for (const where of ["::before", "::after"]) {
      const { content } = getComputedStyle(element, where);
      if (content.startsWith('"')) note(squeeze(content.replace(/" "/g, "").slice(1, -1)));
    }
  };

  const isInteractive = (element) =>
    (element.tagName === "A" && element.hasAttribute("href")) ||
    (element.tagName === "INPUT" && element.type !== "hidden") ||
    INTERACTIVE.has(element.tagName) ||
    ROLES.has(element.getAttribute("role")) ||
    element.onclick !== null ||
    element.isContentEditable && !element.parentElement?.isContentEditable ||
    element.hasAttribute("tabindex") && element.tabIndex >= 0;

  // One counter per document: marks in frames carry the frame's own mark as a prefix.
  const mark = (element, prefix) => {
    let bid = element.getAttribute("bid");
    if (bid === null) {
      const view = element.ownerDocument.defaultView;
      view.__soukMarks = (view.__soukMarks ?? 0) + 1;
      bid = `${prefix}${view.__soukMarks}`;
      element.setAttribute("bid", bid);
    }
    return bid;
  };

  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });

  const everywhere = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const viewport = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  const shownShare = (box, clip) => {
    const area = (box.right - box.left) * (box.bottom - box.top);
    const shown = intersect(box, clip);
    if (shown.right < shown.left || shown.bottom < shown.top) return 0;
    return area === 0 ? 1 : ((shown.right - shown.left) * (shown.bottom - shown.top)) / area;
  };

  // How text for screen readers only is hidden from the eye.
  const isClippedAway = (style) =>
    style.clip === "rect(0px, 0px, 0px, 0px)" && ["absolute", "fixed"].includes(style.position);

  const attributes = (element) => {
    let text = "";
    for (const name of ATTRIBUTES) {
      const value = element.getAttribute(name);
      if (value !== null && value !== "") text += ` ${name}="${escape(note(squeeze(value)))}"`;
    }
    if (element.tagName === "INPUT" || element.tagName === "TEXTAREA") {
      if (element.type === "checkbox" || element.type === "radio") {
        if (element.checked) text += " checked";
      } else if (element.type !== "password" && element.value) {
        text += ` value="${escape(note(squeeze(element.value)))}"`;
      }
    }
    if (element.disabled) text += " disabled";
    return text;
  };

  // Each visit returns a list of pieces: {text} or {line}; neighbouring texts end up on one line.
  const visit = (element, clip, prefix) => {
    const tag = element.tagName.toUpperCase();
    if (SKIPPED.has(tag)) return [];
    const style = getComputedStyle(element);
    if (isClippedAway(style)) return [];
    const contents = style.display === "contents";
    if (!contents && element.getClientRects().length === 0 && tag !== "OPTION") return [];
    const box = element.getBoundingClientRect();
    const visible = contents || shownShare(box, clip) >= 0.5;

    let inner = clip;
    if ((style.overflowX !== "visible" || style.overflowY !== "visible") && style.display !== "inline") {
      if (element !== element.ownerDocument.scrollingElement && tag !== "BODY") inner = intersect(clip, box);
    }

    const hidden = style.visibility !== "visible";
    const isShown = visible && !hidden;
    if (isShown) seen.add(element);
    const isCard = inCards.has(element);
    if (isCard) around += 1;
    if (ownTexts && isShown) noteGenerated(element);
    const pieces = [];
    const add = (list) => { for (const piece of list) pieces.push(piece); };
    if (tag === "SELECT") {
      for (const option of isShown ? [...element.options].slice(0, MAX_OPTIONS) : []) {
        if (tree) seen.add(option);
        const selected = option.selected ? " selected" : "";
        pieces.push({ line: `<option${selected}>${escape(note(squeeze(option.text)))}</option>` });
      }
    } else if (tag === "IFRAME" || tag === "FRAME") {
      let frame = null;
      try { frame = element.contentDocument; } catch { /* another origin: its content stays closed */ }
      if (frame?.documentElement && visible) {
        add(visit(frame.documentElement, { left: 0, top: 0, right: box.width, bottom: box.height },
          `${mark(element, prefix)}f`));
      }
    } else if (tag !== "TEXTAREA" && tag !== "SVG") {
      const slotted = tag === "SLOT" ? element.assignedNodes() : [];
      for (const child of slotted.length ? slotted : (element.shadowRoot ?? element).childNodes) {
        if (tag === "DETAILS" && !element.open && child.tagName !== "SUMMARY") continue;
        if (child.nodeType === Node.TEXT_NODE) {
          const text = isShown ? squeeze(child.data) : "";
          if (text) pieces.push({ text: escape(note(text)) });
        } else if (child.nodeType === Node.ELEMENT_NODE) {
          add(visit(child, inner, prefix));
        }
      }
    }
    const interactive = isShown && isInteractive(element);
    const shown = isShown ? attributes(element) : "";
    if (isCard) around -= 1;
    if (!isShown) return pieces;

    if (UNWRAPPED.has(tag) && !interactive && !shown) return pieces;
    if (!interactive && pieces.length === 0 && !shown) return [];
    const name = tag.toLowerCase();
    const bid = interactive ? ` bid="${mark(element, prefix)}"` : "";
    const open = `<${name}${bid}${shown}>`;
    if (pieces.length === 0) return [{ line: open }];
    const lines = layOut(pieces);
    if (lines.length === 1 && !lines[0].startsWith("<")) return [{ line: `${open}${lines[0]}</${name}>` }];
    return [{ line: [open, ...lines.map((line) => line.replace(/^/gm, " ")), `</${name}>`].join("\n") }];
  };

  const layOut = (pieces) => {
    const lines = [];
    let text = [];
    const flush = () => { if (text.length) lines.push(text.join(" ")); text = []; };
    for (const piece of pieces) {
      if (piece.text !== undefined) text.push(piece.text);
      else { flush(); lines.push(piece.line); }
    }
    flush();
    return lines;
  };

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

  // Why a text cannot be read by the eye; empty: it can. Where the whole page is shown it may lie anywhere on it.
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

  // The texts in an element; `given`: those that are in the observation and can be read by the eye.
  const textOf = (element, given) => {
    let text = "";
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, data } = walker.currentNode;
      if (parentElement.closest(NO_TEXT)) continue;
      if (given && (!seen.has(parentElement) || (squeeze(data) && whyUnseen(walker.currentNode)))) continue;
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
      const cause = whyUnseen(walker.currentNode) || (seen.has(parentElement) ? "" : "out of view");
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
  const bidOf = (element) => {
    const marked = element.hasAttribute("bid") ? element : element.querySelector("[bid]");
    return marked && seen.has(marked) ? marked.getAttribute("bid") : "";
  };
  const standing = (element, attribute) => {
    if (attribute === null) {
      const text = textOf(element, false), given = textOf(element, true);
      return { text, given, beside: beside(element), bid: bidOf(element), ...onScreen(element) };
    }
    const text = element.getAttribute(attribute) ?? "";
    const given = !ATTRIBUTES.includes(attribute) ? null : seen.has(element) ? text : "";
    return { text, given, beside: beside(element), bid: bidOf(element), ...onScreen(element) };
  };

  const html = layOut(visit(document.documentElement, wholePage ? everywhere : viewport, "")).join("\n");
  let said = "";
  const stop = stops.findIndex(({ selector, text }) => {
    const texts = (query(selector) ?? []).map((element) => squeeze(element.innerText ?? ""))
      .filter((each) => each.toLowerCase().includes(text.toLowerCase()));
    said = texts.join("\n");
    return texts.length > 0;
  });
  const shown = tree ? everything.flatMap((element, index) => (seen.has(element) ? [index] : [])) : [];
  const found = places.map(({ css, attribute }) =>
    query(css)?.slice(0, MAX_FOUND).map((element) => standing(element, attribute)) ?? null);
  return { html, title: document.title, url: location.href, stop, said, shown, found,
    own: (ownTexts ? [squeeze(document.title), ...own] : []).join("\n") };
}

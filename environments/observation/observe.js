// The observation, in one call inside the page: pruned HTML of what the viewport shows, with marks.
//
// An element counts as visible when at least half of its area lies in the viewport (and in the scroll
// containers around it); a text is shown when its parent element is visible. Where only a picture is shown, any part
// of it will do. Interactive elements get a
// `bid` attribute that stays the same for as long as the element lives, where `marks` are to be made.
//
// `shown`: where a tree is wanted too, the indices of the visible elements among all elements of the page; an
// open shadow tree comes right after its host.
//
// `found`: what stands at each of `places`, and what of it is in the observation and can be read on the screen
// (`placesOf` is legible.js). `own`: the page's title and the texts that the observation holds outside of
// cards, where `ownTexts` are wanted; `pictures` of the same, where `ownPictures` are. `cards`: what stands in the cards
// of each kind that is asked for, and their own texts and pictures. `closed`: how many elements there may draw texts that no script can read;
// where a picture is shown, a symbol leads to them. `said`: the texts of the elements that meet the stop condition.
// `marked`: where a picture is shown, the boxes of the marked elements. `drawn`: the texts and controls that can be
// seen in it (`drawnOn` is drawn_on.js), where `rectangles` are wanted: selectors of cards.
(asked) => {
  // XSLT that fails, or makes no element, leaves nothing at all.
  if (!document.documentElement) throw new Error("the document is empty: XSLT or a script has left nothing");
  const { wholePage, tree, picture, onlyPicture, marks, rectangles, stops, places, ownTexts, ownPictures, cards } =
    JSON.parse(asked);
  const SKIPPED = new Set(["HEAD", "SCRIPT", "STYLE", "LINK", "META", "NOSCRIPT", "TEMPLATE", "BR"]);
  const UNWRAPPED = new Set(["HTML", "BODY", "DIV", "SPAN", "I", "P", "PICTURE", "CENTER", "FONT"]);
  const INTERACTIVE = new Set(["BUTTON", "SELECT", "TEXTAREA", "SUMMARY"]);
  const ROLES = new Set(["button", "link", "tab", "checkbox", "radio", "option", "menuitem", "switch",
    "combobox", "textbox", "searchbox", "slider", "spinbutton"]);
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const HOSTS = new Set(["ARTICLE", "ASIDE", "BLOCKQUOTE", "BODY", "DIV", "FOOTER", "H1", "H2", "H3", "H4", "H5",
    "H6", "HEADER", "MAIN", "NAV", "P", "SECTION", "SPAN"]);
  const MAX_OPTIONS = 100;

  const escape = (text) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]);
  const seen = new Set();
  const bidOf = (element) => {
    const marked = element.hasAttribute("bid") ? element : element.querySelector("[bid]");
    return marked && seen.has(marked) ? marked.getAttribute("bid") : "";
  };
  const legible = placesOf(
    { wholePage, pixels: picture, onTop: false, onlyPicture, isSeen: (element) => seen.has(element), bidOf });
  const { found, cardsOf, query, title, squeeze, written, pictured, intersect, isClippedAway, viewport, inked, isDrawn, contains, ATTRIBUTES } =
    legible;
  const holder = () => ({ own: [], pictures: new Set() });
  const held = new Map(cards.flatMap(({ css }) => query(css) ?? []).map((card) => [card, holder()]));
  const page = holder(), around = [], closed = [];
  const note = (text) => {
    if (ownTexts) for (const each of around.length ? around : [page]) each.own.push(text);
    return text;
  };

  const isInteractive = (element) =>
    (element.tagName === "A" && element.hasAttribute("href")) ||
    (element.tagName === "INPUT" && element.type !== "hidden") ||
    INTERACTIVE.has(element.tagName) ||
    ROLES.has(element.getAttribute("role")) ||
    element.onclick !== null ||
    element.isContentEditable && !element.parentElement?.isContentEditable ||
    element.hasAttribute("tabindex") && element.tabIndex >= 0;

  // Behind an open dialog that is modal nothing can be pressed.
  const modal = query("dialog:modal").at(-1);
  const isInert = (element) => element.closest("[inert]") !== null ||
    Boolean(modal) && element.ownerDocument === document && !contains(modal, element);

  // One counter per document: marks in frames carry the frame's own mark as a prefix.
  const mark = (element, prefix) => {
    let bid = element.getAttribute("bid");
    if (bid === null) {
      if (!marks) return "";
      const view = element.ownerDocument.defaultView;
      view.__soukMarks = (view.__soukMarks ?? 0) + 1;
      bid = `${prefix}${view.__soukMarks}`;
      element.setAttribute("bid", bid);
    }
    return bid;
  };

  const boxed = ({ left, top, width, height }) => [left, top, width, height].map(Math.round);
  const everywhere = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

  const shownShare = (box, clip) => {
    const area = (box.right - box.left) * (box.bottom - box.top);
    const shown = intersect(box, clip);
    if (shown.right < shown.left || shown.bottom < shown.top) return 0;
    return area === 0 ? 1 : ((shown.right - shown.left) * (shown.bottom - shown.top)) / area;
  };

  // In a picture an attribute is seen only where it is drawn.
  const isRead = (element, name) => !onlyPicture || name === "placeholder" || name === "alt" && !element.naturalWidth;
  const attributes = (element) => {
    let text = "";
    for (const name of ATTRIBUTES) {
      const value = element.getAttribute(name);
      if (value === null || value === "") continue;
      text += ` ${name}="${escape(isRead(element, name) ? note(squeeze(value)) : squeeze(value))}"`;
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

  // A closed tree over an element draws nothing of what is in it, unless it says where.
  const range = document.createRange();
  const drawsOwn = (element) => [...element.childNodes].some((child) => {
    range.selectNode(child);
    return (child.nodeType === Node.TEXT_NODE ? range : child).getClientRects?.().length > 0;
  });

  // Each visit returns a list of pieces: {text} or {line}; neighbouring texts end up on one line.
  const visit = (element, clip, prefix) => {
    const tag = element.tagName.toUpperCase();
    if (SKIPPED.has(tag)) return [];
    const style = getComputedStyle(element);
    if (isClippedAway(style)) return [];
    const contents = style.display === "contents";
    if (!contents && tag !== "OPTION" && (element.getClientRects().length === 0 || !element.checkVisibility())) return [];
    const box = element.getBoundingClientRect();
    const share = contents ? 1 : shownShare(box, clip);
    const visible = onlyPicture ? share > 0 : share >= 0.5;

    let inner = clip;
    if ((style.overflowX !== "visible" || style.overflowY !== "visible") && style.display !== "inline") {
      if (element !== element.ownerDocument.scrollingElement && tag !== "BODY") inner = intersect(clip, box);
    }

    const hidden = style.visibility !== "visible";
    const isShown = visible && !hidden;
    if (isShown) seen.add(element);
    const isCard = held.has(element);
    if (isCard) around.push(held.get(element));
    if (ownTexts && isShown) {
      written(element).forEach(note);
      for (const address of picture && ownPictures ? pictured(element) : []) {
        for (const each of around.length ? around : [page]) each.pictures.add(address);
      }
    }
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
      } else if (visible && !around.length) closed.push(element);
    } else if (tag === "SVG") {
      // Its texts are on the screen only.
      for (const text of isShown ? element.querySelectorAll("text") : []) note(squeeze(text.textContent));
    } else if (tag !== "TEXTAREA") {
      const slotted = tag === "SLOT" ? element.assignedNodes() : [];
      for (const child of slotted.length ? slotted : (element.shadowRoot ?? element).childNodes) {
        if (tag === "DETAILS" && !element.open && child.tagName !== "SUMMARY") continue;
        if (child.nodeType === Node.TEXT_NODE) {
          const text = isShown ? squeeze(child.data) : "";
          if (text && isDrawn(child)) pieces.push({ text: escape(note(text)) });
        } else if (child.nodeType === Node.ELEMENT_NODE) {
          add(visit(child, inner, prefix));
        }
      }
    }
    if (ownTexts && picture && isShown && !around.length && !element.shadowRoot && (tag.includes("-") ||
      HOSTS.has(tag) && box.width * box.height > 0 && !(pieces.length && drawsOwn(element)))) closed.push(element);
    const interactive = isShown && isInteractive(element) && !isInert(element);
    const shown = isShown ? attributes(element) : "";
    if (isCard) around.pop();
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

  const html = layOut(visit(document.documentElement, wholePage ? everywhere : viewport, "")).join("\n");
  let said = "";
  const stop = stops.findIndex(({ selector, text }) => {
    const texts = (query(selector) ?? []).map((element) => squeeze(element.innerText ?? ""))
      .filter((each) => each.toLowerCase().includes(text.toLowerCase()));
    said = texts.join("\n");
    return texts.length > 0;
  });
  const elements = (root) => [...root.querySelectorAll("*")].flatMap((element) =>
    element.shadowRoot ? [element, ...elements(element.shadowRoot)] : [element]);
  const shown = tree ? elements(document).flatMap((element, index) => (seen.has(element) ? [index] : [])) : [];
  if (ownTexts && picture && closed.length) globalThis[Symbol.for("souk.closed")] = closed;
  const marked = !picture ? [] : [...seen].filter((each) => each.hasAttribute("bid") && each.ownerDocument === document)
    .map((each) => ({ bid: each.getAttribute("bid"), box: boxed(each.getBoundingClientRect()) }));
  // As JSON: a string comes and goes in a fraction of the time of objects. No `toJSON` of the page's is asked.
  const json = (value) => {
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    if (Array.isArray(value)) return `[${value.map(json).join()}]`;
    return `{${Object.keys(value).map((key) => `"${key}":${json(value[key])}`).join()}}`;
  };
  const standing = { found: found(places), cards: cardsOf(cards, held), drawn: rectangles ? drawnOn(legible, rectangles) : [] };
  return json({ html, title: title(), url: location.href, stop, said, shown, ...standing, inks: inked(),
    own: (ownTexts ? [squeeze(title()), ...page.own] : []).join("\n"),
    pictures: [...page.pictures], closed: closed.length, marked });
}

// Takes the ink of texts and pictures away, so that two pictures tell what of them can be seen. It runs in a world of its
// own, and changes nothing but what is painted: no element, no layout, nothing of which the page's scripts are told.
//
// The first call gets the places of the nodes among all texts and pictures of the page, and what they say; it returns
// their boxes in the viewport (null: something else stands there), and the group of each. Nodes of one group do not
// overlap; the n-th call takes the ink of the n-th group, and the call after the last gives all of it back.
(wanted) => {
  const NAME = "souk-ink", SHEET = `::highlight(${NAME}), *::selection { color: transparent !important;
    -webkit-text-fill-color: transparent !important; -webkit-text-stroke-color: transparent !important;
    text-shadow: none !important }`;
  const KEPT = Symbol.for("souk.ink"), LAST = 2 ** 31 - 1;
  const isText = (node) => node.nodeType === Node.TEXT_NODE;

  const giveBack = () => {
    const { roots, sheet, fading } = self[KEPT] ?? {};
    CSS.highlights.delete(NAME);
    for (const root of roots ?? []) root.adoptedStyleSheets = root.adoptedStyleSheets.filter((each) => each !== sheet);
    for (const each of fading ?? []) each.cancel();
  };
  const fade = (element, frame) => {
    const fading = element.animate([frame, frame], { duration: 1e9, fill: "both" });
    fading.pause();
    return fading;
  };
  // What a highlight does not reach: shadows, and letters that are cut out of their background.
  const fadeAround = (node) => {
    if (!isText(node)) return [fade(node, { objectPosition: "-99999px 0" })];
    const fading = [];
    for (let at = node.parentElement; at; at = at.parentElement ?? at.getRootNode().host) {
      const { textShadow, backgroundClip } = getComputedStyle(at);
      if (backgroundClip.includes("text")) fading.push(fade(at, { backgroundImage: "none", backgroundColor: "transparent" }));
      if (textShadow !== "none") fading.push(fade(at, { textShadow: "none" }));
    }
    return fading;
  };
  const take = () => {
    giveBack();
    const kept = self[KEPT], nodes = kept.nodes.filter((_, index) => kept.groups[index] === kept.group);
    kept.group += 1;
    if (!nodes.length) return void delete self[KEPT];
    const ranges = nodes.filter(isText).map((node) => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return range;
    });
    const highlight = new Highlight(...ranges);
    highlight.priority = LAST;
    CSS.highlights.set(NAME, highlight);
    for (const root of kept.roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, kept.sheet];
    kept.fading = nodes.flatMap(fadeAround);
  };
  if (!wanted) return take();

  giveBack();
  const all = [], roots = [], places = new Set(wanted.map(({ at }) => at));
  let count = 0;
  const walk = (root) => {
    roots.push(root);
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT), inner = [];
    while (walker.nextNode()) {
      const { currentNode: node } = walker;
      if (node.shadowRoot) inner.push(node.shadowRoot);
      if (!isText(node) && node.tagName !== "IMG") continue;
      if (places.has(count)) all[count] = node;
      count += 1;
    }
    return inner;
  };
  for (let inner = [document]; inner.length;) inner = [...walk(inner.shift()), ...inner];
  const nodes = wanted.map(({ at, says }) => (all[at] && (all[at].data ?? "").startsWith(says) ? all[at] : null));
  const boxes = nodes.map((node) => {
    if (!node) return null;
    const range = document.createRange();
    range.selectNodeContents(node);
    return [...(isText(node) ? range : node).getClientRects()].map(({ left, top, right, bottom }) => {
      // A picture of one colour has its edges at its border.
      const more = isText(node) ? 0 : 4 + Math.min(right - left, bottom - top) / 6;
      return [left - more, top - more, right + more, bottom + more];
    }).filter(([left, top, right, bottom]) =>
      right > 0 && bottom > 0 && left < innerWidth && top < innerHeight);
  });
  // Lines that follow one another may touch; their middles do not.
  const middles = boxes.map((list) => (list ?? []).map(([left, top, right, bottom]) => {
    const inset = Math.min(right - left, bottom - top) / 4;
    return [left + inset, top + inset, right - inset, bottom - inset];
  }));
  const overlap = (one, other) => one.some(([left, top, right, bottom]) =>
    other.some(([x, y, right2, bottom2]) => x < right && left < right2 && y < bottom && top < bottom2));
  const groups = [], held = [];
  middles.forEach((middle) => {
    let group = held.findIndex((others) => !others.some((other) => overlap(middle, other)));
    if (group < 0) group = held.push([]) - 1;
    held[group].push(middle);
    groups.push(group);
  });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(SHEET);
  self[KEPT] = { nodes: nodes.map((node) => node ?? document.createTextNode("")), groups, roots, sheet, group: 0 };
  take();
  return { boxes, groups };
}

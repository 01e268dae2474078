// The texts and controls that can be seen in a picture of the viewport, with their boxes: all that somebody knows who
// looks at it. `size`: of the letters in pixels; `ink`: the number of what has to be seen in the picture, -1 of what
// stands in a field; `card`: the number of the card on which it stands, else -1. The first argument is what legible.js gives; `kinds` find the cards.
({ roots, query, squeeze, boxOf, parentOf, styleOf, intersect, viewport, whyUnseen, inkOf, coverAt, NO_TEXT }, kinds) => {
  const CONTROLS = [["button", "button, [role=button], input[type=submit], input[type=button], summary"],
    ["radio", "input[type=radio], [role=radio]"], ["checkbox", "input[type=checkbox], [role=checkbox]"],
    ["list", "select"], ["field", "input, textarea, [contenteditable]"], ["link", "a[href], [role=link]"]];
  const SMALLEST = 4;
  const boxed = (box) => {
    const { left, top, right, bottom } = intersect(box, viewport);
    return [left, top, right - left, bottom - top].map(Math.round);
  };
  const kindOf = (element) => {
    for (let at = element; at; at = parentOf(at)) {
      const kind = CONTROLS.find(([, css]) => at.matches(css));
      if (kind) return kind[0];
    }
    return "text";
  };
  const cards = new Map([...new Set(kinds.flatMap((css) => query(css) ?? []))].map((card, number) => [card, number]));
  const cardOf = (element) => {
    for (let at = element; at; at = parentOf(at)) if (cards.has(at)) return cards.get(at);
    return -1;
  };
  const found = [];
  const add = (node, element, text, box) => {
    const [x, y, width, height] = boxed(box);
    if (width < SMALLEST || height < SMALLEST || whyUnseen(node)) return;
    if (node === element && coverAt(element, x + width / 2, y + height / 2)) return;
    found.push({ kind: kindOf(element), text, box: [x, y, width, height], card: cardOf(element),
      size: parseFloat(styleOf(element).fontSize), ink: node === element ? -1 : inkOf(node) });
  };
  const range = document.createRange();
  for (const root of roots) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) {
      const { currentNode: node } = walker;
      if (node.nodeType === Node.TEXT_NODE) {
        const element = node.parentElement ?? root.host, text = squeeze(node.data);
        if (!text || element.closest(NO_TEXT) || element.closest("option")) continue;
        range.selectNodeContents(node);
        if (range.getClientRects().length) add(node, element, text, range.getBoundingClientRect());
      } else if (node.matches("input:not([type=hidden]), textarea, select") && boxOf(node).width) {
        const value = node.tagName === "SELECT" ? node.selectedOptions[0]?.text : /^(radio|checkbox|password)$/.test(node.type) ? "" : node.value || node.placeholder;
        add(node, node, squeeze(value ?? ""), boxOf(node));
      }
    }
  }
  return found;
}

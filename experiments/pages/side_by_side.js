// Outlines what one version of a page has and the other has not, and says where the first of it stands.
// `others`: the signatures of the other version's elements, or null to get those of this one.
(others) => {
  const signature = (element) => {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join(" ");
    const attributes = ["title", "style", "src", "alt", "value"].map((name) => element.getAttribute(name));
    // What has nothing of its own to show could be any of its kind.
    if (!text && attributes.every((value) => !value)) return "";
    return JSON.stringify([element.tagName, text, ...attributes]);
  };
  const elements = [...document.body.querySelectorAll("*")];
  if (others === null) return elements.map(signature);
  const left = new Map();
  for (const one of others) left.set(one, (left.get(one) || 0) + 1);
  const changed = elements.filter((element) => {
    const one = signature(element);
    const count = left.get(one) || 0;
    left.set(one, count - 1);
    return one && count <= 0 && element.getClientRects().length > 0;
  });
  for (const element of changed) {
    element.style.outline = "3px solid #d93025";
    element.style.outlineOffset = "2px";
  }
  if (!changed.length) return null;
  const box = changed[0].getBoundingClientRect();
  return box.top + box.height / 2 + window.scrollY;
}

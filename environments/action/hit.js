// The element at a point, in open shadow trees too, and the innermost role of the site map around it (`described` is
// described.js).
([x, y, roles]) => {
  let at = document.elementFromPoint(x, y);
  while (at?.shadowRoot) {
    const inner = at.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === at) break;
    at = inner;
  }
  return at ? JSON.stringify(described(at, JSON.parse(roles))) : "null";
}

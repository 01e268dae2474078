// The element at a point, in open shadow trees too, and the innermost role of the site map around it.
([x, y, roles]) => {
  let at = document.elementFromPoint(x, y);
  while (at?.shadowRoot) {
    const inner = at.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === at) break;
    at = inner;
  }
  if (!at) return "null";
  const parentOf = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const line = [];
  for (let each = at; each; each = parentOf(each)) line.push(each);
  const fits = (element, css) => { try { return element.matches(css); } catch { return false; } };
  let role = "";
  for (const each of line) if ((role = roles.find(([, css]) => fits(each, css))?.[0] ?? "")) break;
  const text = (at.innerText || at.value || at.getAttribute("aria-label") || at.alt || "");
  const href = line.find((each) => each.tagName === "A" && each.href)?.href ?? "";
  const bid = line.find((each) => each.hasAttribute("bid"))?.getAttribute("bid") ?? "";
  return JSON.stringify({ tag: at.tagName.toLowerCase(), text: String(text).replace(/\s+/g, " ").trim().slice(0, 100),
    href: String(href), bid, role });
}

// What an element is: its tag, text and mark, where the link around it leads, and the innermost role of the site map
// around it. What was typed into a field is not told.
(at, roles) => {
  const parentOf = (element) => element.assignedSlot ?? element.parentElement ?? element.getRootNode().host ?? null;
  const line = [];
  for (let each = at; each; each = parentOf(each)) line.push(each);
  const fits = (element, css) => { try { return element.matches(css); } catch { return false; } };
  let role = "";
  for (const each of line) if ((role = roles.find(([, css]) => fits(each, css))?.[0] ?? "")) break;
  const isTyped = /^(INPUT|TEXTAREA)$/.test(at.tagName) || at.isContentEditable || at.querySelector("[contenteditable]");
  const said = !isTyped ? at.innerText : /^(button|submit|reset)$/.test(at.type) ? at.value : "";
  const told = ["aria-label", "placeholder", "alt"].map((name) => at.getAttribute(name)).find(Boolean);
  const text = said || told || at.labels?.[0]?.textContent || "";
  const href = line.find((each) => each.tagName === "A" && each.href)?.href ?? "";
  const bid = line.find((each) => each.hasAttribute("bid"))?.getAttribute("bid") ?? "";
  return { __proto__: null, tag: at.tagName.toLowerCase(), text: String(text).replace(/\s+/g, " ").trim().slice(0, 100),
    href: String(href), bid, role };
}

// Of the element that is acted on by its mark: the name of the open dialog that lies over it (empty: none), and what it
// is (`described` is described.js) with the middle of its box in the viewport. null: there is no element; `hit` is null
// where it has no box, or is in a frame of another host.
([at], roles) => {
  if (!at) return "null";
  const modal = [...document.querySelectorAll("dialog:modal")].at(-1);
  let dialog = "";
  if (modal && !modal.contains(at)) {
    const heading = modal.querySelector("h1, h2, h3, h4")?.textContent;
    const name = modal.getAttribute("aria-label") || heading || modal.id || modal.innerText;
    dialog = name.trim().slice(0, 60) || "dialog";
  }
  let hit = null;
  try {
    let { x, y, width, height } = at.getBoundingClientRect();
    // A button within a link takes the click on its middle.
    const pressed = document.elementFromPoint(x + width / 2, y + height / 2)?.closest("a, button, input, select, textarea");
    const within = pressed && at.contains(pressed) ? pressed : null;
    for (let each = window; each !== top; each = each.parent) {
      const frame = each.frameElement, outer = frame.getBoundingClientRect(), style = getComputedStyle(frame);
      x += outer.x + frame.clientLeft + parseFloat(style.paddingLeft);
      y += outer.y + frame.clientTop + parseFloat(style.paddingTop);
    }
    const middle = { x: x + width / 2, y: y + height / 2 };
    if (width && height) hit = { __proto__: null, ...described(within ?? at, JSON.parse(roles)), ...middle };
  } catch {} // whatever scripts of the page have done, the element can be acted on
  return JSON.stringify({ __proto__: null, dialog, hit });
}

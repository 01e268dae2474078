// Finds the layers that lie over a page, and marks them and the buttons in them. Returns what such a layer is called,
// how much it covers, and what is written on each button, in order; null: nothing covers much of the page. `own` finds what belongs to the
// page itself: what holds this is no layer.
(own) => {
  const PRESSED = "button, a, [role=button], input[type=submit], input[type=button], summary";
  const FEW = 12; // points of the viewport, in each direction
  const MARK = "data-souk-layer";
  const roots = [document];
  for (const root of roots) {
    for (const each of root.querySelectorAll("*")) {
      each.removeAttribute(MARK);
      if (each.shadowRoot) roots.push(each.shadowRoot);
    }
  }
  const up = (each) => each.parentElement ?? each.getRootNode().host ?? null;
  const top = (x, y) => {
    let each = document.elementFromPoint(x, y);
    for (let inner = each; inner && inner.shadowRoot; each = inner ?? each) {
      inner = inner.shadowRoot.elementFromPoint(x, y);
      if (inner === each) break;
    }
    return each;
  };
  const holdsPage = (each) => document.querySelector(own) && each.contains(document.querySelector(own));
  // What is fixed covers even where it is narrow; what only stands above the rest may be a part of the page.
  const share = (each) => {
    if (each.matches("dialog[open], [aria-modal=true]")) return 0.01;
    const { position, zIndex } = getComputedStyle(each);
    return position === "fixed" ? 0.15 : position === "absolute" && zIndex > 0 ? 0.5 : 0;
  };
  const layerOf = (each) => {
    let found = null;
    for (; each && each !== document.body && each !== document.documentElement; each = up(each)) {
      if (share(each) && !holdsPage(each)) found = each;
    }
    return found;
  };
  const met = new Map();
  for (let number = 0; number < FEW * FEW; number += 1) {
    const x = (number % FEW + 0.5) * innerWidth / FEW, y = (Math.floor(number / FEW) + 0.5) * innerHeight / FEW;
    const layer = layerOf(top(x, y));
    if (layer) met.set(layer, (met.get(layer) ?? 0) + 1);
  }
  const large = [...met.keys()].filter((layer) => met.get(layer) / FEW ** 2 >= share(layer));
  if (!large.length) return null;
  const isOnTop = (button) => {
    const { left, top: above, width, height } = button.getBoundingClientRect();
    for (let each = width && height ? top(left + width / 2, above + height / 2) : null; each; each = up(each)) {
      if (each === button) return true;
    }
    return false;
  };
  const all = roots.flatMap((root) => [...root.querySelectorAll(PRESSED)]).filter((each) => layerOf(each) && isOnTop(each));
  const inside = all.filter((each) => large.includes(layerOf(each)));
  const buttons = inside.length ? inside : all; // a large layer may only darken what lies below
  buttons.forEach((button, number) => {
    layerOf(button).setAttribute(MARK, "");
    button.setAttribute(MARK, number);
  });
  const [{ tagName, id, className }] = large;
  const named = id ? `#${id}` : typeof className === "string" && className ? `.${className.split(/\s+/)[0]}` : "";
  const label = (each) => each.getAttribute("aria-label") || each.innerText || each.value || each.title || "";
  const covered = Math.max(...large.map((layer) => met.get(layer))) / FEW ** 2;
  return { covered, name: tagName.toLowerCase() + named, labels: buttons.map((each) => label(each).trim().replace(/\s+/g, " ")) };
}

// Outlines the elements of a site map's roles and labels them. `roles`: [name, selector of the card or null, selector].
(roles) => {
  const colours = ["#1a73e8", "#d93025", "#188038", "#e37400", "#9334e6", "#12858d", "#b80672", "#5f6368"];
  const taken = [];
  const layer = document.createElement("div");
  document.body.append(layer);
  const find = (root, selector) => {
    try { return [...root.querySelectorAll(selector)]; } catch { return []; }
  };
  roles.forEach(([name, card, selector], index) => {
    const colour = colours[index % colours.length];
    const roots = card ? find(document, card) : [document];
    const found = roots.flatMap((root, number) => find(root, selector).slice(0, card ? 1 : 50).map((e) => [e, number]));
    for (const [element, number] of found) {
      const box = element.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      const frame = document.createElement("div");
      const left = box.left + scrollX, top = box.top + scrollY;
      frame.style.cssText = `position:absolute;z-index:2147483646;pointer-events:none;box-sizing:border-box;` +
        `left:${left - 2}px;top:${top - 2}px;width:${box.width + 4}px;height:${box.height + 4}px;outline:2px solid ${colour}`;
      layer.append(frame);
      if (number) continue;
      const label = document.createElement("div");
      label.textContent = name;
      label.style.cssText = `position:absolute;z-index:2147483647;pointer-events:none;font:600 12px/16px system-ui,sans-serif;` +
        `color:#fff;background:${colour};padding:0 5px;border-radius:3px;white-space:nowrap`;
      layer.append(label);
      const size = label.getBoundingClientRect();
      // Wide elements have their text on the left.
      const wide = box.width > 2.5 * size.width;
      let x = wide ? left + box.width - size.width + 2 : Math.max(left - 2, 0), y = wide ? top - 2 : Math.max(top - 19, 0);
      const hit = (b) => x < b.r && x + size.width > b.l && y < b.b && y + 16 > b.t;
      for (let clash; (clash = taken.find(hit)); ) x = wide ? clash.l - size.width - 2 : clash.r + 2;
      if (x + size.width > innerWidth) { x = Math.max(innerWidth - size.width - 4, 0); while (taken.some(hit)) y += 18; }
      label.style.left = `${x}px`;
      label.style.top = `${y}px`;
      taken.push({ l: x, r: x + size.width, t: y, b: y + 16 });
    }
  });
  return document.documentElement.scrollHeight;
}

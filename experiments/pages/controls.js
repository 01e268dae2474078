// Finds what chooses a variant or a currency on a product's page: selects, groups of radios, and buttons that
// switch something. Without `number` it returns what each is called; with it, it presses that one: up to four
// values of each control, and twelve together.
(number) => {
  const shown = (each) => each.getClientRects().length > 0 && !each.disabled;
  const text = (each) => (each.textContent || each.value || each.title || "").trim().replace(/\s+/g, " ").slice(0, 40);
  const named = /variant|option|swatch|size|colou?r|currenc|waehrung|währung|devise|moneda/i;
  const says = (each) => [each.className, each.id, each.name, each.getAttribute("aria-label"), ...Object.keys(each.dataset)].join(" ");
  const change = (each) => {
    for (const kind of ["input", "change"]) each.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const controls = new Map();
  const offer = (control, ...value) => controls.set(control, [...(controls.get(control) ?? []), value]);
  for (const select of document.querySelectorAll("select")) {
    const others = [...select.options].filter((option) => !option.selected && !option.disabled && option.value);
    if (!shown(select) || /qty|quantity|menge|quantit/i.test(says(select))) continue;
    for (const other of others) offer(select, text(other), () => { select.value = other.value; change(select); });
  }
  for (const radio of document.querySelectorAll("input[type=radio]")) {
    if (radio.checked || radio.disabled) continue;
    const group = `${radio.form ? [...document.forms].indexOf(radio.form) : ""} ${radio.name}`;
    const label = radio.labels && radio.labels[0];
    offer(group, (label && text(label)) || radio.value, () => radio.click());
  }
  for (const button of document.querySelectorAll("button, [role=radio], [role=option], [role=button]")) {
    const around = button.parentElement;
    const sends = button.tagName === "BUTTON" && button.form && button.type === "submit";
    const switches = button.matches("[aria-pressed], [role=radio], [role=option]");
    const on = button.matches("[aria-pressed=true], [aria-checked=true], [aria-selected=true]");
    if (!around || on || !shown(button) || (sends && !switches) || !text(button)) continue;
    if (!switches && !named.test(says(button)) && !named.test(says(around))) continue;
    // Of a set without a mark the first is the one that is chosen already.
    const marked = [...around.children].some((each) => each.matches("[aria-pressed], [aria-checked], [aria-selected]"));
    if (!marked && around.firstElementChild === button && around.children.length > 1) continue;
    offer(around, text(button), () => button.click());
  }
  // The first value of each control comes before the second of any.
  const of = (nth) => [...controls.values()].flatMap((values) => values.slice(nth, nth + 1));
  const few = [0, 1, 2, 3].flatMap(of).slice(0, 12);
  if (number === null) return few.map(([label]) => label);
  if (few[number]) few[number][1]();
  return [];
}

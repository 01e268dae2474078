// Nothing that is named is ever pressed, whether by mouse, by key or by sending its form.
({ texts, selectors, report }) => {
  const CONTROLS = "a, button, input, summary, label, [role=button], [role=link], [role=menuitem], [onclick]";
  const EVENTS = ["pointerdown", "pointerup", "mousedown", "mouseup", "touchstart", "touchend",
    "keydown", "keypress", "keyup", "click", "dblclick", "submit"];
  const wanted = texts.map((text) => text.toLowerCase());

  const says = (control) => [control.innerText, control.getAttribute("value"), control.title, control.alt,
    control.getAttribute("aria-label")].join(" ").replace(/\s+/g, " ").toLowerCase();
  const isNamed = (element) =>
    selectors.some((selector) => element.matches(selector)) ||
    (element.matches(CONTROLS) && wanted.some((text) => says(element).includes(text)));

  const note = (control) => {
    document.documentElement.setAttribute("data-souk-not-pressed", says(control).trim().slice(0, 100));
    if (report) location.assign(report);
  };

  const stop = (event) => {
    if (event.type.startsWith("key") && !["Enter", " "].includes(event.key)) return;
    const pressed = [event.submitter, ...event.composedPath()].find(
      (element) => element instanceof Element && isNamed(element));
    if (!pressed) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    note(pressed);
  };
  for (const type of EVENTS) window.addEventListener(type, stop, { capture: true, passive: false });

  // A script may send a form without an event.
  const { submit } = HTMLFormElement.prototype;
  HTMLFormElement.prototype.submit = function () {
    const named = [...this.elements].find((control) => control.type === "submit" && isNamed(control));
    if (!named) return submit.call(this);
    note(named);
  };
}

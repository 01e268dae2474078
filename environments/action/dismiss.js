// Presses the buttons that take a page's layers away, each once, as soon as it is there: for pages in browsers that
// are not ours. What it presses is no act of whoever looks at the page: observer.js knows it by its `detail`.
({ buttons, pressed, milliseconds }) => {
  document.currentScript?.remove();
  const written = (each) => (each.matches("input") ? each.value : each.textContent).trim().replace(/\s+/g, " ");
  const says = (text) => (each) => written(each).toLowerCase() === text.toLowerCase();
  const find = ({ css, text }) => {
    try {
      return css ? document.querySelector(css) : [...document.querySelectorAll(pressed)].find(says(text));
    } catch { /* the browser does not know the selector */ }
  };
  let left = buttons, until = Infinity;
  const look = () => {
    left = left.filter((button) => {
      const found = find(button);
      if (!found?.checkVisibility({ visibilityProperty: true }) || found.disabled) return true;
      found.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true, detail: -1, view: self }));
      return false;
    });
    if (document.readyState === "complete") until = Math.min(until, performance.now() + milliseconds);
    if (left.length && performance.now() < until) setTimeout(look, 50);
  };
  look();
}

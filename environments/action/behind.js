([element]) => {
  if (!element) return null;
  const modal = [...document.querySelectorAll("dialog:modal")].at(-1);
  if (!modal || modal.contains(element)) return "";
  const heading = modal.querySelector("h1, h2, h3, h4")?.textContent;
  const name = modal.getAttribute("aria-label") || heading || modal.id || modal.innerText;
  return name.trim().slice(0, 60) || "dialog";
}

"use strict";
// Keys follow links of the page; parts that take time, or change during a run, are fetched. Nothing else.
const linked = (key) => document.querySelector(`a[data-key="${key}"]`);

function rows() {
  return [...document.querySelectorAll("[data-rows] a[data-row]")];
}

function walk(step) {
  const all = rows();
  const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + step))];
  if (next) next.focus();
  return all.length > 0;
}

document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing) return;
  if (event.key === "/") {
    const field = document.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); field.select(); }
    else if (linked("/")) linked("/").click();
  } else if ((event.key === "j" || event.key === "k") && walk(event.key === "j" ? 1 : -1)) {
    event.preventDefault();
  } else if (["j", "k", "d", "u", "ArrowLeft", "ArrowRight"].includes(event.key)) {
    const link = linked(event.key);
    if (link) { event.preventDefault(); link.click(); }
  }
});

async function part(address) {
  const response = await fetch(address);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("[data-part]");
}

async function load(place) {
  try {
    const found = await part(place.dataset.load);
    if (found) place.replaceChildren(...found.childNodes);
  } catch { place.textContent = "The viewer does not answer."; }
}

document.querySelectorAll("[data-load]").forEach(load);

async function refresh() {
  try {
    if (!document.hidden) {
      const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      document.querySelectorAll("[data-live]").forEach((place) => {
        const now = page.getElementById(place.id);
        if (now && !place.contains(document.activeElement)) place.replaceChildren(...now.childNodes);
      });
      if (!page.body.hasAttribute("data-running")) return;
    }
  } catch { /* the next look may find it again */ }
  setTimeout(refresh, 3000);
}

if (document.body.hasAttribute("data-running")) setTimeout(refresh, 3000);

// The study's own pages: they tell the size of the window, keep one tab, show the products' tabs, and go on when a
// trial has ended. All of it is a help: without it the forms work too.
"use strict";
const post = (path, body) => fetch(path, { method: "POST", body: new URLSearchParams(body), redirect: "manual" });
const device = document.querySelector("input[name=device]");
if (device) device.value = [innerWidth, innerHeight, matchMedia("(pointer: fine)").matches ? 0 : 1].join();
const back = document.querySelector("[data-back]");
if (back) setTimeout(() => location.assign(back.href), 5000);
let sent = false;
addEventListener("submit", (event) => {
  if (sent) event.preventDefault(); // a double click sends a form once
  sent = true;
});
addEventListener("pageshow", () => { sent = false; });
document.getElementById("title")?.focus({ preventScroll: true });

const notice = document.querySelector("[data-second]");
if (notice && self.BroadcastChannel) {
  const channel = new BroadcastChannel("souk-study"), own = String(Math.random());
  channel.onmessage = ({ data }) => {
    if (data.kind === "opened" && data.own !== own) channel.postMessage({ kind: "here", own });
    if (data.kind === "here" && data.own !== own && notice.hidden) {
      notice.hidden = false;
      post("note", { kind: "second_tab" });
    }
  };
  channel.postMessage({ kind: "opened", own });
}

const tabs = [...document.querySelectorAll("[role=tab]")];
const show = (chosen) => {
  for (const tab of tabs) {
    const panel = document.getElementById(tab.getAttribute("aria-controls")), is = tab === chosen;
    const frame = panel.firstElementChild;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    panel.hidden = !is;
    if (is && frame.dataset.src) {
      frame.src = frame.dataset.src;
      delete frame.dataset.src;
    }
  }
  chosen.focus();
};
for (const [number, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(tab));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key] * (document.dir === "rtl" ? -1 : 1);
    if (step) show(tabs[(number + step + tabs.length) % tabs.length]);
  });
}
const dialog = document.querySelector("dialog");
for (const link of document.querySelectorAll(".pictures a")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const large = dialog.querySelector("img"), small = link.querySelector("img");
    [large.src, large.alt] = [small.src, small.alt];
    document.getElementById("large").textContent = link.previousElementSibling.textContent;
    dialog.showModal();
    post("note", { kind: "enlarged", product: link.nextElementSibling.value });
  });
}
dialog?.addEventListener("click", () => dialog.close());
if (document.body.classList.contains("trial")) {
  const look = async () => {
    try {
      const answer = await fetch("state", { cache: "no-store" });
      if (answer.status === 500 || (await answer.json()).ended) return location.assign("go");
    } catch { /* the server is away for a moment */ }
    setTimeout(look, 1000);
  };
  setTimeout(look, 1000);
}

/* The shop's only script: cart, messages, minicart, gallery, tabs, reviews and listing controls. */
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content.firstElementChild;
}

const escapeHtml = (text) =>
  String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);

function cookie(name) {
  const found = document.cookie.split("; ").find((part) => part.startsWith(name + "="));
  return found ? found.slice(name.length + 1) : "";
}

/* Two tabs opened at once may carry an older key in their pages; the cookie is the one that counts. */
function useCurrentFormKey(data) {
  data.set("form_key", cookie("form_key"));
  return data;
}

function post(url, data) {
  return fetch(url, {
    method: "POST",
    body: useCurrentFormKey(data),
    headers: { "X-Requested-With": "XMLHttpRequest" },
  }).then((response) => response.json());
}

function submitByPost({ action, data }) {
  const form = element('<form method="post" style="display:none"></form>');
  form.action = action;
  for (const [name, value] of Object.entries({ ...data, form_key: cookie("form_key") })) {
    const input = element('<input type="hidden">');
    input.name = name;
    input.value = value;
    form.append(input);
  }
  document.body.append(form);
  form.submit();
}

/* Messages and minicart ------------------------------------------------------------------------------- */

function showMessages(messages) {
  const holder = $("[data-bind=\"scope: 'messages'\"]");
  holder.replaceChildren();
  if (!messages.length) return;
  const list = element('<div role="alert" class="messages"></div>');
  for (const { type, text } of messages) {
    list.append(
      element(
        `<div class="message-${type} ${type} message" data-ui-id="message-${type}">
        <div data-bind="html: $parent.prepareMessageForHtml(message.text)">${text}</div></div>`,
      ),
    );
  }
  holder.append(list);
  list.scrollIntoView({ block: "nearest" });
}

const minicartItem = (item) => `
  <li class="item product product-item" data-role="product-item"><div class="product">
  <a class="product-item-photo" href="${escapeHtml(item.product_url)}" tabindex="-1"><img class="product-image-photo" src="${escapeHtml(item.product_image.src)}" alt="Image" width="60" height="75"></a>
  <div class="product-item-details"><strong class="product-item-name"><a href="${escapeHtml(item.product_url)}">${escapeHtml(item.product_name)}</a></strong>
  ${item.options.length ? `<div class="product options"><dl class="product options list">${item.options.map((o) => `<dt class="label">${escapeHtml(o.label)}</dt><dd class="values">${escapeHtml(o.value)}</dd>`).join("")}</dl></div>` : ""}
  <div class="product-item-pricing"><div class="price-container"><span class="price-wrapper">${item.product_price}</span></div>
  <div class="details-qty qty"><label class="label" for="cart-item-${item.item_id}-qty">Qty</label>
  <input type="number" min="1" id="cart-item-${item.item_id}-qty" class="item-qty cart-item-qty" data-cart-item="${item.item_id}" data-item-qty="${item.qty}" value="${item.qty}">
  <button class="update-cart-item" type="button" data-cart-item="${item.item_id}" title="Update"><span>Update</span></button></div></div>
  <div class="product actions"><a href="${escapeHtml(item.product_url)}" class="action edit" title="Edit item"><span>Edit</span></a>
  <a href="#" class="action delete" data-cart-item="${item.item_id}" title="Remove item"><span>Remove</span></a></div>
  </div></div></li>`;

function showMinicart(cart) {
  const wrapper = $(".minicart-wrapper");
  const counter = $(".showcart .counter.qty", wrapper);
  const count = cart.summary_count;
  counter.classList.toggle("empty", !count);
  $(".counter-number", counter).textContent = count || "";
  $(".counter-label", counter).innerHTML = count ? `${count}<span> ${count === 1 ? "item" : "items"}</span>` : "";
  const title = `<div class="block-title"><strong><span class="text">My Cart</span> <span class="qty" title="Items in Cart">${count || ""}</span></strong></div>
    <div class="block-content"><button type="button" id="btn-minicart-close" class="action close" title="Close"><span>Close</span></button>`;
  $("#minicart-content-wrapper").innerHTML = count
    ? `${title}<div class="items-total"><span class="count">${count}</span> <span>${count === 1 ? "Item" : "Items"} in Cart</span></div>
      <div class="subtotal"><span class="label"><span>Cart Subtotal</span></span> <div class="amount price-container"><span class="price-wrapper">${cart.subtotal}</span></div></div>
      <div class="actions"><div class="primary"><button id="top-cart-btn-checkout" type="button" class="action primary checkout" title="Proceed to Checkout"><span>Proceed to Checkout</span></button></div></div>
      <div class="minicart-items-wrapper"><ol id="mini-cart" class="minicart-items">${cart.items.map(minicartItem).join("")}</ol></div>
      <div class="actions"><div class="secondary"><a class="action viewcart" href="${BASE_URL}checkout/cart/"><span>View and Edit Cart</span></a></div></div></div>`
    : `${title}<strong class="subtitle empty">You have no items in your shopping cart.</strong></div>`;
}

async function loadSections() {
  const url = `${BASE_URL}customer/section/load/?sections=cart,directory-data,messages&force_new_section_timestamp=true`;
  const sections = await (await fetch(url)).json();
  showMinicart(sections.cart);
  showMessages(sections.messages.messages);
}

function toggleMinicart(open) {
  $(".minicart-wrapper").classList.toggle("active", open);
  $(".block-minicart").style.display = open ? "block" : "none";
}

function confirmRemoval(then) {
  const modal = element(`<div class="modals-wrapper"><aside role="dialog" class="modal-popup confirm _show"><div class="modal-inner-wrap">
    <div class="modal-content"><div>Are you sure you would like to remove this item from the shopping cart?</div></div>
    <footer class="modal-footer"><button class="action-secondary action-dismiss" type="button"><span>Cancel</span></button>
    <button class="action-primary action-accept" type="button"><span>OK</span></button></footer></div></aside></div>`);
  modal.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    modal.remove();
    if (button.classList.contains("action-accept")) then();
  });
  document.body.append(modal);
}

const cartForm = (fields) => {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  return data;
};

function onMinicartClick(event) {
  const target = event.target.closest("a, button");
  if (!target) return;
  const item_id = target.dataset.cartItem;
  if (target.matches(".showcart")) {
    event.preventDefault();
    toggleMinicart(!$(".minicart-wrapper").classList.contains("active"));
  } else if (target.id === "btn-minicart-close") {
    toggleMinicart(false);
  } else if (target.id === "top-cart-btn-checkout") {
    location.href = BASE_URL + "checkout/";
  } else if (target.matches(".delete")) {
    event.preventDefault();
    confirmRemoval(() => post(BASE_URL + "checkout/sidebar/removeItem/", cartForm({ item_id })).then(afterCartChange));
  } else if (target.matches(".update-cart-item")) {
    const item_qty = $(`#cart-item-${item_id}-qty`).value;
    post(BASE_URL + "checkout/sidebar/updateItemQty/", cartForm({ item_id, item_qty })).then(afterCartChange);
  }
}

function afterCartChange() {
  if (document.body.classList.contains("checkout-cart-index")) location.reload();
  else loadSections();
}

/* Add to cart ----------------------------------------------------------------------------------------- */

function complain(after, id, text) {
  after.after(element(`<div class="mage-error" generated="true" id="${id}">${text}</div>`));
}

function isComplete(form) {
  $$("div.mage-error", form).forEach((error) => error.remove());
  for (const list of $$(".field.required .options-list", form)) {
    if (!$("input:checked", list)) complain(list, `${$("input", list).name}-error`, "This is a required field.");
  }
  const quantity = $("#qty", form);
  if (quantity && !(Number(quantity.value) > 0)) {
    complain(quantity, "qty-error", "Please enter a quantity greater than 0.");
  } else if (quantity && Number(quantity.value) > 10000) {
    complain(quantity, "qty-error", "The maximum you may purchase is 10000.");
  }
  const first = $("div.mage-error", form);
  first?.scrollIntoView({ block: "nearest" });
  return !first;
}

function label(button, text, busy) {
  button.classList.toggle("disabled", busy);
  button.title = text;
  $("span", button).textContent = text;
}

async function addToCart(form) {
  if (!isComplete(form)) return;
  const button = $("button.tocart", form);
  label(button, "Adding...", true);
  try {
    const answer = await post(form.action, new FormData(form));
    if (answer.backUrl) {
      if (answer.backUrl === location.href) location.reload();
      else location.href = answer.backUrl;
      return;
    }
    await loadSections();
  } catch {
    showMessages([{ type: "error", text: "The product could not be added. Please try again." }]);
  }
  label(button, "Add to Cart", false); // at once: what an agent sees must not depend on when it looks
}

/* Product page ---------------------------------------------------------------------------------------- */

function buildGallery() {
  const placeholder = $(".gallery-placeholder");
  if (!placeholder) return;
  const { src, alt } = $("img", placeholder);
  const told = alt === "main product photo" ? "Image" : alt.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt()};`);
  placeholder.innerHTML = `<div class="fotorama-item fotorama"><div class="fotorama__wrap">
    <div class="fotorama__stage"><div class="fotorama__stage__shaft"><div class="fotorama__stage__frame fotorama__loaded fotorama__active"><img class="fotorama__img" src="${src}" alt="${told}"></div></div></div>
    <div class="fotorama__nav-wrap"><div class="fotorama__nav"><div class="fotorama__nav__frame fotorama__active"><div class="fotorama__thumb"><img class="fotorama__img" src="${src}" alt="Image"></div></div></div></div>
    </div></div>`;
}

function buildBreadcrumbs() {
  const crumbs = $(".breadcrumbs:empty");
  if (!crumbs) return;
  crumbs.innerHTML = `<ul class="items"><li class="item home"><a href="${BASE_URL}" title="Go to Home Page">Home</a></li><li class="item product"><strong></strong></li></ul>`;
  $("strong", crumbs).textContent = $("h1.page-title .base").textContent;
}

async function loadReviews(url) {
  const container = $("#product-review-container");
  container.innerHTML = await (await fetch(url)).text();
  container.dataset.loaded = "true";
}

function openTab(title) {
  for (const other of $$(".data.item.title")) {
    const active = other === title;
    other.classList.toggle("active", active);
    $("#" + other.id.replace("tab-label-", "")).style.display = active ? "block" : "none";
  }
  const container = $("#product-review-container");
  if (title.id === "tab-label-reviews" && !container.dataset.loaded) return loadReviews(container.dataset.url);
}

async function openReviews(hash) {
  const title = $("#tab-label-reviews");
  if (!title || !["#reviews", "#review-form"].includes(hash)) return;
  await openTab(title);
  (hash === "#reviews" ? title : $(hash)).scrollIntoView();
}

function onProductClick(event) {
  const tab = event.target.closest(".data.switch");
  const link = event.target.closest(".product-info-main .reviews-actions a");
  const page = event.target.closest("#product-review-container .pages a");
  if (!tab && !link && !page) return;
  event.preventDefault();
  if (tab) openTab(tab.parentElement);
  else if (link) openReviews(link.hash);
  else loadReviews(page.href);
}

/* Everything else ------------------------------------------------------------------------------------- */

function setListing(parameter, select) {
  const url = new URL(location.href);
  url.pathname = url.pathname.replace(/^\/catalogsearch\/result\/?$/, "/catalogsearch/result/index/");
  url.searchParams.delete("p");
  if (select.value === select.dataset.default) url.searchParams.delete(parameter);
  else url.searchParams.set(parameter, select.value);
  location.href = url.href;
}

function onChange({ target }) {
  const role = target.dataset?.role;
  if (role === "sorter") setListing("product_list_order", target);
  else if (role === "limiter") setListing("product_list_limit", target);
  else if (role === "review-limiter") loadReviews(`${$("#product-review-container").dataset.url}?limit=${target.value}`);
}

function onClick(event) {
  const poster = event.target.closest("[data-post]");
  if (poster) {
    event.preventDefault();
    submitByPost(JSON.parse(poster.dataset.post));
  } else if (event.target.closest(".minicart-wrapper")) {
    onMinicartClick(event);
  } else if (event.target.closest(".nav-toggle")) {
    document.documentElement.classList.toggle("nav-open");
  } else if (event.target.closest(".filter-title")) {
    $(".block.filter").classList.toggle("active");
  } else if (event.target.closest("[data-role=proceed-to-checkout]")) {
    location.href = BASE_URL + "checkout/";
  } else if (event.target.closest("[data-role=opc-continue]")) {
    if ($("#checkout-form").reportValidity()) location.hash = "payment";
    showCheckoutStep(); // a page that was loaded at this address has no change of it
  } else {
    if (!event.target.closest(".modals-wrapper")) toggleMinicart(false);
    onProductClick(event);
  }
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches("#product_addtocart_form, [data-role=tocart-form]")) {
    event.preventDefault();
    addToCart(form);
  } else if (form.method === "post") {
    $$("[name=form_key]", form).forEach((input) => (input.value = cookie("form_key")));
  }
}

function showCheckoutStep() {
  const payment = $("#checkout-form #payment");
  if (!payment) return;
  const paying = location.hash === "#payment" && $("#checkout-form").checkValidity();
  payment.style.display = paying ? "block" : "none";
  $("#checkout-form #shipping").style.display = paying ? "none" : "block";
}

function watchSearch() {
  const input = $("#search");
  const button = $("button.action.search");
  const update = () => (button.disabled = !input.value.trim());
  input.addEventListener("input", update);
  update();
}

document.addEventListener("click", onClick);
document.addEventListener("submit", onSubmit);
document.addEventListener("change", onChange);
addEventListener("hashchange", showCheckoutStep);
addEventListener("hashchange", () => openReviews(location.hash));

document.getElementById("store.links").append($(".header.links").cloneNode(true));
watchSearch();
buildBreadcrumbs();
buildGallery();
showCheckoutStep();
openReviews(location.hash);
if (cookie("private_content_version")) loadSections();
else showMinicart({ summary_count: 0, items: [] });

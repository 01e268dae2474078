// A shop's pages as web components with open shadow roots, over Medusa's REST interface. FACTS is what server.mjs knows.
const FIELDS = 'id,title,handle,description,*variants.calculated_price';
const money = (amount) => amount.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
const ask = async (path, body) => {
  const answer = await fetch(`/store/${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', 'x-publishable-api-key': FACTS.key },
    body: body && JSON.stringify(body),
  });
  return answer.json();
};
const products = async (query) =>
  (await ask(`products?region_id=${FACTS.region}&fields=${FIELDS}&${query}`)).products;
const price = ({ variants: [variant] }) => money(variant.calculated_price.calculated_amount);

const newCart = async () => {
  const { cart: { id } } = await ask('carts', { region_id: FACTS.region });
  localStorage.setItem('cart', id);
  return id;
};
const cart = localStorage.getItem('cart') ?? newCart();

class Part extends HTMLElement {
  connectedCallback() {
    this.attachShadow({ mode: 'open' });
    this.draw();
  }
}

customElements.define('product-list', class extends Part {
  async draw() {
    const category = this.getAttribute('category');
    const found = await products(`category_id=${FACTS.categories[category]}`);
    this.shadowRoot.innerHTML = `<h1>${category}</h1><ul>${found.map((each) => `<li class="tile">
      <a class="tile-link" href="/products/${each.handle}">${each.title}</a>
      <span class="tile-price">${price(each)}</span></li>`).join('')}</ul>`;
  }
});

customElements.define('product-details', class extends Part {
  async draw() {
    const [product] = await products(`handle=${this.getAttribute('handle')}`);
    document.title = product.title;
    this.shadowRoot.innerHTML = `<article><h1 class="title">${product.title}</h1>
      <p class="price">${price(product)}</p><p class="description">${product.description}</p>
      <button class="add" data-id="${product.variants[0].id}">Add to cart</button></article>`;
    this.shadowRoot.querySelector('.add').onclick = async ({ target }) => {
      await ask(`carts/${await cart}/line-items`, { variant_id: target.dataset.id, quantity: 1 });
      go('/cart');
    };
  }
});

customElements.define('cart-lines', class extends Part {
  async draw() {
    const { items, item_total: total } = (await ask(`carts/${await cart}`)).cart;
    this.shadowRoot.innerHTML = `<h1>Your cart</h1><table>${items.map((item) => `<tr class="line">
      <td><a href="/products/${item.product_handle}">${item.product_title}</a></td>
      <td class="unit">${money(item.unit_price)}</td><td class="pieces">${item.quantity}</td>
      <td class="sum">${money(item.unit_price * item.quantity)}</td></tr>`).join('')}</table>
      <p class="total">${money(total)}</p>`;
  }
});

customElements.define('shop-page', class extends HTMLElement {
  connectedCallback() { this.draw(); }
  draw() {
    const [, kind, name = 'lamps'] = location.pathname.split('/');
    if (kind === 'products') this.innerHTML = `<product-details handle="${name}"></product-details>`;
    else if (kind === 'cart') this.innerHTML = '<cart-lines></cart-lines>';
    else this.innerHTML = `<product-list category="${name}"></product-list>`;
  }
});

const go = (path) => {
  history.pushState({}, '', path);
  document.querySelector('shop-page').draw();
};
addEventListener('popstate', () => document.querySelector('shop-page').draw());
addEventListener('click', (event) => {
  const link = event.composedPath().find((each) => each.localName === 'a');
  if (!link) return;
  event.preventDefault();
  go(link.pathname);
});

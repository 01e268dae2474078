// A shop's pages in React, over Vendure's GraphQL: a listing, a product's page, the cart.
const { createElement: h, useEffect, useState } = React;

const FIELDS = 'id name priceWithTax currencyCode product { slug name description }';
const ORDER = `{ id totalWithTax totalQuantity lines {
  id quantity unitPriceWithTax linePriceWithTax productVariant { ${FIELDS} } } }`;
const PRODUCT = `query product($slug: String!) {
  product(slug: $slug) { id slug name description variants { id sku priceWithTax currencyCode stockLevel } } }`;
const COLLECTION = `query collection($slug: String!) {
  collection(slug: $slug) { name productVariants { items { ${FIELDS} } } } }`;
const CART = `query activeOrder { activeOrder ${ORDER} }`;
const ADD = `mutation addItemToOrder($productVariantId: ID!, $quantity: Int!) {
  addItemToOrder(productVariantId: $productVariantId, quantity: $quantity) {
    ... on Order ${ORDER} ... on ErrorResult { errorCode message } } }`;

const ask = async (query, variables = {}) => {
  const [, operationName] = query.match(/(?:query|mutation) (\w+)/);
  const answer = await fetch('/shop-api', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ operationName, query, variables }),
  });
  return (await answer.json()).data;
};
const money = (cents) => (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
const go = (event, path) => {
  event.preventDefault();
  history.pushState({}, '', path);
  dispatchEvent(new PopStateEvent('popstate'));
};
const Link = ({ to, children, ...rest }) => h('a', { href: to, onClick: (event) => go(event, to), ...rest }, children);

const useAnswer = (query, variables) => {
  const [found, setFound] = useState();
  useEffect(() => { ask(query, variables).then(setFound); }, []);
  return found;
};

const Listing = ({ slug }) => {
  const { collection } = useAnswer(COLLECTION, { slug }) ?? {};
  return collection && h('main', { className: 'collection' }, h('h1', null, collection.name),
    h('ul', { className: 'products' }, collection.productVariants.items.map((variant) =>
      h('li', { key: variant.id, className: 'product-card' },
        h(Link, { to: `/product/${variant.product.slug}` }, variant.product.name),
        h('span', { className: 'product-card-price' }, money(variant.priceWithTax))))));
};

const Product = ({ slug, setOrder }) => {
  const { product } = useAnswer(PRODUCT, { slug }) ?? {};
  const [said, setSaid] = useState('');
  useEffect(() => { if (product) document.title = product.name; }, [product]);
  if (!product) return null;
  const [variant] = product.variants;
  const add = async () => {
    const { addItemToOrder: order } = await ask(ADD, { productVariantId: variant.id, quantity: 1 });
    if (order.lines) setOrder(order);
    setSaid(order.message ?? 'Added to your cart');
  };
  return h('main', { className: 'product-detail' },
    h('h1', { className: 'product-name' }, product.name),
    h('p', { className: 'product-sku' }, variant.sku),
    h('p', { className: 'product-price' }, money(variant.priceWithTax)),
    h('p', { className: 'product-description' }, product.description),
    h('button', { className: 'add-to-cart', 'data-variant-id': variant.id, onClick: add }, 'Add to cart'),
    said && h('p', { role: 'status', className: 'notification' }, said));
};

const Cart = ({ order }) => h('main', { className: 'cart-page' }, h('h1', null, 'Your cart'),
  !order?.lines.length ? h('p', null, 'Your cart is empty') : h('table', { className: 'cart-lines' }, h('tbody', null,
    order.lines.map(({ id, quantity, productVariant, unitPriceWithTax, linePriceWithTax }) =>
      h('tr', { key: id, className: 'cart-line' },
        h('td', null, h(Link, { to: `/product/${productVariant.product.slug}` }, productVariant.product.name)),
        h('td', { className: 'unit-price' }, money(unitPriceWithTax)),
        h('td', null, h('input', { className: 'quantity', type: 'number', readOnly: true, value: quantity })),
        h('td', { className: 'line-price' }, money(linePriceWithTax)))),
    h('tr', { className: 'total' }, h('th', { colSpan: 3 }, 'Total'),
      h('td', { className: 'order-total' }, money(order.totalWithTax))))));

const Shop = () => {
  const [path, setPath] = useState(location.pathname);
  const [order, setOrder] = useState(null);
  useEffect(() => {
    addEventListener('popstate', () => setPath(location.pathname));
    ask(CART).then(({ activeOrder }) => setOrder(activeOrder));
  }, []);
  const [, kind, slug] = path.split('/');
  const pages = {
    product: () => h(Product, { key: slug, slug, setOrder }),
    collection: () => h(Listing, { key: slug, slug }),
    cart: () => h(Cart, { order }),
  };
  return h('div', { className: 'shop' },
    h('header', null, h(Link, { to: '/collection/lamps' }, 'Lamps'), ' ', h(Link, { to: '/collection/kettles' }, 'Kettles'),
      ' ', h(Link, { to: '/cart', className: 'cart-link' }, `Cart (${order?.totalQuantity ?? 0})`)),
    (pages[kind] ?? (() => h(Listing, { key: 'lamps', slug: 'lamps' })))());
};

ReactDOM.createRoot(document.getElementById('root')).render(h(Shop));

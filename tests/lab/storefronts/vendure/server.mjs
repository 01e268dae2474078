// Starts Vendure with the test catalogue, a database in memory, and the page of `page.js`. Run in the shop's folder.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';

const require = createRequire(path.resolve('package.json'));
const core = require('@vendure/core');
const [catalogue, page] = process.argv.slice(2);

const FILES = {
  '/react.js': path.resolve('node_modules/react/umd/react.production.min.js'),
  '/react-dom.js': path.resolve('node_modules/react-dom/umd/react-dom.production.min.js'),
  '/page.js': page,
};
const SHELL = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body><div id="root"></div><script src="/react.js"></script><script src="/react-dom.js"></script>
<script src="/page.js"></script></body></html>`;

// Every address but that of the interfaces is the page's own.
const handler = (request, response, next) => {
  if (/^\/(shop|admin)-api/.test(request.path)) return next();
  if (request.path === '/favicon.ico') return response.status(404).end();
  const file = FILES[request.path];
  response.type(file ? 'text/javascript' : 'html').send(file ? readFileSync(file) : SHELL);
};

const freePort = () => new Promise((resolve) => {
  const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

async function fill(app) {
  const context = await app.get(core.RequestContextService).create({ apiType: 'admin' });
  const products = JSON.parse(readFileSync(catalogue, 'utf8'));
  const names = [...new Set(products.map(({ category }) => category))];
  await app.get(core.Populator).populateInitialData({
    defaultLanguage: 'en',
    defaultZone: 'World',
    countries: [{ name: 'United States', code: 'US', zone: 'World' }],
    taxRates: [{ name: 'None', percentage: 0 }],
    shippingMethods: [{ name: 'Standard', price: 0 }],
    paymentMethods: [],
    collections: [],
  });
  const channels = app.get(core.ChannelService);
  const channel = await channels.getDefaultChannel(context);
  await channels.update(context, {
    id: channel.id, defaultCurrencyCode: 'USD', availableCurrencyCodes: ['USD'], pricesIncludeTax: true,
  });
  const rows = products.map(({ slug, name, description, category, price, stock }, index) => [
    name, slug, description, '', `category:${category}`, '', '', `SK-${index + 1}`, price, 'none', stock, 'true', '', '',
  ]);
  const head = ['name', 'slug', 'description', 'assets', 'facets', 'optionGroups', 'optionValues', 'sku', 'price',
    'taxCategory', 'stockOnHand', 'trackInventory', 'variantAssets', 'variantFacets'];
  const quoted = (cell) => `"${String(cell).replaceAll('"', '""')}"`;
  const csv = [head, ...rows].map((row) => row.map(quoted).join(',')).join('\n');
  const fresh = await app.get(core.RequestContextService).create({ apiType: 'admin' });
  await new Promise((resolve, reject) => {
    app.get(core.Importer).parseAndImport(csv, fresh, true).subscribe({ error: reject, complete: resolve });
  });
  // Which products a collection has is found in the background.
  await app.get(core.JobQueueService).start();
  await app.get(core.Populator).populateCollections({
    defaultLanguage: 'en',
    defaultZone: 'World',
    countries: [], taxRates: [], shippingMethods: [], paymentMethods: [],
    collections: names.map((name) => ({
      name,
      filters: [{ code: 'facet-value-filter', args: { facetValueNames: [name], containsAny: false } }],
    })),
  });
}

async function isFilled() {
  const query = '{ collections { items { productVariants { totalItems } } } }';
  const answer = await fetch(`http://127.0.0.1:${port}/shop-api`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }),
  });
  return (await answer.json()).data.collections.items.every(({ productVariants }) => productVariants.totalItems);
}

const port = await freePort();
const app = await core.bootstrap({
  apiOptions: {
    hostname: '127.0.0.1', port, trustProxy: 'loopback', middleware: [{ route: '/', handler, beforeListen: false }],
  },
  authOptions: { tokenMethod: ['cookie'], cookieOptions: { secret: 'only for tests' }, requireVerification: false },
  dbConnectionOptions: { type: 'sqljs', synchronize: true, autoSave: false },
  paymentOptions: { paymentMethodHandlers: [core.dummyPaymentHandler] },
  logger: new core.DefaultLogger({ level: core.LogLevel.Warn }),
});
await fill(app);
while (!(await isFilled())) await new Promise((resolve) => setTimeout(resolve, 100));
console.log(`shop ready http://127.0.0.1:${port}/`);

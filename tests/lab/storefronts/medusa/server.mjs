// Starts Medusa with the test catalogue and the pages of `pages.js`. Run in the shop's folder; `migrate` makes the tables.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.resolve('package.json'));
const [task, catalogue, pages] = process.argv.slice(2);
const directory = process.cwd();

if (task === 'migrate') {
  const { default: migrate } = require('@medusajs/medusa/commands/db/migrate');
  await migrate({ directory, executeAllLinks: true, skipScripts: true, skipSearch: true }); // it ends the process
}

const express = require('express');
const flows = require('@medusajs/medusa/core-flows');
const { default: load } = require('@medusajs/medusa/loaders/index');
const app = express();
const facts = {};
const SHELL = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body><header><a href="/c/lamps">Lamps</a> <a href="/c/kettles">Kettles</a> <a href="/cart">Cart</a></header>
<shop-page></shop-page><script src="/pages.js"></script></body></html>`;
app.get('/pages.js', (request, response) => {
  response.type('text/javascript').send(`const FACTS = ${JSON.stringify(facts)};\n${readFileSync(pages)}`);
});
app.get(/^\/(c\/\w+|products\/[\w-]+|cart)?$/, (request, response) => response.type('html').send(SHELL));

const { container } = await load({ directory, expressApp: app });
const run = async (flow, input) => (await flow(container).run({ input })).result;
const query = container.resolve('query');
const first = async (entity, fields = ['id'], filters = {}) => (await query.graph({ entity, fields, filters })).data[0];

const store = await first('store', ['id', 'default_sales_channel_id']);
const channel = store.default_sales_channel_id ?? (await first('sales_channel')).id;
const [region] = await run(flows.createRegionsWorkflow, {
  regions: [{ name: 'USA', currency_code: 'usd', countries: ['us'], payment_providers: ['pp_system_default'] }],
});
const [key] = await run(flows.createApiKeysWorkflow, {
  api_keys: [{ title: 'Pages', type: 'publishable', created_by: '' }],
});
await run(flows.linkSalesChannelsToApiKeyWorkflow, { id: key.id, add: [channel] });
const items = JSON.parse(readFileSync(catalogue, 'utf8'));
const names = [...new Set(items.map(({ category }) => category))];
const categories = await run(flows.createProductCategoriesWorkflow, {
  product_categories: names.map((name) => ({ name, handle: name.toLowerCase(), is_active: true })),
});
await run(flows.createProductsWorkflow, {
  products: items.map(({ slug, name, description, category, price }, index) => ({
    title: name, handle: slug, description, status: 'published', sales_channels: [{ id: channel }],
    category_ids: [categories.find((each) => each.name === category).id],
    options: [{ title: 'Kind', values: ['Standard'] }],
    variants: [{
      title: 'Standard', sku: `SK-${index + 1}`, manage_inventory: false, options: { Kind: 'Standard' },
      prices: [{ amount: Number(price), currency_code: 'usd' }],
    }],
  })),
});
Object.assign(facts, {
  key: key.token, region: region.id, categories: Object.fromEntries(categories.map(({ handle, id }) => [handle, id])),
});
const server = app.listen(0, '127.0.0.1', () => console.log(`shop ready http://127.0.0.1:${server.address().port}/`));

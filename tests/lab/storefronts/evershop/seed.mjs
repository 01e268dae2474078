// Puts the test catalogue into EverShop's database with the shop's own services. Run in the shop's folder.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const shop = path.resolve('node_modules/@evershop/evershop/dist');
const load = (file) => import(pathToFileURL(path.join(shop, file)).href);
const { migrate } = await load('bin/lib/bootstrap/migrate.js');
const { getCoreModules } = await load('bin/lib/loadModules.js');
const { pool } = await load('lib/postgres/connection.js');
const { default: createCategory } = await load('modules/catalog/services/category/createCategory.js');
const { default: createProduct } = await load('modules/catalog/services/product/createProduct.js');

await migrate(getCoreModules());
await pool.query('DELETE FROM category');
await pool.query('DELETE FROM url_rewrite');
const categories = {};
const catalogue = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const [index, item] of catalogue.entries()) {
  categories[item.category] ??= await createCategory(
    { name: item.category, url_key: item.category.toLowerCase(), status: 1, include_in_nav: 1, meta_title: item.category },
    {},
  );
  await createProduct(
    {
      name: item.name,
      url_key: item.slug,
      sku: `SK-${index + 1}`,
      price: Number(item.price),
      qty: item.stock,
      category_id: categories[item.category].insertId,
      group_id: 1,
      status: 1,
      visibility: 1,
      manage_stock: 1,
      stock_availability: item.stock ? 1 : 0,
      no_shipping_required: true,
      meta_title: item.name,
      meta_description: item.description,
    },
    {},
  );
}
// The shop would give them their addresses in the background, a few every ten seconds.
await pool.query(`INSERT INTO url_rewrite (request_path, target_path, entity_uuid, entity_type)
  SELECT '/' || d.url_key, '/category/' || c.uuid, c.uuid, 'category'
  FROM category c JOIN category_description d ON d.category_description_category_id = c.category_id`);
await pool.query(`INSERT INTO url_rewrite (request_path, target_path, entity_uuid, entity_type)
  SELECT '/' || cd.url_key || '/' || pd.url_key, '/product/' || p.uuid, p.uuid, 'product'
  FROM product p JOIN product_description pd ON pd.product_description_product_id = p.product_id
  JOIN category_description cd ON cd.category_description_category_id = p.category_id`);
await pool.query('DELETE FROM event');
process.exit(0);

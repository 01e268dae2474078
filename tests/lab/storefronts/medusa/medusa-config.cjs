// Medusa without its administration pages, for a database that serve.py starts.
const { defineConfig } = require('@medusajs/framework/utils');

module.exports = defineConfig({
  projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    databaseDriverOptions: { ssl: false },
    http: { storeCors: '', adminCors: '', authCors: '', jwtSecret: 'only for tests', cookieSecret: 'only for tests' },
  },
  admin: { disable: true },
});

/** Tells drizzle-kit where the schema lies and where its migrations go. */
import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: './src/drivers/store/sqlite/schema.ts',
  out: './src/drivers/store/sqlite/migrations',
})

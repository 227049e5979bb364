/** Where drizzle-kit finds the tables and puts migrations. */
import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/drivers/store/postgres/schema.ts',
  out: './src/drivers/store/postgres/migrations',
})

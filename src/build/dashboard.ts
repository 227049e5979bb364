/** A plugin of the bundler that puts the files of the dashboard into the program, which can't make them when it runs. */
import type { Bundle } from '../app/dashboard-bundle.ts'

export const bundled = (made: Bundle): Bun.BunPlugin => ({
  name: 'dashboard',
  setup(build) {
    build.onLoad({ filter: /server[\\/]dashboard[\\/]bundle\.ts$/ }, () => ({
      contents: `export const bundle = async () => (${JSON.stringify(made)})`,
      loader: 'js',
    }))
  },
})

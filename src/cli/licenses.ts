/** cstp licenses: the licences of the program and of its dependencies. */
import { defineCommand } from './command.ts'

export const licenses = defineCommand({
  name: 'licenses',
  summary: 'Print the licences of the program and of the packages in it.',
  about: ['The licence of cstp first, then each package with its version and its own text.'],
  examples: [['cstp licenses > NOTICES.txt', 'keep them beside a copy of the binary']],
  async run({ terminal }) {
    // Loaded only here, so that other commands don't wait for it.
    const app = await import('../app/licenses.ts')
    await terminal.out(await app.licenses())
  },
})

/** cstp docs: serves the documentation to a browser, or writes it as files. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { wholeOf } from './args.ts'
import { aborted, defineCommand, value } from './command.ts'
import { jsonLine } from './terminal.ts'

/** Reachable only from this machine. */
const hostname = '127.0.0.1'

export const docs = defineCommand({
  name: 'docs',
  summary: 'Serve the documentation of this version, with search.',
  about: [
    'The guides, the reference and the design pages, as pages that need no network. They are served on this machine only, until Ctrl-C.',
    'With --out they are written as files, which any web server can serve and a browser can open.',
  ],
  flags: {
    out: value('folder', 'Folder to write the pages to, instead of serving them.'),
    at: value('port', 'Port to serve them on; by default a free one.'),
  },
  examples: [
    ['cstp docs', 'print an address to open in a browser'],
    ['cstp docs --out ./site', 'a folder of static pages'],
  ],
  async run({ flags, json, terminal, signal }) {
    // Loaded only here, so that other commands don't wait for it.
    const { site } = await import('../app/docs/site.ts')
    const files = await site()
    if (flags.out !== undefined) {
      const folder = resolve(flags.out)
      for (const [path, { body, base64 }] of Object.entries(files)) {
        const file = join(folder, path)
        await mkdir(dirname(file), { recursive: true })
        await writeFile(file, body, base64 ? 'base64' : 'utf8')
      }
      const count = Object.keys(files).length
      await terminal.out(json ? jsonLine({ folder, files: count }) : `${count} files in ${folder}; open index.html\n`)
      return 0
    }
    const server = Bun.serve({
      hostname,
      port: flags.at === undefined ? 0 : wholeOf('--at', flags.at, 0, 65_535),
      fetch(request) {
        // Taken from the raw URL: no path of the site needs escapes, and the host may be invalid.
        const path = /^https?:\/\/[^/?#]*\/([^?#]*)/.exec(request.url)?.[1] ?? ''
        const file = Object.hasOwn(files, path || 'index.html') ? files[path || 'index.html'] : undefined
        if (!file) return new Response('There is no such page', { status: 404 })
        const headers = { 'content-type': file.type, 'x-content-type-options': 'nosniff' }
        return new Response(file.base64 ? Buffer.from(file.body, 'base64') : file.body, { headers })
      },
    })
    const url = `http://${hostname}:${server.port}/`
    await terminal.out(json ? jsonLine({ url }) : `The documentation is at ${url}\nCtrl-C stops it.\n`)
    await aborted(signal)
    await server.stop(true)
  },
})

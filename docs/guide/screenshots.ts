/** Takes the pictures of the README and the guide: `bun docs/guide/screenshots.ts`. They need the data beside the project and a chromium; ImageMagick makes them smaller. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { executable, launch, logIn, open, visit } from '../../test/dashboard/browser.ts'
import { people, startPlace } from '../../test/dashboard/place.ts'
import { temporaryDir } from '../../test/support/process.ts'

const pictures = [
  { name: 'overview', path: '?period=all', height: 960 },
  { name: 'decisions', path: '/decisions?q=iterate+over+a+generator', height: 800 },
  { name: 'calibration', path: '/calibration?agent=forecaster', height: 1_000 },
  { name: 'guardrails', path: '/guardrails', height: 860 },
  { name: 'evidence', path: '/evidence', height: 1_000, dark: true },
  { name: 'phone', path: '/breakers', height: 760, width: 360 },
]

const packer = Bun.which('convert')
if (!executable) throw new Error('no chromium found')
const dir = await temporaryDir('cstp-screenshots-')
const [{ server }, browser] = await Promise.all([startPlace(dir, { plain: true }), launch()])
try {
  for (const { name, path, ...options } of pictures) {
    const { page, context, complaints } = await open(browser, { width: 1_200, ...options })
    await logIn(page, server.url, 'root', people.root)
    await visit(page, server.url, path)
    const file = join(import.meta.dir, 'pictures', `${name}.png`)
    await page.screenshot({ path: file })
    // A page has few colours: half the size, and nobody sees it.
    if (packer) await Bun.spawn([packer, file, '-dither', 'none', '-colors', '128', `PNG8:${file}`]).exited
    if (complaints.length > 0) throw new Error(complaints.join('\n'))
    await context.close()
  }
} finally {
  await browser.close()
  await server.kill()
  await rm(dir, { recursive: true, force: true })
}

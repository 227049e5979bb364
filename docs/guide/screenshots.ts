/** Takes the pictures of the README and the guide: `bun docs/guide/screenshots.ts`. It needs Chromium; ImageMagick reduces their size. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { executable, launch, logIn, open, settled, visit } from '../../test/dashboard/browser.ts'
import { jobs, mouse } from '../../test/dashboard/jobs.ts'
import { fleetTokens, startFleet } from '../../test/support/fleet.ts'

interface Picture {
  name: string
  width?: number
  height: number
  dark?: boolean
  show(page: Page): Promise<void>
}

if (!executable) throw new Error('no chromium found')
const [server, browser] = await Promise.all([startFleet(), launch()])
const at = (path: string) => (page: Page) => visit(page, server.url, path)

const pictures: Picture[] = [
  ...jobs.map(({ name, run }) => ({
    name,
    height: 800,
    async show(page: Page) {
      await at('')(page)
      const answer = await run(mouse(page))
      await answer.waitFor()
      if (name === 'workbench') await page.getByRole('region', { name: 'Workbench' }).scrollIntoViewIfNeeded()
    },
  })),
  { name: 'overview', height: 960, show: at('?period=all') },
  { name: 'calibration', height: 1_000, show: at('/calibration?agent=migrator') },
  { name: 'evidence', height: 1_000, dark: true, show: at('/proof') },
  { name: 'phone', height: 760, width: 360, show: at('/inbox') },
]

const packer = Bun.which('convert')
try {
  for (const { name, show, ...options } of pictures) {
    const { page, context, complaints } = await open(browser, { width: 1_280, ...options })
    await logIn(page, server.url, 'root', fleetTokens.root!)
    await show(page)
    await settled(page)
    const file = join(import.meta.dir, 'pictures', `${name}.png`)
    await page.screenshot({ path: file })
    // A page has few colours, so reducing them halves the size without a visible difference.
    if (packer) await Bun.spawn([packer, file, '-dither', 'none', '-colors', '128', `PNG8:${file}`]).exited
    if (complaints.length > 0) throw new Error(complaints.join('\n'))
    await context.close()
  }
} finally {
  await browser.close()
  await server.close()
}

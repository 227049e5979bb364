/** The dashboard in a browser with an empty cache: until something is painted, until the overview's figures stand, and what is sent. */
import type { Browser, Cookie } from 'playwright-core'
import { executable, launch, logIn } from '../../dashboard/browser.ts'
import { type Bench, token } from '../bench.ts'
import { percentile } from '../load.ts'
import { rowOf } from '../report.ts'

const part = 'dashboard'
const times = 9
/** What the whole page may take, compressed. */
const limitBytes = 350_000

interface Opened {
  painted_ms: number
  figures_ms: number
  bytes: number
}

/** Opens the overview as somebody who is logged in and was never there. */
async function opened(browser: Browser, url: string, cookies: Cookie[]): Promise<Opened> {
  const context = await browser.newContext()
  await context.addCookies(cookies)
  const page = await context.newPage()
  await page.addInitScript(() => {
    const seen = new MutationObserver(() => {
      if (!document.querySelector('.figure strong')) return
      seen.disconnect()
      requestAnimationFrame(() => performance.mark('figures'))
    })
    seen.observe(document, { childList: true, subtree: true })
  })
  await page.goto(`${url}/dashboard`)
  const found = await page.waitForFunction(() => {
    const [painted] = performance.getEntriesByName('first-contentful-paint')
    const [figures] = performance.getEntriesByName('figures')
    if (!painted || !figures) return null
    const sent = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map((entry) => entry as PerformanceResourceTiming)
      .filter(({ initiatorType }) => initiatorType !== 'fetch')
    const bytes = sent.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)
    return { painted_ms: painted.startTime, figures_ms: figures.startTime, bytes }
  })
  const answer = (await found.jsonValue()) as Opened
  await context.close()
  return answer
}

const figuresOf = (all: number[]) => {
  const sorted = Float64Array.from(all).sort()
  return { clients: '1', p50_ms: percentile(sorted, 0.5), p99_ms: percentile(sorted, 0.99) }
}

export async function dashboard(bench: Bench): Promise<void> {
  if (!executable) {
    console.error('The dashboard is not measured: there is no chromium.')
    return
  }
  const browser = await launch()
  try {
    for (const size of bench.sizes) {
      const child = await bench.server(await bench.seeded(size))
      const asked = performance.now()
      await (await fetch(`${child.url}/dashboard`)).text()
      const made_ms = performance.now() - asked
      bench.add(rowOf(part, 'first page after the start', { size, clients: '1', p50_ms: made_ms }))
      const context = await browser.newContext()
      const page = await context.newPage()
      const [agent, secret] = token.split(':') as [string, string]
      await logIn(page, child.url, agent, secret)
      const cookies = await context.cookies()
      await context.close()
      const found: Opened[] = []
      for (let at = 0; at < times; at++) found.push(await opened(browser, child.url, cookies))
      bench.add(rowOf(part, 'first contentful paint', { size, ...figuresOf(found.map((one) => one.painted_ms)) }))
      bench.add(rowOf(part, 'figures of the overview', { size, ...figuresOf(found.map((one) => one.figures_ms)) }))
      const bytes = Math.max(...found.map((one) => one.bytes))
      const what = `page of ${Math.round(bytes / 1_000)} kB, compressed`
      bench.add(rowOf(part, what, { size, ratio: bytes / limitBytes, baseline: '350 kB' }))
      await child.stop()
    }
  } finally {
    await browser.close()
  }
}

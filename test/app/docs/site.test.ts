/** The site of the documentation: every page is in it and in the navigation, its links lead somewhere, its search finds, and nothing of it comes from elsewhere. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { deadLinks } from '../../../src/app/docs/links.ts'
import { renderMarkdown } from '../../../src/app/docs/page.ts'
import { type Site, site } from '../../../src/app/docs/site.ts'
import { executable, launch } from '../../dashboard/browser.ts'
import { bareEnv, cstp, root, spawn, testDir } from '../../support/process.ts'

setDefaultTimeout(120_000)

let files: Site
beforeAll(async () => {
  files = await site()
})

describe('the pages', () => {
  test('are all that there are in docs, and each is reached from the navigation', async () => {
    const pages = (await readdir(join(root, 'docs'), { recursive: true })).filter(
      (file) => file.endsWith('.md') && !file.startsWith('api/') && !/(?:^|\/)README\.md$|^examples\//.test(file),
    )
    expect(pages.length).toBeGreaterThan(40)
    const nav = /<nav[\s\S]*?<\/nav>/.exec(files['index.html']!.body)![0]
    for (const page of pages) {
      const path = page.replace(/\.md$/, '.html')
      expect(files).toHaveProperty([path])
      expect(nav).toContain(`href="${path}"`)
    }
  })

  test('load nothing from elsewhere', () => {
    for (const [path, { body }] of Object.entries(files))
      if (path.endsWith('.html'))
        expect([path, /(?:src|rel="stylesheet" href)="https?:/.test(body)]).toEqual([path, false])
  })

  test('show no marks of Markdown that were not read as such', () => {
    for (const [path, { body }] of Object.entries(files)) {
      if (!path.endsWith('.html') || path.startsWith('source/')) continue
      const text = body.replace(/<(pre|code)\b[\s\S]*?<\/\1>/g, '').replace(/<[^>]+>/g, ' ')
      expect([path, /\*\*|\| ---|\]\(|```|\[object/.exec(text)?.[0]]).toEqual([path, undefined])
    }
  })

  test('have the anchors of GitHub, and text of the source stays text', () => {
    const { html, title, sections } = renderMarkdown(
      '# A `b` & c\n\n<x>\n\n## Two\n\nword\n\n## Two\n\n`<i>`\n',
      'p.html',
      (href) => href,
    )
    expect(title).toBe('A b & c')
    expect(html).toContain('<h2 id="two-1">')
    expect(html).toContain('<code>&lt;i&gt;</code>')
    expect(sections.map(({ path }) => path)).toEqual(['p.html', 'p.html#two', 'p.html#two-1'])
  })
})

test('broken links and invalid addresses are found', () => {
  const page =
    '<h1 id="top">x</h1><a href="b.html"><a href="b.html#no"><a href="#top"><a href="c.html"><a href="http://example.com/"><a href="https://x"><a href="http://127.0.0.1:9991/dashboard"><img src="d.png">'
  const found = deadLinks(
    new Map([
      ['a.html', page],
      ['b.html', ''],
    ]),
    new Set(['d.png']),
  )
  expect(found).toEqual([
    'a.html: b.html#no leads to no heading',
    'a.html: c.html leads to no page',
    'a.html: http://example.com/ is not https',
    'a.html: https://x names no host',
  ])
})

test('cstp docs --out writes them all', async () => {
  const dir = await testDir()
  const { status, out } = await cstp(['docs', '--out', join(dir, 'site'), '--json'], bareEnv(dir))
  expect(status).toBe(0)
  expect(JSON.parse(out)).toEqual({ folder: join(dir, 'site'), files: Object.keys(files).length })
  expect(await readFile(join(dir, 'site/guide/guardrails.html'), 'utf8')).toBe(files['guide/guardrails.html']!.body)
  const picture = await readFile(join(dir, 'site/guide/pictures/phone.png'))
  expect(picture.subarray(1, 4).toString()).toBe('PNG')
})

describe.skipIf(!executable)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  test('cstp docs serves it; a search leads to the heading, and no request leaves the machine', async () => {
    const dir = await testDir()
    const child = spawn(['docs', '--json'], bareEnv(dir))
    const reader = child.stdout.getReader()
    const { url } = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as { url: string }
    // What is no path of the site is no page, and shows nothing of the program.
    for (const path of ['%', '%ff', '..%2f..%2fpackage.json', 'constructor'])
      expect((await fetch(`${url}${path}`)).status).toBe(404)
    const page = await browser.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(url)
    await page.keyboard.press('/')
    await page.keyboard.type('token scopes yaml')
    await page.locator('#results a').first().waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(/access\.html/)
    expect(await page.locator('h1').textContent()).toContain('Agents, tokens and scopes')
    expect(asked.filter((one) => !one.startsWith(url) && !one.startsWith('data:'))).toEqual([])
    expect(errors).toEqual([])
    await page.close()
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })
})
